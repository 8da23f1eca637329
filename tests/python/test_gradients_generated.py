"""Every op of the catalogue with floating arguments: its derivative in a random direction, by reverse mode, by forward
mode and by finite differences, on the samples of the catalogue in float64 and complex128. Nothing here names an op but
the lists of exceptions below, which must stay true."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import harness
import lento
import numpy as np
import pytest
from samples import Call, OpInfo, calls_of, load_catalogue

WIDE = ("float64", "complex128")
STEP = 1e-6

# Ops that refuse: what they compute has no derivative, or none that would mean anything.
NO_DERIVATIVE = {
    "nextafter": "moves by the spacing of the numbers",
    "zeta": "has a derivative by its second argument alone",
}
# Some samples of these refuse.
PARTLY = {
    "linalg.qr": "the last columns of a complete q are arbitrary",
    "linalg.lu": "only square matrices",
    "prim.qr_factor": "the last columns of a complete q are arbitrary",
    "prim.lu_factor": "only square matrices",
}
# Read one triangle of a Hermitian matrix: the derivative is that by the whole of it, along Hermitian directions.
HERMITIAN = {"linalg.cholesky", "linalg.eigvalsh", "prim.cholesky_factor"}
# Vectors with an arbitrary sign or phase, which the result must not depend on: test_gradients_linalg.py.
BY_HAND = {
    *("linalg.svd", "linalg.eigh", "linalg.eig"),
    *("prim.svd_factor", "prim.eigh_factor", "prim.eig_factor"),
}


Leaves = list[tuple[str, int | None]]  # argument, and place in a list


def is_wide(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.name in WIDE and value.size > 0


def leaves_of(call: Call) -> Leaves:
    """Where the call has arrays to differentiate by."""
    found: Leaves = []
    for arg in call.op.args:
        value = call.arguments[arg.name]
        if isinstance(value, list):
            found += [(arg.name, i) for i, each in enumerate(value) if is_wide(each)]
        elif is_wide(value):
            found.append((arg.name, None))
    return found


def finite(call: Call) -> bool:
    arrays = [call.arguments[n] if i is None else call.arguments[n][i] for n, i in leaves_of(call)]
    return all(np.isfinite(array).all() for array in arrays)


def wide_calls(op: OpInfo) -> tuple[Call, ...]:
    return tuple(call for call in calls_of(op) if not call.raises and leaves_of(call) and finite(call))


def function_of(call: Call, leaves: Leaves | None = None) -> Callable[..., list[lento.Tensor]]:
    """The op as a function of its wide arrays, or of some arguments, giving its floating results."""
    leaves = leaves_of(call) if leaves is None else leaves
    function = harness.find_function(call.op)
    fixed = harness.lento_arguments(call)

    def apply(*tensors: lento.Tensor) -> list[lento.Tensor]:
        arguments = {k: list(v) if isinstance(v, list) else v for k, v in fixed.items()}
        for (name, place), tensor in zip(leaves, tensors, strict=True):
            if place is None:
                arguments[name] = tensor
            else:
                arguments[name][place] = tensor
        results = lento.tree.leaves(function(**arguments))
        return [r for r in results if isinstance(r, lento.Tensor) and r.dtype.name in WIDE]

    return apply


def random_like(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    values = rng.normal(size=array.shape)
    if array.dtype.kind == "c":
        values = values + 1j * rng.normal(size=array.shape)
    return values.astype(array.dtype)


def real_product(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.real(np.sum(np.conj(a) * b)))


def slopes(call: Call) -> tuple[float, float, float, float] | None:
    """The slope of <weights, op> in a random direction: by differences (with a step and half of it), by reverse and by
    forward mode. None when the op has no floating result."""
    rng = np.random.default_rng(7)
    arrays = [call.arguments[n] if i is None else call.arguments[n][i] for n, i in leaves_of(call)]
    apply = function_of(call)
    # Small, so that arguments stay in their domains.
    directions = [random_like(rng, array) * 0.5 for array in arrays]
    if call.op.qualified in HERMITIAN:
        directions = [d + np.conj(np.swapaxes(d, -1, -2)) for d in directions]
    primals = [lento.asarray(array) for array in arrays]
    results, pull = lento.vjp(lambda *tensors: apply(*tensors), *primals)
    if not results:
        return None
    weights = [random_like(rng, np.empty(r.shape, r.dtype.name)) for r in results]

    def value(step: float) -> float:
        moved = [lento.asarray(a + step * d) for a, d in zip(arrays, directions, strict=True)]
        return sum(real_product(w, r.numpy()) for w, r in zip(weights, apply(*moved), strict=True))

    def difference(step: float) -> float:
        return (value(step) - value(-step)) / (2 * step)

    cotangents = pull([lento.asarray(w) for w in weights])
    reverse = sum(real_product(c.numpy(), d) for c, d in zip(cotangents, directions, strict=True))
    _, tangents = lento.jvp(lambda *tensors: apply(*tensors), primals, [lento.asarray(d) for d in directions])
    forward = sum(real_product(w, t.numpy()) for w, t in zip(weights, tangents, strict=True))
    return difference(STEP), difference(STEP / 2), reverse, forward


CALLS = {op.qualified: (op, wide_calls(op)) for op in load_catalogue() if op.space != "random"}
OPS = [name for name, (_, calls) in CALLS.items() if calls and name not in BY_HAND]


@pytest.mark.parametrize("name", OPS)
def test_derivatives_agree_with_finite_differences(name: str) -> None:
    _, calls = CALLS[name]
    if name in NO_DERIVATIVE:
        with pytest.raises(ValueError, match="has no derivative"):
            slopes(calls[0])
        return
    smooth = 0
    floating = False
    for call in calls[:12]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                found = slopes(call)
            except ValueError as error:
                if name not in PARTLY or "derivative" not in str(error):
                    raise
                continue
        if found is None:
            continue
        floating = True
        coarse, fine, reverse, forward = found
        scale = max(1.0, abs(fine))
        if not np.isfinite(fine) or abs(coarse - fine) > 1e-5 * scale:
            continue  # a corner, or the end of the domain
        smooth += 1
        assert abs(reverse - fine) <= 2e-5 * scale, f"{call.id}: reverse mode {reverse}, differences {fine}"
        assert abs(forward - reverse) <= 1e-9 * max(1.0, abs(reverse)), (
            f"{call.id}: forward {forward}, reverse {reverse}"
        )
    assert smooth > 0 or not floating, "no sample at which the op is smooth"


def test_exceptions_are_of_the_catalogue() -> None:
    assert {*NO_DERIVATIVE, *PARTLY, *HERMITIAN} <= set(OPS)
    assert set(CALLS) >= BY_HAND
