"""Each function of the Array API against NumPy, with drawn shapes, dtypes, values and options.

The suite tries the same few calls of each function every time; `pytest tests/python/test_array_api_functions.py --long`
tries others each time, for hours.
"""

from __future__ import annotations

from typing import Any

import array_api_cases as cases
import array_api_names as names
import array_api_products as products
import lento
import numpy as np
import pytest
from array_api_cases import ALL, BOOL, COMPLEXES, FLOATS, INTEGERS, NUMERIC, REAL, SIGNED, SOME, Case, wide, xps
from comparisons import assert_matches
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

REAL_FLOATING = FLOATS + COMPLEXES
MODERATE = (-20, 20)


def both(real: Case, complex_: Case) -> Case:
    """Complex numbers stay where no library's special values differ."""
    return lambda draw: (real if draw(st.booleans()) else complex_)(draw)


def analytic(oracle: Any, low: Any = None, high: Any = None) -> Case:
    return both(cases.unary(oracle, FLOATS, low, high), cases.unary(oracle, COMPLEXES, -3, 3))


def cumulative(oracle: Any) -> Any:
    def expected(x: Any, axis: int, include_initial: bool) -> Any:
        return oracle(x, axis=axis, include_initial=include_initial)

    return expected


def std(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.std(x, axis=axis, keepdims=keepdims)


CASES: dict[str, Case] = {
    # elementwise
    "abs": both(cases.unary(np.abs, INTEGERS + FLOATS), cases.unary(np.abs, COMPLEXES, -9, 9)),
    "acos": analytic(np.arccos),
    "acosh": analytic(np.arccosh),
    "asin": analytic(np.arcsin),
    "asinh": analytic(np.arcsinh),
    "atan": analytic(np.arctan),
    "atanh": analytic(np.arctanh),
    "bitwise_invert": cases.unary(np.bitwise_not, BOOL + INTEGERS),
    "ceil": cases.unary(np.ceil, REAL),
    "conj": cases.unary(np.conj, NUMERIC),
    "cos": analytic(np.cos, -1e4, 1e4),
    "cosh": analytic(np.cosh),
    "exp": analytic(np.exp),
    "expm1": analytic(np.expm1),
    "floor": cases.unary(np.floor, REAL),
    "imag": cases.unary(np.imag, COMPLEXES),
    "isfinite": cases.unary(np.isfinite, NUMERIC),
    "isinf": cases.unary(np.isinf, NUMERIC),
    "isnan": cases.unary(np.isnan, NUMERIC),
    "log": analytic(np.log),
    "log1p": cases.unary(np.log1p, FLOATS),  # NumPy is not exact for small complex numbers
    "log2": analytic(np.log2),
    "log10": analytic(np.log10),
    "logical_not": cases.unary(np.logical_not, BOOL),
    "negative": cases.unary(np.negative, SIGNED + REAL_FLOATING),
    "positive": cases.unary(np.positive, NUMERIC),
    "real": cases.unary(np.real, COMPLEXES),
    "reciprocal": analytic(np.reciprocal),
    "round": cases.unary(np.round, REAL),
    "sign": cases.unary(np.sign, REAL),
    "signbit": cases.unary(np.signbit, FLOATS),
    "sin": analytic(np.sin, -1e4, 1e4),
    "sinh": analytic(np.sinh),
    "square": both(cases.unary(np.square, INTEGERS + FLOATS), cases.unary(np.square, COMPLEXES, -9, 9)),
    "sqrt": analytic(np.sqrt),
    "tan": analytic(np.tan, -1.5, 1.5),
    "tanh": analytic(np.tanh),
    "trunc": cases.unary(np.trunc, REAL),
    "add": cases.binary(np.add, NUMERIC, -60, 60),
    "atan2": cases.binary(np.arctan2, FLOATS),
    "bitwise_and": cases.binary(np.bitwise_and, BOOL + INTEGERS),
    "bitwise_left_shift": cases.shift(np.left_shift),
    "bitwise_or": cases.binary(np.bitwise_or, BOOL + INTEGERS),
    "bitwise_right_shift": cases.shift(np.right_shift),
    "bitwise_xor": cases.binary(np.bitwise_xor, BOOL + INTEGERS),
    "copysign": cases.binary(np.copysign, FLOATS),
    "divide": cases.binary(np.divide, FLOATS),
    "equal": cases.binary(np.equal, ALL),
    "floor_divide": cases.whole_division(np.floor_divide),
    "greater": cases.binary(np.greater, REAL),
    "greater_equal": cases.binary(np.greater_equal, REAL),
    "hypot": cases.binary(np.hypot, FLOATS),
    "less": cases.binary(np.less, REAL),
    "less_equal": cases.binary(np.less_equal, REAL),
    "logaddexp": cases.binary(np.logaddexp, FLOATS),
    "logical_and": cases.binary(np.logical_and, BOOL),
    "logical_or": cases.binary(np.logical_or, BOOL),
    "logical_xor": cases.binary(np.logical_xor, BOOL),
    "maximum": cases.binary(np.maximum, REAL),
    "minimum": cases.binary(np.minimum, REAL),
    "multiply": cases.binary(np.multiply, NUMERIC, -10, 10),
    "not_equal": cases.binary(np.not_equal, ALL),
    "pow": cases.binary(np.power, FLOATS),
    "remainder": cases.whole_division(np.remainder),
    "subtract": cases.binary(np.subtract, SIGNED + REAL_FLOATING, -60, 60),
    "clip": cases.clip,
    "where": cases.where,
    # reductions and what goes along an axis
    "all": cases.reduction(np.all, ALL, None, None),
    "any": cases.reduction(np.any, ALL, None, None),
    "argmax": cases.position(np.argmax),
    "argmin": cases.position(np.argmin),
    "argsort": cases.sorting(np.argsort),
    "count_nonzero": cases.reduction(np.count_nonzero, ALL, -2, 2),
    "cumulative_prod": cases.scan(cumulative(np.cumulative_prod), -2, 2),
    "cumulative_sum": cases.scan(cumulative(np.cumulative_sum), -20, 20),
    "diff": cases.diff,
    "max": cases.reduction(np.max, REAL, None, None, SOME),
    "mean": cases.reduction(np.mean, REAL_FLOATING, *MODERATE, SOME),
    "min": cases.reduction(np.min, REAL, None, None, SOME),
    "prod": cases.reduction(np.prod, NUMERIC, -1, 1),
    "sort": cases.sorting(np.sort),
    "std": cases.reduction(std, FLOATS, *MODERATE, SOME),
    "sum": cases.reduction(np.sum, NUMERIC, *MODERATE),
    "var": cases.reduction(np.var, FLOATS, *MODERATE, SOME),
    "searchsorted": cases.searchsorted,
    "isin": cases.isin,
    "nonzero": cases.unary(np.nonzero, ALL, shape=SOME),
    "unique_all": cases.unique(np.unique_all),
    "unique_counts": cases.unique(np.unique_counts),
    "unique_inverse": cases.unique(np.unique_inverse),
    "unique_values": cases.unique(np.unique),
    # manipulation
    "broadcast_arrays": cases.broadcast,
    "broadcast_to": cases.broadcast_to,
    "concat": cases.joined(np.concat),
    "expand_dims": cases.expand_dims,
    "flip": cases.flip,
    "meshgrid": cases.meshgrid,
    "moveaxis": cases.moveaxis,
    "permute_dims": cases.permute_dims,
    "repeat": cases.repeat,
    "reshape": cases.reshape,
    "roll": cases.roll,
    "squeeze": cases.squeeze,
    "stack": cases.joined(np.stack),
    "take": cases.take,
    "take_along_axis": cases.take_along_axis,
    "tile": cases.tile,
    "tril": cases.triangle(np.tril),
    "triu": cases.triangle(np.triu),
    "unstack": cases.with_axis(np.unstack),
    # creation
    "arange": products.arange,
    "eye": products.eye,
    "full": products.filled(np.full, like=False, number=True),
    "full_like": products.filled(np.full, like=True, number=True),
    "linspace": products.linspace,
    "ones": products.filled(np.ones, like=False),
    "ones_like": products.filled(np.ones, like=True),
    "zeros": products.filled(np.zeros, like=False),
    "zeros_like": products.filled(np.zeros, like=True),
    # linear algebra
    "matmul": products.matmul,
    "matrix_transpose": products.transpose,
    "tensordot": products.tensordot,
    "vecdot": products.vecdot,
    "linalg.cholesky": products.square(np.linalg.cholesky, positive=True, upper=st.booleans()),
    "linalg.cross": products.cross,
    "linalg.det": products.square(np.linalg.det),
    "linalg.diagonal": products.along_diagonal(np.diagonal),
    "linalg.eigvalsh": products.square(np.linalg.eigvalsh, hermitian=True),
    "linalg.inv": products.square(np.linalg.inv),
    "linalg.matmul": products.matmul,
    "linalg.matrix_norm": products.rectangle(
        lambda x, ord: np.linalg.matrix_norm(x, ord=ord), ord=st.sampled_from(["fro", "nuc", 1, -1, 2, np.inf, -np.inf])
    ),
    "linalg.matrix_power": products.matrix_power,
    "linalg.matrix_rank": products.rectangle(np.linalg.matrix_rank),
    "linalg.matrix_transpose": products.transpose,
    "linalg.outer": products.outer,
    "linalg.pinv": products.square(np.linalg.pinv),
    "linalg.slogdet": products.square(np.linalg.slogdet),
    "linalg.solve": products.solve,
    "linalg.svdvals": products.rectangle(np.linalg.svdvals),
    "linalg.tensordot": products.tensordot,
    "linalg.trace": products.along_diagonal(np.trace),
    "linalg.vecdot": products.vecdot,
    "linalg.vector_norm": products.vector_norm,
    # Fourier transforms
    "fft.fft": products.transform(np.fft.fft, COMPLEXES),
    "fft.fftfreq": products.frequencies(np.fft.fftfreq),
    "fft.fftn": products.transforms(np.fft.fftn, COMPLEXES),
    "fft.fftshift": products.shifted(np.fft.fftshift),
    "fft.hfft": products.transform(np.fft.hfft, COMPLEXES, 2),
    "fft.ifft": products.transform(np.fft.ifft, COMPLEXES),
    "fft.ifftn": products.transforms(np.fft.ifftn, COMPLEXES),
    "fft.ifftshift": products.shifted(np.fft.ifftshift),
    "fft.ihfft": products.transform(np.fft.ihfft, FLOATS),
    "fft.irfft": products.transform(np.fft.irfft, COMPLEXES, 2),
    "fft.irfftn": products.transforms(np.fft.irfftn, COMPLEXES, 2),
    "fft.rfft": products.transform(np.fft.rfft, FLOATS),
    "fft.rfftfreq": products.frequencies(np.fft.rfftfreq),
    "fft.rfftn": products.transforms(np.fft.rfftn, FLOATS),
}

# Named in test_array_api.py and test_dlpack.py, in the tests below, or without values that could be compared.
ELSEWHERE = {
    *("__array_namespace_info__", "from_dlpack", "empty", "empty_like", "asarray"),
    *("astype", "broadcast_shapes", "can_cast", "finfo", "iinfo", "isdtype", "result_type", "nextafter"),
    *("linalg.eig", "linalg.eigh", "linalg.eigvals", "linalg.qr", "linalg.svd"),
}
# Relative, for float32: sums of many terms, and what divides by small differences.
TOLERANCE = {"linalg": 2e-4, "fft": 2e-5, "matmul": 2e-5, "tensordot": 2e-5, "vecdot": 2e-5, "pow": 1e-5}


def test_every_function_of_the_standard_is_here() -> None:
    standard = {*names.FUNCTIONS, *(f"linalg.{n}" for n in names.LINALG), *(f"fft.{n}" for n in names.FFT)}
    assert standard == CASES.keys() | ELSEWHERE
    assert not CASES.keys() & ELSEWHERE


def compare(result: Any, expected: Any, name: str) -> None:
    if isinstance(result, tuple | list):
        assert len(result) == len(expected)
        for one, other in zip(result, expected, strict=True):
            compare(one, other, name)
        return
    tolerance = TOLERANCE.get(name, TOLERANCE.get(name.split(".")[0]))
    with np.errstate(all="ignore"):
        assert_matches(result.numpy(), expected, tolerance=tolerance, elementwise=tolerance is None, context=name)


@pytest.mark.parametrize("name", CASES)
def test_function_agrees_with_numpy(name: str, examples: settings) -> None:
    *space, function = name.split(".")
    called = getattr(getattr(lento, space[0]) if space else lento, function)

    @examples
    @given(data=st.data())
    def check(data: Any) -> None:
        with np.errstate(all="ignore"):
            arguments, words, expected = CASES[name](data.draw)
        compare(called(*arguments, **words), expected, name)

    check()


@pytest.fixture
def examples(request: pytest.FixtureRequest) -> settings:
    """How many calls are tried."""
    long = request.config.getoption("--long")
    return settings(
        max_examples=20_000 if long else 25,
        derandomize=not long,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def test_indexing_agrees_with_numpy(examples: settings) -> None:
    @examples
    @given(data=st.data())
    def check(data: Any) -> None:
        x = cases.tensor(data.draw, ALL)
        key = data.draw(xps.indices(x.shape, max_dims=6, allow_newaxis=True))
        compare(x[key], wide(x)[key], f"x[{key}]")

    check()


def test_assignment_agrees_with_numpy(examples: settings) -> None:
    @examples
    @given(data=st.data())
    def check(data: Any) -> None:
        x = cases.tensor(data.draw, NUMERIC)
        key = data.draw(xps.indices(x.shape))
        expected = wide(x).copy()
        expected[key] = 7
        x[key] = 7
        compare(x, expected, f"x[{key}] = 7")

    check()


def test_astype_agrees_with_numpy(examples: settings) -> None:
    @examples
    @given(data=st.data())
    def check(data: Any) -> None:
        x = cases.tensor(data.draw, REAL, low=0, high=100)
        dtype = data.draw(st.sampled_from(ALL))
        result = lento.astype(x, getattr(lento, dtype))
        assert result.dtype.name == dtype
        compare(result, x.numpy().astype(dtype), "astype")

    check()


def test_nextafter_agrees_with_numpy(examples: settings) -> None:
    @examples
    @given(data=st.data())
    def check(data: Any) -> None:
        dtype = [data.draw(st.sampled_from(FLOATS))]  # in its own precision: the next number depends on it
        x1 = cases.tensor(data.draw, dtype)
        x2 = cases.tensor(data.draw, dtype, x1.shape)
        np.testing.assert_array_equal(lento.nextafter(x1, x2).numpy(), np.nextafter(x1.numpy(), x2.numpy()))

    check()


def factors(name: str, x: Any) -> Any:
    """What the factors of a matrix give back when they are multiplied, or its eigenvalues as NumPy sorts them."""
    linalg = lento.linalg
    if name == "qr":
        q, r = linalg.qr(x)
        return q @ r
    if name == "svd":
        u, s, vh = linalg.svd(x, full_matrices=False)
        return u @ (lento.expand_dims(s, axis=-1) * vh)
    if name == "eigh":
        x = x @ lento.conj(x.mT)
        values, vectors = linalg.eigh(x)
        return vectors @ (lento.expand_dims(values, axis=-1) * lento.conj(vectors.mT)) - x
    values, vectors = linalg.eig(x @ lento.conj(x.mT))
    return linalg.eigvals(x @ lento.conj(x.mT)) - values + 0 * vectors[..., 0, :]


@pytest.mark.parametrize("name", ["qr", "svd", "eigh", "eig"])
def test_factors_give_the_matrix_back(name: str, examples: settings) -> None:
    @examples
    @given(data=st.data())
    def check(data: Any) -> None:
        (x,), _, _ = products.rectangle(np.asarray)(data.draw)
        expected = wide(x) if name in ("qr", "svd") else np.zeros(factors(name, x).shape)
        tolerance = 1e-3 if x.dtype in (lento.float32, lento.complex64) else 1e-11
        np.testing.assert_allclose(factors(name, x).numpy(), expected, rtol=0, atol=tolerance)

    check()
