"""nan, inf, -0, empty and zero-dimensional input of the Array API's and NumPy's functions, against NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest

nan, inf = np.nan, np.inf
ROWS = np.array(
    [
        [1.0, nan, -2.0, 0.0, 5.0, 5.0],
        [inf, 1.0, -inf, 3.0, 2.0, -0.0],
        [0.5, 1.5, 2.5, -1.5, -0.5, 3.5],
        [nan, nan, nan, nan, nan, nan],
        [inf, inf, inf, inf, inf, inf],
        [-inf, -inf, -inf, -inf, -inf, 4.0],
    ]
)
MASK = np.array([[True, False, True], [False, False, True]])

Case = tuple[str, Callable[[Any, Any], Any]]


def axes_cases(name: str, **more: Any) -> list[Case]:
    """A reduction over one axis, the other, and all."""
    return [
        (
            f"{name}-{axis}-{keep}",
            lambda xp, x, axis=axis, keep=keep: getattr(xp, name)(x, axis=axis, keepdims=keep, **more),
        )
        for axis in (0, 1, None)
        for keep in (False, True)
    ]


CASES: list[Case] = [
    *[
        case
        for name in (
            "sum",
            "prod",
            "max",
            "min",
            "mean",
            "any",
            "all",
            "count_nonzero",
            "median",
            "argmax",
            "argmin",
            "ptp",
        )
        for case in axes_cases(name)
    ],
    *[case for name in ("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanmedian") for case in axes_cases(name)],
    *[
        (f"{name}-{axis}", lambda xp, x, name=name, axis=axis: getattr(xp, name)(x, axis=axis))
        for name in ("cumsum", "cumprod", "sort", "argsort", "flip", "var", "std", "nanvar", "nanstd")
        for axis in (0, 1)
    ],
    # With infinities NumPy subtracts them from each other and gives nan; Lento does not.
    ("quantile", lambda xp, x: xp.quantile(x[2:4], 0.3, axis=1)),
    ("nanquantile", lambda xp, x: xp.nanquantile(x[2:4], 0.3, axis=1)),
    ("percentile", lambda xp, x: xp.percentile(x, 90.0, axis=0)),
    ("quantile-ends", lambda xp, x: xp.quantile(x[2:4], xp.asarray([0.0, 1.0]), axis=1)),
    ("diff", lambda xp, x: xp.diff(x)),
    ("isin", lambda xp, x: xp.isin(x, xp.asarray([nan, inf, 1.0]))),
    ("isin-many", lambda xp, x: xp.isin(x, xp.asarray([nan, inf, 1.0] + [float(i) for i in range(2, 30)]))),
    ("fmax", lambda xp, x: xp.fmax(x, xp.flip(x, axis=1))),
    ("fmin", lambda xp, x: xp.fmin(x, xp.flip(x, axis=1))),
    ("clip", lambda xp, x: xp.clip(x, -1.0, 2.0)),
    ("nan_to_num", lambda xp, x: xp.nan_to_num(x)),
    ("nan_to_num-given", lambda xp, x: xp.nan_to_num(x, nan=7.0, posinf=1.0, neginf=-1.0)),
    ("heaviside", lambda xp, x: xp.heaviside(x, 0.5)),
    ("isclose", lambda xp, x: xp.isclose(x, xp.flip(x, axis=1), equal_nan=True)),
    ("isclose-inf", lambda xp, x: xp.isclose(x, xp.flip(x, axis=1), rtol=1e30)),
    ("isposinf", lambda xp, x: xp.isposinf(x)),
    ("isneginf", lambda xp, x: xp.isneginf(x)),
    ("logical_and", lambda xp, x: xp.logical_and(x, xp.flip(x, axis=0))),
    ("logical_xor", lambda xp, x: xp.logical_xor(x, xp.flip(x, axis=0))),
    ("float_power", lambda xp, x: xp.float_power(x, 2.0)),
    ("square", lambda xp, x: xp.square(x)),
    ("exp2", lambda xp, x: xp.exp2(x)),
    ("cbrt", lambda xp, x: xp.cbrt(x)),
    ("around", lambda xp, x: xp.around(x, 1)),
    ("frac", lambda xp, x: lento.frac(x) if xp is lento else np.where(np.isinf(x), nan, np.modf(x)[0])),
    ("digitize", lambda xp, x: xp.digitize(x[2], xp.asarray([0.0, 1.5, 3.0]))),
    ("digitize-falling", lambda xp, x: xp.digitize(x[2], xp.asarray([3.0, 1.5, 0.0]))),
    ("digitize-falling-right", lambda xp, x: xp.digitize(x[2], xp.asarray([3.0, 1.5, 0.0]), right=True)),
    ("interp", lambda xp, x: xp.interp(x[2], xp.asarray([0.0, 1.0, 2.0]), xp.asarray([5.0, 7.0, -1.0]))),
    ("gradient", lambda xp, x: xp.gradient(x[2])),
    ("searchsorted", lambda xp, x: xp.searchsorted(xp.sort(x[0]), xp.asarray([nan, 5.0, -2.0, inf]), side="right")),
    ("triu", lambda xp, x: xp.triu(x, k=1)),
    ("tril", lambda xp, x: xp.tril(x, k=-1)),
    ("pad-reflect", lambda xp, x: xp.pad(x, ((0, 9), (11, 0)), mode="reflect")),
    ("pad-symmetric", lambda xp, x: xp.pad(x, ((0, 9), (13, 0)), mode="symmetric")),
    ("roll", lambda xp, x: xp.roll(x, (7, -8), axis=(0, 1))),
    ("where", lambda xp, x: xp.where(xp.isnan(x), 0.0, x)),
    ("take", lambda xp, x: xp.take(x, xp.asarray([-1, 0, 2]), axis=1)),
    ("corrcoef", lambda xp, x: xp.corrcoef(x[2], x[2])),
    ("trapezoid", lambda xp, x: xp.trapezoid(x[2], xp.asarray([0.0, 1.0, 1.5, 2.0, 4.0, 8.0]))),
    ("tensordot-pairs", lambda xp, x: xp.tensordot(x[:, :3], x[:, 3:], axes=((0,), (0,)))),
    ("norm-1", lambda xp, x: xp.linalg.norm(x[1:3], ord=1)),
    ("norm-inf", lambda xp, x: xp.linalg.norm(x[1:3], ord=inf)),
    ("matrix_norm-2", lambda xp, x: xp.linalg.matrix_norm(x[2:3], ord=2)),
    ("vector_norm-of-integers", lambda xp, x: xp.linalg.vector_norm(xp.asarray([3, 4]))),
]


def values(result: Any) -> Any:
    return result.numpy() if isinstance(result, lento.Tensor) else np.asarray(result)


@pytest.mark.parametrize(("name", "call"), CASES, ids=[name for name, _ in CASES])
def test_special_values_agree_with_numpy(name: str, call: Callable[[Any, Any], Any]) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = values(call(np, ROWS))
    actual = values(call(lento, lento.asarray(ROWS)))
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=1e-6 if "float32" in str(actual.dtype) else 1e-13, atol=1e-300)


EMPTY: list[tuple[str, Callable[[Any], Any]]] = [
    ("sum", lambda xp: xp.sum(xp.zeros((0, 3)), axis=0)),
    ("prod", lambda xp: xp.prod(xp.zeros((0, 3)), axis=0)),
    ("mean", lambda xp: xp.mean(xp.zeros((0, 3)), axis=0)),
    ("var", lambda xp: xp.var(xp.zeros((0, 3)), axis=0)),
    ("any", lambda xp: xp.any(xp.zeros((0,)))),
    ("max-other-axis", lambda xp: xp.max(xp.zeros((0, 3)), axis=1)),
    ("concat", lambda xp: xp.concat([xp.zeros((0, 3)), xp.ones((2, 3))])),
    ("matmul", lambda xp: xp.matmul(xp.zeros((2, 0)), xp.zeros((0, 3)))),
    ("einsum", lambda xp: xp.einsum("ij,jk->ik", xp.zeros((2, 0)), xp.zeros((0, 3)))),
    ("sort", lambda xp: xp.sort(xp.zeros((2, 0)))),
    ("unique", lambda xp: xp.unique_values(xp.zeros((0,)))),
    ("nonzero", lambda xp: xp.nonzero(xp.zeros((3, 0)))[1]),
    ("take", lambda xp: xp.take(xp.ones((3,)), xp.zeros((0,), dtype=xp.int64))),
    ("cumulative_sum", lambda xp: xp.cumulative_sum(xp.zeros((0,)), include_initial=True)),
    ("tile", lambda xp: xp.tile(xp.ones((2,)), (0,))),
    ("roll", lambda xp: xp.roll(xp.zeros((0, 2)), 1, axis=0)),
    ("diff", lambda xp: xp.diff(xp.zeros((0,)))),
    ("kron", lambda xp: xp.kron(xp.zeros((0, 2)), xp.ones((2, 2)))),
    ("mask", lambda xp: xp.ones((3,))[xp.zeros((3,), dtype=xp.bool)]),
    ("histogram", lambda xp: xp.histogram(xp.zeros((0,)))[0]),
    ("det", lambda xp: xp.linalg.det(xp.zeros((0, 0)))),
    ("inv", lambda xp: xp.linalg.inv(xp.zeros((2, 0, 0)))),
    ("matrix_rank", lambda xp: xp.linalg.matrix_rank(xp.zeros((2, 0, 3)))),
    ("pinv", lambda xp: xp.linalg.pinv(xp.zeros((0, 3)))),
    ("vector_norm", lambda xp: xp.linalg.vector_norm(xp.zeros((0,)))),
    ("meshgrid", lambda xp: xp.meshgrid(xp.zeros((0,)), xp.zeros((2,)))[0]),
    ("linspace", lambda xp: xp.linspace(0, 1, 0)),
    ("eye", lambda xp: xp.eye(0, 3)),
    ("zero-dim sum", lambda xp: xp.sum(xp.ones(()))),
    ("zero-dim sort", lambda xp: xp.reshape(xp.ones(()), (-1,))),
    ("zero-dim ravel", lambda xp: xp.ravel(xp.ones(()))),
    ("zero-dim squeeze", lambda xp: xp.squeeze(xp.ones(()))),
    ("zero-dim flip", lambda xp: xp.flip(xp.ones(()))),
    ("zero-dim argmax", lambda xp: xp.argmax(xp.ones(()))),
    ("zero-dim repeat", lambda xp: xp.repeat(xp.ones(()), 3)),
    ("zero-dim cumsum", lambda xp: xp.cumsum(xp.ones(()))),
    ("zero-dim median", lambda xp: xp.median(xp.ones(()))),
    ("zero-dim isin", lambda xp: xp.isin(xp.ones(()), xp.ones((2,)))),
    ("zero-dim unique", lambda xp: xp.unique_inverse(xp.ones(()))[1]),
    ("zero-dim outer", lambda xp: xp.linalg.outer(xp.ones((1,)), xp.ones((1,)))),
    ("zero-dim einsum", lambda xp: xp.einsum(",->", xp.ones(()), xp.ones(()))),
]


@pytest.mark.parametrize(("name", "call"), EMPTY, ids=[name for name, _ in EMPTY])
def test_empty_and_zero_dimensional_input_agrees_with_numpy(name: str, call: Callable[[Any], Any]) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = values(call(np))
    actual = values(call(lento))
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected)


def test_unique_counts_each_nan() -> None:
    x = np.array([nan, 1.0, nan, -0.0, 0.0])
    got_values, indices, inverse, counts = (each.numpy() for each in lento.unique_all(lento.asarray(x)))
    np.testing.assert_array_equal(got_values, [0.0, 1.0, nan, nan])
    np.testing.assert_array_equal(counts, [2, 1, 1, 1])
    np.testing.assert_array_equal(indices, [3, 1, 0, 2])
    np.testing.assert_array_equal(got_values[inverse], x)


def test_half_precision_means_do_not_overflow() -> None:
    x = lento.full((3000,), 60.0, dtype=lento.float16)
    assert float(lento.mean(x)) == 60.0
    assert float(lento.var(x)) == 0.0
    assert lento.mean(x).dtype is lento.float16
    assert lento.var(x).dtype is lento.float16


def test_integers_become_floats_where_they_must() -> None:
    x = lento.asarray(np.array([[1, 2], [3, 5]]))
    for result in (
        lento.mean(x),
        lento.var(x),
        lento.std(x),
        lento.median(x),
        lento.linalg.det(x),
        lento.linalg.inv(x),
    ):
        assert result.dtype is lento.float32
    assert lento.linalg.svdvals(x).dtype is lento.float32
    assert lento.fft.fft(x).dtype is lento.complex64
    assert float(lento.linalg.det(x)) == pytest.approx(-1.0)


@pytest.mark.parametrize("norm", [1000.0, 1e-3])
def test_matrix_exponential_of_stiff_matrices(norm: float) -> None:
    scipy_linalg = pytest.importorskip("scipy.linalg")
    x = np.array([[-1.0, 1.0], [0.5, -2.0]]) * norm
    np.testing.assert_allclose(
        lento.linalg.matrix_exp(lento.asarray(x)).numpy(), scipy_linalg.expm(x), rtol=1e-9, atol=1e-15
    )


def test_einsum_stretches_axes_of_length_one() -> None:
    a, b = np.ones((2, 1)), np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(
        lento.einsum("ij,jk->ik", lento.asarray(a), lento.asarray(b)).numpy(), np.einsum("ij,jk->ik", a, b)
    )
