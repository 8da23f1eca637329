"""M1, M2 and E9: counters, timings, dumps, memory, live tensors."""

from __future__ import annotations

import copy
import gc
import json
import re
import threading
from collections.abc import Iterator
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts, closed_gate, counter, in_thread, ones, state_of


@pytest.fixture(autouse=True)
def a_clean_start() -> Iterator[None]:
    lento.step()
    lento.cache.clear()
    lento.explain()
    yield
    lento.set_memory_limit(0)


# --- M1 ---


def test_m1_ops_and_steps_are_counted_exactly() -> None:
    x = ones()
    counts = Counts()
    y = x
    for _ in range(7):
        y = y + x
    z = lento.tanh(y)
    lento.step()
    lento.step()
    assert counts["op.add"] == 7
    assert counts["op.tanh"] == 1
    assert counts["step"] == 2
    assert counts["tensor.created"] == 8
    assert counts["tensor.destroyed"] == 6
    del y, z
    assert counts["tensor.destroyed"] == 8


def test_m1_plans_are_counted_exactly() -> None:
    counts = Counts()
    for shape in (3, 3, 4, 3):
        x = ones(shape) * 2
        lento.step()
        del x
    assert counts["plan.hit"] == 2
    assert counts["plan.miss"] + counts["plan.rebind"] == 2
    assert counts["plan.evict"] == 0


def test_m1_syncs_are_counted_exactly() -> None:
    counts = Counts()
    x = ones() * 2
    x.numpy()
    x.numpy()  # it has its value
    float(x.sum())
    lento.step()
    assert counts["sync.implicit"] == 2
    assert counts["sync.wait"] == 0


def test_m1_transfers_and_donations_are_counted_exactly() -> None:
    counts = Counts()
    x = lento.asarray(np.ones(1000, np.float32))
    lento.asarray([1.0, 2.0])
    assert counts["transfer.h2d"] == 2
    x[0:2] = 5.0
    lento.step(wait=True)
    assert counts["donation"] == 1
    y = copy.copy(x)
    x[0:2] = 6.0  # the old value has another holder
    lento.step(wait=True)
    assert counts["donation"] == 1
    assert (y.tolist()[:3], x.tolist()[:3]) == ([5.0, 5.0, 1.0], [6.0, 6.0, 1.0])


def test_m1_trimming_is_counted() -> None:
    counts = Counts()
    with lento.options(max_pending_nodes=100):
        x = ones()
        for _ in range(60):
            x = x + 1
        assert counts["graph.trimmed"] == 0
        for _ in range(60):
            x = x + 1
        assert counts["graph.trimmed"] == 1


def test_m1_closures_are_counted_exactly() -> None:
    def fail() -> None:
        raise KeyError

    counts = Counts()
    lento.add_step_closure(lambda: None)
    lento.add_step_closure(lambda: None, (), run_async=True)
    lento.step()
    lento.wait_closures()
    assert (counts["closure.run"], counts["closure.failed"], counts["closure.dropped"]) == (2, 0, 0)
    lento.add_step_closure(fail)
    lento.add_step_closure(lambda: None)
    with pytest.raises(KeyError):
        lento.step()
    assert (counts["closure.run"], counts["closure.dropped"]) == (3, 1)


def test_m1_counts_of_all_threads_are_added() -> None:
    counts = Counts()
    for _ in range(3):
        in_thread(lambda: ones() + 1)
    assert counts["op.add"] == 3


def test_m1_counters_are_a_dict_of_what_is_not_zero() -> None:
    ones() + 1
    everything = lento.metrics.counters()
    assert everything["op.add"] == counter("op.add")
    assert all(value > 0 for value in everything.values())
    assert counter("never.counted") == 0
    assert "never.counted" not in lento.metrics.counters()


TIMING_KEYS = {"count", "total_seconds", "median_seconds", "p90_seconds", "p99_seconds", "max_seconds"}


def test_m1_timings_count_and_add_up() -> None:
    before = lento.metrics.timings()

    def grown(name: str) -> int:
        return int(lento.metrics.timing(name)["count"]) - int(before.get(name, {"count": 0})["count"])

    x = lento.asarray(np.ones(100, np.float32)) * 2
    lento.add_step_closure(lambda: None)
    lento.step(wait=True)
    y = x + 1
    y.numpy()
    assert grown("step") == 1
    assert grown("plan.compile") == 2
    assert grown("run") == 2
    assert grown("closure") == 1
    assert grown("transfer.h2d") == 1
    for name, timing in lento.metrics.timings().items():
        assert set(timing) == TIMING_KEYS
        assert timing["count"] > 0, name
        assert 0 <= timing["median_seconds"] <= timing["p90_seconds"] <= timing["p99_seconds"] <= timing["max_seconds"]
        assert timing["total_seconds"] >= timing["max_seconds"] > 0, name
        assert lento.metrics.timing(name)["count"] == timing["count"]


