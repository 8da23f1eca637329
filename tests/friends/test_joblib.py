"""joblib: tensors as arguments and results of workers, in files and as keys of a cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import lento
import numpy as np
import pytest
from friend_calls import counted_syncs, pending

pytestmark = pytest.mark.peers

X = np.random.default_rng(14).standard_normal(1000)


@pytest.mark.parametrize("backend", ["threading", "loky", "sequential"])
def test_workers_take_and_give_tensors(backend: str) -> None:
    work = [joblib.delayed(np.multiply if backend == "loky" else lento.multiply)(pending(X), k) for k in range(4)]
    results = joblib.Parallel(n_jobs=2, backend=backend)(work)
    for k, result in enumerate(results):
        np.testing.assert_array_equal(np.asarray(result), X * k)


def test_processes_give_tensors_back() -> None:
    """lento.sqrt is pickled by its name; arguments and results by their values."""
    results = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(lento.sqrt)(pending(x)) for x in (X**2, X**4))
    assert all(isinstance(result, lento.Tensor) for result in results)
    np.testing.assert_array_equal(results[0].numpy(), np.sqrt(X**2))
    np.testing.assert_array_equal(results[1].numpy(), np.sqrt(X**4))


def test_threads_record_and_the_caller_reads() -> None:
    with counted_syncs() as syncs:
        rows = joblib.Parallel(n_jobs=2, prefer="threads")(joblib.delayed(lento.sum)(pending(X)) for _ in range(8))
    assert syncs.count == 0
    assert len({float(row) for row in rows}) == 1


@pytest.mark.parametrize("compress", [0, 3])
def test_files(tmp_path: Path, compress: int) -> None:
    kept = {"weights": pending(X), "steps": [pending(np.arange(3)), 2]}
    with counted_syncs() as syncs:
        joblib.dump(kept, tmp_path / "kept", compress=compress)
    assert syncs.count == 2
    loaded = joblib.load(tmp_path / "kept")
    assert isinstance(loaded["weights"], lento.Tensor)
    np.testing.assert_array_equal(loaded["weights"].numpy(), X)
    assert loaded["steps"][0].tolist() == [0, 1, 2]


def test_hashes_are_those_of_values() -> None:
    assert joblib.hash(pending(X)) == joblib.hash(lento.asarray(X))
    assert joblib.hash(pending(X)) != joblib.hash(pending(X + 1))
    assert joblib.hash(pending(X)) != joblib.hash(pending(X.astype(np.float32)))
    assert joblib.hash(pending(X)) != joblib.hash(pending(X.reshape(10, 100)))


def test_memory_knows_a_tensor_again(tmp_path: Path) -> None:
    calls: list[Any] = []

    def double(x: Any) -> Any:
        calls.append(x)
        return x * 2

    cached = joblib.Memory(tmp_path, verbose=0).cache(double)
    for _ in range(3):
        result = cached(pending(X))
        assert isinstance(result, lento.Tensor)
        np.testing.assert_array_equal(result.numpy(), X * 2)
    assert len(calls) == 1
    cached(pending(X + 1))
    assert len(calls) == 2
