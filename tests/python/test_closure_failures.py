"""C4 and C5: step closures that fail."""

from __future__ import annotations

import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import lento
import pytest
from engine import REFUSED, Boom, Counts, boom, ones

pytestmark = pytest.mark.usefixtures("no_closures_left")


# --- C4 ---


def test_c4_a_synchronous_failure_leaves_step() -> None:
    ran: list[str] = []
    x = ones() + 1
    lento.add_step_closure(lambda: ran.append("first"))
    lento.add_step_closure(boom, (x,))
    for _ in range(3):
        lento.add_step_closure(lambda: ran.append("dropped"))
    counts = Counts()
    with pytest.raises(Boom, match="it went off") as caught:
        lento.step()
    assert "in boom" in "".join(traceback.format_exception(caught.value))
    assert ran == ["first"]
    assert (counts["closure.run"], counts["closure.dropped"]) == (2, 3)
    assert not x.is_pending
    assert x.tolist() == [2.0] * 3
    lento.step()
    assert ran == ["first"]


# --- C5 ---


def fail_asynchronously() -> None:
    lento.add_step_closure(boom, (ones(),), run_async=True)
    lento.step()
    lento.wait_closures()


def test_c5_an_asynchronous_failure_surfaces_on_the_next_submission() -> None:
    counts = Counts()
    fail_asynchronously()
    assert counts["closure.failed"] == 1
    lento.step()  # hands nothing over, so it says nothing
    ran: list[str] = []
    x = ones() + 1
    lento.add_step_closure(lambda: ran.append("refused"), (), run_async=True)
    lento.add_step_closure(lambda: ran.append("synchronous"))
    with pytest.raises(RuntimeError) as caught:
        lento.step()
    assert str(caught.value) == REFUSED
    assert type(caught.value) is RuntimeError
    cause = caught.value.__cause__
    assert isinstance(cause, Boom) and cause.args == ("it went off",)
    assert "in boom" in "".join(traceback.format_exception(cause))
    lento.wait_closures()
    assert ran == ["synchronous"]
    assert x.tolist() == [2.0] * 3


def test_c5_after_that_the_handler_is_clean() -> None:
    fail_asynchronously()
    lento.add_step_closure(print, ("never",), run_async=True)
    with pytest.raises(RuntimeError, match=REFUSED):
        lento.step()
    ran: list[int] = []
    for number in range(3):
        lento.add_step_closure(ran.append, (number,), run_async=True)
        lento.step()
    lento.wait_closures()
    assert ran == [0, 1, 2]


def test_c5_closures_still_queued_are_dropped_and_counted() -> None:
    ran: list[str] = []
    go = threading.Event()

    def fail_later() -> None:
        go.wait(60)
        raise Boom

    counts = Counts()
    lento.add_step_closure(fail_later, (), run_async=True)
    for _ in range(4):
        lento.add_step_closure(lambda: ran.append("dropped"), (), run_async=True)
    lento.step()
    go.set()
    lento.wait_closures()
    assert ran == []
    assert (counts["closure.failed"], counts["closure.dropped"]) == (1, 4)
    lento.add_step_closure(lambda: None, (), run_async=True)
    with pytest.raises(RuntimeError, match=REFUSED):
        lento.step()


def test_c5_the_cause_may_be_any_exception() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    lento.add_step_closure(interrupt, (), run_async=True)
    lento.step()
    lento.wait_closures()
    lento.add_step_closure(print, (), run_async=True)
    with pytest.raises(RuntimeError, match=REFUSED) as caught:
        lento.step()
    assert isinstance(caught.value.__cause__, KeyboardInterrupt)


def refusals(failed: Callable[[], None], rounds: int = 2000) -> int:
    """How often the next step raises, in rounds without a sleep or a drain; ``failed`` waits until somebody could know
    that the closure ``boom`` of this round has failed."""
    refused = 0
    for _ in range(rounds):
        lento.add_step_closure(boom, (), run_async=True)
        lento.step()
        failed()
        lento.add_step_closure(pytest.fail, ("it ran after a failure",), run_async=True)
        try:
            lento.step()
        except RuntimeError as error:
            assert str(error) == REFUSED and isinstance(error.__cause__, Boom)
            refused += 1
        else:
            break  # what is queued now is dropped, and a later round would wait for it for ever
    return refused


@pytest.fixture
def switch_interval() -> Iterator[Callable[[float], None]]:
    before = sys.getswitchinterval()
    yield sys.setswitchinterval
    sys.setswitchinterval(before)


def test_c5_the_next_submission_raises_once_the_frame_is_left(
    switch_interval: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the interpreter does in between: threads take turns as often as they can."""
    switch_interval(1e-6)
    worker: queue.SimpleQueue[int] = queue.SimpleQueue()

    def telling(*_: Any) -> None:
        worker.put(threading.get_ident())
        raise Boom

    def failed() -> None:
        ident = worker.get()
        while ident in sys._current_frames():
            time.sleep(0)  # gives the GIL to whoever waits for it

    monkeypatch.setitem(globals(), "boom", telling)
    assert refusals(failed) == 2000


def test_c5_the_next_submission_raises_once_the_closure_gives_up_the_gil(
    switch_interval: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A closure whose last act tells another thread that it fails: that thread goes on when it gets the GIL."""
    switch_interval(60)  # a thread keeps the GIL until it lets go by itself
    failing: queue.SimpleQueue[None] = queue.SimpleQueue()

    def telling(*_: Any) -> None:
        failing.put(None)
        raise Boom

    monkeypatch.setitem(globals(), "boom", telling)
    assert refusals(failing.get) == 2000