def test_m1_a_timing_that_never_happened_is_zero() -> None:
    assert lento.metrics.timing("never.timed") == dict.fromkeys(TIMING_KEYS, 0)
    assert "never.timed" not in lento.metrics.timings()


def test_m1_the_report_has_every_counter_and_timing() -> None:
    x = ones() + 1
    lento.step(wait=True)
    x.numpy()
    report = lento.metrics.report()
    for name, value in lento.metrics.counters().items():
        assert re.search(rf"^\s*{re.escape(name)}\s.*\b{value}\b", report.replace(",", ""), re.MULTILINE), name
    for name in lento.metrics.timings():
        assert name in report


def test_m1_reset_sets_everything_to_zero() -> None:
    x = ones() + 1
    lento.step()
    lento.metrics.reset()
    assert lento.metrics.counters() == {}
    assert lento.metrics.timings() == {}
    assert counter("op.add") == 0
    y = x + 1
    assert counter("op.add") == 1
    del y


def test_m1_counters_and_timings_of_the_users_own() -> None:
    lento.metrics.reset()
    for n in range(3):
        lento.metrics.add("my.batches")
        lento.metrics.add("my.rows", 10 * n)
        lento.metrics.record("my.load", 0.5)
    with lento.metrics.timed("my.read"):
        pass

    @lento.metrics.timed("my.call")
    def call(depth: int) -> None:
        if depth:
            call(depth - 1)

    call(2)
    assert (lento.metrics.counter("my.batches"), lento.metrics.counter("my.rows")) == (3, 30)
    assert lento.metrics.counters()["my.rows"] == 30
    timing = lento.metrics.timing("my.load")
    assert (timing["count"], timing["total_seconds"], timing["max_seconds"]) == (3, 1.5, 0.5)
    assert {lento.metrics.timings()[name]["count"] for name in ("my.read",)} == {1}
    assert lento.metrics.timing("my.call")["count"] == 3
    report = lento.metrics.report()
    assert re.search(r"^my\.rows\s+30$", report, re.M) and re.search(r"^my\.load\s+3\s+1\.50 s", report, re.M)
    lento.metrics.reset()
    assert lento.metrics.counters() == lento.metrics.timings() == {}
    assert "my." not in lento.metrics.report()


def test_m1_names_of_the_users_own_are_checked_and_bounded() -> None:
    lento.metrics.reset()
    with pytest.raises(ValueError, match=r"'op\.add' is a counter of Lento's own"):
        lento.metrics.add("op.add")
    with pytest.raises(ValueError, match="'step' is a timing of Lento's own"):
        lento.metrics.record("step", 1.0)
    for wrong in ("", "x" * 201):
        with pytest.raises(ValueError, match="the name"):
            lento.metrics.add(wrong)
        with pytest.raises(ValueError, match="the name"):
            lento.metrics.record(wrong, 1.0)
    with pytest.raises(ValueError, match="only grows"):
        lento.metrics.add("mine", -1)
    for number in (1.5, "1", True, None):
        with pytest.raises(TypeError):
            lento.metrics.add("mine", number)  # type: ignore[arg-type]
    for seconds in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="no duration"):
            lento.metrics.record("mine", seconds)
    with pytest.raises(TypeError, match="'name' must be str"):
        lento.metrics.timed(3)  # type: ignore[arg-type]
    assert lento.metrics.counters() == lento.metrics.timings() == {}
    for n in range(1000):
        lento.metrics.add(f"mine{n}")
    with pytest.raises(ValueError, match="there are already 1000 counters"):
        lento.metrics.add("one more")
    lento.metrics.add("mine7")
    assert lento.metrics.counter("mine7") == 2
    for n in range(100):
        lento.metrics.record(f"mine{n}", 0.0)
    with pytest.raises(ValueError, match="there are already 100 timings"):
        lento.metrics.record("one more", 0.0)
    lento.metrics.reset()
    lento.metrics.add("one more")


