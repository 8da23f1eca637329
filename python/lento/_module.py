"""Module: a model as an object whose tensors are found by their names. Layers are in _layers.py and its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from . import _core, errors, tree
from ._buffer import Buffer, Parameter, as_tensor
from ._fail import fail
from ._familiar import is_dtype
from ._module_hooks import HookHandle, Hooks
from ._origin import Origin, copying
from ._parameter_name import ParameterName
from ._state import load_into

__all__ = ["Buffer", "Module", "Parameter"]

_Self = TypeVar("_Self", bound="Module")
_P = ParamSpec("_P")
_R = TypeVar("_R", covariant=True)


class HasForward(Protocol[_P, _R]):
    """For type checkers: what has a ``forward`` of these arguments, so that calling it takes and gives the same."""

    def forward(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...


class Module:
    """What has parameters and computes something in ``forward``.

    Floating tensors that are attributes are parameters; other tensors, and those assigned as :class:`Buffer`, are
    buffers. Modules in attributes count too, also in lists, tuples and dicts. A tensor that ``forward`` keeps in an
    attribute that held none before is neither, nor is what it puts into a list or dict that had no tensor before.

        >>> class Scale(lento.nn.Module):
        ...     def __init__(self):
        ...         self.weight = lento.ones(2)
        ...         self.calls = lento.nn.Buffer(lento.zeros((), dtype=lento.int64))
        ...
        ...     def forward(self, x):
        ...         self.calls += 1
        ...         return x * self.weight
        >>> model = Scale()
        >>> model(lento.asarray([3.0, 4.0]))
        tensor([3., 4.], dtype=float32)
        >>> list(model.parameters()), list(model.state_dict())
        (['weight'], ['weight', 'calls'])
    """

    training: bool = True
    _buffers: frozenset[str] = frozenset()
    _kept: frozenset[str] = frozenset()  # attributes whose tensors are no part of the state
    _begun: bool  # there once it was called or differentiated: containers without tensors are kept from then on
    _hooks: Hooks | None = None
    _origin: Origin | None = None  # what this has the gradients of
    forward: Callable[..., Any]

    if TYPE_CHECKING:
        # The engine has it: see the end of this file.
        def __call__(self: HasForward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Buffer):
            object.__setattr__(self, "_buffers", self._buffers | {name})
            self._keep(name, not value.persistent)
            value = _for_buffer(value.tensor)
        elif name in self._buffers and isinstance(value, _core.Tensor):
            held = getattr(self, name, None)
            if value is held:
                return
            if isinstance(held, _core.Tensor) and (held.shape, held.dtype) == (value.shape, value.dtype):
                held[...] = _core.stop_gradient(value)
                return
            value = _for_buffer(value)
        elif self._is_state(name) and not isinstance(value, _core.Tensor | None):
            raise fail(
                TypeError,
                f"{type(self).__name__}.{name} is a tensor and would be one no longer; change its values with "
                f".{name}[...] = …, or assign lento.asarray(…)",
            )
        elif name not in self._buffers and not isinstance(value, Module) and "_begun" in self.__dict__:
            if _core._is_called(self):
                self._keep(name, name in self._kept or not _has_tensors(vars(self).get(name)))
            else:
                self._keep(name, _may_be_filled(value))
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        object.__setattr__(self, "_buffers", self._buffers - {name})
        self._keep(name, False)

    def _keep(self, name: str, keep: bool) -> None:
        kept = self._kept | {name} if keep else self._kept - {name}
        if kept != self._kept:
            object.__setattr__(self, "_kept", kept)

    def _is_state(self, name: str) -> bool:
        return isinstance(vars(self).get(name), _core.Tensor) and name not in self._kept

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """PyTorch's way to assign a :class:`Buffer`."""
        tensor = None if tensor is None else as_tensor("register_buffer()", tensor)
        if not name.isidentifier():
            raise fail(ValueError, f"register_buffer(): {name!r} is no name of an attribute")
        if name not in self._buffers and getattr(self, name, None) is not None:
            raise fail(ValueError, f"register_buffer(): {type(self).__name__} has a {name} already, which is no buffer")
        setattr(self, name, Buffer(tensor, persistent))

    def register_parameter(self, name: str, param: Any) -> None:
        """Makes a floating tensor a parameter; in ``forward`` too, where assigning it would not."""
        param = None if param is None else as_tensor("register_parameter()", param)
        if param is not None and param.dtype.kind not in "fc":
            raise fail(errors.DTypeError, f"register_parameter(): {name} is {param.dtype}, and not floating")
        object.__setattr__(self, "_buffers", self._buffers - {name})
        self._keep(name, False)
        object.__setattr__(self, name, param)

    # --- hooks ---

    def register_forward_pre_hook(self, hook: Callable[[Any, tuple[Any, ...]], Any]) -> HookHandle:
        """Lets ``hook(module, args)`` run before each call; what it returns, unless ``None``, are the arguments."""
        return self._own_hooks().add(before=hook)

    def register_forward_hook(self, hook: Callable[[Any, tuple[Any, ...], Any], Any]) -> HookHandle:
        """Lets ``hook(module, args, output)`` run after each call; what it returns, unless ``None``, is the result.

        >>> layer = lento.nn.Linear(2, 3)
        >>> handle = layer.register_forward_hook(lambda module, args, output: print(output.shape))
        >>> y = layer(lento.ones(2))
        (3,)
        >>> handle.remove()
        """
        return self._own_hooks().add(after=hook)

    def _own_hooks(self) -> Hooks:
        if self._hooks is None:
            object.__setattr__(self, "_hooks", Hooks())
        assert self._hooks is not None
        return self._hooks

    # --- what is in it ---

    def _tensors(self, prefix: str = "", inside: tuple[int, ...] = ()) -> Iterator[tuple[str, _core.Tensor, bool]]:
        """Name, tensor and whether it is a parameter, of everything inside, parameters of a module first.

        ``inside`` are the modules and containers on the way here: one that points back is not followed.
        """
        if id(self) in inside:
            return
        inside = (*inside, id(self))
        own, inner = [], []
        for name, value in vars(self).items():
            kept = name in self._kept
            if not isinstance(value, _core.Tensor):
                if type(value) not in _ATOMS:
                    inner.append((prefix + name, value, kept))
            elif not kept:
                trained = name not in self._buffers and value.dtype.kind in "fc"
                own.append((prefix + name, value, trained))
        yield from sorted(own, key=lambda item: not item[2])
        for name, value, kept in inner:
            yield from _inner_tensors(name, value, inside, kept)

    def _named_tensors(self) -> Iterator[tuple[str, _core.Tensor, bool]]:
        """As ``_tensors``; raises where two have one name, as under the keys 1 and "1" of a dict."""
        seen = set()
        for name, tensor, trained in self._tensors():
            if name in seen:
                raise fail(ValueError, f"{type(self).__name__}: two tensors would be named {name!r}")
            seen.add(name)
            yield name, tensor, trained

    def parameters(self) -> dict[str, _core.Tensor]:
        """The parameters by their dotted names, each once: a shared one by its first name."""
        first: dict[int, tuple[str, _core.Tensor]] = {}
        for name, tensor, trained in self._named_tensors():
            if trained:
                first.setdefault(id(tensor), (ParameterName(name), tensor))
        return dict(first.values())

    def buffers(self) -> dict[str, _core.Tensor]:
        """The buffers that are in the state dict, by their dotted names."""
        return {name: tensor for name, tensor, trained in self._named_tensors() if not trained}

    def named_parameters(self) -> Iterator[tuple[str, _core.Tensor]]:
        """The items of ``parameters()``."""
        return iter(self.parameters().items())

    def named_buffers(self) -> Iterator[tuple[str, _core.Tensor]]:
        """The items of ``buffers()``."""
        return iter(self.buffers().items())

    def modules(self) -> Iterator[Module]:
        """This module and those inside, each once, outer ones first."""
        return modules_in(self, set())

    def named_modules(self) -> Iterator[tuple[str, Module]]:
        """The same with their dotted names: "" for this one."""
        return _named_modules_in("", self, set())

    def children(self) -> Iterator[Module]:
        """The modules directly inside, each once, also those in lists, tuples and dicts."""
        return (module for _, module in self.named_children())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The same with their dotted names, as "layers.0"."""
        return _named_modules_in("", self, set(), self)

    def apply(self: _Self, f: Callable[[Module], Any]) -> _Self:
        """Calls ``f`` for all modules inside and then for this one, each once; gives the module itself.

        >>> def small(module):
        ...     if isinstance(module, lento.nn.Linear):
        ...         module.weight[...] = lento.nn.init.normal(module.weight.shape, std=0.02)
        >>> lento.nn.Sequential(lento.nn.Linear(2, 3)).apply(small)
        Sequential(
          (0): Linear(2, 3)
        )
        """
        _apply(self, f, set())
        return self

    def train(self: _Self, mode: bool = True) -> _Self:
        """Sets ``training`` here and in all modules inside; gives the module itself."""
        for module in modules_in(self, set()):
            module.training = mode
        return self

    def eval(self: _Self) -> _Self:
        """``train(False)``: dropout does nothing, batch norm uses its running statistics."""
        return self.train(False)

    def to(
        self: _Self,
        dtype: _core.DType | _core.Device | str | None = None,
        device: _core.Device | _core.DType | str | None = None,
    ) -> _Self:
        """Gives all floating parameters and buffers this dtype, or moves all to a device; gives the module itself.

        They are other tensors afterwards, so make an optimizer after it. The device may come first.

            >>> lento.nn.Linear(2, 2).to(lento.bfloat16).weight.dtype
            lento.bfloat16
        """
        if isinstance(dtype, _core.Device) or (isinstance(dtype, str) and not is_dtype(dtype)):
            dtype, device = device, dtype
        if isinstance(device, _core.DType):
            raise fail(TypeError, f"{type(self).__name__}.to(): {device} is no device")
        modules = list(modules_in(self, set()))
        tensors = [t for _, t, _ in self._tensors()]
        unlisted = (vars(module).get(name) for module in modules for name in module._kept & module._buffers)
        tensors += [value for value in unlisted if isinstance(value, _core.Tensor)]
        new = {}
        if device is not None:
            target_device = _core.Device(device) if isinstance(device, str) else device
            new = {id(t): t.to_device(target_device) for t in tensors if t.device != target_device}
        if dtype is not None:
            target = _core.as_dtype(dtype)
            if target.kind not in "fc":
                raise fail(
                    errors.DTypeError, f"{type(self).__name__}.to(): weights need a floating dtype, not {target}"
                )
            # A complex weight stays complex: half of it would be lost.
            kinds = "fc" if target.kind == "c" else "f"
            for t in tensors:
                if t.dtype.kind in kinds and t.dtype != target:
                    new[id(t)] = new.get(id(t), t).astype(target)
        made: dict[int, Any] = {id(module): module for module in modules}
        for module in modules:
            vars(module).update({name: _replaced(value, new, made) for name, value in vars(module).items()})
        return self

    def cpu(self: _Self) -> _Self:
        """PyTorch's name for ``to(device="cpu")``."""
        return self.to(device="cpu")

    def float(self: _Self) -> _Self:
        """PyTorch's name for ``to(lento.float32)``; so are ``double``, ``half`` and ``bfloat16`` for theirs."""
        return self.to(_core.float32)

    def double(self: _Self) -> _Self:
        """PyTorch's name for ``to(lento.float64)``."""
        return self.to(_core.float64)

    def half(self: _Self) -> _Self:
        """PyTorch's name for ``to(lento.float16)``."""
        return self.to(_core.float16)

    def bfloat16(self: _Self) -> _Self:
        """PyTorch's name for ``to(lento.bfloat16)``."""
        return self.to(_core.bfloat16)

    # --- state ---

    def state_dict(self) -> dict[str, _core.Tensor]:
        """Parameters and buffers by PyTorch's names, as they are now: training on does not change it.

        While it is kept, the memory of its values cannot be reused by the updates.
        """
        return {name: tensor.__copy__() for name, tensor, _ in self._named_tensors()}

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> tuple[list[str], list[str]]:
        """Gives parameters and buffers the values of ``state``: tensors, NumPy arrays or what else ``asarray`` takes.

        Gives the names that are missing and those that are not known. With ``strict`` either is an error; a value of
        another shape, or that cannot be converted, always is. The error names all of them, and nothing is changed.
        """
        here = {name: tensor for name, tensor, _ in self._named_tensors()}
        return load_into(f"{type(self).__name__}.load_state_dict()", here, state, strict)

    # --- looks ---

    def extra_repr(self) -> str:
        """What ``repr`` shows in parentheses."""
        return ""

    def __repr__(self) -> str:
        return _looks(self, ())


