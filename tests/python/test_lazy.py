"""lento.lazy: the names of PyTorch's Lazy Tensor Core, with what they mean there or a word that they mean nothing."""

from __future__ import annotations

import collections
import inspect
import io
import os
import re
import threading
from pathlib import Path
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts, check_program, closed_gate, ones, run_program, state_of
from lento import _core, lazy
from lento.lazy import computation, config, debug, ir_cache, metrics, ts_backend

HERE = str(lento.default_device())

# --- steps ---


@pytest.mark.parametrize("device", ["", "lazy", "lazy:0", HERE.partition(":")[0], HERE])
def test_mark_step_computes_what_is_pending(device: str) -> None:
    x = lento.ones((3,)) * 2
    counts = Counts()
    lazy.mark_step(device)
    assert counts["step"] == 1
    assert state_of(x) != "pending"
    lazy.mark_step(wait=True)
    assert x.tolist() == [2.0] * 3
    assert counts["sync.implicit"] == 0


def test_mark_step_runs_the_closures() -> None:
    seen: list[float] = []
    x = lento.ones((3,)) + 1
    lazy.add_step_closure(lambda y: seen.append(float(y)), args=(x.sum(),))
    lazy.add_step_closure(lambda: seen.append(-1.0))
    assert seen == []
    lazy.mark_step()
    assert seen == [6.0, -1.0]
    lazy.mark_step()
    assert seen == [6.0, -1.0]


def test_run_step_closures_needs_no_step() -> None:
    seen: list[int] = []
    lazy.add_step_closure(seen.append, (1,))
    counts = Counts()
    lazy.run_step_closures()
    assert seen == [1]
    assert counts["step"] == 0


def test_asynchronous_closures_and_their_failures() -> None:
    seen: list[float] = []
    lazy.add_step_closure(lambda y: seen.append(float(y)), (lento.ones((2,)).sum(),), run_async=True)
    lazy.mark_step()
    lento.wait_closures()
    assert seen == [2.0]

    def fail() -> None:
        raise KeyError("closure")

    lazy.add_step_closure(fail, run_async=True)
    lazy.mark_step()
    lento.wait_closures()
    lazy.add_step_closure(seen.append, (3.0,), run_async=True)
    with pytest.raises(RuntimeError, match="Cannot run asynchronous closure due to previously raised exception"):
        lazy.mark_step()
    assert seen == [2.0]


@pytest.mark.parametrize("devices", [None, [], ["lazy"], [HERE], HERE, [lento.default_device()]])
def test_wait_device_ops_returns_when_the_work_is_done(devices: Any) -> None:
    x = lento.ones((100, 100)) @ lento.ones((100, 100))
    lazy.mark_step()
    lazy.wait_device_ops(devices)
    assert state_of(x) == "ready"


def test_sync_multi_computes_just_these_and_waits() -> None:
    x, y, other = (lento.ones((3,)) * n for n in (1, 2, 3))
    lazy.sync_multi([x, y], [])
    assert [state_of(t) for t in (x, y, other)] == ["ready", "ready", "pending"]
    lazy.sync_multi([], ["lazy"])
    with pytest.raises(TypeError):
        lazy.sync_multi([3], [])  # type: ignore[list-item]


def test_tensor_ids_are_those_of_values() -> None:
    x, y = lento.ones((2,)), lento.ones((2,))
    assert lazy.get_tensor_id(x) == x.id != lazy.get_tensor_id(y)
    assert lazy.get_tensor_id(x.copy()) == lazy.get_tensor_id(x)
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        lazy.get_tensor_id(3)  # type: ignore[arg-type]


# --- to the CPU and into files ---

Pair = collections.namedtuple("Pair", ["first", "second"])


