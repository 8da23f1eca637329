"""T6: a tensor is a handle on a value. Changing it in place gives this handle a new value; others keep theirs.

What the in-place and view tests of the Lazy Tensor Core ask, in the terms of value semantics.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest

A = np.array([[1.5, -2.0, 3.0], [0.5, 4.0, -1.0]], dtype=np.float32)
B = np.array([[2.0, 0.5, -1.0], [3.0, 0.25, 2.0]], dtype=np.float32)
I = np.array([[1, 6, 3], [12, 5, 40]], dtype=np.int32)
J = np.array([[1, 2, 3], [2, 1, 4]], dtype=np.int32)

FLOAT_OPERATORS = ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"]
INTEGER_OPERATORS = ["iadd", "isub", "imul", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor", "ilshift", "irshift"]
CASES = [(name, abs(A), B) for name in FLOAT_OPERATORS] + [(name, I, J) for name in INTEGER_OPERATORS]


def same(x: Any, expected: Any, rtol: float = 1e-6) -> None:
    expected = np.asarray(expected)
    actual = x.numpy()
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    np.testing.assert_allclose(actual, expected, rtol=rtol)


@pytest.mark.parametrize("scalar", [False, True], ids=["tensor", "number"])
@pytest.mark.parametrize(("name", "a", "b"), CASES, ids=[f"{name}-{a.dtype}" for name, a, _ in CASES])
def test_in_place_operators_rebind_the_handle(name: str, a: np.ndarray, b: np.ndarray, scalar: bool) -> None:
    change: Callable[[Any, Any], Any] = getattr(operator, name)
    right = 2 if scalar else b
    x = lento.asarray(a)
    same_cell, copy = x, lento.asarray(x) + 0
    result = change(x, right if scalar else lento.asarray(b))
    expected = getattr(operator, name[1:] if name not in ("iand", "ior") else name[1:] + "_")(a, right)
    assert result is x and same_cell is x
    same(x, expected.astype(a.dtype))
    same(copy, a)


def test_in_place_matrix_multiplication() -> None:
    x = lento.asarray(A @ A.T)
    x @= lento.asarray(B @ B.T)
    same(x, (A @ A.T) @ (B @ B.T), rtol=1e-5)


@pytest.mark.parametrize(
    "value", [lambda x: lento.concat([x, x]), lambda x: lento.astype(x, lento.float64), lambda x: x > 0]
)
def test_in_place_keeps_shape_and_type(value: Callable[[Any], Any]) -> None:
    x = lento.asarray(A[0])
    before = x.numpy().copy()
    try:
        x += value(x)
    except (ValueError, TypeError, lento.Error):
        same(x, before)  # a failed call leaves no trace
    else:
        assert x.shape == before.shape and x.dtype == lento.float32


UNARY = {
    "asinh": (lambda x: lento.asinh(x), np.arcsinh),
    "acosh": (lambda x: lento.acosh(x), np.arccosh),
    "atanh": (lambda x: lento.atanh(x), np.arctanh),
    "clip": (lambda x: lento.clip(x, 1.25, 1.75), lambda x: np.clip(x, 1.25, 1.75)),
    "triu": (lambda x: lento.triu(x), np.triu),
    "tril": (lambda x: lento.tril(x), np.tril),
    "relu": (lambda x: lento.nn.relu(x - 1.5), lambda x: np.maximum(x - 1.5, 0)),
    "where": (lambda x: lento.where(x > 1.5, x, 0.0), lambda x: np.where(x > 1.5, x, 0)),
    "fmod": (lambda x: lento.fmod(x, 0.7), lambda x: np.fmod(x, np.float32(0.7))),
}


@pytest.mark.parametrize("name", UNARY)
def test_result_of_an_op_is_assigned_in_place(name: str) -> None:
    ours, numpys = UNARY[name]
    a = (abs(A) / 8 + 1.2).astype(np.float32) if name != "atanh" else A / 8
    x = lento.asarray(a)
    alias, earlier = x, x + 0
    x[...] = ours(x)
    same(alias, numpys(a), rtol=1e-5)
    same(earlier, a)


VIEWS = {
    "reshape": lambda x: lento.reshape(x, (3, 2)),
    "transpose": lambda x: x.T,
    "permute_dims": lambda x: lento.permute_dims(x, (1, 0)),
    "swapaxes": lambda x: lento.swapaxes(x, 0, 1),
    "slice": lambda x: x[:, 1:],
    "slice of a slice": lambda x: x[:, 1:][1:, :],
    "squeeze": lambda x: lento.squeeze(lento.expand_dims(x, axis=0), axis=0),
    "broadcast_to": lambda x: lento.broadcast_to(x, (2, 2, 3)),
}


@pytest.mark.parametrize("evaluated", [False, True], ids=["pending", "evaluated"])
@pytest.mark.parametrize("name", VIEWS)
def test_views_are_values_not_aliases(name: str, evaluated: bool) -> None:
    base = lento.asarray(A)
    view = VIEWS[name](base)
    if evaluated:
        lento.eval(base, view)
    expected = view.numpy().copy()
    base += 1
    same(view, expected)
    base[0, 0] = 100
    same(view, expected)
    view += 1000
    same(view, expected + 1000)
    changed = A + 1
    changed[0, 0] = 100
    same(base, changed)


def test_small_integers_keep_their_type() -> None:
    x = lento.asarray(np.array([1, 2, 250], dtype=np.uint8))
    same(x + 5, np.array([6, 7, 255], dtype=np.uint8))
    same(x + x, np.array([2, 4, 244], dtype=np.uint8))


def test_comparisons_of_mixed_types_give_bool() -> None:
    x, y = lento.asarray(I), lento.asarray(A)
    same(x > y, I > A)
    same(lento.logical_and(x == 1, y > 0), (I == 1) & (A > 0))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "complex64"])
def test_dtype_kinds(dtype: str) -> None:
    ours, numpys = getattr(lento, dtype), np.dtype(dtype)
    assert lento.isdtype(ours, "real floating") == np.isdtype(numpys, "real floating")
    assert lento.isdtype(ours, "signed integer") == np.isdtype(numpys, "signed integer")
    assert lento.isdtype(ours, "unsigned integer") == np.isdtype(numpys, "unsigned integer")


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (4, 1, 2)])
def test_shape_size_and_rank(shape: tuple[int, ...]) -> None:
    x = lento.zeros(shape)
    assert x.shape == shape
    assert x.ndim == len(shape)
    assert x.size == int(np.prod(shape))


def test_evaluating_early_changes_nothing() -> None:
    x, y = lento.asarray(A), lento.asarray(B)
    first = x * y
    lento.eval(first)
    second = first + x
    third = second * 2
    lento.eval(third)
    same(second, A * B + A)
    same(first, A * B)
    same(third, (A * B + A) * 2)


@pytest.mark.parametrize(
    ("number", "dtype"), [(True, "bool"), (3, "int64"), (2.5, "float32"), (1 + 2j, "complex64")], ids=repr
)
def test_numbers_become_tensors(number: Any, dtype: str) -> None:
    x = lento.asarray(number)
    assert x.shape == () and x.dtype == getattr(lento, dtype)
    assert x.item() == number
