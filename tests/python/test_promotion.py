"""T3: promotion, weak numbers, defined results of integer corner cases."""

from __future__ import annotations

import itertools
from typing import Any

import lento
import ml_dtypes
import numpy as np
import pytest
from comparisons import numpy_dtype
from samples import DTYPES, FLOATING, SIGNED, UNSIGNED


def lento_dtype(name: str) -> Any:
    return getattr(lento, name)


def expected_promotion(a: str, b: str) -> str:
    """NumPy's answer, except where T3 says otherwise: integers never widen floats, complex keeps its width."""
    if a == b:
        return a
    kinds = {a: numpy_dtype(a).kind if a != "bfloat16" else "f", b: numpy_dtype(b).kind if b != "bfloat16" else "f"}
    for x, y in ((a, b), (b, a)):
        if kinds[x] in "biu" and kinds[y] in "fc":
            return y
        if kinds[x] == "f" and kinds[y] == "c":
            return "complex128" if x == "float64" else y
    if {a, b} == {"float16", "bfloat16"}:
        return "float32"
    if "bfloat16" in (a, b):
        return a if b == "bfloat16" else b
    return str(np.result_type(a, b))


@pytest.mark.parametrize(("a", "b"), list(itertools.product(DTYPES, DTYPES)))
def test_t3_promotion_of_two_dtypes(a: str, b: str) -> None:
    expected = expected_promotion(a, b)
    assert lento.result_type(lento_dtype(a), lento_dtype(b)).name == expected
    x, y = lento.ones((2,), dtype=lento_dtype(a)), lento.ones((2,), dtype=lento_dtype(b))
    assert (x + y).dtype.name == expected
    assert lento.maximum(x, y).dtype.name == expected if "complex" not in expected else True


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [True, 2, 1.5, 1.5 + 2j], ids=["bool", "int", "float", "complex"])
def test_t3_python_numbers_are_weak(dtype: str, number: Any) -> None:
    x = lento.ones((2,), dtype=lento_dtype(dtype))
    kind = x.dtype.kind
    if (
        isinstance(number, bool)
        or (isinstance(number, int) and kind != "b")
        or (isinstance(number, float) and kind in "fc")
    ):
        expected = dtype
    elif isinstance(number, int):
        expected = "int64"
    elif isinstance(number, float):
        expected = "float32"
    else:
        expected = dtype if kind == "c" else "complex128" if dtype == "float64" else "complex64"
    assert (x * number).dtype.name == expected
    assert (number * x).dtype.name == expected
    assert lento.result_type(x, number).name == expected


@pytest.mark.parametrize(
    "number", [np.float64(2.0), np.float32(2.0), np.int64(2), np.int8(2), np.float16(2.0), ml_dtypes.bfloat16(2.0)]
)
def test_t3_numpy_scalars_are_weak_on_both_sides(number: Any) -> None:
    x = lento.asarray([1.0, 2.0])
    assert x.dtype is lento.float32
    for y in (x * number, number * x):
        assert isinstance(y, lento.Tensor)
        assert y.dtype is lento.float32
        assert y.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_t3_an_integer_that_does_not_fit_raises(dtype: str) -> None:
    x = lento.ones((2,), dtype=lento_dtype(dtype))
    info = lento.iinfo(dtype)
    assert (x * info.max).dtype.name == dtype
    for number in (info.max + 1, info.min - 1):
        with pytest.raises(OverflowError):
            x + number
        with pytest.raises(OverflowError):
            number * x


def outcome(call: Any) -> str:
    try:
        result = call()
    except Exception as error:
        return type(error).__name__
    return str(result.dtype.name)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**63 - 1, -(2**63), -1, 300, True, 1.5, 1e300, 1j], ids=str)