def test_to_cpu_keeps_the_structure() -> None:
    x = lento.ones((2,)) * 2
    tree = {"a": [x, (x + 1, 3)], "b": Pair(x + 2, "text"), "c": collections.OrderedDict(d=x + 3)}
    moved = lazy.to_cpu(tree)
    assert list(moved) == ["a", "b", "c"]
    assert type(moved["b"]) is Pair
    assert type(moved["c"]) is collections.OrderedDict
    assert moved["a"][1][1] == 3
    assert moved["b"].second == "text"
    tensors = [moved["a"][0], moved["a"][1][0], moved["b"].first, moved["c"]["d"]]
    assert [t.tolist()[0] for t in tensors] == [2.0, 3.0, 4.0, 5.0]
    assert all(str(t.device) == "cpu:0" and state_of(t) == "ready" for t in tensors)
    x += 1
    assert moved["a"][0].tolist() == [2.0, 2.0]
    assert lazy.to_cpu(lento.ones((2,), device="reference:0")).device == "cpu:0"
    assert lazy.to_cpu(5) == 5


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 2), (2, 3)])
def test_saved_tensors_are_read_by_numpy(dtype: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    data = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    lazy.save(lento.asarray(data), tmp_path / "x.npy")
    back = np.load(tmp_path / "x.npy")
    assert (back.dtype, back.shape) == (data.dtype, shape)
    np.testing.assert_array_equal(back, data)


def test_saved_structures_are_archives(tmp_path: Path) -> None:
    w, b = lento.ones((2, 3)) * 2, lento.zeros((3,))
    lazy.save({"layer": {"w": w, "b": b}, "scales": [w.sum(), b]}, str(tmp_path / "model.npz"))
    with np.load(tmp_path / "model.npz") as archive:
        assert sorted(archive) == ["layer.b", "layer.w", "scales.0", "scales.1"]
        np.testing.assert_array_equal(archive["layer.w"], np.full((2, 3), 2.0))
        assert archive["scales.0"] == 12.0
    out = io.BytesIO()
    lazy.save([w], out)
    out.seek(0)
    np.testing.assert_array_equal(np.load(out)["0"], np.full((2, 3), 2.0))


def test_what_cannot_be_saved_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="bfloat16"):
        lazy.save([lento.ones(2), lento.ones(2, dtype=lento.bfloat16)], tmp_path / "x")
    with pytest.raises(TypeError, match=r"save\(\): a.1 is no tensor but str"):
        lazy.save({"a": [lento.ones(2), "text"]}, tmp_path / "x")
    with pytest.raises(ValueError, match=r"'a\.b'"):
        lazy.save({"a": {"b": lento.ones(2)}, "a.b": lento.ones(2)}, tmp_path / "x")
    with pytest.raises(TypeError, match="the argument is no tensor but int"):
        lazy.save(3, tmp_path / "x")
    assert os.listdir(tmp_path) == []


# --- metrics ---


def test_counters_have_the_names_of_ltc() -> None:
    metrics.reset()
    assert metrics.counter_names() == []
    assert metrics.counter_value("lazy::multiply") is None
    x = lento.ones((5, 7)) * 2
    for _ in range(2):
        y = x * 3
        lazy.mark_step(wait=True)
    assert y.shape == (5, 7)
    assert metrics.counter_value("lazy::multiply") == metrics.counter_value("op.multiply") == 3
    assert metrics.counter_value("MarkStep") == 2
    assert metrics.counter_value("CreateLtcTensor") == lento.metrics.counter("tensor.created")
    assert metrics.counter_value("no such counter") is None
    names = metrics.counter_names()
    assert {"lazy::multiply", "MarkStep", "CreateLtcTensor", "UncachedCompile"} <= set(names)
    assert all(metrics.counter_value(name) for name in names)
    assert len(set(names)) == len(names)


