"""T1, T4, T7, T8, T9, T10: what recording does and does not do."""

from __future__ import annotations

import gc
import re
import threading
import weakref
from typing import Any

import lento
import numpy as np
import pytest
from engine import check_program


def counter(name: str) -> int:
    return lento.metrics.counter(name)


# --- T1 ---


def test_t1_an_op_records_and_allocates_nothing() -> None:
    x = lento.asarray(np.ones(1000, np.float32))
    live = lento.memory()["live"]
    y = lento.exp(x * 2 + 1).sum()
    assert y.is_pending
    assert lento.memory()["live"] == live
    assert float(y) == pytest.approx(1000 * np.exp(3), rel=1e-5)
    assert not y.is_pending


def test_t1_an_op_wakes_no_thread_and_makes_none() -> None:
    """In a process of its own: here other tests may have left threads that wake by themselves."""
    check_program(
        """
        import os
        import lento
        from lento import _core

        def look():
            threads, awake = {}, False
            for thread in os.listdir("/proc/self/task"):
                if int(thread) == threading_id:
                    continue
                with open(f"/proc/self/task/{thread}/status") as status:
                    fields = dict(line.split(":", 1) for line in status)
                # A thread that is woken is runnable at once; one that slept again has switched.
                awake |= fields["State"].split()[0] != "S"
                threads[thread] = fields["voluntary_ctxt_switches"], fields["nonvoluntary_ctxt_switches"]
            return threads, awake

        import threading
        threading_id = threading.get_native_id()
        _core._register_testing_devices()
        _core._gate_open_forever()
        x = lento.ones((300, 300), device="gated")
        y = lento.exp(x)
        lento.step("gated", wait=True)  # by a worker, which sleeps from then on
        before, awake = look()
        while awake or look() != (before, False):
            before, awake = look()
        kept = []
        for _ in range(20):
            kept += [lento.exp(x * 2 + 1), x @ x, x.sum(axis=0), lento.nn.softmax(x), x[1:3], lento.sort(x)]
            kept += [lento.concat([x, x]), lento.take(x, lento.asarray([1], device="gated"), axis=0), x + 1]
        print(look() == (before, False), len(before) > 0, all(tensor.is_pending for tensor in kept))
        lento.step("gated")
        print(look() == (before, False))  # a step is noticed
        """,
        "True True True\nFalse\n",
    )


def test_t1_shape_and_dtype_are_known_without_computing() -> None:
    x = lento.zeros((2, 3, 4))
    y = (x.sum(axis=1) > 0).astype(lento.int8)
    assert (y.shape, y.dtype, y.ndim, y.size) == ((2, 4), lento.int8, 2, 8)
    assert len(y) == 2
    assert y.is_pending


# --- T4 ---


def test_t4_a_number_is_an_argument_not_structure() -> None:
    def step(rate: float) -> str:
        w = lento.asarray(np.ones(3, np.float32))
        return re.sub(r"0\.\d+", "RATE", lento.dump(w - w * rate))

    assert step(0.1) == step(0.25)


def structure(tensor: Any) -> str:
    """The dump without the values of numbers, which are arguments."""
    return re.sub(r"= -?[\w.+-]+(?=[,)])", "= …", lento.dump(tensor))


def test_t4_a_moving_slice_is_one_structure() -> None:
    x = lento.asarray(np.arange(100, dtype=np.float32))
    windows = [x[i : i + 8] * 2 for i in range(0, 64, 7)]
    assert len({structure(w) for w in windows}) == 1
    assert [w.tolist()[0] for w in windows] == [2.0 * i for i in range(0, 64, 7)]
    written = []
    for i in range(3):
        y = x + 0
        y[i : i + 2] = float(i)
        written.append(structure(y))
    assert len(set(written)) == 1


def test_t4_what_decides_structure_is_in_it() -> None:
    x = lento.asarray(np.arange(1.0, 5.0, dtype=np.float32))
    powers = {p: x**p for p in (2, 3, 0.5)}
    assert len({structure(y) for y in powers.values()}) == 3
    assert structure(x**2.7) == structure(x**3.9)
    for p, y in powers.items():
        np.testing.assert_allclose(y.numpy(), np.arange(1.0, 5.0) ** p, rtol=1e-6)
    assert structure(x.reshape(2, 2)) != structure(x.reshape(4, 1))
    assert structure(lento.sum(x.reshape(2, 2), axis=0)) != structure(lento.sum(x.reshape(2, 2), axis=1))


def test_t4_a_seed_is_an_argument() -> None:
    texts = {structure(lento.random.normal((3,), generator=lento.random.Generator(seed))) for seed in (1, 2, 3)}
    assert len(texts) == 1


def test_t4_host_data_is_uploaded_once() -> None:
    before = counter("transfer.h2d")
    x = lento.asarray(np.ones(100, np.float32))
    assert counter("transfer.h2d") == before + 1
    for _ in range(3):
        (x + 1).numpy()
    assert counter("transfer.h2d") == before + 1