def _for_buffer(value: Any) -> Any:
    """A constant for derivatives, with a handle of its own: a buffer changes in place, and not the caller's tensor."""
    return _core.stop_gradient(value) if isinstance(value, _core.Tensor) else value


# What most attributes are, beside tensors and modules: nothing is looked for inside.
_ATOMS = frozenset((bool, int, float, str, type(None), frozenset, Origin))


def _children(value: Any) -> list[tuple[str, Any]]:
    if type(value) in _ATOMS:
        return []
    if isinstance(value, Module):
        return list(vars(value).items())
    return [(str(key), item) for key, item in tree._named_children(value) or ()]


def modules_in(value: Any, seen: set[int]) -> Iterator[Module]:
    """All modules in a module, a tuple, list, dict or dataclass, each once, outer ones first."""
    return (module for _, module in _named_modules_in("", value, seen))


def _named_modules_in(
    name: str, value: Any, seen: set[int], outer: Module | None = None
) -> Iterator[tuple[str, Module]]:
    """The same with names; with ``outer`` only those directly inside of it."""
    children = _children(value)
    if id(value) in seen or not (children or isinstance(value, Module)):
        return
    seen.add(id(value))
    if isinstance(value, Module) and value is not outer:
        yield name, value
        if outer is not None:
            return
    for key, child in children:
        yield from _named_modules_in(f"{name}.{key}" if name else key, child, seen, outer)


