"""``mgrid`` and ``ogrid``: coordinates from slices, as in NumPy."""

from __future__ import annotations

from typing import Any

from ._core import Tensor
from ._fail import fail
from ._ops import arange, linspace, meshgrid, stack

__all__ = ["mgrid", "ogrid"]


def _points(name: str, part: Any) -> Tensor:
    """The coordinates of one axis: ``start:stop:step``, or ``start:stop:5j`` for five points with both ends."""
    if not isinstance(part, slice) or part.stop is None:
        raise fail(TypeError, f"{name}: each axis is a slice with an end, as in {name}[0:3, 0:1:5j], not {part!r}")
    start, step = 0 if part.start is None else part.start, 1 if part.step is None else part.step
    if isinstance(step, complex):
        return linspace(start, part.stop, int(abs(step)))
    return arange(start, part.stop, step)


class _Grid:
    """What is indexed with slices and gives the coordinates of all points of the grid that they span."""

    def __init__(self, name: str, doc: str) -> None:
        self._name = name
        self.__doc__ = doc

    def _axes(self, key: Any) -> list[Tensor]:
        return [_points(self._name, part) for part in (key if isinstance(key, tuple) else (key,))]

    def __repr__(self) -> str:
        return f"lento.{self._name}"


class _FullGrid(_Grid):
    def __getitem__(self, key: Any) -> Tensor:
        axes = self._axes(key)
        return stack(meshgrid(axes, indexing="ij")) if isinstance(key, tuple) else axes[0]


class _OpenGrid(_Grid):
    def __getitem__(self, key: Any) -> Any:
        axes = self._axes(key)
        if not isinstance(key, tuple):
            return axes[0]
        return tuple(x.reshape([-1 if i == at else 1 for i in range(len(axes))]) for at, x in enumerate(axes))


mgrid = _FullGrid(
    "mgrid",
    """The coordinates of all points of a grid, stacked along a first axis.

    >>> lento.mgrid[0:2, 0:3]
    tensor([[[0, 0, 0],
             [1, 1, 1]],
    <BLANKLINE>
            [[0, 1, 2],
             [0, 1, 2]]])
    """,
)
ogrid = _OpenGrid("ogrid", "As :data:`mgrid`, but each tensor has length 1 along the axes of the others.")
