"""Derivatives of factorisations whose vectors have an arbitrary sign or phase, by functions that do not see it."""

from __future__ import annotations

from collections.abc import Callable

import lento
import numpy as np
import pytest

STEP = 1e-6


def random_matrix(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    values = rng.normal(size=shape)
    if dtype == "complex128":
        values = values + 1j * rng.normal(size=shape)
    return values


def transposed(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


def check(f: Callable[[lento.Tensor], lento.Tensor], x: np.ndarray, rng: np.random.Generator, hermitian: bool) -> None:
    direction = random_matrix(rng, x.shape, x.dtype.name)
    if hermitian:
        direction = direction + transposed(direction)

    def value(step: float) -> float:
        return float(f(lento.asarray(x + step * direction)))

    expected = (value(STEP) - value(-STEP)) / (2 * STEP)
    gradient = lento.grad(f)(lento.asarray(x)).numpy()
    reverse = float(np.real(np.sum(np.conj(gradient) * direction)))
    _, forward = lento.jvp(f, (lento.asarray(x),), (lento.asarray(direction),))
    assert abs(reverse - expected) <= 2e-5 * max(1, abs(expected))
    assert abs(float(forward) - reverse) <= 1e-8 * max(1, abs(reverse))


def weighted(x: lento.Tensor, seed: int) -> lento.Tensor:
    """A real scalar that every element of a real tensor has a different part in."""
    weights = np.random.default_rng(seed).normal(size=x.shape)
    return (x * lento.asarray(weights)).sum()


def squares(x: lento.Tensor) -> lento.Tensor:
    return lento.real(x * lento.conj(x)) if x.dtype.kind == "c" else x * x


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3)])
def test_svd(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(1)

    def f(x: lento.Tensor) -> lento.Tensor:
        u, s, vh = lento.linalg.svd(x, full_matrices=False)
        # u and v share their phases: each column's square, and the product of both.
        both = lento.matmul(u * lento.exp(-s)[..., None, :], vh)
        return weighted(s, 1) + weighted(squares(u), 2) + weighted(squares(vh), 3) + weighted(squares(both), 4)

    check(f, random_matrix(rng, shape, dtype), rng, hermitian=False)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 3)])
def test_eigh(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(2)

    def f(x: lento.Tensor) -> lento.Tensor:
        w, v = lento.linalg.eigh(x)
        power = lento.matmul(v * lento.exp(0.3 * w)[..., None, :], lento.conj(lento.matrix_transpose(v)))
        return weighted(w, 1) + weighted(squares(v), 2) + weighted(squares(power), 3)

    x = random_matrix(rng, shape, dtype)
    check(f, x + transposed(x), rng, hermitian=True)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_eig(dtype: str) -> None:
    rng = np.random.default_rng(3)

    def f(x: lento.Tensor) -> lento.Tensor:
        w, v = lento.linalg.eig(x)
        return weighted(lento.real(w), 1) + weighted(lento.imag(w), 2) + weighted(squares(v), 3)

    check(f, random_matrix(rng, (4, 4), dtype), rng, hermitian=False)


def test_what_is_arbitrary_is_refused() -> None:
    tall = lento.asarray(np.random.default_rng(4).normal(size=(4, 2)))
    with pytest.raises(ValueError, match="full singular vectors"):
        lento.grad(lambda x: lento.linalg.svd(x, full_matrices=True)[0].sum())(tall)
    with pytest.raises(ValueError, match="complete QR"):
        lento.grad(lambda x: lento.linalg.qr(x, mode="complete")[0].sum())(tall)
    # The singular values alone are no trouble.
    assert lento.grad(lambda x: lento.linalg.svdvals(x).sum())(tall).shape == (4, 2)