def test_the_other_counters_of_ltc() -> None:
    metrics.reset()
    x = lento.asarray(np.ones(3, np.float32))
    for _ in range(2):
        y = (x * 3) + 1
        z = x - 1
        lazy.mark_step(wait=True)
    del y, z
    assert metrics.counter_value("SyncedTensorsWithIR") == 4
    assert metrics.counter_value("TensorsGraphSize") == 6
    assert metrics.counter_value("DeviceDataCacheMiss") == 1
    assert metrics.counter_value("UncachedCompile") == 1
    assert metrics.counter_value("CachedCompile") == 1
    assert metrics.counter_value("TrimIrGraph") is None
    with lento.options(max_pending_nodes=10):
        for _ in range(20):
            x = x + 1
    assert metrics.counter_value("TrimIrGraph") == lento.metrics.counter("graph.trimmed") > 0
    with closed_gate(), lento.options(max_inflight_steps=1):
        kept = [ones(device="gated") + 1]
        lazy.mark_step("gated")
        kept.append(ones(device="gated") + 1)
        opener = threading.Thread(target=open_at_first_wait)
        opener.start()
        lazy.mark_step("gated")
        opener.join()
    assert metrics.counter_value("DeviceLockWait") == 1
    names = {"SyncedTensorsWithIR", "TensorsGraphSize", "DeviceDataCacheMiss", "TrimIrGraph", "DeviceLockWait"}
    assert names <= set(metrics.counter_names())


def open_at_first_wait() -> None:
    while metrics.counter_value("DeviceLockWait") is None:
        os.sched_yield()
    _core._gate_open(1)


@pytest.mark.falls_back
def test_ops_that_fall_back_are_counted_as_aten() -> None:
    metrics.reset()
    config.set_force_fallback("aten::exp")
    try:
        assert lento.exp(lento.zeros((3,))).tolist() == [1.0] * 3
    finally:
        config.set_force_fallback("")
    assert metrics.counter_value("aten::exp") == 1
    assert [name for name in metrics.counter_names() if name.startswith("aten::")].count("aten::exp") == 1


def test_metrics_report_is_a_table() -> None:
    metrics.reset()
    lento.ones((3,)) + 1
    assert re.search(r"op\.add\s+1\b", metrics.metrics_report())


# --- debug ---


def test_graphs_as_text() -> None:
    tensors = [lento.ones((3,)) + 1, lento.ones((2,)) * 2]
    assert debug.dump_ir(tensors, "text") == lento.dump(tensors)
    assert "add" in debug.dump_ir(tensors, "text")
    assert debug.dump_ir(tensors, "backend") == lento.dump(tensors, "backend") != ""
    assert debug.render_ir_graph(tensors) == lento.dump(tensors, "dot")
    assert debug.render_ir_graph(tensors).startswith("digraph")
    with pytest.raises(RuntimeError, match="unrecognized IR format 'json'"):
        debug.dump_ir(tensors, "json")
    assert all(t.is_pending for t in tensors)


# --- config ---


def test_forced_fallbacks_can_be_set_and_read() -> None:
    assert config.get_force_fallback() == ""
    try:
        config.set_force_fallback(" aten::exp, log ,")
        assert set(config.get_force_fallback().split(",")) == {"exp", "log"}
        with pytest.raises(ValueError):
            config.set_force_fallback("no_such_op")
        assert set(config.get_force_fallback().split(",")) == {"exp", "log"}
        with pytest.raises(TypeError):
            config.set_force_fallback(None)  # type: ignore[arg-type]
    finally:
        config.set_force_fallback("")
    assert config.get_force_fallback() == ""


def test_what_means_nothing_in_lento_does_nothing() -> None:
    x = lento.ones((3,)) + 1
    key = lento.graph_key(x)
    for call in (lambda: config.set_reuse_ir(True), lambda: config.set_reuse_ir(False), ts_backend.init):
        call()
    assert lento.graph_key(x) == key
    assert x.is_pending
    with pytest.raises(TypeError):
        config.set_reuse_ir("yes")  # type: ignore[arg-type]


# --- caches and keys ---