def test_t4_asarray_copies_at_once() -> None:
    data = np.ones(3, np.float32)
    x = lento.asarray(data)
    y = x * 2
    data[:] = 5
    assert y.tolist() == [2, 2, 2]
    assert x.tolist() == [1, 1, 1]


# --- T7 ---


def test_t7_each_node_knows_its_line() -> None:
    x = lento.asarray(np.ones(3, np.float32))
    y = x + 1  # first
    z = lento.tanh(y)  # second
    with open(__file__) as file:
        lines = file.readlines()
    found = [int(n) for n in re.findall(r"test_tracing\.py:(\d+)", lento.dump(z))]
    assert [lines[n - 1].split("#")[-1].strip() for n in found] == ["first", "second"]


def test_t7_composites_show_the_users_line() -> None:
    x = lento.asarray(np.ones((2, 3), np.float32))
    y = lento.nn.softmax(x, axis=-1)
    lines = set(re.findall(r"\S+\.(?:py|cpp|h):\d+", lento.dump(y)))
    assert len(lines) == 1
    assert next(iter(lines)).startswith("test_tracing.py:")


def test_t7_lines_survive_their_function() -> None:
    namespace: dict[str, Any] = {"lento": lento}
    exec(compile("def make():\n    x = lento.zeros((2,))\n    return x + 1\n", "made_up.py", "exec"), namespace)
    y = namespace["make"]()
    namespace.clear()
    gc.collect()
    assert "made_up.py:3" in lento.dump(y)


def test_t7_scopes_nest_and_close() -> None:
    x = lento.zeros((2,))
    with lento.scope("model"):
        with lento.scope("layer1"):
            a = x + 1
        b = a * 2
    c = b - 3

    @lento.scope("decorated")
    def inner(v: Any) -> Any:
        return v / 2

    d = inner(c)
    text = lento.dump(d)
    line_of = {
        word: line
        for line in text.splitlines()
        for word in ("add", "multiply", "subtract", "divide")
        if f" {word}" in line
    }
    assert "model/layer1" in line_of["add"]
    assert "model" in line_of["multiply"] and "layer1" not in line_of["multiply"]
    assert "model" not in line_of["subtract"]
    assert "decorated" in line_of["divide"]


def test_t7_a_scope_closes_when_an_error_leaves_it() -> None:
    with pytest.raises(ValueError), lento.scope("broken"):
        lento.zeros((2,)) + lento.zeros((3,))
    assert "broken" not in lento.dump(lento.zeros((2,)) + 1)
    with pytest.raises(TypeError):
        lento.scope(3)  # type: ignore[arg-type]


# --- T8 ---


def test_t8_dead_work_is_not_done() -> None:
    x = lento.asarray(np.ones(3, np.float32))
    before = counter("graph.nodes")
    kept = x + 1
    dead = lento.tanh(kept) * 3
    between = kept * 2
    del dead
    lento.step()
    assert counter("graph.nodes") - before == 2  # of the four that were recorded
    assert (kept.tolist(), between.tolist()) == ([2, 2, 2], [4, 4, 4])


def test_t8_what_is_overwritten_is_dead() -> None:
    x = lento.asarray(np.ones(3, np.float32))
    before = counter("graph.nodes")
    y = lento.tanh(x)
    y = x * 2
    lento.step()
    assert counter("graph.nodes") - before == 1
    assert y.tolist() == [2, 2, 2]


def test_t8_step_computes_live_tensors_of_this_thread() -> None:
    x = lento.asarray(np.ones(3, np.float32))
    a, b = x + 1, x * 3
    assert a.is_pending and b.is_pending
    lento.step()
    assert not a.is_pending and not b.is_pending
    assert [t["id"] for t in lento.live_tensors() if t["state"] == "pending"] == []


def test_live_tensors_in_creation_order() -> None:
    lento.step()
    x = lento.zeros((2, 3))
    y = x.astype(lento.int32)
    entries = [t for t in lento.live_tensors() if t["state"] == "pending"]
    assert [t["id"] for t in entries] == [x.id, y.id]
    assert entries[1]["shape"] == (2, 3)
    assert entries[1]["dtype"] is lento.int32
    assert entries[1]["source"].startswith("test_tracing.py:")


# --- T9 ---


def test_t9_the_pending_graph_is_bounded() -> None:
    before = counter("graph.trimmed")
    with lento.options(max_pending_nodes=1000):
        x = lento.zeros((4,))
        for _ in range(5000):
            x = x + 1
        assert lento.dump(x).count(" = add(") <= 1000
    assert counter("graph.trimmed") > before
    assert x.tolist() == [5000.0] * 4


