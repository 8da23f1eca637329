"""Step closures and their handlers.

Lento runs step closures itself. A handler that is set on the device's context does it instead:

    >>> from lento.lazy.closure import ClosureHandler
    >>> from lento.lazy.device_context import get_device_context
    >>> class Loud(ClosureHandler):
    ...     def run(self, closure):
    ...         print("closure:", end=" ")
    ...         closure()
    >>> get_device_context().closure_handler = Loud()
    >>> lento.lazy.add_step_closure(print, args=("hello",))
    >>> lento.lazy.mark_step()
    closure: hello
    >>> get_device_context().closure_handler = None
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from .. import _core
from .._closures import add_step_closure as _add_step_closure
from .._fail import fail
from .device_context import DeviceContext, get_device_context

__all__ = ["AsyncClosureHandler", "ClosureHandler", "add_step_closure", "run_step_closures"]

_IDLE_SECONDS = 3.0


def _queue_size(given: int) -> int:
    """What the environment says, else what was given."""
    for name in ("LENTO_MAX_ASYNC_QUEUE", "LTC_MAX_ASYNC_QUEUE"):
        text = os.environ.get(name)
        if text is None:
            continue
        if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text) > 0):
            raise fail(ValueError, f"{name} is '{text}'; it must be a whole number of at least 1")
        return int(text)
    if not isinstance(given, int) or isinstance(given, bool):
        raise fail(
            TypeError, f"AsyncClosureHandler(): argument 'max_queue_size' must be int, not {type(given).__name__}"
        )
    if given < 1:
        raise fail(ValueError, f"AsyncClosureHandler(): max_queue_size must be at least 1, not {given}")
    return given


class ClosureHandler:
    """Calls functions one after the other, on the thread that calls it."""

    def __init__(self) -> None:
        pass

    def run(self, closure: Callable[[], object]) -> None:
        closure()

    def __call__(self, closures: Iterable[Callable[[], object]]) -> None:
        for closure in closures:
            self.run(closure)


class AsyncClosureHandler(ClosureHandler):
    """Calls functions in order on a thread of its own, which ends after 3 seconds without work.

    At most ``max_queue_size`` wait (``LENTO_MAX_ASYNC_QUEUE`` or ``LTC_MAX_ASYNC_QUEUE`` where set); then ``run``
    blocks. When one raises, those behind it are dropped, and the next ``run`` raises ``RuntimeError`` with the original
    as its cause; after that the handler works again. What was handed over still runs when the program ends.
    """

    def __init__(self, max_queue_size: int = 100) -> None:
        super().__init__()
        self._limit = _queue_size(max_queue_size)
        self._reset()
        _handlers.add(self)

    def _reset(self) -> None:
        """Nothing is queued, nothing runs: as it is made, and in a forked child, which has no worker."""
        self._changed = threading.Condition()
        self._queue: deque[Callable[[], object]] = deque()
        self._failure: BaseException | None = None
        self._failed_worker: threading.Thread | None = None
        self._worker: threading.Thread | None = None  # None when there is none, or it is about to end
        self._busy = False

    def start_event_loop(self) -> None:
        """Starts the thread unless there is one."""
        with self._changed:
            self._start()

    def _start(self) -> None:
        if self._worker is None:
            self._worker = threading.Thread(target=self._work, name="lento closures", daemon=True)
            self._worker.start()

    def run(self, closure: Callable[[], object]) -> None:
        with self._changed:
            # A closure that submits must not wait for itself to end.
            if threading.current_thread() is not self._worker:
                self._changed.wait_for(lambda: self._failure is not None or len(self._queue) < self._limit)
            if self._failure is not None:
                # The thread that failed drops what is queued before anything new is.
                self._changed.wait_for(lambda: self._worker is not self._failed_worker)
                failure, self._failure = self._failure, None
                refused = RuntimeError("Cannot run asynchronous closure due to previously raised exception")
                raise refused from failure  # LTC's text and no more, as lento.step raises it
            self._queue.append(closure)
            self._start()
            self._changed.notify_all()

    def wait(self) -> None:
        """Returns when everything handed over so far has run, or was dropped after a failure."""
        with self._changed:
            self._changed.wait_for(lambda: not self._queue and not self._busy)

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._changed.wait_for(lambda: self._queue, _IDLE_SECONDS):
                    self._worker = None
                    return
                closure = self._queue.popleft()
                self._busy = True
                self._changed.notify_all()
            failed = False
            self._failed_worker = threading.current_thread()  # in case it does
            try:
                closure()
            except BaseException as error:  # SystemExit too: the submitter hears of everything
                # First of all, and without the lock: whoever submits after the exception has left the closure must find
                # it here.
                self._failure = error
                failed = True
            del closure  # without the lock: what it captured may call anything when it goes
            dropped: list[Callable[[], object]] = []
            with self._changed:
                if failed:
                    dropped.extend(self._queue)
                    self._queue.clear()
                    self._worker = None
                self._busy = False
                self._changed.notify_all()
            dropped.clear()  # without the lock, likewise
            if failed:
                return


_handlers: weakref.WeakSet[AsyncClosureHandler] = weakref.WeakSet()


def _forget_after_fork() -> None:
    for handler in list(_handlers):
        handler._reset()


os.register_at_fork(after_in_child=_forget_after_fork)


@atexit.register
def _finish() -> None:
    for handler in list(_handlers):
        handler.wait()


def add_step_closure(closure: Callable[..., object], args: Iterable[Any] = (), run_async: bool = False) -> None:
    """``lento.add_step_closure``: calls ``closure(*args)`` after the next step of the default device.

    Unlike in LTC, tensors in ``args`` are taken as they are now. A handler that is set on the device's context when the
    closure is added is the one that calls it.
    """
    name = "async_closure_handler" if run_async else "closure_handler"
    handler = getattr(get_device_context(), name, None)
    if handler is None:
        _add_step_closure(closure, args, run_async)
        return
    if not callable(closure):
        raise fail(TypeError, f"add_step_closure(): argument 'closure' must be callable, not {type(closure).__name__}")
    _add_step_closure(lambda *values: handler([lambda: closure(*values)]), args)


def run_step_closures() -> DeviceContext:
    """Runs the closures that wait for a step, without one. Returns the device's context, as LTC does."""
    _core.run_step_closures()
    return get_device_context()