def test_the_plan_cache_stands_for_the_ir_cache(tmp_path: Path) -> None:
    ir_cache.reset()
    assert lento.cache.info()["entries"] == 0
    x = lento.ones((3,)) * 2
    key = computation.get_graph_hash([x])
    lento.eval(x)
    file = tmp_path / "cache.dot"
    ir_cache.dump(str(file))
    text = file.read_text()
    assert text.startswith("digraph plan_cache {")
    assert text.rstrip().endswith("}")
    assert f"plan_{key}" in text
    assert text.count("[label=") == lento.cache.info()["entries"] == 1
    ir_cache.reset()
    counts = Counts()
    assert (lento.ones((3,)) * 2).tolist() == [2.0] * 3
    assert counts["plan.miss"] == 1


def test_graph_hashes_tell_structures_apart() -> None:
    x = lento.ones((3,))
    lento.eval(x)
    assert computation.get_graph_hash([x * 2]) == computation.get_graph_hash([x * 5])
    assert computation.get_graph_hash([x * 2]) != computation.get_graph_hash([x + 2])
    assert re.fullmatch("[0-9a-f]{16}", computation.get_graph_hash([x * 2]))


def model(x: lento.Tensor, w: lento.Tensor) -> list[lento.Tensor]:
    q, r = lento.linalg.qr(x @ w + 1)
    return [(q @ r).sum(axis=0) * 0.5, lento.concat([x, w, x, w, x]), lento.random.uniform((3,)) + x[0, 0]]


def test_a_cached_graph_runs_with_other_inputs() -> None:
    ir_cache.reset()  # where all hashes are equal, a key names a plan only if it is the only one
    first = [lento.asarray(np.random.default_rng(n).standard_normal((4, 4))) for n in (1, 2)]
    second = [lento.asarray(np.random.default_rng(n).standard_normal((4, 4))) for n in (3, 4)]
    lento.random.seed(5)
    outputs = model(*first)
    key = computation.get_graph_hash(outputs)
    lazy.sync_multi(outputs, [])
    lento.random.seed(5)
    expected = model(*second)
    lazy.sync_multi(expected, [])
    counts = Counts()
    found = computation.run_cached_graph(key, second)
    again = computation.run_cached_graph(key, first)
    assert (counts["plan.miss"], counts["kernel.compile"]) == (0, 0)
    for mine, theirs in zip(found + again, expected + outputs, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy(), strict=True)


def test_a_cached_graph_takes_its_inputs_and_no_others() -> None:
    x = lento.asarray([1.0, 2.0])
    y = x * 2
    key = computation.get_graph_hash([y])
    with pytest.raises(ValueError, match=f"no cached plan has the key {key}"):
        ir_cache.reset()
        computation.run_cached_graph(key, [x])
    lento.eval(y)
    for wrong in ([], [x, x], [lento.zeros(3)], [lento.zeros(2, dtype=lento.int32)]):
        with pytest.raises(ValueError, match=r"takes other inputs: float32\(2,\)"):
            computation.run_cached_graph(key, wrong)
    with pytest.raises(ValueError):
        computation.run_cached_graph("no hash", [x])
    with pytest.raises(lento.errors.DeviceError):
        computation.run_cached_graph(key, [lento.asarray([1.0, 2.0], device="reference:0")])
    assert computation.run_cached_graph(key, [y])[0].tolist() == [4.0, 8.0]


def test_what_lento_cannot_do_says_what_to_do() -> None:
    with pytest.raises(NotImplementedError, match=r"lento.dump\(tensors\) shows the inputs"):
        computation.get_tensors_ts_device_data_node([])


# --- the environment, and LTC itself ---


def test_forced_fallbacks_have_ltcs_variable() -> None:
    program = """
    import lento
    x = lento.exp(lento.ones((3,)) * 2).tolist()
    print(lento.metrics.counter("fallback.exp"), lento.lazy.config.get_force_fallback())
    """
    check_program(program, "1 exp\n", LTC_FORCE_FALLBACK="aten::exp")
    check_program(program, "0 log\n", LTC_FORCE_FALLBACK="aten::exp", LENTO_FORCE_FALLBACK="log")
    done = run_program(program, LTC_FORCE_FALLBACK="aten::no_such_op")
    assert "LTC_FORCE_FALLBACK names 'no_such_op', which is no primitive" in done.stderr


