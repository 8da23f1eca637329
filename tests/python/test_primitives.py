"""Primitives that have no public function of the same meaning."""

from __future__ import annotations

from typing import Any

import lento
import numpy as np
import oracles
import pytest
from samples import DTYPES, random_array, seed_of

prim = lento._core.prim
MODES = ["set", "add", "multiply", "minimum", "maximum"]
REAL = [d for d in DTYPES if "complex" not in d and d != "bool"]


def array(dtype: str, *shape: int) -> Any:
    return random_array(seed_of(f"{dtype}{shape}"), dtype, shape, -4, 4)


def same(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(
        actual.numpy().astype(np.complex128),
        np.asarray(expected).astype(np.complex128),
        rtol=1e-2 if "float16" in actual.dtype.name else 1e-6,
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_strided_update(dtype: str) -> None:
    x, value = array(dtype, 4, 6), array(dtype, 2, 3)
    result = prim.strided_update(lento.asarray(x), lento.asarray(value), starts=[1, 4], axes=[0, 1], steps=[2, -2])
    x[1::2, 4::-2] = value
    np.testing.assert_array_equal(result.numpy(), x)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("mode", MODES)
def test_scatter_axis(dtype: str, mode: str) -> None:
    x, value = array(dtype, 5, 3), array(dtype, 4, 3)
    index = random_array(seed_of(mode), "int64", (4, 3), 0, 4)
    result = prim.scatter_axis(lento.asarray(x), lento.asarray(index), lento.asarray(value), 0, mode)
    same(
        result,
        oracles.scatter(x, 0, index, value, {"minimum": "amin", "maximum": "amax", "set": "none"}.get(mode, mode)),
    )


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("mode", MODES)
def test_scatter_nd(dtype: str, mode: str) -> None:
    x, value = array(dtype, 5, 3, 2), array(dtype, 4, 2)
    rows, columns = random_array(seed_of(mode), "int64", (4,), -5, 4), random_array(seed_of(mode), "int32", (4,), 0, 2)
    result = prim.scatter_nd(
        lento.asarray(x), lento.asarray(value), [lento.asarray(rows), lento.asarray(columns)], mode
    )
    same(result, oracles.scatter_nd(x, value, [rows, columns], mode))


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("largest", [True, False])
def test_top_k(dtype: str, largest: bool) -> None:
    x = array(dtype, 3, 7)
    values, indices = prim.top_k(lento.asarray(x), 4, 1, largest)
    expected, places = oracles.topk(x, 4, 1, largest)
    np.testing.assert_array_equal(values.numpy(), expected)
    np.testing.assert_array_equal(indices.numpy(), places)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("right", [True, False])
def test_search_sorted(dtype: str, right: bool) -> None:
    edges, values = np.sort(array(dtype, 6)), array(dtype, 3, 4)
    result = prim.search_sorted(lento.asarray(edges), lento.asarray(values), right)
    np.testing.assert_array_equal(result.numpy(), np.searchsorted(edges, values, side="right" if right else "left"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_flat_nonzero(dtype: str) -> None:
    x = array(dtype, 4, 5)
    expected = np.flatnonzero(x)
    result = prim.flat_nonzero(lento.asarray(x), expected.size)
    np.testing.assert_array_equal(result.numpy(), expected)
