"""Numbers, lists and NumPy arrays wherever tensors go; dtypes that are called; out= and where=."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts

DATA = np.arange(1, 7, dtype=np.float32).reshape(2, 3)


def check(result: Any, expected: Any, dtype: str) -> None:
    assert type(result) is lento.Tensor
    assert result.dtype == dtype
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)


# --- numbers ---


def test_functions_of_one_number() -> None:
    check(lento.sqrt(2), np.sqrt(2), "float32")
    check(lento.exp(-0.05 * 0.5), np.exp(-0.025), "float32")
    check(lento.abs(-3), 3, "int64")
    check(lento.logical_not(True), False, "bool")
    check(lento.real(1 + 2j), 1, "float32")
    check(lento.exp(1j), np.exp(1j), "complex64")
    check(lento.sum(2), 2, "int64")
    check(lento.sqrt(np.float64(2)), np.sqrt(2), "float64")  # NumPy's numbers have a dtype
    check(lento.sqrt(np.float32(2)), np.sqrt(2), "float32")
    check(lento.special.expit(0), 0.5, "float32")
    check(lento.nn.relu(-1.5), 0, "float32")


def test_functions_of_several_numbers() -> None:
    check(lento.maximum(0, 1), 1, "int64")
    check(lento.maximum(0, 1.5), 1.5, "float32")
    check(lento.fmax(1, 2.5), 2.5, "float32")
    check(lento.float_power(2, 3), 8, "float64")
    check(lento.isclose(1, 1 + 1e-9), True, "bool")
    check(lento.allclose(1.0, 2.0), False, "bool")
    check(lento.where(True, 1, 2.5), 1, "float32")
    check(lento.where(False, 1, lento.asarray([2.0])), [2.0], "float32")
    check(lento.clip(5, 0, 1), 1, "int64")
    check(lento.interp(0.5, [0, 1], [2, 3]), 2.5, "float32")
    check(lento.polyval([1, 2], 3), 5, "int64")
    check(lento.dot(2, 3), 6, "int64")


def test_a_number_beside_a_tensor_takes_its_precision() -> None:
    for dtype in ("float16", "float32", "float64"):
        x = lento.asarray([0.0, 1.0], dtype=dtype)
        assert lento.interp(0.1, x, x).dtype == dtype
        assert lento.append(x, 0.1).dtype == dtype
    double = lento.asarray([0.0, 1.0], dtype=lento.float64)
    assert float(lento.append(double, 0.1)[2]) == 0.1
    assert lento.append(lento.asarray([1j], dtype=lento.complex128), 0.1).dtype is lento.complex128
    assert lento.take(lento.asarray([1, 2, 3], dtype=lento.int8), 1).dtype is lento.int8


def test_numbers_among_tensors() -> None:
    x = lento.asarray([1.0, 2.0])
    check(lento.stack([x[0], 2, np.float32(3)]), [1, 2, 3], "float32")
    check(lento.hstack([1, 2, x]), [1, 2, 1, 2], "float32")
    check(lento.einsum(",i->i", 2, x), [2, 4], "float32")
    for array, expected in zip(lento.broadcast_arrays(x, 1), ([1, 2], [1, 1]), strict=True):
        np.testing.assert_array_equal(array, expected)


def test_a_number_records_as_a_tensor_does() -> None:
    counts = Counts()
    y = lento.exp(0.5) + lento.sqrt(2)
    assert counts["sync.implicit"] == 0
    np.testing.assert_allclose(float(y), np.exp(0.5) + np.sqrt(2), rtol=1e-6)
    check(lento.vmap(lambda x: x + lento.sqrt(4))(lento.asarray([1.0, 2.0])), [3, 4], "float32")
    check(lento.grad(lambda x: x * lento.sqrt(4))(lento.asarray(3.0)), 2, "float32")


def test_a_number_is_nothing_to_choose_from() -> None:
    with pytest.raises(ValueError, match=r"choice: .* in one number; write arange\(n\) for those below n"):
        lento.random.choice(10, (2,))
    assert set(lento.random.choice(range(3), 50).tolist()) == {0, 1, 2}


def test_what_is_no_number_is_refused_as_before() -> None:
    for wrong in ("2", None, object(), {}):
        with pytest.raises(TypeError, match=r"^sqrt\(\): argument 'x' must be Tensor, not "):
            lento.sqrt(wrong)  # type: ignore[arg-type]
    with pytest.raises(OverflowError, match=r"^abs\(\): "):
        lento.abs(2**70)


# --- lists and arrays one after another ---


def test_einsum_takes_arrays_and_lists() -> None:
    a = DATA.astype(np.float64)
    check(lento.einsum("ij,jk->ik", a, a.T), a @ a.T, "float64")
    check(lento.einsum("ij->ji", a.tolist()), a.T, "float32")
    check(lento.einsum("i,i", [1, 2], [3, 4]), 11, "int64")
    check(lento.einsum("i,i", lento.asarray([1.0, 2.0]), [3, 4]), 11, "float32")
    check(lento.einsum("ij,kj->ik", [lento.asarray(a), a]), a @ a.T, "float64")
    check(lento.einsum("i->", range(4)), 6, "int64")


def test_functions_of_arrays_take_lists_one_after_another() -> None:
    for here, there in zip(lento.meshgrid([1, 2], (3, 4, 5)), np.meshgrid([1, 2], (3, 4, 5)), strict=True):
        check(here, there, "int64")
    rows, columns = lento.meshgrid([1, 2], [3], indexing="ij")
    check(rows, [[1], [2]], "int64")
    check(columns, [[3], [3]], "int64")
    (alone,) = lento.meshgrid([1, 2])
    check(alone, [1, 2], "int64")
    several = lento.broadcast_arrays([[1, 2], [3, 4]])  # one sequence of arrays, as ever
    assert len(several) == 2
    for here, there in zip(
        lento.broadcast_arrays([1, 2], [[3], [4]]), np.broadcast_arrays([1, 2], [[3], [4]]), strict=True
    ):
        check(here, there, "int64")


# --- lento.float32(2) ---


def test_dtypes_make_tensors() -> None:
    check(lento.float32(2), 2, "float32")
    check(lento.float64(0.1), 0.1, "float64")
    assert float(lento.float64(0.1)) == 0.1
    check(lento.int32(2.7), 2, "int32")
    check(lento.int8([1, 2]), [1, 2], "int8")
    check(lento.float16(DATA), DATA, "float16")
    check(lento.complex64(lento.asarray(DATA)), DATA, "complex64")
    check(lento.bool([0, 2]), [False, True], "bool")
    check(lento.float32(), 0, "float32")
    counts = Counts()
    lento.int32(lento.asarray(DATA) * 2)
    assert counts["sync.implicit"] == 0


def test_dtypes_that_are_called_wrongly() -> None:
    with pytest.raises(TypeError, match=r"^float32\(\): .*cannot make a tensor of str, at .*test_plain_numbers"):
        lento.float32("2")
    with pytest.raises(TypeError, match=r"^float32\(\) takes 1 positional argument but 2 were given, at "):
        lento.float32(1, 2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^float32\(\) takes no keyword arguments, at "):
        lento.float32(x=1)  # type: ignore[call-arg]
    with pytest.raises(OverflowError, match=r"^int8\(\): .*300 does not fit int8"):
        lento.int8(300)


SHORT_NAMES = ["?", "b1", "i1", "<i2", "=i4", "i8", "|u1", "u2", "u4", "u8", "f2", "<f4", "f8", "c8", "c16"]


def test_numpys_short_names_are_dtypes() -> None:
    for text in [*SHORT_NAMES, "half", "double"]:
        assert lento.zeros(2, dtype=text).numpy().dtype == np.dtype(text)
        assert lento.ones(2).astype(text).dtype == lento.zeros(1, dtype=text).dtype
    assert lento.zeros(2, dtype="float").dtype is lento.zeros(2, dtype=float).dtype
    assert lento.zeros(2, dtype="int").dtype is lento.zeros(2, dtype=int).dtype
    for text in (">f4", "f3", "<", "", "O", "S4"):
        with pytest.raises(TypeError, match="unknown dtype"):
            lento.zeros(2, dtype=text)


def test_structured_dtypes_are_refused() -> None:
    fields = np.zeros(2, dtype=[("a", "f4"), ("b", "i4")])
    for call in (
        lambda: lento.asarray(fields),
        lambda: lento.zeros(3, dtype=fields.dtype),
        lambda: lento.exp(fields),
        lambda: lento.ones(2) + fields,
        lambda: lento.zeros(3, dtype=[("a", "f4")]),
        lambda: lento.zeros(3, dtype="f4,i4"),
    ):
        with pytest.raises(TypeError, match=r"one dtype and no fields, .*; make a tensor of each field"):
            call()


# --- out= and where= ---


def test_out_gets_the_result() -> None:
    x, out = lento.asarray(DATA), lento.zeros((2, 3))
    same = lento.exp(x, out=out)
    assert same is out
    check(out, np.exp(DATA), "float32")
    assert lento.add(x, 1, out=x) is x
    check(x, DATA + 1, "float32")
    total = lento.zeros(3, dtype=lento.float64)
    lento.sum(x, axis=0, out=total)
    check(total, (DATA + 1).sum(axis=0), "float64")
    assert lento.add(x, 1, out=(out,)) is out  # as ufuncs take it
    check(lento.add(x, 1, out=None), DATA + 2, "float32")
    counts = Counts()
    lento.matmul(x, x.T, out=lento.zeros((2, 2)))
    assert counts["sync.implicit"] == 0


def test_out_leaves_copies_and_parts_alone() -> None:
    out = lento.zeros((2, 3))
    copied, row = out.copy(), out[0]
    lento.exp(lento.asarray(DATA), out=out)
    check(copied, np.zeros((2, 3)), "float32")
    check(row, np.zeros(3), "float32")


def test_where_beside_out() -> None:
    b = np.array([1.0, 0.0, 2.0], np.float32)
    for mask in (b != 0, lento.asarray(b) != 0, [True, False, True]):
        out = lento.zeros(3)
        lento.divide(lento.asarray([2.0, 3.0, 4.0]), b, out=out, where=mask)
        check(out, [2, 0, 2], "float32")
    check(lento.add(1, b, where=True), 1 + b, "float32")


def test_out_and_where_that_cannot_be() -> None:
    x, out = lento.asarray(DATA), lento.zeros((2, 3))
    with pytest.raises(TypeError, match=r"^exp\(\): out= must be a Tensor, not numpy.ndarray; write y = .*, at .*\.py"):
        lento.exp(x, out=np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"exp: the result has shape \(2, 3\), which does not fit"):
        lento.exp(x, out=lento.zeros(3))
    with pytest.raises(TypeError, match="exp: the result is float32, which does not fit into the tensor's dtype int64"):
        lento.exp(x, out=lento.zeros((2, 3), dtype=lento.int64))
    with pytest.raises(TypeError, match=r"^exp\(\) takes where= only beside out=, .*; write lento.where\(mask, exp"):
        lento.exp(x, where=DATA > 1)
    with pytest.raises(TypeError, match=r"^sum\(\) takes no where= here; write lento.sum\(lento.where\(mask, x, 0"):
        lento.sum(x, where=DATA > 1)
    with pytest.raises(TypeError, match=r"^modf\(\): out= is for functions with one result"):
        lento.modf(x, out=out)
    check(out, np.zeros((2, 3)), "float32")


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "mean", "std", "var"])
def test_what_is_said_instead_of_where_is_what_numpy_does(name: str) -> None:
    array = DATA > 0.5 if name in ("any", "all") else DATA
    where = np.array([[True, False, True], [False, True, True]])
    with pytest.raises(TypeError) as caught:
        getattr(lento, name)(lento.asarray(array), where=where)
    _, _, said = str(caught.value).partition(f"{name}() takes no where= here; write ")
    initial = {"max": {"initial": -np.inf}, "min": {"initial": np.inf}}.get(name, {})
    for axis in (None, 0, 1):
        known = {"lento": lento, "mask": lento.asarray(where), "x": lento.asarray(array), "axis": axis}
        result = eval(said.partition(", at test_")[0], known)
        np.testing.assert_allclose(result, getattr(np, name)(array, axis=axis, where=where, **initial), rtol=1e-6)


def test_out_by_position_is_told_to_be_named() -> None:
    x = lento.asarray(DATA)
    says = r"^exp\(\) takes 1 positional argument but 2 were given; a tensor that shall .* is given by name, as out=y"
    with pytest.raises(TypeError, match=says):
        lento.exp(x, x)  # type: ignore[call-arg]


def test_integers_0_and_1_go_into_a_mask() -> None:
    for value in ([0, 1, 1], (0, 1, 1), np.array([0, 1, 1]), np.array([0, 1, 1], np.uint8), range(2), [True, False, 1]):
        mask, expected = lento.zeros((2, 3), dtype=bool), np.zeros((2, 3), bool)
        at = slice(0, len(value))
        mask[0, at] = value
        expected[0, at] = value
        check(mask, expected, "bool")
    mask = lento.ones(3, dtype=bool)
    for wrong in (
        [0, 2, 1],
        [0.0, 1.0, 0.0],
        np.array([-1, 0, 1]),
        np.array([0.0, 1.0, 1.0]),
        lento.asarray([0, 1, 1]),
    ):
        with pytest.raises(TypeError, match="cannot be stored in a tensor of dtype bool; compare it first"):
            mask[:] = wrong
    with pytest.raises(ValueError, match="shape"):
        mask[:] = [0, 1]
    assert mask.tolist() == [True] * 3


# --- arguments of the other libraries ---


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x: lento.max(x, x), "; of two tensors it is lento.maximum(x, y)"),
        (lambda x: lento.min(x, 0.5), "; of two tensors it is lento.minimum(x, y)"),
        (
            lambda x: lento.split(x, [1, 2]),
            "; cut at positions, as NumPy does, with lento.split_at(x, positions, axis)",
        ),
        (lambda x: lento.take(x, slice(0, 2)), "; write lento.arange(start, stop, step) for a slice"),
    ],
)
def test_a_wrong_argument_that_others_take_says_what_to_write(call: Any, says: str) -> None:
    with pytest.raises(TypeError, match=re.escape(says)):
        call(lento.asarray(DATA))


# --- methods of functions of two operands ---


@pytest.mark.parametrize("name", ["subtract", "add", "maximum", "power", "arctan2", "equal", "bitwise_and"])
def test_outer(name: str) -> None:
    a, b = np.array([1, 2, 3], np.int32), np.array([[5, 6], [7, 9]], np.int32)
    here = getattr(lento, name).outer(lento.asarray(a), b)
    there = getattr(np, name).outer(a, b)
    assert here.shape == there.shape
    np.testing.assert_allclose(here, there, rtol=1e-6)
    check(lento.subtract.outer([1, 2], [1, 2, 3]), np.subtract.outer([1, 2], [1, 2, 3]), "int64")  # type: ignore[attr-defined]


def test_numbers_and_lists_in_outer_are_as_beside_a_tensor() -> None:
    outer: Any = lento.subtract.outer  # type: ignore[attr-defined]
    half, double = lento.ones((2, 2), dtype="bfloat16"), lento.ones(2, dtype="float64")
    assert outer(half, 0.5).dtype == outer(0.5, half).dtype == lento.bfloat16
    assert outer(half, 0.5).shape == outer(0.5, half).shape == (2, 2)
    check(outer([0.1, 0.2, 0.3], double), np.subtract.outer([0.1, 0.2, 0.3], [1.0, 1.0]), "float64")
    check(outer(double, [[0.1, 0.2]]), np.subtract.outer([1.0, 1.0], [[0.1, 0.2]]), "float64")
    assert outer([[1, 2]], half).shape == (1, 2, 2, 2)
    assert outer([double, double], [1, 2, 3]).shape == (2, 2, 3)
    assert outer([], half).shape == (0, 2, 2)


def test_a_name_that_is_no_text_is_an_error() -> None:
    with pytest.raises((AttributeError, UnicodeEncodeError)):
        getattr(lento.add, "\ud800")


@pytest.mark.parametrize(
    ("function", "name", "words"),
    [
        ("add", "reduce", r"write lento\.sum\(x, axis=0\)"),
        ("multiply", "accumulate", r"write lento\.cumprod\(x, axis=0\)"),
        ("maximum", "accumulate", r"write lento\.cummax\(x, axis=0\)\.values"),
        ("add", "at", r"write x = lento\.index_put\(x, \(i,\), v, accumulate=True\)"),
        ("maximum", "at", r"write x = lento\.scatter_reduce"),
        ("add", "reduceat", "write a reduction of each part"),
        ("hypot", "reduce", "write a loop"),
    ],
)
def test_other_methods_say_what_to_write(function: str, name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=f"^lento.{function} has no '{name}'; {words}"):
        getattr(getattr(lento, function), name)


def test_what_the_hints_say_works() -> None:
    x, i, v = np.zeros(3, np.float32), np.array([0, 0, 2]), np.array([1, 2, 3], np.float32)
    expected = x.copy()
    np.add.at(expected, i, v)
    check(lento.index_put(x, (i,), v, accumulate=True), expected, "float32")
    rows = lento.asarray([[1, 5], [3, 2]])
    np.testing.assert_array_equal(lento.cummax(rows, axis=0).values, np.maximum.accumulate(rows.numpy()))
    np.testing.assert_array_equal(lento.cummin(rows, axis=0).values, np.minimum.accumulate(rows.numpy()))
    np.subtract.at(expected, i, v)
    np.testing.assert_array_equal(lento.index_put([1.0, 0.0, 3.0], (i,), -v, accumulate=True), [-2, 0, 0])


def test_functions_with_methods_are_functions_like_others() -> None:
    assert str(inspect.signature(lento.add)) == "(x1, x2)"
    assert inspect.isroutine(lento.add)
    assert lento.add.__name__ == lento.add.__qualname__ == "add"
    assert lento.add.__module__ == "lento"
    assert "sum" in (lento.add.__doc__ or "").lower()
    assert pickle.loads(pickle.dumps(lento.add)) is lento.add
    assert copy.deepcopy(lento.add) is lento.add
    assert repr(lento.add) == "<function lento.add>"

    class Holder:
        combine = lento.add

    check(Holder().combine(1, 2), 3, "int64")
    with pytest.raises(AttributeError, match="missing"):
        lento.add.missing  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(TypeError):
        type(lento.add)()
