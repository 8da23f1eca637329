"""checkpoint: a function or a module without the memory of its derivative. The work is done in C++ (src/autograd)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, Generic, ParamSpec, TypeVar, overload

from . import _core, tree
from ._core import Tensor
from ._module import HasForward, Module

__all__ = ["checkpoint"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


@overload
def checkpoint(f: HasForward[_P, _R]) -> _Checkpointed[_P, _R]: ...
@overload
def checkpoint(f: Callable[_P, _R]) -> Callable[_P, _R]: ...
def checkpoint(f: Any) -> Any:
    """``f``, a function or a module, without the memory of its derivative: what that needs is computed again on the way
    back, with the same random numbers. Tensors that it changes in place, such as running statistics, are changed once;
    its arguments are names of its own for their values, so that changing one changes nothing outside.

    Of a module it is a module with the same tensors under the same names, which may stand in its place.

    >>> block = lento.checkpoint(lambda x: lento.tanh(lento.tanh(x)))
    >>> lento.grad(lambda x: block(x).sum())(lento.zeros(2))
    tensor([1., 1.], dtype=float32)
    >>> list(lento.nn.Sequential(lento.checkpoint(lento.nn.Linear(2, 3))).parameters())
    ['0.weight', '0.bias']
    """
    if isinstance(f, Module):
        return _Checkpointed(f)

    def recomputed(*args: Any, **kwargs: Any) -> Any:
        return _recomputed(f, *args, **kwargs)

    return functools.update_wrapper(recomputed, f, updated=())


class _Checkpointed(Module, Generic[_P, _R]):
    """A module that is computed again on the way back; its tensors have the names they have without it."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def forward(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        result: _R = _recomputed(self.module, *args, **kwargs)
        return result

    def _tensors(self, prefix: str = "", inside: tuple[int, ...] = ()) -> Iterator[tuple[str, Tensor, bool]]:
        return self.module._tensors(prefix, inside)


def _recomputed(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    called = [f, args, kwargs]  # a module is a tree too: its parameters are inputs
    leaves = tree.leaves(called)
    where = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    shape: Any = None  # of the result, until it is made
    before: _Changes | None = None  # what the first call changes in place, as it was then

    def run(inputs: list[Tensor]) -> tuple[Any, list[Tensor]]:
        values = list(leaves)
        for i, tensor in zip(where, inputs, strict=True):
            values[i] = tensor
        inputs.clear()
        function, arguments, named = tree.unflatten(called, values)
        result = function(*arguments, **named)
        # Handles of their own: a result that the function has changed is not one that somebody else holds.
        outputs = [leaf.__copy__() if isinstance(leaf, Tensor) else leaf for leaf in tree.leaves(result)]
        return tree.unflatten(result, outputs), outputs

    def flat(inputs: list[Tensor]) -> list[Tensor]:
        nonlocal shape, before
        if before is None:
            first = _Changes()
            with first:
                shape, outputs = run(inputs)
            before = first
            return outputs
        again = _Changes()
        try:
            with again:
                before.undo()
                return run(inputs)[1]
        finally:
            again.undo()

    outputs = _core._checkpoint(flat, [leaves[i] for i in where])
    result, shape = tree.unflatten(shape, outputs), None
    return result


class _Changes:
    """Notes which tensors are changed in place meanwhile: buffers of modules, or whatever a function has captured.
    Those that nobody holds any more at the end are forgotten."""

    def __init__(self) -> None:
        self.notes: dict[int, tuple[Tensor, Tensor]] = {}  # each tensor with its value before

    def __enter__(self) -> None:
        _core._begin_notes_of_changes(self.notes)

    def __exit__(self, *error: object) -> None:
        _core._end_notes_of_changes()

    def undo(self) -> None:
        for tensor, value in self.notes.values():
            _core._rebind(tensor, value)