def _apply(module: Module, f: Callable[[Module], Any], seen: set[int]) -> None:
    if id(module) in seen:
        return
    seen.add(id(module))
    for _, child in list(_named_modules_in("", module, set(), module)):
        _apply(child, f, seen)
    f(module)


def _begin(module: Any) -> None:
    """Notes what ``forward`` may fill with tensors: containers that have none before the first call."""
    for inner in modules_in(module, set()):
        if "_begun" not in vars(inner):
            filled = {name for name, value in vars(inner).items() if _may_be_filled(value)}
            vars(inner).update(_begun=True, _kept=inner._kept | filled)


def _may_be_filled(value: Any) -> bool:
    """Whether it is a list, dict or dataclass without tensors and modules."""
    if not isinstance(value, list | dict) and not hasattr(type(value), "__dataclass_fields__"):
        return False
    return not _has_tensors(value) and next(modules_in(value, set()), None) is None


def _has_tensors(value: Any) -> bool:
    return next(_inner_tensors("", value, ()), None) is not None


def _inner_tensors(
    name: str, value: Any, inside: tuple[int, ...], kept: bool = False
) -> Iterator[tuple[str, _core.Tensor, bool]]:
    """Those of a value of an attribute; where that is ``kept`` only those of modules."""
    if isinstance(value, Module):
        yield from value._tensors(name + ".", inside)
    elif isinstance(value, _core.Tensor):
        if not kept:
            yield name, value, value.dtype.kind in "fc"
    elif id(value) not in inside:
        inside = (*inside, id(value))
        for key, item in _children(value):
            yield from _inner_tensors(f"{name}.{key}", item, inside, kept)


