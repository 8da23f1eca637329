"""Module: a model as an object whose tensors are found by their names. Layers are in _layers.py and its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ParamSpec, Protocol, TypeVar

from . import _core, errors, tree
from ._fail import fail

__all__ = ["Buffer", "Module"]

_Self = TypeVar("_Self", bound="Module")
_P = ParamSpec("_P")
_R = TypeVar("_R", covariant=True)


class HasForward(Protocol[_P, _R]):
    """For type checkers: what has a ``forward`` of these arguments, so that calling it takes and gives the same."""

    def forward(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...


class Buffer:
    """Marks a tensor that belongs to a module's state but is not trained: ``self.mean = lento.nn.Buffer(zeros(3))``.

    ``self.mean`` is the tensor. Assigning another one of the same shape and dtype later changes its value, in every
    copy of the module that shares it.
    """

    def __init__(self, tensor: _core.Tensor) -> None:
        self.tensor = tensor


class Module:
    """What has parameters and computes something in ``forward``.

    Floating tensors that are attributes are parameters; other tensors, and those assigned as :class:`Buffer`, are
    buffers. Modules in attributes count too, also in lists, tuples and dicts.

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
    forward: Callable[..., Any]

    def __call__(self: HasForward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return self.forward(*args, **kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Buffer):
            object.__setattr__(self, "_buffers", self._buffers | {name})
            value = value.tensor
        elif name in self._buffers and isinstance(value, _core.Tensor):
            held = getattr(self, name, None)
            if value is held:
                return
            if isinstance(held, _core.Tensor) and (held.shape, held.dtype) == (value.shape, value.dtype):
                held[...] = _core.stop_gradient(value)
                return
        elif isinstance(vars(self).get(name), _core.Tensor) and not isinstance(value, _core.Tensor | None):
            raise fail(
                TypeError,
                f"{type(self).__name__}.{name} is a tensor and would be one no longer; change its values with "
                f".{name}[...] = …, or assign lento.asarray(…)",
            )
        object.__setattr__(self, name, value)

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
            if isinstance(value, _core.Tensor):
                trained = name not in self._buffers and value.dtype.kind in "fc"
                own.append((prefix + name, value, trained))
            else:
                inner.append((prefix + name, value))
        yield from sorted(own, key=lambda item: not item[2])
        for name, value in inner:
            yield from _inner_tensors(name, value, inside)

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
                first.setdefault(id(tensor), (name, tensor))
        return dict(first.values())

    def buffers(self) -> dict[str, _core.Tensor]:
        """The buffers by their dotted names."""
        return {name: tensor for name, tensor, trained in self._named_tensors() if not trained}

    def modules(self) -> Iterator[Module]:
        """This module and those inside, each once, outer ones first."""
        return modules_in(self, set())

    def train(self: _Self, mode: bool = True) -> _Self:
        """Sets ``training`` here and in all modules inside; gives the module itself."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self: _Self) -> _Self:
        """``train(False)``: dropout does nothing, batch norm uses its running statistics."""
        return self.train(False)

    def to(self: _Self, dtype: _core.DType | str) -> _Self:
        """Gives all floating parameters and buffers this dtype; gives the module itself.

        They are other tensors afterwards, so make an optimizer after it.

            >>> lento.nn.Linear(2, 2).to(lento.bfloat16).weight.dtype
            lento.bfloat16
        """
        target = _core.as_dtype(dtype)
        if target.kind not in "fc":
            raise fail(errors.DTypeError, f"{type(self).__name__}.to(): weights need a floating dtype, not {target}")
        # A complex weight stays complex: half of it would be lost.
        kinds = "fc" if target.kind == "c" else "f"
        new = {id(t): t.astype(target) for _, t, _ in self._tensors() if t.dtype.kind in kinds and t.dtype != target}
        modules = list(self.modules())
        made: dict[int, Any] = {id(module): module for module in modules}
        for module in modules:
            vars(module).update({name: _replaced(value, new, made) for name, value in vars(module).items()})
        return self

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


def load_into(
    caller: str, here: Mapping[str, _core.Tensor], state: Mapping[str, Any], strict: bool
) -> tuple[list[str], list[str]]:
    """Copies the values of ``state`` into the tensors of the same names; all is checked before anything is changed."""
    if not isinstance(state, Mapping):
        raise fail(TypeError, f"{caller}: a state is a dict of tensors by name, not {type(state).__name__}")
    missing = [name for name in here if name not in state]
    unexpected = [name for name in state if name not in here]
    problems = []
    if strict and missing:
        problems.append("missing: " + ", ".join(missing))
    if strict and unexpected:
        problems.append("not known here: " + ", ".join(map(str, unexpected)))
    values: dict[str, _core.Tensor] = {}
    for name, held in here.items():
        if name not in state:
            continue
        try:
            value = _core.asarray(state[name])
            if value.shape != held.shape:
                problems.append(f"{name} has shape {held.shape}, but the given value {value.shape}")
            elif value.dtype.kind == "c" and held.dtype.kind != "c":
                problems.append(f"{name} is {held.dtype}, but the given value {value.dtype}")
            else:
                values[name] = value if value.dtype == held.dtype else value.astype(held.dtype)
        except MemoryError:
            raise
        except Exception as error:  # asarray of anything may raise anything
            problems.append(f"{name} cannot be taken: {error}")
    if problems:
        raise fail(errors.ValueError, f"{caller}: {'; '.join(problems)}")
    for name, value in values.items():
        if value is not here[name]:
            here[name][...] = value
    return missing, unexpected


def _children(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Module):
        return list(vars(value).items())
    return [(str(key), item) for key, item in tree._named_children(value) or ()]


def modules_in(value: Any, seen: set[int]) -> Iterator[Module]:
    """All modules in a module, a tuple, list, dict or dataclass, each once, outer ones first."""
    children = _children(value)
    if id(value) in seen or not (children or isinstance(value, Module)):
        return
    seen.add(id(value))
    if isinstance(value, Module):
        yield value
    for _, child in children:
        yield from modules_in(child, seen)


def _inner_tensors(name: str, value: Any, inside: tuple[int, ...]) -> Iterator[tuple[str, _core.Tensor, bool]]:
    if isinstance(value, Module):
        yield from value._tensors(name + ".", inside)
    elif isinstance(value, _core.Tensor):
        yield name, value, value.dtype.kind in "fc"
    elif id(value) not in inside:
        inside = (*inside, id(value))
        for key, item in _children(value):
            yield from _inner_tensors(f"{name}.{key}", item, inside)


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


def _replaced(value: Any, new: Mapping[int, Any], made: dict[int, Any]) -> Any:
    """``value`` with other tensors; what holds none of them, nor modules, is shared, and so are buffers."""
    if isinstance(value, _core.Tensor):
        return new.get(id(value), value)
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
        vars(copy).update({name: _replaced(item, new, made) for name, item in children})
        # In the copy all buffers are marked: what is assigned to one there must reach the module that shares it.
        marked = {name for name, item in children if isinstance(item, _core.Tensor) and item.dtype.kind not in "fc"}
        vars(copy)["_buffers"] = value._buffers | marked
        return copy
    made[id(value)] = _BEING_MADE
    items = [_replaced(item, new, made) for _, item in children]
    # With tensors a container is the copy's own, also where they are the same: an item may be assigned to.
    same = all(
        item is old and not isinstance(item, _core.Tensor) for item, (_, old) in zip(items, children, strict=True)
    )
    made[id(value)] = value if same else tree._like(value, items)
    return made[id(value)]


def _with_parameters(module: Module, values: list[Any]) -> Module:
    new = {id(old): value for old, value in zip(module.parameters().values(), values, strict=True)}
    copy: Module = _replaced(module, new, {})
    return copy


tree.register(Module, lambda module: module.parameters(), _with_parameters)