def test_t9_a_million_ops() -> None:
    """Recorded, evaluated and freed without recursion and in bounded memory."""
    lento.reset_peak_memory()
    x = lento.zeros((2,))
    for _ in range(1_000_000):
        x = x + 1
    assert x.tolist() == [1_000_000.0] * 2
    assert lento.memory()["peak"] < 64 << 20


def test_t9_where_the_graph_is_cut_depends_on_the_trace_alone() -> None:
    def program() -> tuple[int, str]:
        before = counter("graph.trimmed")
        with lento.options(max_pending_nodes=500):
            x = lento.zeros((4,))
            for i in range(1777):
                x = x + float(i)
            return counter("graph.trimmed") - before, structure(x)

    lento.step()
    assert program() == program()


def test_options_are_put_back() -> None:
    with lento.options(max_pending_nodes=10):
        pass
    x = lento.zeros((1,))
    before = counter("graph.trimmed")
    for _ in range(100):
        x = x + 1
    assert counter("graph.trimmed") == before
    with pytest.raises(ValueError):
        lento.options(max_pending_nodes=0)
    with pytest.raises(TypeError):
        lento.options(unknown=1)  # type: ignore[call-arg]


# --- T10 ---


def syncs() -> int:
    return counter("sync.implicit")


def test_t10_iterating_gives_lazy_rows() -> None:
    x = lento.asarray(np.arange(6).reshape(3, 2)) + 0
    before = syncs()
    rows = list(x)
    assert len(rows) == 3
    assert all(row.is_pending for row in rows)
    assert syncs() == before
    assert [row.tolist() for row in rows] == [[0, 1], [2, 3], [4, 5]]
    first, *_ = x
    assert first.tolist() == [0, 1]
    with pytest.raises(TypeError):
        iter(lento.asarray(1.0))
    with pytest.raises(TypeError):
        len(lento.asarray(1.0))


def test_t10_data_dependent_shapes_go_on_lazily() -> None:
    x = lento.asarray(np.array([0.0, 3.0, 0.0, 5.0], np.float32))
    picked = (x * 2)[x > 0]
    assert picked.shape == (2,)
    after = picked + 1
    assert after.is_pending
    assert after.tolist() == [7.0, 11.0]
    (places,) = lento.nonzero(x)
    assert places.tolist() == [1, 3]


def test_t10_mask_with_a_number_does_not_sync() -> None:
    x = lento.asarray(np.arange(4.0, dtype=np.float32)) + 0
    before = syncs()
    x[x > 1] = 0
    assert x.is_pending
    assert syncs() == before
    assert x.tolist() == [0, 1, 0, 0]


def test_t10_indexing_with_a_zero_dim_tensor_does_not_sync() -> None:
    x = lento.asarray(np.arange(12).reshape(3, 4))
    i = lento.argmax(x[:, 0])
    before = syncs()
    row = x[i]
    assert row.is_pending
    assert row.shape == (4,)
    assert syncs() == before
    assert row.tolist() == [8, 9, 10, 11]


@pytest.mark.parametrize("bad", [5, -6, 2**40])
def test_t10_out_of_range_index_tensors_are_never_clamped(bad: int) -> None:
    x = lento.arange(5)
    y = x[lento.asarray([0, bad])]
    with pytest.raises(IndexError):
        y.numpy()


# --- handles ---


def test_reading_forces_evaluation_once() -> None:
    x = lento.asarray(np.ones(3, np.float32)) * 2
    before = syncs()
    assert float(x.sum()) == 6.0
    assert syncs() > before
    lento.eval(x)
    before = syncs()
    x.numpy()
    assert syncs() == before  # nothing was pending


def test_tensors_are_hashable_by_identity_and_weakly_referable() -> None:
    x = lento.zeros((2,))
    y = lento.zeros((2,))
    assert len({x, y, x}) == 2
    alive = weakref.ref(x)
    assert alive() is x
    del x
    assert alive() is None


def test_dropping_a_tensor_returns_its_memory() -> None:
    gc.collect()
    live = lento.memory()["live"]
    x = lento.asarray(np.zeros(100_000, np.float32))
    y = x + 1
    assert y.item(0) == 1.0
    assert lento.memory()["live"] >= live + 800_000
    del x, y
    assert lento.memory()["live"] <= live + 4096


def test_threads_record_and_read_each_others_tensors() -> None:
    shared = lento.asarray(np.arange(8, dtype=np.float32)) * 2
    results: list[float] = [0.0] * 4

    def work(number: int) -> None:
        y = shared + number
        for _ in range(200):
            y = y * 1.0 + 0.0
        results[number] = float(y.sum())

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [56.0 + 8 * n for n in range(4)]


def test_a_tensor_pending_in_another_thread_can_be_used() -> None:
    made: list[Any] = []
    thread = threading.Thread(target=lambda: made.append(lento.ones((3,)) * 3))
    thread.start()
    thread.join()
    assert (made[0] + 1).tolist() == [4, 4, 4]
