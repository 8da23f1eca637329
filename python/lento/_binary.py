"""NumPy's methods of functions of two operands: ``lento.subtract.outer``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from . import _core
from ._core import Tensor
from ._fail import names_errors

_REDUCED = {
    "add": "lento.sum(x, axis=0)",
    "multiply": "lento.prod(x, axis=0)",
    "maximum": "lento.max(x, axis=0)",
    "minimum": "lento.min(x, axis=0)",
    "logical_and": "lento.all(x, axis=0)",
    "logical_or": "lento.any(x, axis=0)",
}
_RUNNING = {
    "add": "lento.cumsum(x, axis=0)",
    "multiply": "lento.cumprod(x, axis=0)",
    "maximum": "lento.cummax(x, axis=0).values",
    "minimum": "lento.cummin(x, axis=0).values",
}
_CHANGED = {
    "add": "x = lento.index_put(x, (i,), v, accumulate=True)",
    "subtract": "x = lento.index_put(x, (i,), -v, accumulate=True)",
}
_NUMBERS = (bool, int, float, complex)
_HINTS = {
    "reduce": (_REDUCED, "a loop over the rows, which is recorded and compiled as a whole"),
    "accumulate": (_RUNNING, "a loop over the rows, which is recorded and compiled as a whole"),
    "reduceat": ({}, "a reduction of each part, x[i:j]"),
    "at": (_CHANGED, "x = lento.scatter_reduce(x, axis, i, v, reduce), or a loop where positions occur twice"),
}


@names_errors
def outer(function: Callable[[Any, Any], Tensor], x1: Any, x2: Any) -> Tensor:
    """The function of each element of ``x1`` and each of ``x2``: the shape is that of ``x1``, then that of ``x2``."""
    axes = _core.asarray(x2).ndim
    return function(x1 if isinstance(x1, _NUMBERS) else _widened(x1, axes), x2)


def _widened(x: Any, axes: int) -> Any:
    """``x`` with axes of length 1 at the end. A list stays one: its numbers take the dtype of the other operand."""
    if isinstance(x, list | tuple | range) and len(x) > 0:
        return [_widened(item, axes) for item in x]
    if isinstance(x, _NUMBERS):
        inside: Any = x
        for _ in range(axes):
            inside = [inside]
        return inside
    x = _core.asarray(x)
    return x.reshape((*x.shape, *(1,) * axes))


def method(function: Any, name: str) -> Any:
    """What ``function.name`` is; called by the extension for what it does not have itself."""
    if name == "outer":
        return functools.partial(outer, function)
    if name not in _HINTS:
        raise AttributeError(f"lento.{function.__name__} has no attribute {name!r}", name=name, obj=function)
    known, otherwise = _HINTS[name]
    said = known.get(function.__name__, otherwise)
    raise AttributeError(f"lento.{function.__name__} has no {name!r}; write {said}", name=name, obj=function)
