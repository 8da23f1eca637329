"""E1 to E3, E5 to E7, T5, T8, T9: evaluation as Python sees it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts, closed_gate, in_thread, ones, settle, state_of
from lento import _core
from on_device import not_on_another_device


@pytest.fixture(autouse=True)
def a_clean_start() -> Iterator[None]:
    lento.step()
    settle()
    yield
    _core._inject_fault("none")
    lento.options(sync="allow", max_pending_nodes=100_000, max_inflight_steps=16)


# --- E1 ---


def test_e1_step_takes_what_the_calling_thread_recorded() -> None:
    mine = ones() + 1
    theirs = in_thread(lambda: ones() + 2)
    lento.step()
    assert (mine.is_pending, theirs.is_pending) == (False, True)
    lento.step(all_threads=True)
    assert not theirs.is_pending
    assert (mine.tolist(), theirs.tolist()) == ([2.0] * 3, [3.0] * 3)


@pytest.mark.parametrize("order", [(5, 6, 7), (7, 6, 5), (6, 7, 5)])
def test_e1_step_evaluates_in_the_order_of_creation(order: tuple[int, ...]) -> None:
    """Of the failures of one step the first is told: that of the tensor that was evaluated first."""
    x = ones()
    kept = {index: lento.take(x, lento.asarray([index]), axis=0) + 1 for index in order}
    held = [kept.pop(index) for index in sorted(order)]  # in another order
    lento.step()
    with pytest.raises(IndexError, match=f"index {order[0]} is out of range"):
        lento.wait()
    del held


def test_e1_step_takes_one_device() -> None:
    here, there = ones() + 1, ones(device="faulty") + 1
    lento.step()
    assert (here.is_pending, there.is_pending) == (False, True)
    lento.step(there.device)
    assert there.tolist() == [2.0] * 3


def test_e1_step_returns_before_the_work_is_done_and_wait_after() -> None:
    with closed_gate():
        x = ones(device="gated") + 1
        lento.step("gated")
        assert state_of(x) == "running"
        _core._gate_open(1)
        lento.wait("gated")
        assert state_of(x) == "ready"


def test_e1_step_with_wait_returns_when_the_work_is_done() -> None:
    with closed_gate():
        x = ones(device="gated") + 1
        opener = threading.Thread(target=lambda: (_core._gate_wait_for_arrivals(1), _core._gate_open(1)))
        opener.start()
        lento.step("gated", wait=True)
        assert state_of(x) == "ready"
        opener.join()


def test_e1_eval_takes_just_these_on_all_their_devices() -> None:
    a, b, other = ones() + 1, ones(device="faulty") + 2, ones() + 3
    lento.eval(a, [b])
    assert (a.is_pending, b.is_pending, other.is_pending) == (False, False, True)
    assert (a.tolist(), b.tolist()) == ([2.0] * 3, [3.0] * 3)


def test_e1_eval_with_wait_returns_when_the_work_is_done() -> None:
    with closed_gate():
        x = ones(device="gated") + 1
        opener = threading.Thread(target=lambda: (_core._gate_wait_for_arrivals(1), _core._gate_open(1)))
        opener.start()
        lento.eval(x, wait=True)
        assert state_of(x) == "ready"
        opener.join()


def test_e1_wait_takes_one_device_a_list_or_none() -> None:
    for devices in (None, "null", lento.devices()[0], ["null", lento.devices()[0]], (), lento.devices()):
        lento.wait(devices)
    with pytest.raises(TypeError, match="must be Device, str or None, not int"):
        lento.wait(3)  # type: ignore[arg-type]
    with pytest.raises(lento.DeviceError, match="abacus"):
        lento.wait(["abacus"])
    with pytest.raises(TypeError, match="must be Device, str or None, not float"):
        lento.step(1.5)  # type: ignore[arg-type]


def test_e1_more_steps_than_allowed_make_step_wait() -> None:
    order: list[str] = []

    def let_both_through() -> None:
        _core._gate_wait_for_arrivals(2)
        order.append("opened")
        _core._gate_open(2)

    with closed_gate(), lento.options(max_inflight_steps=2):
        helper = threading.Thread(target=let_both_through)
        helper.start()
        kept = []
        for _ in range(3):
            kept.append(ones(device="gated") + 1)
            lento.step("gated")
        order.append("third step")
        helper.join()
    assert order == ["opened", "third step"]


# --- E2 ---


def test_e2_a_repeated_step_compiles_nothing() -> None:
    def train(rate: float) -> lento.Tensor:
        w = ones(7)
        w = w - lento.tanh(w) * rate
        lento.step()
        return w

    lento.cache.clear()
    counts = Counts()
    results = [train(0.1 * i) for i in range(5)]
    assert (counts["plan.miss"], counts["plan.hit"]) == (1, 4)
    np.testing.assert_allclose(results[4].numpy(), 1 - np.tanh(np.float32(1)) * np.float32(0.4), rtol=1e-6)


@not_on_another_device("its code and tables have other sizes")
def test_e2_tables_and_code_count_for_the_limit_of_the_cache() -> None:
    lento.cache.clear()
    length = 10_007  # a prime: its transform needs tables several times as long
    lento.eval(lento.fft.fft(lento.ones(length, dtype=lento.complex64)))
    assert lento.cache.info()["bytes"] > 32 * length
    lento.cache.clear()
    lento.eval(lento.ones(3) * 2)
    assert lento.cache.info()["bytes"] > 4096  # a page of code, and the rest


def test_e2_the_cache_tells_and_forgets() -> None:
    lento.cache.clear()
    empty = lento.cache.info()
    assert set(empty) == {"entries", "bytes", "limit", "disk_folder", "disk_bytes", "disk_limit"}
    assert (empty["entries"], empty["bytes"], empty["disk_folder"], empty["disk_bytes"]) == (0, 0, None, 0)
    assert empty["limit"] > 0
    x = ones(5) * 3 + 1
    key = lento.graph_key(x)
    assert key != 0
    lento.eval(x)
    assert lento.graph_key(x) == 0
    assert lento.cache.info()["entries"] == 1
    assert lento.cache.info()["bytes"] > 0
    (plan,) = lento.cache.plans()
    assert (plan["key"], plan["nodes"], plan["inputs"], plan["outputs"]) == (key, 2, 1, 1)
    assert plan["device"] == lento.default_device()
    assert plan["compile_seconds"] >= 0
    assert plan["planned_peak"] >= x.nbytes
    assert set(plan) >= {"kernels", "code_bytes"}
    assert not lento.cache.remove(key ^ 1)
    assert lento.cache.remove(key)
    assert lento.cache.info()["entries"] == 0
    counts = Counts()
    y = ones(5) * 3 + 1
    lento.eval(y)
    assert counts["plan.miss"] == 1


def test_e2_the_limit_evicts_at_once() -> None:
    limit = lento.cache.info()["limit"]
    lento.cache.clear()
    for count in range(1, 6):
        lento.eval(ones(count) + 1)
    counts = Counts()
    try:
        lento.cache.set_limit(1)
        assert lento.cache.info()["bytes"] <= 1 or lento.cache.info()["entries"] <= 1
        assert counts["plan.evict"] >= 4
    finally:
        lento.cache.set_limit(limit)
    assert (ones(2) + 1).tolist() == [2.0, 2.0]


def test_e2_the_key_is_of_the_structure() -> None:
    x, y = ones(4), ones(4)
    key = lento.graph_key(x + y)
    assert lento.graph_key(y + x) == key
    assert lento.graph_key(x + x) != key  # one argument twice
    assert lento.graph_key(x - y) != key
    assert lento.graph_key(ones(5) + ones(5)) != key
    assert lento.graph_key([x + y]) == key
    with pytest.raises(TypeError, match="expected tensors, not int"):
        lento.graph_key(3)


# --- E3 ---


def test_e3_values_are_kept_and_nothing_is_computed_twice() -> None:
    x = ones() * 2
    y = x + 1
    z = y * y
    lento.eval(z)
    counts = Counts()
    assert (x.tolist(), y.tolist(), z.tolist()) == ([2.0] * 3, [3.0] * 3, [9.0] * 3)
    assert (counts["plan.hit"], counts["plan.miss"], counts["sync.implicit"]) == (0, 0, 0)


def test_e3_an_evaluated_tensor_drops_its_graph() -> None:
    def live() -> int:
        return lento.memory("reference")["live"] - before

    before = lento.memory("reference")["live"]
    x = lento.asarray(np.ones(1000, np.float32), device="reference")
    y = lento.exp(x * 2) + x
    lento.eval(y, wait=True)
    assert "exp(" not in lento.dump(y)
    assert lento.graph_key(y) == 0
    assert live() == 8000  # x and y, and nothing between them
    del x
    assert live() == 4000  # y does not hold what it was computed from
    z = y + 1
    assert "exp(" not in lento.dump(z)
    del y
    lento.eval(z, wait=True)
    assert live() == 4000


def test_e3_a_loop_of_steps_keeps_nothing_it_has_computed_from() -> None:
    before = lento.memory("reference")["live"]
    for _ in range(5):  # the first is compiled, the others are recognised
        x = lento.asarray(np.ones(1000, np.float32), device="reference")
        y = lento.exp(x) + 1
        lento.step("reference", wait=True)
    del x
    assert lento.memory("reference")["live"] == before + 4000
    assert y.shape == (1000,)


# --- E5 ---


def test_e5_a_later_step_is_queued_behind_what_it_needs() -> None:
    with closed_gate():
        x = ones(device="gated")
        for _ in range(5):
            x = x + 1
            lento.step("gated")
        assert state_of(x) == "running"
        _core._gate_open(5)
        assert x.tolist() == [6.0] * 3


def test_e5_independent_steps_of_two_threads_overlap() -> None:
    results: list[Any] = []

    def work() -> None:
        x = ones(device="gated") + 1
        lento.step("gated")
        results.append(x)

    with closed_gate():
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        _core._gate_wait_for_arrivals(2)  # both are under way at once
        _core._gate_open(2)
        for thread in threads:
            thread.join()
        assert [x.tolist() for x in results] == [[2.0] * 3] * 2


# --- E6 ---


@pytest.mark.parametrize("evaluate", [lambda x: lento.step("faulty"), lento.eval, lambda x: x.numpy()])
def test_e6_a_failing_compile_changes_nothing(evaluate: Callable[[Any], Any]) -> None:
    lento.cache.clear()
    x = ones(device="faulty") + 1
    y = x * 2
    _core._inject_fault("compile")
    with pytest.raises(lento.BackendError, match="injected fault: compilation"):
        evaluate(y)
    assert x.is_pending and y.is_pending
    evaluate(y)
    assert (x.tolist(), y.tolist()) == ([2.0] * 3, [4.0] * 3)


# --- E7 ---


def test_e7_a_failure_poisons_what_depends_on_it_and_nothing_else() -> None:
    table = lento.arange(5)
    wrong = table[lento.asarray([1, 9])]
    dependent, fine = wrong + 1, table * 2
    lento.eval(dependent, fine)
    for _ in range(2):
        with pytest.raises(IndexError, match=r"9 .*test_steps\.py:\d+"):
            dependent.numpy()
    with pytest.raises(IndexError, match="9"):
        wrong.item(0)
    assert fine.tolist() == [0, 2, 4, 6, 8]
    assert state_of(dependent) == "failed"


@pytest.mark.parametrize("fault", ["launch", "completion", "allocate"])
def test_e7_wait_raises_a_failure_once_and_step_no_older_one(fault: Any) -> None:
    x = ones(device="faulty") + 1
    _core._inject_fault(fault)
    lento.eval(x)
    with pytest.raises((RuntimeError, MemoryError), match="injected fault"):
        lento.wait()
    lento.wait()
    y = ones(device="faulty") + 5
    dependent = x + 1
    lento.step("faulty")
    lento.wait()
    assert y.tolist() == [6.0] * 3
    for poisoned in (x, dependent, x):
        with pytest.raises((RuntimeError, MemoryError), match="injected fault"):
            poisoned.tolist()


def test_eval_with_wait_raises_older_failures_and_step_with_wait_does_not() -> None:
    bad = lento.arange(3)[lento.asarray([7])]
    lento.eval(bad)
    good = lento.ones(3) * 2
    lento.step(wait=True)
    with pytest.raises(IndexError, match="index 7"):
        lento.eval(lento.ones(3) * 3, wait=True)
    lento.wait()
    assert good.tolist() == [2.0] * 3
    bad = lento.arange(3)[lento.asarray([8])]
    with pytest.raises(IndexError, match="index 8"):
        lento.step(wait=True)
    lento.wait()


@pytest.mark.parametrize("show", [repr, str, "{}".format])
def test_e7_printing_a_failed_tensor_says_why(show: Callable[[Any], str]) -> None:
    x = lento.arange(3)[lento.asarray([7])]
    lento.eval(x)
    text = show(x)
    assert "<failed: " in text and "7" in text and "test_steps.py:" in text
    if show is repr:
        assert text.startswith("tensor(<failed: ") and text.endswith(">, shape=(1,), dtype=int64)")


# --- T5, T8, T9 ---


def test_t5_a_seed_never_recompiles() -> None:
    generator = lento.random.Generator(1)
    lento.cache.clear()
    counts = Counts()
    values = []
    for seed in (1, 2, 1):
        generator.seed(seed)
        x = lento.random.normal((5,), generator=generator)
        lento.step()
        values.append(x.tolist())
    assert values[0] == values[2] != values[1]
    assert (counts["plan.miss"], counts["plan.hit"]) == (1, 2)


def test_t8_step_never_computes_what_nobody_holds() -> None:
    lento.cache.clear()
    x = ones()
    kept = x + 1
    dead = lento.tanh(x) * 3
    del dead
    lento.step()
    (plan,) = lento.cache.plans()
    assert plan["nodes"] == 1
    assert kept.tolist() == [2.0] * 3


def test_t9_trimming_does_not_wait_for_the_work() -> None:
    with closed_gate(), lento.options(max_pending_nodes=100):
        counts = Counts()
        x = ones(device="gated")
        for _ in range(250):
            x = x + 1
        assert counts["graph.trimmed"] >= 2  # with the gate closed
        _core._gate_open_forever()
        assert x.tolist() == [251.0] * 3