def test_t3_ways_of_combining_a_tensor_and_a_number_agree(dtype: str, number: Any) -> None:
    """Recorded ops, composites that convert their operands, and those that make tensors of numbers themselves."""
    x = lento.ones((2,), dtype=lento_dtype(dtype))
    recorded = outcome(lambda: lento.where(lento.asarray([True, False]), x, number))
    # isin answers with bools, in whatever it compares.
    assert (outcome(lambda: lento.isin(x, number)) == "OverflowError") == (recorded == "OverflowError")
    if x.dtype.kind != "c" and not isinstance(number, complex):
        assert outcome(lambda: lento.fmax(x, number)) == recorded
        assert outcome(lambda: lento.fmax(number, x)) == recorded
        if dtype != "bool":
            searched = outcome(lambda: lento.searchsorted(x, number))
            assert (searched == "OverflowError") == (recorded == "OverflowError")
    if recorded != "OverflowError":
        assert lento.result_type(x, number).name == recorded


def test_t3_huge_integers_raise_whatever_the_dtype() -> None:
    with pytest.raises(OverflowError):
        lento.asarray([1.0]) * 2**70


def test_t3_default_dtypes() -> None:
    assert lento.asarray(1).dtype is lento.int64
    assert lento.asarray(1.0).dtype is lento.float32
    assert lento.asarray(1j).dtype is lento.complex64
    assert lento.asarray(True).dtype is lento.bool
    assert lento.zeros((2,)).dtype is lento.float32
    assert lento.arange(3).dtype is lento.int64


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_t3_integer_division_by_zero_is_defined(dtype: str) -> None:
    x = lento.asarray(np.array([7, 0, 3], dtype=dtype))
    zero = lento.zeros_like(x)
    assert (x // zero).tolist() == [0, 0, 0]
    assert (x % zero).tolist() == [0, 0, 0]


def test_t3_casts_out_of_range_saturate_and_nan_is_zero() -> None:
    x = lento.asarray([1e20, -1e20, float("nan"), float("inf"), -float("inf"), 3.99, -3.99])
    assert x.astype(lento.int8).tolist() == [127, -128, 0, 127, -128, 3, -3]
    assert x.astype(lento.uint8).tolist() == [255, 0, 0, 255, 0, 3, 0]
    assert lento.asarray([300, -1]).astype(lento.uint8).tolist() == [44, 255]


def test_t3_integer_with_float_gives_that_float() -> None:
    for name in FLOATING:
        x = lento.ones((1,), dtype=lento_dtype(name))
        for other in SIGNED + UNSIGNED + ["bool"]:
            assert (x + lento.ones((1,), dtype=lento_dtype(other))).dtype.name == name


def test_result_type_of_nothing_and_of_numbers() -> None:
    with pytest.raises(ValueError):
        lento.result_type()
    assert lento.result_type(1, 2.0) is lento.float32
    assert lento.result_type(1, 2) is lento.int64
    assert lento.result_type(True) is lento.bool
    assert lento.result_type(1j, lento.float64) is lento.complex128


def test_can_cast_and_isdtype() -> None:
    assert lento.can_cast(lento.int8, lento.int16)
    assert not lento.can_cast(lento.int16, lento.int8)
    assert lento.can_cast(lento.asarray(1.0), lento.float64)
    assert lento.isdtype(lento.float32, "real floating")
    assert lento.isdtype(lento.uint8, ("signed integer", "unsigned integer"))
    assert lento.isdtype(lento.int8, lento.int8)
    assert not lento.isdtype(lento.bool, "numeric")
    with pytest.raises(ValueError):
        lento.isdtype(lento.bool, "nonsense")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_finfo_agrees_with_numpy(dtype: str) -> None:
    mine, theirs = lento.finfo(dtype), ml_dtypes.finfo(numpy_dtype(dtype))
    assert (mine.bits, mine.eps, mine.max, mine.min) == (
        theirs.bits,
        float(theirs.eps),
        float(theirs.max),
        float(theirs.min),
    )
    assert mine.smallest_normal == float(theirs.tiny)


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_iinfo_agrees_with_numpy(dtype: str) -> None:
    mine, theirs = lento.iinfo(dtype), np.iinfo(dtype)
    assert (mine.bits, mine.min, mine.max) == (theirs.bits, theirs.min, theirs.max)
