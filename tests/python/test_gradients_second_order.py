"""Every op of the catalogue with floating arguments: the derivative of its derivative in random directions, by reverse
mode over reverse mode and by finite differences of the first derivative, on some samples of the catalogue in float64
and complex128; and the derivatives of what has no elements. The first order is in test_gradients_generated.py."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import lento
import numpy as np
import pytest
from samples import Call, OpInfo, calls_of
from test_gradients_generated import (
    BY_HAND,
    CALLS,
    HERMITIAN,
    NO_DERIVATIVE,
    OPS,
    WIDE,
    finite,
    function_of,
    leaves_of,
    random_like,
    real_product,
)

STEP = 1e-5


def small_calls(name: str) -> list[Call]:
    """Four calls of each dtype: those with the fewest elements, of which there are at least two."""
    _, calls = CALLS[name]

    def size(call: Call) -> int:
        return sum((call.arguments[n] if i is None else call.arguments[n][i]).size for n, i in leaves_of(call))

    found = []
    for dtype in WIDE:
        of_dtype = sorted((call for call in calls if call.dtype == dtype), key=size)
        found += [call for call in of_dtype if size(call) > 1][:4] or of_dtype[:1]
    return found or list(calls[:4])


def curvatures(call: Call) -> tuple[float, float, float] | None:
    """How the slope of <weights, op> in one direction changes in another: by differences (with a step and half of it)
    and by the derivative. None when there is no floating result."""
    rng = np.random.default_rng(11)
    arrays = [call.arguments[n] if i is None else call.arguments[n][i] for n, i in leaves_of(call)]
    apply = function_of(call)
    along, further = ([random_like(rng, array) * 0.5 for array in arrays] for _ in range(2))
    if call.op.qualified in HERMITIAN:
        along, further = ([d + np.conj(np.swapaxes(d, -1, -2)) for d in ds] for ds in (along, further))
    results = apply(*map(lento.asarray, arrays))
    if not results:
        return None
    weights = [lento.asarray(random_like(rng, np.empty(r.shape, r.dtype.name))) for r in results]
    directions = [lento.asarray(d) for d in along]

    def slope(*tensors: lento.Tensor) -> lento.Tensor:
        _, pull = lento.vjp(lambda *x: apply(*x), *tensors)
        parts = [lento.real(lento.conj(c) * d) for c, d in zip(pull(weights), directions, strict=True)]
        return sum((part.sum() for part in parts), lento.asarray(0.0, dtype=lento.float64))

    def difference(step: float) -> float:
        ends = [slope(*(lento.asarray(a + s * d) for a, d in zip(arrays, further, strict=True))) for s in (step, -step)]
        return (ends[0].item() - ends[1].item()) / (2 * step)

    _, pull = lento.vjp(slope, *map(lento.asarray, arrays))
    change = pull(lento.asarray(1.0, dtype=lento.float64))
    derivative = sum(real_product(c.numpy(), d) for c, d in zip(change, further, strict=True))
    return difference(STEP), difference(STEP / 2), derivative


@pytest.mark.parametrize("name", [name for name in OPS if name not in NO_DERIVATIVE])
def test_second_derivatives_agree_with_differences_of_first_ones(name: str) -> None:
    smooth = floating = 0
    for call in small_calls(name):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                found = curvatures(call)
            except ValueError as error:
                if "derivative" not in str(error):
                    raise
                continue  # said by the tests of the first order
        if found is None:
            continue
        floating += 1
        coarse, fine, derivative = found
        scale = max(1.0, abs(fine))
        if not np.isfinite(fine) or abs(coarse - fine) > 1e-4 * scale:
            continue  # a corner, or the end of the domain
        smooth += 1
        assert abs(derivative - fine) <= 2e-4 * scale, f"{call.id}: derivative {derivative}, differences {fine}"
    assert smooth > 0 or floating == 0, "no sample at which the derivative is smooth"


# --- no elements ---


def empty_calls(op: OpInfo) -> Iterator[Call]:
    for call in calls_of(op):
        arrays = [v for v in call.arguments.values() if isinstance(v, np.ndarray)]
        if call.raises or not any(a.size == 0 and a.dtype.name in WIDE for a in arrays) or not finite(call):
            continue
        yield call


EMPTY = {name: list(empty_calls(op)) for name, (op, _) in CALLS.items() if name not in BY_HAND}


@pytest.mark.parametrize("name", [name for name, calls in EMPTY.items() if calls and name not in NO_DERIVATIVE])
def test_derivatives_of_no_elements(name: str) -> None:
    """Both modes and the second order work, and give what has the shape of the argument."""
    for call in EMPTY[name]:
        names = [k for k, v in call.arguments.items() if isinstance(v, np.ndarray) and v.dtype.name in WIDE]
        apply = function_of(call, [(k, None) for k in names])
        primals = [lento.asarray(call.arguments[k]) for k in names]
        results, pull = lento.vjp(lambda *x, apply=apply: apply(*x), *primals)
        if not results:
            continue
        slopes = pull([lento.ones_like(r) for r in results])
        _, tangents = lento.jvp(lambda *x, apply=apply: apply(*x), primals, [lento.ones_like(p) for p in primals])
        for slope, primal in zip(slopes, primals, strict=True):
            assert (slope.numpy().shape, slope.dtype) == (primal.shape, primal.dtype), call.id
        for tangent, result in zip(tangents, results, strict=True):
            assert tangent.numpy().shape == result.shape, call.id

        def slope_of(*x: lento.Tensor, apply=apply) -> list[lento.Tensor]:
            found, pull = lento.vjp(lambda *y: apply(*y), *x)
            return list(pull([lento.ones_like(r) for r in found]))

        _, pull = lento.vjp(slope_of, *primals)
        for second, primal in zip(pull([lento.ones_like(p) for p in primals]), primals, strict=True):
            assert second.numpy().shape == primal.shape, call.id
