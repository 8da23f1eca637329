"""vmap: a function of one example, applied to many at once. The work is done in C++ (src/autograd/vmap.cpp)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from . import _core, tree

__all__ = ["vmap"]


def _axes_of_leaves(argument: Any, axes: Any) -> list[int | None]:
    """One axis for each leaf of an argument: given for all of them, or as a tree of the same form."""
    leaves = tree.leaves(argument)
    if axes is None or isinstance(axes, int):
        return [axes if isinstance(leaf, _core.Tensor) else None for leaf in leaves]
    given = tree.leaves(axes)
    if len(given) != len(leaves):
        raise ValueError(f"vmap(): in_axes has {len(given)} axes for {len(leaves)} leaves of an argument")
    return given


def vmap(f: Callable[..., Any], in_axes: int | Sequence[Any] | None = 0, out_axes: int = 0) -> Callable[..., Any]:
    """``f``, which works on one example, for all examples along an axis of its arguments at once.

    ``in_axes`` is the axis of the examples in the arguments: one for all of them, or a sequence with one an argument;
    None for what is the same for all examples. The results get the axis ``out_axes``. ``f`` runs once, so it cannot
    read values: use ``lento.where`` instead of ``if``. Random numbers that ``f`` draws are the same for all examples.

        >>> dots = lento.vmap(lambda a, b: (a * b).sum(), in_axes=(0, None))
        >>> dots(lento.ones((3, 2)), lento.asarray([1.0, 2.0]))
        tensor([3., 3., 3.], dtype=float32)

    It composes with ``lento.grad``: gradients of each example.

        >>> lento.vmap(lento.grad(lambda x: x**2))(lento.asarray([1.0, 2.0, 3.0]))
        tensor([2., 4., 6.], dtype=float32)
    """

    @functools.wraps(f)
    def mapped(*args: Any) -> Any:
        axes = [in_axes] * len(args) if in_axes is None or isinstance(in_axes, int) else list(in_axes)
        if len(axes) != len(args):
            raise ValueError(f"vmap(): in_axes has {len(axes)} entries for {len(args)} arguments")
        leaves = tree.leaves(list(args))
        where = [axis for arg, given in zip(args, axes, strict=True) for axis in _axes_of_leaves(arg, given)]
        sizes = [leaf.shape[axis] for leaf, axis in zip(leaves, where, strict=True) if axis is not None and leaf.ndim]
        if not sizes:
            raise ValueError("vmap(): no argument has an axis of examples")
        batching = _core._Batching(sizes[0])
        try:
            entered = [
                leaf if axis is None else batching.enter(leaf, axis) for leaf, axis in zip(leaves, where, strict=True)
            ]
            result = f(*tree.unflatten(list(args), entered))
        finally:
            batching.end()
        return tree.map(lambda y: batching.leave(y, out_axes) if isinstance(y, _core.Tensor) else y, result)

    return mapped
