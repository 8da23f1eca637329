"""Sums over axes that are not neighbours: every bit is the reference backend's, on any number of threads."""

from __future__ import annotations

from collections.abc import Callable

import lento
import numpy as np
import pytest

SHAPES = [
    ((3, 2, 5), (0, 2)),
    ((32, 4, 40), (0, 2)),  # a part of one block
    ((5, 3, 8, 111), (0, 2, 3)),  # blocks that end inside of a run
    ((9, 2, 3, 5, 401), (0, 2, 4)),
    ((3, 2, 9001), (0, 2)),  # runs longer than a block
    ((4, 1, 4096), (0, 2)),
    ((70, 3, 1), (0, 2)),
    ((1, 3, 50), (0, 2)),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "complex64"])
@pytest.mark.parametrize(("shape", "axes"), SHAPES)
def test_sums_are_the_references(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> None:
    x = (np.random.default_rng(1).standard_normal(shape) * 100).astype(dtype)
    x[..., 0] = -0.0 if dtype != "int32" else 0
    expected = lento.sum(lento.asarray(x, device="reference"), axis=axes).numpy()
    threads = lento.get_num_threads()
    try:
        for count in (1, 2, 5):
            lento.set_num_threads(count)
            result = lento.sum(lento.asarray(x), axis=axes).numpy()
            assert result.tobytes() == expected.tobytes()
    finally:
        lento.set_num_threads(threads)


def test_they_have_code_of_their_own() -> None:
    before = lento.metrics.counter("fallback.reduce_sum")
    lento.eval(lento.sum(lento.ones((4, 3, 8)) * 2, axis=(0, 2)))
    assert lento.metrics.counter("fallback.reduce_sum") == before


@pytest.mark.parametrize(
    "reduce",
    [
        lambda x: x.T.sum(),
        lambda x: x[:, ::2].sum(),
        lambda x: (x.T * 2).sum(axis=1),
        lambda x: x[1:, 3:].max(),
        lambda x: (x - x.mean(axis=0)).T.sum(axis=1),
        lambda x: x.T[::3].argmax(),
    ],
    ids=["transposed", "slice", "computed", "inner part", "of rows", "argmax"],
)
def test_what_does_not_lie_in_one_line_is_copied_first(reduce: Callable[[lento.Tensor], lento.Tensor]) -> None:
    x = np.random.default_rng(2).standard_normal((90, 70)).astype(np.float32)
    before = lento.metrics.counters()
    result = reduce(lento.asarray(x)).numpy()
    assert {
        name for name, n in lento.metrics.counters().items() if n != before.get(name, 0) and "fallback" in name
    } == set()
    assert result.tobytes() == reduce(lento.asarray(x, device="reference")).numpy().tobytes()


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape", [(3, 2), (129, 70), (1, 5), (4, 3, 2)])
def test_what_is_reduced_down_the_columns_is_used_twice(shape: tuple[int, ...], keepdims: bool) -> None:
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    tensor = lento.asarray(x)
    lento.eval(tensor)
    most, top = x.max(axis=0, keepdims=keepdims), lento.max(tensor, axis=0, keepdims=keepdims)
    np.testing.assert_array_equal(((tensor - top) * top).numpy(), (x - most) * most)
    np.testing.assert_array_equal(lento.where(tensor < top, top, -tensor).numpy(), np.where(x < most, most, -x))