def test_m1_threads_count_together() -> None:
    lento.metrics.reset()
    threads = [threading.Thread(target=lambda: [lento.metrics.add("ours") for _ in range(500)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lento.metrics.counter("ours") == 2000


def test_m1_evaluated_tensors_and_nodes_are_counted_exactly() -> None:
    x = ones()
    counts = Counts()
    for _ in range(3):  # the second and third time they are recognised
        a = x + 1
        b = (a * 2) * 3
        lento.step()
    assert (counts["tensor.evaluated"], counts["graph.nodes"]) == (6, 9)
    del a, b


# --- M2 ---


def test_m2_dump_for_a_backend_compiles_and_runs_nothing() -> None:
    x = ones() * 2 + 1
    text = lento.dump(x, format="backend")
    assert text
    assert x.is_pending
    counts = Counts()
    lento.eval(x)
    assert counts["plan.miss"] == 0  # it was compiled for the dump
    with pytest.raises(ValueError, match="'text', 'dot', 'json' or 'backend', not 'xml'"):
        lento.dump(x, format="xml")  # type: ignore[arg-type]


def test_m2_the_other_formats_compile_nothing() -> None:
    x = ones() * 2 + 1
    assert "multiply" in lento.dump(x)
    assert json.loads(lento.dump(x, format="json"))
    assert lento.dump(x, format="dot").startswith("digraph")
    assert lento.cache.info()["entries"] == 0


# --- E9 ---


def test_e9_memory_says_what_is_live_and_the_peak() -> None:
    gc.collect()
    start = lento.memory()
    assert set(start) == {"live", "cached", "peak", "limit"}
    assert start["limit"] == 0
    lento.reset_peak_memory()
    x = lento.asarray(np.zeros(250_000, np.float32))
    assert lento.memory()["live"] >= start["live"] + 1_000_000
    del x
    lento.wait()  # a copy under way to a device needs what it copies to
    after = lento.memory()
    assert after["live"] <= start["live"] + 4096
    assert after["peak"] >= start["live"] + 1_000_000
    lento.reset_peak_memory()
    assert lento.memory()["peak"] < start["live"] + 1_000_000


def test_e9_devices_have_memory_of_their_own() -> None:
    before, there = lento.memory(), lento.memory("faulty")
    x = lento.asarray(np.zeros(250_000, np.float32), device="faulty")
    assert lento.memory("faulty")["live"] >= there["live"] + 1_000_000
    assert lento.memory()["live"] <= before["live"] + 4096
    del x


def test_e9_over_the_limit_is_a_memory_error_that_names_the_largest() -> None:
    x = lento.asarray(np.ones(250_000, np.float32))
    y = lento.exp(x)
    lento.set_memory_limit(lento.memory()["live"] + 500_000)
    assert lento.memory()["limit"] > 0
    with pytest.raises(MemoryError, match=r"1000000|1,000,000|1\.0 MB|976|0\.95"):
        lento.eval(y)
    with pytest.raises(lento.errors.MemoryError):
        lento.asarray(np.ones(250_000, np.float32))
    assert y.is_pending
    lento.set_memory_limit(0)
    assert lento.memory()["limit"] == 0
    assert y.tolist()[0] == pytest.approx(np.e, rel=1e-6)


@pytest.mark.parametrize("update", ["all", "part"])
def test_e9_the_limit_knows_what_happens_in_place(update: str) -> None:
    x = lento.ones(1 << 20)
    lento.step(wait=True)
    lento.set_memory_limit(lento.memory()["live"] + (1 << 20))
    for _ in range(3):
        if update == "all":
            x += 1
        else:
            x[5:10] = 3
        lento.step(wait=True)
    y = copy.copy(x)
    x += 1  # now the old value has another holder
    with pytest.raises(MemoryError, match="planned peak"):
        lento.step()
    del y
    lento.step(wait=True)
    assert float(x[0]) == (5.0 if update == "all" else 2.0)


def test_e9_limits_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="less than none"):
        lento.set_memory_limit(-1)
    for wrong in (1.5, "1 MB", True, None):
        with pytest.raises(TypeError, match="'bytes' must be int"):
            lento.set_memory_limit(wrong)  # type: ignore[arg-type]
    assert lento.memory()["limit"] == 0


def test_e9_live_tensors_of_all_threads_and_states() -> None:
    def mine() -> dict[int, dict[str, Any]]:
        return {entry["id"]: entry for entry in lento.live_tensors()}

    with closed_gate():
        ready = ones(2)
        lento.eval(ready, wait=True)
        pending = ready * 2
        theirs = in_thread(lambda: lento.zeros((4, 5)).astype(lento.int8))
        running = ones(device="gated") + 1
        lento.step("gated")
        failed = lento.arange(3)[lento.asarray([7])]
        lento.eval(failed)
        with pytest.raises(IndexError):
            failed.numpy()
        found = mine()
        expected = {ready: "ready", pending: "pending", theirs: "pending", running: "running", failed: "failed"}
        assert {tensor: found[tensor.id]["state"] for tensor in expected} == expected
        assert (found[theirs.id]["shape"], found[theirs.id]["dtype"]) == ((4, 5), lento.int8)
        assert all(
            found[tensor.id]["source"].startswith("test_metrics.py:") for tensor in expected if tensor is not ready
        )
        assert list(found) == sorted(found)
        gone = [tensor.id for tensor in (pending, theirs)]
        del pending, theirs, expected
        assert not set(gone) & set(mine())


def test_e9_live_tensors_while_other_threads_work() -> None:
    stop = threading.Event()

    def work() -> None:
        x = ones()
        while not stop.is_set():
            x = x * 1.5
            lento.step()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    x = ones() + 1
    for _ in range(200):
        assert state_of(x) == "pending"
        lento.memory(), lento.metrics.report(), lento.explain(), lento.cache.plans()
    stop.set()
    for thread in threads:
        thread.join()
    assert x.tolist() == [2.0] * 3
