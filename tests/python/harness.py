"""Runs one call of a sample on Lento and on an oracle."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import lento
import numpy as np
import oracles
import scipy
import scipy.special
from comparisons import assert_matches, numpy_dtype
from samples import Call, OpInfo

HALVES = ("float16", "bfloat16")


def find_function(op: OpInfo) -> Any:
    """The Python function of an op of the catalogue."""
    if op.space == "prim":
        return getattr(lento._core.prim, op.name)
    return getattr(getattr(lento, op.space) if op.space else lento, op.name)


def to_lento(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return lento.asarray(value)
    if isinstance(value, list) and any(isinstance(each, np.ndarray) for each in value):
        return [to_lento(each) for each in value]
    return value


def lento_arguments(call: Call) -> dict[str, Any]:
    arguments = {}
    for arg in call.op.args:
        value = call.arguments[arg.name]
        # What is at its default is left out, so that defaults are tested too.
        if (value is None and arg.default is None) or (
            arg.has_default and not isinstance(value, np.ndarray) and value == arg.default
        ):
            continue
        arguments[arg.name] = to_lento(value)
    return arguments


def run(call: Call) -> Any:
    return find_function(call.op)(**lento_arguments(call))


def _oracle_input(value: Any, float_rule: bool) -> Any:
    """Halves are computed in float32; integers become the default float where the op says so."""
    if isinstance(value, list):
        return [_oracle_input(each, float_rule) for each in value]
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.name in HALVES:
        return value.astype(np.float32)
    if float_rule and value.dtype.kind in "biu":
        return value.astype(np.float32)
    return value


@cache
def _compiled(expression: str) -> Any:
    return compile(expression, "<oracle>", "eval")


def evaluate_oracle(call: Call) -> Any:
    op = call.op
    scope: dict[str, Any] = {"np": np, "sp": scipy.special, "scipy": scipy, "o": oracles}
    for arg in op.args:
        float_rule = op.result_rule in ("float", "complex") and (arg.name in op.rule_args or not op.rule_args)
        value = _oracle_input(call.arguments[arg.name], float_rule)
        if arg.type.rstrip("?") == "dtype" and isinstance(value, str):
            value = numpy_dtype(value)
        scope[arg.name] = value
    # Operands are promoted the way Lento promotes them, which is not always NumPy's.
    if op.result_rule in ("promote", "float", "bool", "complex"):
        _promote(op, scope)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return eval(_compiled(op.numpy), scope)


def _promote(op: OpInfo, scope: dict[str, Any]) -> None:
    arrays = [n for n in op.rule_args if isinstance(scope.get(n), np.ndarray)]
    if not arrays:
        return
    common = lento.result_type(*[scope[n].dtype for n in arrays])
    for name in arrays:
        scope[name] = scope[name].astype(numpy_dtype(common.name))


def check(call: Call) -> None:
    """Asserts that Lento and the oracle agree on a call: shapes, dtype and values."""
    result = run(call)
    expected = evaluate_oracle(call)
    tolerance = call.tolerance if call.tolerance is not None else call.op.tolerance
    compare(call, result, expected, tolerance)


def compare(call: Call, result: Any, expected: Any, tolerance: float | None) -> None:
    if isinstance(result, tuple):
        assert len(result) == len(expected), f"{call.id}: {len(result)} results, expected {len(expected)}"
        for position, (each, wanted) in enumerate(zip(result, expected, strict=True)):
            _compare_one(call, each, wanted, tolerance, f"{call.id}[{position}]")
        return
    _compare_one(call, result, expected, tolerance, call.id)
    check_dtype(call, result)


def _compare_one(call: Call, result: Any, expected: Any, tolerance: float | None, context: str) -> None:
    if not isinstance(result, lento.Tensor):
        assert result == expected, f"{context}: {result!r}, expected {expected!r}"
        return
    dtype = result.dtype.name
    if dtype == "float64" and getattr(expected, "dtype", None) == np.float32:
        dtype = "float32"  # the oracle is only that exact
    assert_matches(
        result.numpy(),
        expected,
        dtype=dtype,
        tolerance=tolerance,
        elementwise=call.op.elementwise,
        context=context,
    )


def check_dtype(call: Call, result: Any) -> None:
    """The result's dtype follows the catalogue's rule."""
    op = call.op
    if not isinstance(result, lento.Tensor) or not op.result_rule:
        return
    values = [call.arguments.get(n) for n in op.rule_args]
    flat: list[Any] = []
    for value in values:
        flat += value if isinstance(value, list) else [value]
    if op.result_rule == "bool":
        assert result.dtype is lento.bool
        return
    if op.result_rule in ("same", "promote", "float", "real", "complex"):
        if any(not isinstance(v, np.ndarray | bool | int | float | complex) for v in flat) or not flat:
            return  # a dtype given by name, or something else that the rule only documents
        if call.arguments.get("dtype") is not None:
            return
        common = lento.result_type(*[v.dtype if isinstance(v, np.ndarray) else v for v in flat])
        if op.result_rule in ("float", "complex") and common.kind in "biu":
            common = lento.float32
        if op.result_rule == "real" and common.kind == "c":
            common = lento.float32 if common is lento.complex64 else lento.float64
        if op.result_rule == "complex" and common.kind == "f":
            common = lento.complex128 if common is lento.float64 else lento.complex64
        assert result.dtype is common, f"{call.id}: dtype {result.dtype}, the rule says {common}"
        return
    assert result.dtype.name == op.result_rule, f"{call.id}: dtype {result.dtype}, the rule says {op.result_rule}"