@pytest.mark.parametrize(
    ("form", "inside"), [("text", " = multiply("), ("dot", "digraph lento {"), ("backend", "  store $1, %1\n")]
)
def test_m2_graphs_are_saved_with_the_stack(form: str, inside: str, tmp_path: Path) -> None:
    program = """
    import lento
    def train_one_step():
        x = lento.ones((300,)) * 2
        lento.lazy.mark_step()
    train_one_step()
    float(lento.ones((2,)).sum())
    """
    file = tmp_path / "graphs"
    check_program(program, "", LTC_SAVE_TENSORS_FILE=str(file), LTC_SAVE_TENSORS_FMT=form)
    text = file.read_text()
    assert text.count("[ScheduleSyncTensorsGraph]\nPython Stacktrace:\n") == 2
    assert re.search(
        r"  mark_step \(.*lazy/__init__\.py:\d+\)\n  train_one_step \(<string>:5\)\n  <module> \(<string>:6\)\n", text
    )
    assert re.search(r"\n\nHashes: \([0-9a-f]{16}\)\n\n## BEGIN_GRAPH\n", text)
    assert text.endswith("\n## END_GRAPH\n\n\n")
    assert inside in text


def test_m2_a_wrong_format_or_file_is_told_once(tmp_path: Path) -> None:
    program = """
    import lento
    for _ in range(2):
        x = lento.ones((3,)) * 2
        lento.step()
    """
    file = tmp_path / "graphs"
    done = run_program(program, LTC_SAVE_TENSORS_FILE=str(file), LTC_SAVE_TENSORS_FMT="xml")
    assert done.stderr.count("LTC_SAVE_TENSORS_FMT is 'xml'; it must be text, dot or backend") == 1
    assert file.read_text().count(" = multiply(") == 2
    done = run_program(program, LTC_SAVE_TENSORS_FILE=str(tmp_path))
    assert done.stderr.count(f"cannot write to LTC_SAVE_TENSORS_FILE={tmp_path}") == 1
    assert done.returncode == 0


def test_c3_the_queue_of_closures_has_ltcs_variable() -> None:
    program = """
    import lento.lazy as lazy
    lazy.add_step_closure(print, ("ran",), run_async=True)
    try:
        lazy.mark_step()
    except ValueError as error:
        print(error)
    """
    check_program(program, "ran\n", LTC_MAX_ASYNC_QUEUE="2")
    done = run_program(program, LTC_MAX_ASYNC_QUEUE="none")
    assert "LTC_MAX_ASYNC_QUEUE is 'none'; it must be a whole number of at least 1" in done.stdout
    check_program(program, "ran\n", LENTO_MAX_ASYNC_QUEUE="1", LTC_MAX_ASYNC_QUEUE="none")  # Lento's own is meant


@pytest.mark.peers
def test_names_and_signatures_are_those_of_ltc() -> None:
    import importlib

    modules = ["", ".metrics", ".debug", ".config", ".ir_cache", ".computation", ".ts_backend"]
    modules += [".closure", ".device_context", ".extract_compiled_graph"]
    compared = 0
    for suffix in modules:
        theirs = importlib.import_module(f"torch._lazy{suffix}")
        mine = importlib.import_module(f"lento.lazy{suffix}")
        for name, function in vars(theirs).items():
            if not inspect.isfunction(function) or not function.__module__.startswith("torch._lazy"):
                continue
            expected = list(inspect.signature(function).parameters)
            found = list(inspect.signature(getattr(mine, name)).parameters)
            if name == "save":  # torch.save's other arguments choose a pickle module and a zip format
                expected = ["tensors", "f"]
            assert found == expected, f"{suffix}.{name}"
            compared += 1
    assert compared >= 24
