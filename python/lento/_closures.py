"""Step closures: functions that are called after a step, with tensors as they were when the closure was added."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterable
from typing import Any

from . import _core, tree
from ._fail import fail


def _snapshot(value: Any, tensors: list[_core.Tensor], inside: tuple[int, ...] = ()) -> Any:
    """The value with every tensor in it (also in tuples, lists and dicts) as a handle of its own.

    Containers without tensors are passed on as they are: a list that a closure appends to is the caller's list.
    """
    if isinstance(value, _core.Tensor):
        tensors.append(value.__copy__())
        return tensors[-1]
    if not isinstance(value, tuple | list | dict):
        return value
    if id(value) in inside:
        raise fail(ValueError, "add_step_closure(): argument 'args' has a container that contains itself")
    inside = (*inside, id(value))
    before = len(tensors)
    items = [_snapshot(item, tensors, inside) for _, item in tree._named_children(value) or ()]
    return value if len(tensors) == before else tree._like(value, items)


def add_step_closure(
    f: Callable[..., object],
    args: Iterable[Any] = (),
    run_async: bool = False,
    device: _core.Device | str | None = None,
) -> None:
    """Call ``f(*args)`` after the device's next step.

    Tensors in ``args``, also nested in tuples, lists and dicts, are taken as they are now and computed by that step;
    tensors that ``f`` captures are not. Synchronous closures run in the order added before ``step`` returns.
    Asynchronous ones run in order on a worker thread, so that the loop goes on; when one raises, the next step that has
    asynchronous closures raises ``RuntimeError`` with the original exception as its cause.

        >>> loss = lento.ones((4,)).sum()
        >>> lento.add_step_closure(lambda value: print(f"loss {float(value)}"), args=(loss,))
        >>> lento.step()
        loss 4.0
    """
    if not callable(f):
        raise fail(TypeError, f"add_step_closure(): argument 'f' must be callable, not {type(f).__name__}")
    if isinstance(args, _core.Tensor):
        raise fail(TypeError, "add_step_closure(): argument 'args' must be a tuple; write args=(x,) for one tensor")
    tensors: list[_core.Tensor] = []
    arguments = tuple(_snapshot(item, tensors) for item in args)
    _core.add_step_closure(f, arguments, tensors, run_async, device)


# Closures that were handed over still run when the program ends.
atexit.register(_core._finish_closures)
