"""Step closures: functions that are called after a step, with tensors as they were when the closure was added."""

from __future__ import annotations

import atexit
import copy
from collections.abc import Callable, Iterable
from typing import Any

from . import _core


def _rebuild_tuple(old: tuple[Any, ...], items: Iterable[Any]) -> tuple[Any, ...]:
    """A tuple of the same class: named tuples and other subclasses may have constructors of any kind."""
    made = tuple.__new__(type(old), items)
    if hasattr(old, "__dict__"):
        made.__dict__.update(old.__dict__)
    return made


def _snapshot(value: Any, tensors: list[_core.Tensor], inside: tuple[int, ...] = ()) -> Any:
    """The value with every tensor in it (also in tuples, lists and dicts) as a handle of its own.

    Containers without tensors are passed on as they are: a list that a closure appends to is the caller's list.
    """
    if isinstance(value, _core.Tensor):
        tensors.append(value.__copy__())
        return tensors[-1]
    before = len(tensors)
    if id(value) in inside:
        raise ValueError("add_step_closure(): argument 'args' has a container that contains itself")
    inside = (*inside, id(value))
    if isinstance(value, (tuple, list)):
        items = [_snapshot(item, tensors, inside) for item in value]
        if len(tensors) == before:
            return value
        if isinstance(value, tuple):
            return _rebuild_tuple(value, items)
        made = copy.copy(value)
        made[:] = items
        return made
    if isinstance(value, dict):
        entries = {key: _snapshot(item, tensors, inside) for key, item in value.items()}
        if len(tensors) == before:
            return value
        result = copy.copy(value)
        for key, item in entries.items():
            result[key] = item
        return result
    return value


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
        raise TypeError(f"add_step_closure(): argument 'f' must be callable, not {type(f).__name__}")
    if isinstance(args, _core.Tensor):
        raise TypeError("add_step_closure(): argument 'args' must be a tuple; write args=(x,) for one tensor")
    tensors: list[_core.Tensor] = []
    arguments = tuple(_snapshot(item, tensors) for item in args)
    _core.add_step_closure(f, arguments, tensors, run_async, device)


# Closures that were handed over still run when the program ends.
atexit.register(_core._finish_closures)
