"""What gradients are of: a gradient of a module remembers it, so that an optimizer finds the parameters' gradients."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from . import tree


class Origin:
    """The module that another one has the gradients of. Copies of gradients are of the same module; what is read from a
    file is of none."""

    def __init__(self, module: Any = None) -> None:
        self._module = None if module is None else weakref.ref(module)

    def module(self) -> Any:
        """None when it is gone."""
        return None if self._module is None else self._module()

    def __deepcopy__(self, memo: Any) -> Origin:
        return self

    def __reduce__(self) -> tuple[type[Origin], tuple[()]]:
        return Origin, ()


def note_origins(arguments: Any, gradients: Any) -> None:
    """Notes in the modules of a tree of gradients what they are of."""
    if hasattr(type(arguments), "_origin"):
        vars(gradients)["_origin"] = Origin(arguments)
        return
    if isinstance(arguments, list | tuple | dict):
        pairs = zip(tree._named_children(arguments) or (), tree._named_children(gradients) or (), strict=True)
        for (_, argument), (_, gradient) in pairs:
            note_origins(argument, gradient)


def gradients_by_tensor(gradients: Any) -> dict[int, Any]:
    """By the ids of the parameters of the modules that they are of: all that are known."""
    found: dict[int, Any] = {}
    for module in _modules(gradients):
        origin = module._origin.module() if module._origin is not None else None
        if origin is not None:
            given = module.parameters()
            found |= {id(p): given[name] for name, p in origin.parameters().items() if name in given}
    return found


def _modules(value: Any) -> Iterator[Any]:
    if hasattr(type(value), "_origin"):
        yield value
    elif isinstance(value, list | tuple | dict):
        for _, child in tree._named_children(value) or ():
            yield from _modules(child)
