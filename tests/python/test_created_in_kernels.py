"""Positions and random bits are made inside kernels: masks and dropout need no memory and no step of their own."""

from __future__ import annotations

import re
from collections.abc import Callable

import lento
import numpy as np
import pytest
from engine import Counts
from on_device import not_on_another_device

RNG = np.random.default_rng(17)
LENGTHS = RNG.integers(0, 97, size=96)
SCORES = RNG.normal(size=(96, 96)).astype(np.float32)


def costs(*tensors: lento.Tensor) -> tuple[int, int, int]:
    """Steps, kernels, and bytes of temporaries."""
    found = re.search(r"(\d+) steps, (\d+) kernels, (\d+) bytes", lento.dump(list(tensors), "backend"))
    assert found
    steps, kernels, temporaries = map(int, found.groups())
    return steps, kernels, temporaries


def causal(scores: lento.Tensor) -> lento.Tensor:
    seen = lento.tril(lento.ones(scores.shape[-2:], dtype="bool"))
    return lento.where(seen, scores, -np.inf)


ONE_KERNEL: dict[str, Callable[[lento.Tensor], lento.Tensor]] = {
    "tril": lento.tril,
    "triu of a diagonal": lambda x: lento.triu(x, k=-3),
    "causal mask": causal,
    "causal softmax": lambda x: lento.softmax(causal(x), axis=-1),
    "lengths": lambda x: lento.where(lento.arange(96) < lento.asarray(LENGTHS)[:, None], x, 0),
    "a band": lambda x: lento.where(abs(lento.arange(96)[:, None] - lento.arange(96)) < 4, x, 0),
    "positions of a transposed tensor": lambda x: lento.where(lento.arange(96) > lento.arange(96)[:, None], x.T, x),
    "every third position": lambda x: lento.where(lento.arange(96)[::3] == lento.arange(96)[:, None], x[:, :32], 0),
    "positions from behind": lambda x: lento.where(lento.arange(96)[::-1] == lento.arange(96)[:, None], x, 0),
    "a reshaped range": lambda x: x + lento.arange(96 * 96).reshape(96, 96),
    "a column of a range": lambda x: lento.where(
        lento.arange(96 * 96).reshape(96, 96)[:, 5:6] > lento.arange(96), x, 0
    ),
    "a range of floats": lambda x: x.reshape(-1) + lento.linspace(0, 1, 96 * 96),
    "dropout": lambda x: lento.nn.dropout(x, 0.3, training=True),
    "noise": lambda x: x + lento.random.uniform((96, 96)),
    "noise in double precision": lambda x: x + lento.random.uniform((96, 96), dtype="float64"),
    "sums of noise": lambda x: (x * lento.random.bernoulli((96, 96), 0.5)).sum(axis=1),
    "sums of noise down the columns": lambda x: (x * lento.random.bernoulli((96, 96), 0.5)).sum(axis=0),
}


@not_on_another_device("about the steps and the memory of the CPU device")
@pytest.mark.parametrize("name", ONE_KERNEL)
def test_e9_what_is_made_of_positions_is_no_step(name: str) -> None:
    x = lento.asarray(SCORES)
    lento.eval(x)
    assert costs(ONE_KERNEL[name](x)) == (1, 1, 0)


