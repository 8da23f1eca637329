"""Module: a model as an object whose tensors are found by their names. Layers are in _layers.py and its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from . import _core, errors, tree

__all__ = ["Buffer", "Module"]

_Self = TypeVar("_Self", bound="Module")


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

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
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
        object.__setattr__(self, name, value)

    # --- what is in it ---

    def _tensors(self, prefix: str = "") -> Iterator[tuple[str, _core.Tensor, bool]]:
        """Name, tensor and whether it is a parameter, of everything inside, parameters of a module first."""
        own, inner = [], []
        for name, value in vars(self).items():
            if isinstance(value, _core.Tensor):
                trained = name not in self._buffers and value.dtype.kind in "fc"
                own.append((prefix + name, value, trained))
            else:
                inner.append((prefix + name, value))
        yield from sorted(own, key=lambda item: not item[2])
        for name, value in inner:
            yield from _inner_tensors(name, value)

    def parameters(self) -> dict[str, _core.Tensor]:
        """The parameters by their dotted names, each once: a shared one by its first name."""
        first: dict[int, tuple[str, _core.Tensor]] = {}
        for name, tensor, trained in self._tensors():
            if trained:
                first.setdefault(id(tensor), (name, tensor))
        return dict(first.values())

    def buffers(self) -> dict[str, _core.Tensor]:
        """The buffers by their dotted names."""
        return {name: tensor for name, tensor, trained in self._tensors() if not trained}

    def modules(self) -> Iterator[Module]:
        """This module and those inside, each once, outer ones first."""
        seen: set[int] = set()

        def walk(value: Any) -> Iterator[Module]:
            if isinstance(value, Module):
                if id(value) in seen:
                    return
                seen.add(id(value))
                yield value
            for _, child in _children(value):
                yield from walk(child)

        return walk(self)

    def train(self: _Self, mode: bool = True) -> _Self:
        """Sets ``training`` here and in all modules inside; gives the module itself."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self: _Self) -> _Self:
        """``train(False)``: dropout does nothing, batch norm uses its running statistics."""
        return self.train(False)

    # --- state ---

    def state_dict(self) -> dict[str, _core.Tensor]:
        """Parameters and buffers by PyTorch's names, as they are now: training on does not change it.

        While it is kept, the memory of its values cannot be reused by the updates.
        """
        return {name: tensor.__copy__() for name, tensor, _ in self._tensors()}

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> tuple[list[str], list[str]]:
        """Gives parameters and buffers the values of ``state``: tensors, NumPy arrays or what else ``asarray`` takes.

        Gives the names that are missing and those that are not known. With ``strict`` either is an error, and a shape
        that differs always is; then nothing has been changed.
        """
        here = {name: tensor for name, tensor, _ in self._tensors()}
        return load_into(f"{type(self).__name__}.load_state_dict()", here, state, strict)

    # --- looks ---

    def extra_repr(self) -> str:
        """What ``repr`` shows in parentheses."""
        return ""

    def __repr__(self) -> str:
        inner = "".join(f"\n({name}): {child!r}" for name, child in _named_modules(self)).replace("\n", "\n  ")
        return f"{type(self).__name__}({self.extra_repr()}{inner}" + ("\n)" if inner else ")")


def load_into(
    caller: str, here: Mapping[str, _core.Tensor], state: Mapping[str, Any], strict: bool
) -> tuple[list[str], list[str]]:
    """Copies the values of ``state`` into the tensors of the same names; all is checked before anything is changed."""
    missing = [name for name in here if name not in state]
    unexpected = [name for name in state if name not in here]
    problems = []
    if strict and missing:
        problems.append("missing: " + ", ".join(missing))
    if strict and unexpected:
        problems.append("not known here: " + ", ".join(unexpected))
    values = {name: _core.asarray(state[name]) for name in here if name in state}
    for name, value in values.items():
        if value.shape != here[name].shape:
            problems.append(f"{name} has shape {here[name].shape}, but the given value {value.shape}")
    if problems:
        raise errors.ValueError(f"{caller}: {'; '.join(problems)}")
    for name, value in values.items():
        held = here[name]
        if value.dtype != held.dtype:
            value = value.astype(held.dtype)
        if value is not held:
            held[...] = value
    return missing, unexpected


def _children(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Module):
        return list(vars(value).items())
    if isinstance(value, (list, tuple)):
        return [(str(i), item) for i, item in enumerate(value)]
    if isinstance(value, dict):
        return [(str(key), item) for key, item in value.items()]
    return []


def _inner_tensors(name: str, value: Any) -> Iterator[tuple[str, _core.Tensor, bool]]:
    if isinstance(value, Module):
        yield from value._tensors(name + ".")
    elif isinstance(value, _core.Tensor):
        yield name, value, value.dtype.kind in "fc"
    else:
        for key, item in _children(value):
            yield from _inner_tensors(f"{name}.{key}", item)


def _named_modules(value: Any, prefix: str = "") -> Iterator[tuple[str, Module]]:
    for name, child in _children(value):
        if isinstance(child, Module):
            yield prefix + name, child
        else:
            yield from _named_modules(child, f"{prefix}{name}.")


# --- as nodes of trees: the children of a module are all parameters inside it ---


def _replaced(value: Any, new: Mapping[int, Any], made: dict[int, Any]) -> Any:
    """``value`` with other parameters; what holds none is shared, buffers always."""
    if isinstance(value, _core.Tensor):
        return new.get(id(value), value)
    if id(value) in made:
        return made[id(value)]
    if isinstance(value, Module):
        copy = object.__new__(type(value))
        made[id(value)] = copy
        vars(copy).update({name: _replaced(item, new, made) for name, item in vars(value).items()})
        return copy
    if not any(True for _ in _inner_tensors("", value)) and not any(True for _ in _named_modules(value)):
        return value
    items = [_replaced(item, new, made) for _, item in _children(value)]
    if isinstance(value, dict):
        return type(value)(zip(value, items, strict=True))
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def _with_parameters(module: Module, values: list[Any]) -> Module:
    new = {id(old): value for old, value in zip(module.parameters().values(), values, strict=True)}
    copy: Module = _replaced(module, new, {})
    return copy


tree.register(Module, lambda module: module.parameters().values(), _with_parameters)
