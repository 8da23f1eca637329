"""How results are compared with an oracle's.

Integers and bools must be equal. Floats must agree in where they are nan, in their infinities and, up to a number of
units in the last place that depends on the dtype alone, in their values.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

EPS = {
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
    "float32": 2.0**-23,
    "float64": 2.0**-52,
    "complex64": 2.0**-23,
    "complex128": 2.0**-52,
}
SMALLEST_NORMAL = {
    "float16": 2.0**-14,
    "bfloat16": 2.0**-126,
    "float32": 2.0**-126,
    "float64": 2.0**-1022,
    "complex64": 2.0**-126,
    "complex128": 2.0**-1022,
}
# In units of the result dtype's eps; an op may ask for more with `tolerance` (relative, for float32).
DEFAULT_EPS = {"float16": 2, "bfloat16": 2, "float32": 8, "float64": 8, "complex64": 16, "complex128": 16}


def numpy_dtype(name: str) -> np.dtype[Any]:
    """NumPy's dtype for one of Lento's names."""
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def relative_tolerance(dtype: str, tolerance: float | None) -> float:
    """The relative tolerance in `dtype`, given the one for float32 (or the default)."""
    if tolerance is None:
        return DEFAULT_EPS[dtype] * EPS[dtype]
    scaled = tolerance / EPS["float32"] * EPS[dtype]
    # In half precision the last rounding dominates: a float32-sized error inside the op cannot be seen.
    if dtype in ("float16", "bfloat16"):
        return max(min(scaled, 0.05), 2 * EPS[dtype])
    return max(scaled, DEFAULT_EPS[dtype] * EPS[dtype])


def _wide(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _describe(actual: Any, expected: Any, bad: Any, context: str) -> str:
    where = np.argwhere(bad)
    first = tuple(int(i) for i in where[0]) if where.size else ()
    return (
        f"{context}: {where.shape[0]} of {np.size(bad)} elements differ; first at {first}: "
        f"got {actual[first]!r}, expected {expected[first]!r}"
    )


def assert_same_floats(
    actual: np.ndarray[Any, Any],
    expected: np.ndarray[Any, Any],
    dtype: str,
    *,
    tolerance: float | None = None,
    elementwise: bool = False,
    context: str = "",
) -> None:
    """Compares real floats that were computed in `dtype`."""
    got, want = _wide(actual), _wide(expected)
    # Rounding the oracle's value to the result dtype makes overflow and underflow comparable.
    with np.errstate(all="ignore"):
        want = _wide(
            expected.astype(
                numpy_dtype(
                    "float32"
                    if dtype == "complex64"
                    else dtype
                    if dtype in EPS and "complex" not in dtype
                    else "float64"
                )
            )
        )
    nan_bad = np.isnan(got) != np.isnan(want)
    assert not nan_bad.any(), _describe(got, want, nan_bad, context + " (nan)")
    infinite = np.isinf(want) | np.isinf(got)
    rtol = relative_tolerance(dtype, tolerance)
    with np.errstate(all="ignore"):
        scale = np.abs(want)
        if not elementwise:
            # Sums cancel: an error is measured against the largest value of the result.
            finite = scale[np.isfinite(scale)]
            scale = np.maximum(scale, finite.max() if finite.size else 0.0)
        bound = rtol * scale + 2 * SMALLEST_NORMAL[dtype] * EPS[dtype] * (1 if elementwise else 4)
        if not elementwise:
            bound = bound + rtol * 1e-2
        close = np.where(infinite, got == want, np.abs(got - want) <= bound)
    # Next to overflow an op may round to inf where the oracle does not, and the other way round.
    with np.errstate(all="ignore"):
        limit = float(
            ml_dtypes.finfo(
                numpy_dtype(dtype if "complex" not in dtype else ("float32" if dtype == "complex64" else "float64"))
            ).max
        )
        edge = (
            (np.abs(np.where(np.isinf(got), np.sign(got) * limit, got)) >= limit * (1 - 4 * rtol))
            & (np.abs(np.where(np.isinf(want), np.sign(want) * limit, want)) >= limit * (1 - 4 * rtol))
            & (np.sign(got) == np.sign(want))
        )
    bad = ~(np.isnan(want) | close | edge)
    assert not bad.any(), _describe(got, want, bad, context)
    if elementwise:
        # Only zeros that are zero in the oracle's own precision: an underflow has the sign of what it came from anyway.
        zeros = (got == 0) & (_wide(expected) == 0) & (np.signbit(got) != np.signbit(want))
        assert not zeros.any(), _describe(got, want, zeros, context + " (sign of zero)")


def assert_matches(
    actual: np.ndarray[Any, Any],
    expected: Any,
    *,
    dtype: str | None = None,
    tolerance: float | None = None,
    elementwise: bool = False,
    context: str = "",
) -> None:
    """Asserts that `actual` (an array read from a tensor) is what the oracle says, in the dtype of the tensor."""
    dtype = dtype or actual.dtype.name
    expected = np.asarray(expected)
    assert actual.shape == expected.shape, f"{context}: shape {actual.shape}, expected {expected.shape}"
    if actual.size == 0:
        return
    if actual.dtype.kind in "biu":
        if expected.dtype.kind in "fc":
            with np.errstate(all="ignore"):
                expected = expected.astype(actual.dtype)
        bad = np.asarray(actual != expected)
        assert not bad.any(), _describe(actual, expected, bad, context)
        return
    if actual.dtype.kind == "c":
        expected = expected.astype(np.complex128) if expected.dtype.kind != "c" else expected
        _assert_same_complex(actual, expected, dtype, tolerance, elementwise, context)
        return
    if expected.dtype.kind == "c":
        assert not np.any(np.imag(expected)), f"{context}: the oracle is complex, the result is not"
        expected = np.real(expected)
    assert_same_floats(actual, expected, dtype, tolerance=tolerance, elementwise=elementwise, context=context)


def _assert_same_complex(
    actual: Any, expected: Any, dtype: str, tolerance: float | None, elementwise: bool, context: str
) -> None:
    # A complex number is judged by its length, part by part only where it is not finite.
    got, want = _wide(actual), _wide(expected.astype(actual.dtype))
    rtol = relative_tolerance(dtype, tolerance)
    with np.errstate(all="ignore"):
        not_finite = ~np.isfinite(want) | ~np.isfinite(got)
        scale = np.abs(want)
        if not elementwise:
            finite = scale[np.isfinite(scale)]
            scale = np.maximum(scale, finite.max() if finite.size else 0.0) + 1e-2
        close = np.abs(got - want) <= rtol * scale + 4 * SMALLEST_NORMAL[dtype] * EPS[dtype]
        # C's Annex G and NumPy leave signs and nans of infinite complex results open: the class must agree.
        same_class = (np.isinf(got.real) | np.isinf(got.imag)) == (np.isinf(want.real) | np.isinf(want.imag))
        undefined = np.isnan(want.real) | np.isnan(want.imag) | np.isnan(got.real) | np.isnan(got.imag)
        # A nan or an infinity where the oracle has a number is wrong whatever its class.
        invented = np.isfinite(want) & ~np.isfinite(got)
    bad = ~np.where(not_finite, (same_class | undefined) & ~invented, close)
    assert not bad.any(), _describe(got, want, bad, context)
