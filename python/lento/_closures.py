"""Step closures: functions that are called after a step, with tensors as they were when the closure was added."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from typing import Any

from . import _core


def _snapshot(value: Any, tensors: list[_core.Tensor]) -> Any:
    """The same value with every tensor in it (also in tuples, lists and dicts) as a handle of its own."""
    if isinstance(value, _core.Tensor):
        copy = value.__copy__()
        tensors.append(copy)
        return copy
    if type(value) in (tuple, list):
        return type(value)(_snapshot(item, tensors) for item in value)
    if type(value) is dict:
        return {key: _snapshot(item, tensors) for key, item in value.items()}
    return value


def add_step_closure(
    closure: Callable[..., object],
    args: tuple[Any, ...] = (),
    run_async: bool = False,
    device: _core.Device | str | None = None,
) -> None:
    """Call ``closure(*args)`` after the device's next step.

    Tensors in ``args``, also nested in tuples, lists and dicts, are taken as they are now and computed by that step.
    Synchronous closures run before ``step`` returns; asynchronous ones run in order on a worker thread, so that the loop
    goes on. An asynchronous closure that raises makes the next step that has asynchronous closures raise ``RuntimeError``
    with the original exception as its cause.
    """
    if not callable(closure):
        raise TypeError(f"add_step_closure(): argument 'closure' must be callable, not {type(closure).__name__}")
    tensors: list[_core.Tensor] = []
    _core.add_step_closure(closure, tuple(_snapshot(item, tensors) for item in args), tensors, run_async, device)


atexit.register(_core.wait_closures)
