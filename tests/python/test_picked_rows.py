"""Rows at positions that lie in memory (an embedding) are read inside kernels, where they are."""

from __future__ import annotations

import lento
import numpy as np
import pytest
from engine import Counts
from on_device import not_on_another_device

RNG = np.random.default_rng(5)
TABLE = RNG.normal(size=(50, 24)).astype(np.float32)


def kernels_of(tensor: lento.Tensor) -> str:
    return str(lento.dump(tensor, "backend"))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("shape", [(7,), (3, 5), (1,), (), (2, 3, 4)])
def test_an_embedding_is_one_kernel_with_what_follows(dtype: str, shape: tuple[int, ...]) -> None:
    positions = RNG.integers(-50, 50, size=shape).astype(dtype)
    bias = RNG.normal(size=24).astype(np.float32)
    y = lento.tanh(lento.take(lento.asarray(TABLE), lento.asarray(positions), axis=0) * 2 + lento.asarray(bias))
    text = kernels_of(y)
    assert "1 steps, 1 kernels" in text
    assert " at $" in text
    np.testing.assert_allclose(y.numpy(), np.tanh(TABLE[positions] * 2 + bias), rtol=1e-6, atol=1e-6)


def test_rows_of_an_inner_axis() -> None:
    x = RNG.normal(size=(3, 6, 20)).astype(np.float32)
    positions = np.array([5, 0, -1, 2])
    y = lento.take(lento.asarray(x), lento.asarray(positions), axis=1) + 1
    assert " at $" in kernels_of(y)
    np.testing.assert_array_equal(y.numpy(), x[:, positions] + 1)


def test_two_tables_in_one_kernel() -> None:
    words = RNG.integers(0, 50, size=(4, 6))
    places = np.arange(6)
    table = lento.asarray(TABLE)
    y = lento.take(table, lento.asarray(words), axis=0) + lento.take(table, lento.asarray(places), axis=0)
    assert "1 steps, 1 kernels" in kernels_of(y)
    np.testing.assert_array_equal(y.numpy(), TABLE[words] + TABLE[places])


def test_a_reduction_of_picked_rows() -> None:
    positions = RNG.integers(0, 50, size=9)
    y = lento.softmax(lento.take(lento.asarray(TABLE), lento.asarray(positions), axis=0), axis=-1)
    assert "1 steps, 1 kernels" in kernels_of(y)
    e = np.exp(TABLE[positions] - TABLE[positions].max(-1, keepdims=True))
    np.testing.assert_allclose(y.numpy(), e / e.sum(-1, keepdims=True), rtol=1e-5)
    for axis in (0, 1, (0, 1)):
        total = lento.sum(lento.take(lento.asarray(TABLE), lento.asarray(positions), axis=0), axis=axis)
        np.testing.assert_allclose(total.numpy(), TABLE[positions].sum(axis=axis), rtol=1e-4, atol=1e-5)


def test_picked_rows_transposed_sliced_or_multiplied() -> None:
    positions = RNG.integers(0, 50, size=8)
    rows = lento.take(lento.asarray(TABLE), lento.asarray(positions), axis=0)
    np.testing.assert_array_equal((rows.T + 1).numpy(), TABLE[positions].T + 1)
    np.testing.assert_array_equal((rows[2:, ::3] * 2).numpy(), TABLE[positions][2:, ::3] * 2)
    np.testing.assert_allclose((rows @ rows.T).numpy(), TABLE[positions] @ TABLE[positions].T, rtol=1e-4, atol=1e-5)


def test_positions_that_are_computed() -> None:
    words = RNG.integers(0, 24, size=(4, 6))
    y = lento.take(lento.exp(lento.asarray(TABLE)), lento.asarray(words) * 2 + 1, axis=0) * 3
    np.testing.assert_allclose(y.numpy(), np.exp(TABLE)[words * 2 + 1] * 3, rtol=1e-6)


@pytest.mark.parametrize("bad", [50, -51])
def test_e7_a_position_out_of_range_poisons_what_depends_on_it(bad: int) -> None:
    table = lento.asarray(TABLE)
    positions = lento.asarray(np.array([1, bad, 3]))
    broken = lento.take(table, positions, axis=0) * 2
    fine = table * 2
    lento.step(wait=False)
    np.testing.assert_array_equal(fine.numpy(), TABLE * 2)
    with pytest.raises(IndexError, match="out of range"):
        broken.numpy()
    with pytest.raises(IndexError):
        lento.wait()


@not_on_another_device("it may have no cache of kernels, as the toy device")
def test_e4_other_positions_and_sizes_compile_nothing() -> None:
    def run(count: int) -> None:
        positions = lento.asarray(np.arange(count) % 50)
        lento.eval(lento.take(lento.asarray(TABLE), positions, axis=0) * 2)

    run(5)
    counts = Counts()
    run(6)
    run(300)
    assert (counts["plan.rebind"], counts["plan.miss"], counts["kernel.compile"]) == (2, 0, 0)