@not_on_another_device("about the steps and the memory of the CPU device")
@pytest.mark.parametrize("name", ONE_KERNEL)
@pytest.mark.parametrize(
    "options", [{"fusion": False}, {"tier": 0}, {"tier": 1}, {"force_fallback": "iota,random_bits"}]
)
def test_t5_bits_do_not_depend_on_fusion_and_code(name: str, options: dict[str, object]) -> None:
    x = lento.asarray(SCORES)
    lento.random.seed(3)
    expected = ONE_KERNEL[name](x).numpy()
    lento.random.seed(3)
    with lento.options(**options):  # type: ignore[arg-type]
        np.testing.assert_array_equal(ONE_KERNEL[name](x).numpy(), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("shape", [(300_001,), (1009, 311), (7, 129, 33)])
def test_t5_bits_do_not_depend_on_threads(shape: tuple[int, ...], dtype: str) -> None:
    before = lento.get_num_threads()
    scale = lento.arange(shape[-1]) + 1  # rows begin anywhere in a block

    def drawn() -> list[np.ndarray]:
        lento.random.seed(11)
        u = lento.random.uniform(shape, dtype=dtype)
        return [
            x.numpy() for x in (u, u * scale, lento.random.uniform(shape, dtype=dtype) * scale, u.sum(), u.max(axis=0))
        ]

    try:
        lento.set_num_threads(1)
        expected = drawn()
        for threads in (2, 3, 5):
            lento.set_num_threads(threads)
            for mine, right in zip(drawn(), expected, strict=True):
                np.testing.assert_array_equal(mine, right)
    finally:
        lento.set_num_threads(before)


def test_t5_a_part_of_what_is_drawn_is_the_part_of_all() -> None:
    def drawn() -> lento.Tensor:
        lento.random.seed(5)
        return lento.random.uniform((50, 37))

    whole = drawn().numpy()
    np.testing.assert_array_equal(drawn()[3:, 5:].numpy(), whole[3:, 5:])
    np.testing.assert_array_equal((drawn().T + 0).numpy(), whole.T)
    np.testing.assert_array_equal(drawn()[::-2, ::3].numpy(), whole[::-2, ::3])


@not_on_another_device("about the steps and the memory of the CPU device")
def test_e9_dropout_keeps_its_mask_and_nothing_else() -> None:
    x = lento.asarray(RNG.normal(size=(256, 256)).astype(np.float32))
    lento.eval(x)
    loss, gradient = lento.value_and_grad(lambda y: (lento.nn.dropout(y, 0.5, training=True) ** 2).sum())(x)
    _, _, temporaries = costs(loss, gradient)
    assert temporaries <= 256 * 256 + 4096  # a byte an element, and sums


@not_on_another_device("about the steps and the memory of the CPU device")
def test_e9_a_long_causal_mask_has_no_memory() -> None:
    scores = lento.zeros((1024, 1024)) + 0.0
    lento.eval(scores)
    lento.wait()
    before = lento.memory()["live"]
    lento.reset_peak_memory()
    weights = lento.softmax(causal(scores), axis=-1)
    lento.eval(weights)
    lento.wait()
    assert lento.memory()["peak"] - before <= scores.nbytes + 65536
    np.testing.assert_allclose(weights[-1].numpy(), 1 / 1024)
    np.testing.assert_allclose(weights[1, :3].numpy(), [0.5, 0.5, 0])


def test_t5_what_dropout_has_stored_is_what_the_next_pass_reads() -> None:
    x = lento.asarray(RNG.normal(size=(64, 321)).astype(np.float32))

    def outputs() -> list[np.ndarray]:
        lento.random.seed(2)
        dropped = x + lento.nn.dropout(x, 0.4, training=True)
        normal = lento.nn.layer_norm(dropped, (321,))
        lento.eval(dropped, normal)
        return [dropped.numpy(), normal.numpy()]

    fused = outputs()
    with lento.options(fusion=False):
        for a, b in zip(outputs(), fused, strict=True):
            np.testing.assert_array_equal(a, b)


def test_t4_another_start_of_a_range_compiles_nothing() -> None:
    def row(start: int) -> np.ndarray:
        return (lento.arange(100)[start : start + 7] * 2).numpy()

    np.testing.assert_array_equal(row(1), np.arange(1, 8) * 2)
    counts = Counts()
    for start in (2, 50, 93):
        np.testing.assert_array_equal(row(start), np.arange(start, start + 7) * 2)
        np.testing.assert_array_equal(lento.arange(start, start + 7).numpy(), np.arange(start, start + 7))
    assert counts["kernel.compile"] <= 1  # that of arange alone


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "int64", "float16", "float32", "complex64"])
def test_ranges_of_broken_numbers(dtype: str) -> None:
    """Integers are made of what the numbers are in double precision, not of the numbers cut off."""
    expected = 0.5 + np.arange(9) * 0.3
    np.testing.assert_array_equal(lento.arange(0.5, 3.0, 0.3, dtype=dtype).numpy(), expected.astype(dtype), strict=True)
