"""C1 to C3 and C6: step closures. Failures are in test_closure_failures.py, the environment in test_processes.py."""

from __future__ import annotations

import collections
import os
import threading
import weakref
from typing import Any, NamedTuple

import lento
import pytest
from engine import REFUSED, Boom, Counts, boom, closed_gate, in_thread, ones
from lento import _core

pytestmark = pytest.mark.usefixtures("no_closures_left")


# --- C1 ---


def test_c1_a_closure_runs_once_after_the_next_step() -> None:
    calls: list[tuple[Any, ...]] = []
    lento.add_step_closure(lambda *args: calls.append(args), (1, "two"))
    lento.add_step_closure(lambda: calls.append(()))
    assert calls == []
    lento.step()
    assert calls == [(1, "two"), ()]
    lento.step()
    assert len(calls) == 2


def test_c1_tensors_are_snapshotted_when_added() -> None:
    seen: list[Any] = []

    def look(x: Any, nested: Any, by_name: Any) -> None:
        seen.extend([x.tolist(), nested[0].tolist(), nested[1][0].tolist(), by_name["key"][1].tolist()])

    x = ones()
    arguments = (x, (x, [x]), {"key": [0, x]})
    lento.add_step_closure(look, arguments)
    x += 1
    arguments[2]["key"][1] = None
    lento.step()
    assert seen == [[1.0] * 3] * 4
    assert x.tolist() == [2.0] * 3


class Pair(NamedTuple):
    first: Any
    second: Any


class Tagged(tuple[Any, ...]):
    tag: str

    def __new__(cls) -> Tagged:
        raise AssertionError("snapshots must not call constructors")


class Named(list[Any]):
    name = ""


def test_c1_containers_keep_their_types() -> None:
    x = ones()
    tagged = tuple.__new__(Tagged, (x,))
    tagged.tag = "mine"
    named = Named([x])
    named.name = "yours"
    ordered = collections.OrderedDict(b=x, a=2)
    defaults: Any = collections.defaultdict(int, {"x": x})
    seen: list[Any] = []
    lento.add_step_closure(lambda *args: seen.extend(args), (Pair(x, 1), tagged, named, ordered, defaults))
    x += 1
    lento.step()
    pair, tagged_copy, named_copy, ordered_copy, defaults_copy = seen
    assert type(pair) is Pair and pair.first.tolist() == [1, 1, 1] and pair.second == 1
    assert type(tagged_copy) is Tagged and tagged_copy.tag == "mine" and tagged_copy[0].tolist() == [1, 1, 1]
    assert type(named_copy) is Named and named_copy.name == "yours" and named_copy[0].tolist() == [1, 1, 1]
    assert type(ordered_copy) is collections.OrderedDict and list(ordered_copy) == ["b", "a"]
    assert ordered_copy["b"].tolist() == [1, 1, 1]
    assert type(defaults_copy) is collections.defaultdict and defaults_copy["missing"] == 0
    assert "missing" not in defaults
    assert ordered["b"] is x and defaults["x"] is x and named[0] is x


def test_c1_containers_without_tensors_are_the_callers() -> None:
    log: list[float] = []
    lento.add_step_closure(lambda out, x: out.append(float(x.sum())), (log, ones() * 2))
    lento.step()
    assert log == [6.0]


def test_c1_tensors_in_args_are_roots_of_the_step() -> None:
    pending: list[bool] = []
    lento.add_step_closure(lambda x, y: pending.extend([x.is_pending, y[0].is_pending]), (ones() + 1, [ones() + 2]))
    lento.step()
    assert pending == [False, False]


def test_c1_arguments_of_another_thread_are_roots_too() -> None:
    x = in_thread(lambda: ones() + 1)
    seen: list[Any] = []
    lento.add_step_closure(lambda y: seen.append((y.is_pending, y.tolist())), (x,))
    lento.step()
    assert seen == [(False, [2.0] * 3)]


def test_c1_captured_variables_are_not_roots() -> None:
    captured = in_thread(lambda: ones() + 1)  # not the stepping thread's, so that only a root would be computed
    pending: list[bool] = []
    lento.add_step_closure(lambda: pending.append(captured.is_pending))
    lento.step()
    assert pending == [True]
    assert captured.tolist() == [2.0] * 3


