"""What gradients are of: a gradient of a module remembers it, so that an optimizer finds the parameters' gradients."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from typing import Any

from . import _core, tree


class Origin(weakref.ref[Any]):
    """The module that another one has the gradients of, or None when it is gone. Copies of gradients are of the same
    module; what is read from a file is of none."""

    __slots__ = ()

    def __deepcopy__(self, memo: Any) -> Origin:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _unknown, ()


def _unknown() -> None:
    """What stands for an origin in a file."""


class _Copying(threading.local):
    """Whether the copies of modules that this thread makes are gradients of them."""

    gradients = False


copying = _Copying()


def gradients_like(arguments: Any, gradients: Iterable[Any]) -> Any:
    """A tree like ``arguments`` with these leaves, in which modules, inner ones too, remember what they are of."""
    if _core._is_plain_tree(arguments):
        return tree.unflatten(arguments, gradients)
    copying.gradients = True
    try:
        return tree.unflatten(arguments, gradients)
    finally:
        copying.gradients = False


def gradients_by_tensor(gradients: Any) -> dict[int, Any]:
    """By the ids of the parameters of the modules that they are of: all that are known."""
    found: dict[int, Any] = {}
    if not _core._is_plain_tree(gradients):
        _gather(gradients, found, set())
    return found


def _gather(gradients: Any, found: dict[int, Any], seen: set[int]) -> None:
    if id(gradients) in seen:
        return
    seen.add(id(gradients))
    if not hasattr(type(gradients), "_origin"):
        node = tree._node(gradients)
        for inner in () if node is None else node[0]:
            _gather(inner, found, seen)
        return
    origin = gradients._origin() if gradients._origin is not None else None
    if origin is not None:
        given = gradients.parameters()
        found |= {id(p): given[name] for name, p in origin.parameters().items() if name in given}
        return
    for inner in vars(gradients).values():  # of a module that is gone, as lento.checkpoint(model) may be
        _gather(inner, found, seen)