def _looks(module: Module, inside: tuple[int, ...]) -> str:
    """What ``repr`` gives; a module that it is inside of is shown as "Net(...)"."""
    name = type(module).__name__
    if id(module) in inside:
        return f"{name}(...)"

    def lines(value: Any, prefix: str, inside: tuple[int, ...]) -> Iterator[str]:
        inside = (*inside, id(value))
        for key, child in _children(value):
            if isinstance(child, Module):
                # A module with a repr of its own is shown by it.
                own = type(child).__repr__ is not Module.__repr__
                yield f"\n({prefix}{key}): {repr(child) if own else _looks(child, inside)}"
            elif id(child) not in inside:
                yield from lines(child, f"{prefix}{key}.", inside)

    inner = "".join(lines(module, "", inside)).replace("\n", "\n  ")
    return f"{name}({module.extra_repr()}{inner}" + ("\n)" if inner else ")")


# --- as nodes of trees: the children of a module are all parameters inside it ---


_BEING_MADE = object()


def _replaced(value: Any, new: Mapping[int, Any], made: dict[int, Any], are_gradients: bool = False) -> Any:
    """``value`` with other tensors, which may be their gradients; what holds none of them, nor modules, is shared, and
    so are buffers."""
    if isinstance(value, _core.Tensor):
        return new.get(id(value), value)
    if type(value) in _ATOMS:
        return value
    children = _children(value)
    if not children and not isinstance(value, Module):
        return value
    if id(value) in made:
        if made[id(value)] is _BEING_MADE:
            raise fail(ValueError, f"a module has a {type(value).__name__} that contains itself")
        return made[id(value)]
    if isinstance(value, Module):
        copy = object.__new__(type(value))
        made[id(value)] = copy
        own = vars(copy)
        for name, item in children:
            # What forward fills is one for all copies.
            if isinstance(item, _core.Tensor):
                own[name] = item if name in value._kept else new.get(id(item), item)
            elif type(item) in _ATOMS or (name in value._kept and next(modules_in(item, set()), None) is None):
                own[name] = item
            else:
                own[name] = _replaced(item, new, made, are_gradients)
        # In the copy all buffers are marked: what is assigned to one there must reach the module that shares it.
        marked = {name for name, item in children if isinstance(item, _core.Tensor) and item.dtype.kind not in "fc"}
        own["_buffers"] = value._buffers | marked
        if are_gradients:
            own["_origin"] = Origin(value)
        return copy
    made[id(value)] = _BEING_MADE
    items = [_replaced(item, new, made, are_gradients) for _, item in children]
    # With tensors a container is the copy's own, also where they are the same: an item may be assigned to.
    same = all(
        item is old and not isinstance(item, _core.Tensor) for item, (_, old) in zip(items, children, strict=True)
    )
    made[id(value)] = value if same else tree._like(value, items)
    return made[id(value)]


def _parameters(module: Module) -> list[_core.Tensor]:
    found = _core._module_parameters(module)
    return list(Module.parameters(module).values()) if found is None else found


def _with_parameters(module: Module, values: list[Any]) -> Module:
    if "_begun" not in vars(module):
        _begin(module)
    new = {id(old): value for old, value in zip(_parameters(module), values, strict=True)}
    copy: Module = _replaced(module, new, {}, copying.gradients)
    return copy


# Not by the method of the module, which may be an attribute of the user's own.
tree.register(Module, Module.parameters, _with_parameters)
tree._unnamed[Module] = _parameters
# A call of a module notes the module, for what forward assigns, and calls forward, with hooks where there are some. It
# does so in C, because half of what a small layer took was this.
_core._complete_module_class(Module, _begin, _ATOMS)