def test_c1_wrong_calls_are_refused_at_once() -> None:
    with pytest.raises(TypeError, match="'f' must be callable, not int"):
        lento.add_step_closure(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"args=\(x,\)"):
        lento.add_step_closure(print, ones())
    with pytest.raises(TypeError, match="'device' must be Device, str or None, not int"):
        lento.add_step_closure(print, (), device=1)  # type: ignore[arg-type]
    with pytest.raises(lento.DeviceError, match="abacus"):
        lento.add_step_closure(print, (), device="abacus")
    calls: list[int] = []
    lento.add_step_closure(lambda: calls.append(1))
    lento.step()
    assert calls == [1]


# --- C2 ---


def test_c2_synchronous_closures_run_in_order_on_the_stepping_thread() -> None:
    ran: list[tuple[int, int]] = []
    for number in range(5):
        lento.add_step_closure(lambda n: ran.append((n, threading.get_ident())), (number,))
    lento.step()
    assert ran == [(number, threading.get_ident()) for number in range(5)]


def test_c2_what_a_closure_calls_has_its_own_function_and_line() -> None:
    made = []

    def good(x: lento.Tensor) -> None:
        made.append(lento.exp(x))

    def bad(x: lento.Tensor) -> None:
        x @ x

    lento.add_step_closure(good, args=(lento.ones((2, 3)),))
    lento.step()
    assert f"test_closures.py:{good.__code__.co_firstlineno + 1}" in lento.dump(made[0])
    lento.add_step_closure(bad, args=(made[0],))
    with pytest.raises(ValueError, match=rf"^matmul: .*test_closures\.py:{bad.__code__.co_firstlineno + 1}$"):
        lento.step()


def test_c2_step_does_not_wait_for_the_work() -> None:
    ran: list[bool] = []
    with closed_gate():
        x = ones(device="gated") + 1
        lento.add_step_closure(lambda y: ran.append(y.is_pending), (x,), device="gated")
        lento.step("gated")
        assert ran == [False]  # the gate is closed: the work is launched and not done
        _core._gate_open(1)
        assert x.tolist() == [2.0] * 3


def test_c2_a_closure_that_reads_waits_and_is_no_sync() -> None:
    seen: list[Any] = []
    with closed_gate(), lento.options(sync="error"):
        x = ones(device="gated") + 1
        lento.add_step_closure(lambda y: seen.append(y.tolist()), (x,), device="gated")
        counts = Counts()
        opener = threading.Thread(target=lambda: (_core._gate_wait_for_arrivals(1), _core._gate_open(1)))
        opener.start()
        lento.step("gated")
        opener.join()
    assert seen == [[2.0] * 3]
    assert (counts["sync.implicit"], counts["sync.wait"]) == (0, 0)


def test_c2_asynchronous_closures_are_handed_over_before_synchronous_ones_run() -> None:
    started = threading.Event()
    lento.add_step_closure(lambda: started.wait(60), ())  # waits for the one that was added after it
    lento.add_step_closure(started.set, (), run_async=True)
    lento.step()
    assert started.is_set()


def test_c2_a_closure_added_by_a_closure_runs_after_the_next_step() -> None:
    order: list[str] = []

    def outer() -> None:
        order.append("outer")
        lento.add_step_closure(lambda: order.append("inner"))

    lento.add_step_closure(outer)
    lento.step()
    assert order == ["outer"]
    lento.step()
    assert order == ["outer", "inner"]


def test_c2_a_step_inside_a_closure_leaves_the_outer_ones_alone() -> None:
    order: list[str] = []

    def stepping() -> None:
        order.append("before")
        lento.add_step_closure(lambda: order.append("inner"))
        lento.step()
        order.append("after")

    lento.add_step_closure(stepping)
    lento.add_step_closure(lambda: order.append("remaining"))
    lento.step()
    assert order == ["before", "inner", "after", "remaining"]


# --- C3 ---


def test_c3_asynchronous_closures_run_in_order_on_one_worker() -> None:
    ran: list[tuple[int, int]] = []
    for step in range(10):
        for part in range(5):
            number = 5 * step + part
            lento.add_step_closure(lambda n: ran.append((n, threading.get_ident())), (number,), run_async=True)
        lento.step()
    lento.wait_closures()
    assert [number for number, _ in ran] == list(range(50))
    (worker,) = {thread for _, thread in ran}
    assert worker != threading.get_ident()


