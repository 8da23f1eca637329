"""Decompositions: their factors are not unique, so that what they promise is tested, not their numbers."""

from __future__ import annotations

from typing import Any

import lento
import numpy as np
import pytest

SHAPES = [(3, 3), (4, 2), (2, 4), (2, 3, 3), (0, 3, 3), (1, 1)]
DTYPES = ["float32", "float64", "complex64", "complex128"]


def matrix(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    data = rng.normal(size=shape)
    if dtype.startswith("complex"):
        data = data + 1j * rng.normal(size=shape)
    return data.astype(dtype)


def adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


def close(a: Any, b: Any, dtype: str) -> None:
    tolerance = 2e-5 if dtype in ("float32", "complex64") else 1e-12
    np.testing.assert_allclose(a, b, atol=tolerance, rtol=tolerance)


def symmetric(shape: tuple[int, ...], dtype: str) -> Any:
    x = matrix(shape, dtype)
    return x + adjoint(x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("full", [False, True])
def test_svd(shape: tuple[int, ...], dtype: str, full: bool) -> None:
    x = matrix(shape, dtype)
    for u, s, vh in (
        lento.linalg.svd(lento.asarray(x), full_matrices=full),
        lento._core.prim.svd_factor(lento.asarray(x), full),
    ):
        u, s, vh = u.numpy(), s.numpy(), vh.numpy()
        assert s.dtype == x.real.dtype
        k = min(shape[-2:])
        assert u.shape[-2:] == (shape[-2], shape[-2] if full else k)
        assert vh.shape[-2:] == (shape[-1] if full else k, shape[-1])
        close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x, dtype)
        close(adjoint(u) @ u, np.broadcast_to(np.eye(u.shape[-1]), (*u.shape[:-2], u.shape[-1], u.shape[-1])), dtype)
        assert np.all(np.diff(s, axis=-1) <= 0) and np.all(s >= 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (0, 2, 2), (1, 1)], ids=str)
def test_eigh(shape: tuple[int, ...], dtype: str) -> None:
    x = symmetric(shape, dtype)
    for w, v in (lento.linalg.eigh(lento.asarray(x)), lento._core.prim.eigh_factor(lento.asarray(x))):
        w, v = w.numpy(), v.numpy()
        assert w.dtype == x.real.dtype
        close((v * w[..., None, :]) @ adjoint(v), x, dtype)
        assert np.all(np.diff(w, axis=-1) >= 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (1, 1)], ids=str)
def test_eig(shape: tuple[int, ...], dtype: str) -> None:
    x = matrix(shape, dtype)
    for w, v in (lento.linalg.eig(lento.asarray(x)), lento._core.prim.eig_factor(lento.asarray(x))):
        w, v = w.numpy(), v.numpy()
        assert w.dtype.kind == v.dtype.kind == "c"
        close(x @ v, v * w[..., None, :], dtype)
    alone = lento.linalg.eigvals(lento.asarray(x)).numpy()
    close(np.sort_complex(alone), np.sort_complex(np.linalg.eigvals(x)), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (4, 4)], ids=str)
def test_lu_factor(shape: tuple[int, ...], dtype: str) -> None:
    x = matrix(shape, dtype)
    lu, pivots = (t.numpy() for t in lento._core.prim.lu_factor(lento.asarray(x)))
    n = shape[-1]
    lower, upper = np.tril(lu, -1) + np.eye(n, dtype=x.dtype), np.triu(lu)
    permuted = x.copy()
    for place in np.ndindex(*shape[:-2]):
        for i, j in enumerate(pivots[place]):
            permuted[place][[i, j]] = permuted[place][[j, i]]
    close(lower @ upper, permuted, dtype)
    assert pivots.dtype == np.int32
