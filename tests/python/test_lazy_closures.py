"""lento.lazy: the handlers of closures under LTC's names."""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import lento
import pytest
from engine import Counts, check_program
from lento import lazy
from lento.lazy.closure import AsyncClosureHandler, ClosureHandler
from lento.lazy.device_context import DeviceContext, get_device_context


@pytest.fixture
def context() -> Iterator[DeviceContext]:
    found = get_device_context()
    yield found
    found.closure_handler = found.async_closure_handler = None


def test_a_device_has_one_context(context: DeviceContext) -> None:
    assert isinstance(context, DeviceContext)
    assert context.device == "cpu:0"
    for name in (None, "", "lazy", "lazy:0", "cpu", "cpu:0", lento.Device("cpu")):
        assert get_device_context(name) is context
    assert get_device_context("reference") is get_device_context("reference:0") is not context
    with pytest.raises(lento.DeviceError):
        get_device_context("abacus")
    assert lazy.run_step_closures() is context


def test_a_handler_on_the_context_runs_the_closures(context: DeviceContext) -> None:
    seen: list[Any] = []

    class Noting(ClosureHandler):
        def run(self, closure: Callable[[], object]) -> None:
            seen.append("handler")
            closure()

    context.closure_handler = Noting()
    x = lento.ones((3,)) + 1
    lazy.add_step_closure(lambda y, word: seen.append((float(y), word)), (x.sum(), "a"))
    x += 1  # the closure has the value as it was
    counts = Counts()
    lazy.mark_step()
    assert seen == ["handler", (6.0, "a")]
    assert counts["sync.implicit"] == 0
    context.closure_handler = None
    lazy.add_step_closure(seen.append, (1,))
    lazy.mark_step()
    assert seen[2:] == [1]
    context.closure_handler = Noting()
    with pytest.raises(TypeError, match="must be callable, not int"):
        lazy.add_step_closure(3)  # type: ignore[arg-type]


def test_an_asynchronous_handler_on_the_context_runs_the_closures(context: DeviceContext) -> None:
    context.async_closure_handler = AsyncClosureHandler(2)
    seen: list[Any] = []
    for n in range(10):
        lazy.add_step_closure(
            lambda y, n: seen.append((n, float(y), threading.current_thread().name)),
            (lento.ones((2,)).sum() + n, n),
            run_async=True,
        )
        lazy.mark_step()
    context.async_closure_handler.wait()
    assert seen == [(n, 2.0 + n, "lento closures") for n in range(10)]


def test_handlers_run_closures_in_order() -> None:
    seen: list[int] = []
    ClosureHandler()([lambda: seen.append(1), lambda: seen.append(2)])
    assert seen == [1, 2]
    handler = AsyncClosureHandler()
    handler([lambda n=n: seen.append(n) for n in range(3, 50)])  # type: ignore[misc]
    handler.wait()
    assert seen == list(range(1, 50))


def is_inside(thread: int, function: Any) -> bool:
    """Whether the thread has a frame of the function."""
    frame = sys._current_frames().get(thread)
    while frame is not None and frame.f_code is not function.__code__:
        frame = frame.f_back
    return frame is not None


def test_c5_a_failed_closure_is_raised_by_the_next_run_always() -> None:
    before = sys.getswitchinterval()
    handler = AsyncClosureHandler()
    ran: list[str] = []
    worker: queue.SimpleQueue[int] = queue.SimpleQueue()

    def fail() -> None:
        worker.put(threading.get_ident())
        raise KeyError("closure")

    try:
        sys.setswitchinterval(1e-6)  # threads take turns as often as they can
        failing_rounds(handler, fail, worker, ran)
    finally:
        sys.setswitchinterval(before)
    assert ran == ["next"] * 300


def failing_rounds(handler: AsyncClosureHandler, fail: Any, worker: queue.SimpleQueue[int], ran: list[str]) -> None:
    for _ in range(300):
        handler.run(fail)
        thread = worker.get()
        while is_inside(thread, fail):
            time.sleep(0)  # gives the GIL to whoever waits for it
        with pytest.raises(RuntimeError, match="due to previously raised exception") as caught:
            handler.run(lambda: ran.append("the one that raised"))
        assert isinstance(caught.value.__cause__, KeyError)
        handler.run(lambda: ran.append("next"))  # clean again
        handler.wait()


def test_a_forked_child_has_handlers_without_work() -> None:
    check_program(
        """
        import os, threading
        from lento.lazy.closure import AsyncClosureHandler
        handler = AsyncClosureHandler()
        started, go = threading.Event(), threading.Event()
        handler.run(lambda: (started.set(), go.wait()))
        started.wait()
        child = os.fork()
        if child == 0:
            handler.run(lambda: print("in the child", flush=True))
            handler.wait()
        else:
            assert os.waitpid(child, 0)[1] == 0
            go.set()
            handler.wait()
            print("in the parent")
        """,
        "in the child\nin the parent\n",
    )


def test_c5_what_waits_behind_a_failure_is_dropped() -> None:
    handler = AsyncClosureHandler()
    start, ran = threading.Event(), []

    def fail() -> None:
        start.wait()
        raise KeyError("closure")

    handler.run(fail)
    handler.run(lambda: ran.append(1))
    start.set()
    handler.wait()
    assert ran == []
    with pytest.raises(RuntimeError):
        handler.run(lambda: ran.append(2))


def test_c3_a_full_queue_blocks_and_a_failure_wakes_the_blocked() -> None:
    handler = AsyncClosureHandler(1)
    start = threading.Event()
    raised: list[BaseException | None] = []

    def fail() -> None:
        start.wait()
        raise KeyError("closure")

    def submit() -> None:
        try:
            handler.run(lambda: None)
        except RuntimeError as error:
            raised.append(error.__cause__)

    handler.run(fail)
    while not handler._busy:
        pass
    handler.run(lambda: None)  # the queue is full
    submitter = threading.Thread(target=submit)
    submitter.start()
    while not handler._changed._waiters:  # type: ignore[attr-defined]
        pass
    assert raised == []
    start.set()
    submitter.join()
    assert [type(error) for error in raised] == [KeyError]


@pytest.mark.parametrize(("size", "error"), [(0, ValueError), (-1, ValueError), (1.5, TypeError), (True, TypeError)])
def test_the_size_of_a_queue_is_checked(size: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="max_queue_size"):
        AsyncClosureHandler(size)


def test_what_was_handed_over_runs_before_the_program_ends() -> None:
    check_program(
        """
        import time
        from lento.lazy.closure import AsyncClosureHandler
        handler = AsyncClosureHandler()
        handler([lambda n=n: print(n, flush=True) for n in range(3)])
        """,
        "0\n1\n2\n",
    )