def test_c3_the_loop_goes_on_while_a_closure_runs() -> None:
    release = threading.Event()
    seen: list[float] = []

    def slow(x: Any) -> None:
        release.wait(60)
        seen.append(float(x.sum()))

    x = ones()
    for _ in range(3):
        x = x * 2
        lento.add_step_closure(slow, (x,), run_async=True)
        lento.step()
    assert seen == []
    release.set()
    lento.wait_closures()
    assert seen == [6.0, 12.0, 24.0]


def test_c3_the_worker_ends_without_work_and_starts_again() -> None:
    ran: list[str] = []
    _core._set_closure_idle_time(0)
    try:
        for name in ("first", "second"):
            lento.add_step_closure(ran.append, (name,), run_async=True)
            lento.step()
            lento.wait_closures()
            while _core._closure_workers() != 0:
                os.sched_yield()
    finally:
        _core._set_closure_idle_time(3000)
    assert ran == ["first", "second"]


def test_c3_wait_closures_with_nothing_to_wait_for_returns() -> None:
    lento.wait_closures()
    lento.wait_closures()


# --- C6 ---


def test_c6_asynchronous_closures_may_read_add_and_step() -> None:
    seen: list[Any] = []

    def worker(x: Any) -> None:
        y = x * 2
        lento.add_step_closure(lambda z: seen.append(z.tolist()), (y,))
        lento.step()
        seen.append(float(x.sum()))

    lento.add_step_closure(worker, (ones(),), run_async=True)
    lento.step()
    lento.wait_closures()
    assert seen == [[2.0] * 3, 3.0]


def test_c6_devices_have_separate_queues() -> None:
    ran: list[str] = []
    lento.add_step_closure(lambda: ran.append("null"), (), device="null")
    lento.add_step_closure(lambda: ran.append("default"))
    lento.step()
    assert ran == ["default"]
    lento.step("null")
    assert ran == ["default", "null"]


def test_c6_a_failure_on_one_device_does_not_stop_another() -> None:
    lento.add_step_closure(boom, (), run_async=True, device="null")
    lento.step("null")
    lento.wait_closures()
    ran: list[str] = []
    lento.add_step_closure(lambda: ran.append("default"), (), run_async=True)
    lento.step()
    lento.wait_closures()
    assert ran == ["default"]
    lento.add_step_closure(boom, (), run_async=True, device="null")
    with pytest.raises(RuntimeError, match=REFUSED):
        lento.step("null")


def test_c6_a_step_that_fails_before_launch_keeps_the_closures() -> None:
    ran: list[Any] = []
    x = ones(device="faulty") + 1
    lento.add_step_closure(lambda y: ran.append(y.tolist()), (x,), device="faulty")
    lento.add_step_closure(lambda: ran.append("async"), (), run_async=True, device="faulty")
    lento.cache.clear()
    _core._inject_fault("compile")
    with pytest.raises(RuntimeError, match="injected fault: compilation"):
        lento.step("faulty")
    assert ran == []
    assert x.is_pending
    lento.step("faulty")
    lento.wait_closures()
    assert sorted(ran, key=str) == [[2.0] * 3, "async"]


def test_c6_run_step_closures_runs_them_without_a_step() -> None:
    ran: list[str] = []
    lento.add_step_closure(lambda: ran.append("now"))
    counts = Counts()
    lento.run_step_closures()
    assert ran == ["now"]
    assert counts["step"] == 0
    lento.step()
    assert ran == ["now"]


def test_closures_and_their_arguments_are_let_go() -> None:
    class Holder:
        pass

    holders = [Holder() for _ in range(4)]
    references = [weakref.ref(holder) for holder in holders]
    lento.add_step_closure(lambda *_: None, (holders[0],))
    lento.add_step_closure(lambda *_: None, (holders[1],), run_async=True)
    lento.step()
    lento.add_step_closure(boom, (holders[2],))
    lento.add_step_closure(print, (holders[3],))
    with pytest.raises(Boom):
        lento.step()
    lento.wait_closures()
    holders.clear()
    assert [reference() for reference in references] == [None] * 4
