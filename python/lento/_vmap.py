"""vmap: a function of one example, applied to many at once. The work is done in C++ (src/autograd/vmap.cpp)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from . import _core, tree
from ._fail import fail

__all__ = ["vmap"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _spread(axes: Any, form: Any, what: str) -> list[int | None]:
    """One axis for each leaf of ``form``: an axis in ``axes`` stands for all leaves below its place."""
    if axes is None or (isinstance(axes, int) and not isinstance(axes, bool)):
        return [axes] * len(tree.leaves(form))
    if not isinstance(axes, tuple | list | dict):
        raise fail(TypeError, f"vmap(): {what} must be an int, None, or a tree of them, not {axes!r}")
    if isinstance(axes, dict):
        if not isinstance(form, dict) or axes.keys() != form.keys():
            found = [*form] if isinstance(form, dict) else f"a {type(form).__name__}"
            raise fail(ValueError, f"vmap(): {what} has the keys {[*axes]} for {found}")
        pairs = [(axes[key], form[key]) for key in form]
    else:
        if not isinstance(form, tuple | list) or len(form) != len(axes):
            found = f"{len(form)} entries" if isinstance(form, tuple | list) else f"a {type(form).__name__}"
            raise fail(ValueError, f"vmap(): {what} has {len(axes)} entries for {found}")
        pairs = list(zip(axes, form, strict=True))
    return [axis for one, two in pairs for axis in _spread(one, two, what)]


def _argument_axes(in_axes: Any, args: tuple[Any, ...]) -> list[int | None]:
    if isinstance(in_axes, tuple | list):
        if len(in_axes) != len(args):
            raise fail(ValueError, f"vmap(): in_axes has {len(in_axes)} entries for {len(args)} arguments")
        each = list(in_axes)
    else:
        each = [in_axes] * len(args)
    return [axis for arg, given in zip(args, each, strict=True) for axis in _spread(given, arg, "in_axes")]


def _leaves_and_axes(in_axes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], list[int | None]]:
    """What the function is given, and the axes of its examples."""
    leaves = tree.leaves((args, kwargs))
    if type(in_axes) is int:
        axes: list[int | None] = [in_axes] * len(leaves)
        if kwargs:
            named = len(tree.leaves(kwargs))
            axes[len(axes) - named :] = [0] * named
    else:
        axes = [*_argument_axes(in_axes, args), *[0] * len(tree.leaves(kwargs))]
    for i, leaf in enumerate(leaves):
        if not isinstance(leaf, _core.Tensor):
            leaves[i], axes[i] = _with_axis(leaf, axes[i])
    return leaves, axes


def _length(leaf: Any, axis: int) -> int:
    """How many examples an argument has; an error tells what to do instead."""
    if not -leaf.ndim <= axis < leaf.ndim:
        raise fail(
            IndexError,
            f"vmap(): an argument of shape {leaf.shape} has no axis {axis}; in_axes None is for what all examples "
            "share",
        )
    return int(leaf.shape[axis])


def _with_axis(leaf: Any, axis: int | None) -> tuple[Any, int | None]:
    """An argument that is no tensor, and the axis of its examples. An array that has one is made a tensor; numbers,
    text and the like are the same for all."""
    if axis is None:
        return leaf, axis
    return (_core.asarray(leaf), axis) if getattr(leaf, "ndim", 0) else (leaf, None)


class _Shared:
    """Tensors that are the same for all examples must stay so: a function may not store an example's value in one.

    They are arguments without an axis, and the buffers of modules: no axis names those.
    """

    def __init__(self, args: Any, leaves: list[Any], axes: list[int | None]) -> None:
        found: dict[int, _core.Tensor] = {}
        if None in axes:
            found = {
                id(leaf): leaf
                for leaf, axis in zip(leaves, axes, strict=True)
                if axis is None and isinstance(leaf, _core.Tensor)
            }
        buffers: dict[int, _core.Tensor] = {}
        if not _core._is_plain_tree(args):
            from ._module import modules_in

            buffers = {id(b): b for module in modules_in(args, set()) for b in module.buffers().values()}
        self.buffers = set(buffers)
        found |= buffers
        self.tensors = [(tensor, tensor.__copy__()) for tensor in found.values()]

    def restore(self, batching: _core._Batching) -> list[_core.Tensor]:
        """Gives those that differ between the examples now their old values, and returns them. Then buffers get theirs
        too, whatever happened to them: they belong together, as a mean and how many batches it is of."""
        changed = [leaf for leaf, _ in self.tensors if batching.depends(leaf)]
        old = {id(leaf) for leaf in changed} | (self.buffers if changed else set())
        for leaf, before in self.tensors:
            if id(leaf) in old:
                leaf[...] = before
        return changed

    def refusal(self, changed: _core.Tensor) -> Exception:
        if id(changed) in self.buffers:
            what, instead = "a module's buffer", "use eval(), or a layer without running statistics"
        else:
            what, instead = "an argument", "return it instead"
        return fail(
            ValueError,
            f"vmap(): the function changed {what} of shape {changed.shape} that all examples share to something that "
            f"differs between them; {instead}",
        )


def vmap(f: Callable[_P, _R], in_axes: Any = 0, out_axes: Any = 0, *, randomness: str = "error") -> Callable[_P, _R]:
    """``f``, which works on one example, for all examples along an axis of its arguments at once.

    ``in_axes`` is the axis of the examples in the arguments: one for all of them, or a tuple with one per argument, in
    which a tree of axes may stand for a tree of tensors; None is for what all examples share. Keyword arguments are
    mapped along their first axis. NumPy's arrays are taken as tensors. The results get the axis ``out_axes``: one for
    all, or a tree of them; None is for results that do not depend on the examples.

    ``f`` runs once, so it cannot read values: use ``lento.where`` instead of ``if``. Random numbers that it draws are
    refused unless ``randomness`` says that they are ``"same"`` for all examples or ``"different"``.

        >>> dots = lento.vmap(lambda a, b: (a * b).sum(), in_axes=(0, None))
        >>> dots(lento.ones((3, 2)), lento.asarray([1.0, 2.0]))
        tensor([3., 3., 3.], dtype=float32)

    It composes with ``lento.grad``: gradients of each example.

        >>> lento.vmap(lento.grad(lambda x: x**2))(lento.asarray([1.0, 2.0, 3.0]))
        tensor([2., 4., 6.], dtype=float32)
    """
    if randomness not in ("error", "same", "different"):
        raise fail(ValueError, f"vmap(): randomness is 'error', 'same' or 'different', not {randomness!r}")

    @functools.wraps(f)
    def mapped(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        form = (args, kwargs)
        leaves, axes = _leaves_and_axes(in_axes, args, kwargs)
        sizes = [_length(leaf, axis) for leaf, axis in zip(leaves, axes, strict=True) if axis is not None]
        if not sizes:
            raise fail(ValueError, "vmap(): no argument has an axis of examples")
        shared = _Shared(form, leaves, axes)
        batching = _core._Batching(sizes[0], randomness)
        try:
            entered = [
                leaf if axis is None else batching.enter(leaf, axis) for leaf, axis in zip(leaves, axes, strict=True)
            ]
            positional, named = tree.unflatten(form, entered)
            result = f(*positional, **named)
        except BaseException:
            batching.end()
            shared.restore(batching)
            raise
        batching.end()
        if changed := shared.restore(batching):
            raise shared.refusal(changed[0])
        if type(out_axes) is int and isinstance(result, _core.Tensor):
            return cast("_R", batching.leave(result, out_axes))
        results = tree.leaves(result)
        places = _spread(out_axes, result, "out_axes")
        left = [
            batching.leave(y, axis) if isinstance(y, _core.Tensor) else y
            for y, axis in zip(results, places, strict=True)
        ]
        made: _R = tree.unflatten(result, left)
        return made

    return mapped
