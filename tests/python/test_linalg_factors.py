"""Factorisations whose signs, phases or order are free: what they promise, checked by multiplying back."""

from __future__ import annotations

import lento
import numpy as np
import pytest

prim = lento._core.prim
DTYPES = ("float32", "float64", "complex64", "complex128")
SHAPES = ((4, 4), (5, 3), (3, 5), (2, 3, 4, 4), (0, 3, 3))


def random_matrix(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    values = generator.normal(size=shape)
    if dtype.startswith("complex"):
        values = values + 1j * generator.normal(size=shape)
    return values.astype(dtype)


def adjoint(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


def assert_close(actual: np.ndarray, expected: np.ndarray) -> None:
    assert actual.shape == expected.shape
    tolerance = 100 * np.finfo(expected.dtype).eps
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_svd_multiplies_back(shape: tuple[int, ...], dtype: str) -> None:
    x = random_matrix(shape, dtype)
    u, s, vh = (each.numpy() for each in prim.svd_factor(lento.asarray(x), False))
    assert_close((u * s[..., None, :]) @ vh, x)
    assert_close(s, np.linalg.svd(x, compute_uv=False))
    u, _, vh = (each.numpy() for each in prim.svd_factor(lento.asarray(x), True))
    for square in (u, vh):
        assert_close(square @ adjoint(square), np.broadcast_to(np.eye(square.shape[-1], dtype=dtype), square.shape))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [s for s in SHAPES if s[-1] == s[-2]])
def test_eigh_diagonalizes(shape: tuple[int, ...], dtype: str) -> None:
    x = random_matrix(shape, dtype)
    x = x + adjoint(x)
    w, v = (each.numpy() for each in prim.eigh_factor(lento.asarray(x)))
    assert_close(x @ v, v * w[..., None, :])
    assert_close(w, np.linalg.eigvalsh(x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [s for s in SHAPES if s[-1] == s[-2]])
def test_eig_diagonalizes(shape: tuple[int, ...], dtype: str) -> None:
    x = random_matrix(shape, dtype)
    w, v = (each.numpy() for each in prim.eig_factor(lento.asarray(x)))
    assert w.dtype.kind == v.dtype.kind == "c"
    assert_close(x @ v, v * w[..., None, :])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_lu_multiplies_back(shape: tuple[int, ...], dtype: str) -> None:
    x = random_matrix(shape, dtype)
    lu, pivots = (each.numpy() for each in prim.lu_factor(lento.asarray(x)))
    rank = min(shape[-2:])
    assert pivots.dtype == np.int32
    assert pivots.shape == (*shape[:-2], rank)
    lower = np.tril(lu, -1)[..., :rank] + np.eye(shape[-2], rank, dtype=dtype)
    upper = np.triu(lu)[..., :rank, :]
    swapped = x.copy()
    for batch in np.ndindex(shape[:-2]):
        for row, other in enumerate(pivots[batch]):
            swapped[batch][[row, other]] = swapped[batch][[other, row]]
    assert_close(lower @ upper, swapped)
