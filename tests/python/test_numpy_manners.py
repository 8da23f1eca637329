"""What people who come from NumPy expect: arrays beside tensors, NumPy's functions, methods, dtypes."""

from __future__ import annotations

import operator
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts

DATA = np.arange(1, 7, dtype=np.float32).reshape(2, 3)

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]


def check(result: Any, expected: Any) -> None:
    assert type(result) is lento.Tensor
    assert result.dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(result.numpy(), expected)


# --- arrays and NumPy scalars beside tensors ---


@pytest.mark.parametrize("operation", ARITHMETIC + COMPARISONS, ids=lambda f: f.__name__)
def test_an_array_beside_a_tensor_gives_a_tensor(operation: Any) -> None:
    x, other = lento.asarray(DATA), DATA[:, ::-1] - 2.5
    check(operation(x, other), operation(DATA, other))
    check(operation(other, x), operation(other, DATA))
    check(operation(x, np.array(2, np.float32)), operation(DATA, np.float32(2)))
    check(operation(np.array(2, np.float32), x), operation(np.float32(2), DATA))
    check(operation(np.float32(2), x), operation(np.float32(2), DATA))
    check(operation(x, np.float32(2)), operation(DATA, np.float32(2)))


@pytest.mark.parametrize("operation", BITS, ids=lambda f: f.__name__)
def test_an_array_of_integers_beside_a_tensor(operation: Any) -> None:
    data, other = np.array([1, 2, 5], np.int32), np.array([3, 1, 1], np.int32)
    check(operation(lento.asarray(data), other), operation(data, other))
    check(operation(other, lento.asarray(data)), operation(other, data))


def test_matrix_products_with_arrays() -> None:
    x = lento.asarray(DATA)
    check(x @ DATA.T, DATA @ DATA.T)
    check(DATA.T @ x, DATA.T @ DATA)
    quotient, rest = divmod(DATA, x)
    check(quotient, DATA // DATA)
    check(rest, DATA % DATA)


def test_operators_with_arrays_are_lazy_and_strong() -> None:
    x = lento.asarray(DATA)
    counts = Counts()
    y = DATA.astype(np.float64) * x
    assert y.dtype is lento.float64  # an array has a dtype of its own; a number takes the tensor's
    assert (np.float64(2) * x).dtype is lento.float32
    assert counts["sync.implicit"] == 0
    with pytest.raises(lento.errors.ShapeError, match="multiply"):
        np.ones(7) * x


def test_in_place_with_arrays() -> None:
    x = lento.asarray(DATA)
    same = x
    x += DATA
    x *= np.float32(2)
    assert same is x
    check(x, (DATA + DATA) * 2)
    square = lento.asarray(np.eye(2, dtype=np.float32))
    square @= np.full((2, 2), 3, np.float32)
    check(square, np.full((2, 2), 3, np.float32))
    array = before = DATA.copy()
    array += lento.asarray(DATA)  # the name is a tensor's now, the array is as it was
    check(array, DATA * 2)
    np.testing.assert_array_equal(before, DATA)


def test_arrays_without_meaning_are_refused_by_operators() -> None:
    for other in (np.array(["a"]), np.array([object()]), np.ma.masked_array([1.0], [True])):
        with pytest.raises(TypeError):
            lento.asarray(DATA) + other


def test_functions_take_arrays() -> None:
    check(lento.add(DATA, DATA), DATA + DATA)
    check(lento.maximum(lento.asarray(DATA), DATA[::-1]), np.maximum(DATA, DATA[::-1]))
    check(lento.sum(DATA, axis=0), DATA.sum(axis=0))
    check(lento.concat([DATA, lento.asarray(DATA)]), np.concatenate([DATA, DATA]))
    check(lento.where(DATA > 2, DATA, 0.0), np.where(DATA > 2, DATA, np.float32(0)))
    check(lento.take(DATA, np.array([2, 0]), axis=1), DATA[:, [2, 0]])


def test_functions_take_lists() -> None:
    check(lento.sum([[1, 2], (3, 4)], axis=0), np.array([4, 6]))
    check(lento.maximum(lento.asarray(DATA), [2, 0, 1]), np.maximum(DATA, np.array([2, 0, 1])).astype(np.float32))
    check(lento.take(DATA, [2, 0], axis=1), DATA[:, [2, 0]])
    for x in (np.array([1, 2, 3], np.int8), np.array([0.1, 0.2, 0.5]), np.array([0.1, 2], np.float32)):
        check(lento.isin(lento.asarray(x), x.tolist()[:2]), np.isin(x, x[:2]))
        check(lento.isin(x.tolist(), lento.asarray(x[1:])), np.isin(x, x[1:]))
        check(lento.isin(x, []), np.isin(x, []))
    check(lento.isin(np.array([-1], np.int8), [127, 255, 300]), np.array([False]))
    check(lento.sum([lento.asarray(DATA), lento.asarray(DATA)], axis=0), DATA + DATA)
    check(lento.concat([[1, 2], lento.asarray([3])]), np.array([1, 2, 3]))
    check(lento.stack([np.array([0.5, 1]), [0.1, 0.7]]), np.array([[0.5, 1], [0.1, 0.7]]))
    check(lento.full((2, 2), [1.0, 2.0]), np.full((2, 2), [1, 2], np.float32))
    check(lento.full(3, [1, 2, 3]), np.full(3, [1, 2, 3]))
    check(lento.isin(np.array([0, 1, 5]), range(2)), np.array([True, True, False]))
    check(lento.stack([range(3), np.array([4, 5, 6])]), np.array([[0, 1, 2], [4, 5, 6]]))
    for ragged in ([[1, 2], [3]], ["a"], [None]):
        with pytest.raises((TypeError, ValueError), match=r"^exp\(\): "):
            lento.exp(ragged)


def test_floats_in_a_list_are_as_exact_as_those_beside_them() -> None:
    double = np.array([0.1, 0.2])
    check(lento.add(lento.asarray(double), [0.1, 0.7]), double + np.array([0.1, 0.7]))
    check(lento.add([0.1, 0.7], double), double + np.array([0.1, 0.7]))
    check(lento.add(lento.asarray(double), [0.1j, 0.7]), double + np.array([0.1j, 0.7]))
    single = double.astype(np.float32)
    check(lento.add(lento.asarray(single), [0.1, 0.7]), single + np.array([0.1, 0.7], np.float32))


def test_where_of_a_condition_is_nonzero() -> None:
    for condition in (DATA > 2, np.zeros(3, bool), np.zeros((0, 2), bool), np.array([0, 2, 0, 3])):
        expected = np.where(condition)
        for found in (lento.where(lento.asarray(condition)), lento.where(condition=lento.asarray(condition))):
            assert isinstance(found, tuple)
            assert len(found) == len(expected)
            for here, there in zip(found, expected, strict=True):
                check(here, there)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x2'"):
        lento.where(lento.asarray(DATA > 2), 1)


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_dtypes_of_means(name: str) -> None:
    large = np.array([[2**53, 2**53 + 2], [2**53 + 4, 2**53 + 12]])  # float32 has none of these apart
    check(getattr(lento.asarray(large), name)(dtype=lento.float64), getattr(large, name)(dtype=np.float64))
    check(getattr(np, name)(lento.asarray(large), axis=1, dtype=np.float64), getattr(np, name)(large, axis=1))
    complex_result = getattr(lento, name)(lento.asarray(DATA), dtype=lento.complex128, keepdims=True)
    np.testing.assert_allclose(complex_result, getattr(np, name)(DATA, dtype=np.complex128, keepdims=True), rtol=1e-12)
    assert complex_result.dtype is (lento.complex128 if name == "mean" else lento.float64)
    with pytest.raises(TypeError, match=f"^{name}: dtype is int64"):
        getattr(lento, name)(lento.asarray(large), dtype=lento.int64)
    with pytest.raises(TypeError, match=f"^{name}: .*imaginary"):
        getattr(lento, name)(lento.asarray([1j, 2]), dtype=lento.float32)


@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex128"])
def test_gradients_of_samples(dtype: str, edge_order: int) -> None:
    x = (np.arange(30).reshape(5, 6) ** 2 % 200).astype(dtype)
    error = 1e-5 if dtype != "complex128" else 1e-12
    for axis in (0, 1):
        for spacing in (0.5, np.float64(3), np.array([1, 2, 5, 6, 9, 17])[: x.shape[axis]]):
            here = lento.gradient(lento.asarray(x), spacing, axis=axis, edge_order=edge_order)
            there = np.gradient(
                x.astype(np.promote_types(dtype, np.float32)), spacing, axis=axis, edge_order=edge_order
            )
            np.testing.assert_allclose(here, there, rtol=error, atol=error)
            assert here.dtype is (lento.complex128 if dtype == "complex128" else lento.float32)
    steps = lento.asarray([2.0, 4.0])
    row = x[0].real.astype(np.float32)
    np.testing.assert_array_equal(lento.gradient(row, steps[0]), np.gradient(row, 2.0))


def test_gradients_of_large_integers_are_exact_as_long_as_float64_is() -> None:
    for x in (2**52 + np.array([0, 1, 4, 9]), np.array([2**24 + 1, 2**24], np.uint32)):
        check(lento.gradient(x), np.gradient(x).astype(np.float32))
        check(lento.gradient(x, 2 * np.arange(len(x))), np.gradient(x, 2 * np.arange(len(x))).astype(np.float32))


@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradients_over_complex_distances(edge_order: int) -> None:
    x = np.array([1, 2 + 1j, 4, 9j])
    for spacing in (2j, np.array([0, 1j, 3j, 4 + 4j])):
        expected = np.gradient(x, spacing, edge_order=edge_order)
        np.testing.assert_allclose(lento.gradient(x, spacing, edge_order=edge_order), expected, rtol=1e-14)
        if np.ndim(spacing) == 0:
            given = lento.asarray(spacing, dtype=lento.complex128)
            np.testing.assert_allclose(lento.gradient(x, given, edge_order=edge_order), expected, rtol=1e-14)


def test_gradients_that_cannot_be() -> None:
    x = lento.asarray(DATA)
    for spacing in (1j, lento.asarray(1j), lento.asarray([0, 1j, 2j])):
        with pytest.raises(TypeError, match=r"^gradient: the spacing is complex, and float32\(2, 3\) is not"):
            lento.gradient(x, spacing)
    # Computed in float64 on the way to float32, of which nobody has asked.
    with pytest.raises(TypeError, match=r"complex, and int64\(3,\) is not: the result would be no float32 "):
        lento.gradient([1, 2, 4], 1j)
    with pytest.raises(ValueError, match=r"2 positions for the 3 elements along axis 0 of int64\(3,\)"):
        lento.gradient([1, 2, 4], [0, 1])
    with pytest.raises(ValueError, match="edge_order is 3"):
        lento.gradient(x, edge_order=3)
    with pytest.raises(ValueError, match="fewer than 3 elements"):
        lento.gradient(x, axis=0, edge_order=2)
    with pytest.raises(ValueError, match="2 positions for the 3 elements"):
        lento.gradient(x, [1.0, 2.0])
    with pytest.raises(ValueError, match="no vector"):
        lento.gradient(x, DATA)


# --- NumPy's functions on tensors ---

FUNCTIONS: list[Any] = [
    np.sum, np.mean, np.std, np.var, np.max, np.min, np.prod, np.any, np.all, np.argmax, np.argmin, np.cumsum,
    np.cumprod, np.exp, np.isnan, np.sqrt, np.abs, np.sort, np.argsort, np.transpose, np.squeeze, np.ravel, np.copy,
    np.nonzero, np.ptp, np.diagonal, np.trace, np.round, np.real, np.imag, np.atleast_3d, np.median, np.linalg.norm,
    np.shape, np.size, np.ndim,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_functions_of_numpy_take_tensors(function: Any) -> None:
    np.testing.assert_allclose(function(lento.asarray(DATA)), function(DATA), rtol=1e-6)


CALLS = {
    "sum": lambda a: np.sum(a, axis=1, keepdims=True),
    "mean": lambda a: np.mean(a, axis=0),
    "std": lambda a: np.std(a, axis=0, ddof=1),
    "var": lambda a: np.var(a, ddof=1),
    "clip": lambda a: np.clip(a, 2, 4),
    "reshape": lambda a: np.reshape(a, (3, 2)),
    "where": lambda a: np.where(a > 2, a, 0),
    "stack": lambda a: np.stack([a, a]),
    "concatenate": lambda a: np.concatenate([a, DATA]),
    "dot": lambda a: np.dot(DATA.T, a),
    "matmul": lambda a: np.matmul(DATA.T, a),
    "add": lambda a: np.add(DATA, a),
    "take": lambda a: np.take(a, [0, 2], axis=1),
    "repeat": lambda a: np.repeat(a, 2, axis=1),
    "tile": lambda a: np.tile(a, (2, 1)),
    "swapaxes": lambda a: np.swapaxes(a, 0, 1),
    "einsum": lambda a: np.einsum("ij,kj->ik", a, a),
    "searchsorted": lambda a: np.searchsorted(a[0], 1.5),
    "interp": lambda a: np.interp(2.5, a[0], a[1]),
    "array": lambda a: np.array([a[0], a[1]]),
    "float64": lambda a: np.asarray(a, dtype=np.float64),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_of_numpy_with_tensors(name: str) -> None:
    np.testing.assert_allclose(CALLS[name](lento.asarray(DATA)), CALLS[name](DATA), rtol=1e-6)


def test_only_none_is_accepted_for_numpys_other_arguments() -> None:
    x = lento.asarray(DATA)
    check(x.sum(axis=0, dtype=None, out=None), DATA.sum(axis=0))
    with pytest.raises(TypeError, match="out= must be a Tensor"):
        x.sum(out=np.zeros(3))  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="takes no where= here"):
        x.sum(where=None)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="multiple values"):
        x.std(ddof=1, correction=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'ddof'"):
        x.sum(ddof=1)  # type: ignore[call-arg]


# --- methods ---

METHODS = {
    "sum": lambda x: x.sum(),
    "sum over an axis": lambda x: x.sum(0),
    "sum over axes": lambda x: x.sum(axis=(0, 1), keepdims=True),
    "mean": lambda x: x.mean(axis=1),
    "max": lambda x: x.max(1),
    "min": lambda x: x.min(axis=0, keepdims=True),
    "argmax": lambda x: x.argmax(1),
    "argmin": lambda x: x.argmin(),
    "std": lambda x: x.std(0),
    "var with ddof": lambda x: x.var(ddof=1),
    "prod": lambda x: x.prod(),
    "any": lambda x: (x > 3).any(axis=1),
    "all": lambda x: (x > 0).all(),
    "cumsum": lambda x: x.cumsum(),
    "cumsum of an axis": lambda x: x.cumsum(1),
    "clip": lambda x: x.clip(2, 4),
    "clip from below": lambda x: x.clip(min=2),
    "reshape": lambda x: x.reshape(3, 2),
    "reshape by a tuple": lambda x: x.reshape((3, -1)),
    "reshape by a list": lambda x: x.reshape([6]),
    "transpose": lambda x: x.transpose(),
    "transpose by axes": lambda x: x.transpose(1, 0),
    "transpose by a tuple": lambda x: x.transpose((1, 0)),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "flatten": lambda x: x.flatten(),
    "ravel": lambda x: x.ravel(),
    "squeeze": lambda x: x[None].squeeze(0),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "dot": lambda x: x.dot(x.T),
    "copy": lambda x: x.copy(),
    "round": lambda x: (x / 3).round(2),
    "repeat": lambda x: x.repeat(2, axis=0),
    "diagonal": lambda x: x.diagonal(),
    "trace": lambda x: x.trace(),
    "nonzero": lambda x: x.nonzero()[1],
    "conjugate": lambda x: x.conjugate(),
    "searchsorted": lambda x: x.ravel().searchsorted(2.5),
    "astype": lambda x: x.astype("int32"),
    "astype float64": lambda x: x.astype(np.float64),
    "argsort": lambda x: x.argsort(),
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "tolist": lambda x: x.tolist(),
    "item": lambda x: x.item(1, 2),
    "tobytes": lambda x: x.tobytes(),
    "attributes": lambda x: (x.nbytes, x.itemsize, x.size, x.ndim, x.shape, len(x)),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_numpys(name: str) -> None:
    mine, theirs = METHODS[name](lento.asarray(DATA)), METHODS[name](DATA)
    if isinstance(mine, lento.Tensor):
        assert mine.shape == np.shape(theirs)
        np.testing.assert_allclose(mine.numpy(), theirs, rtol=1e-6)
    else:
        assert mine == theirs


def test_fill() -> None:
    x = lento.asarray(DATA)
    same, other = x, x.copy()
    x.fill(7)
    np.testing.assert_array_equal(same.numpy(), np.full((2, 3), 7))
    np.testing.assert_array_equal(other.numpy(), DATA)
    with pytest.raises(TypeError):
        lento.zeros(2, dtype=lento.int8).fill(1.5)


def test_shapes_and_fill_values_of_all_kinds() -> None:
    for shape in ([2, 3], (2, 3), np.array([2, 3]), tuple(np.array([2, 3]))):
        assert lento.zeros(shape).shape == (2, 3)
    assert lento.ones(3).shape == lento.ones(np.int64(3)).shape == (3,)
    assert lento.full((2,), lento.asarray(2.5)).tolist() == [2.5, 2.5]
    assert lento.full_like(lento.zeros(2), lento.asarray(3)).tolist() == [3.0, 3.0]
    assert lento.zeros((2,), np.int32).dtype is lento.int32
    assert lento.arange(1, 5, 2, np.float32).tolist() == [1.0, 3.0]
    assert lento.arange(lento.asarray(3)).tolist() == [0, 1, 2]


# --- keys of all kinds; test_indexing.py draws shapes at random ---

CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
KEYS: list[Any] = [
    [True, False],
    (0, [True, False, True]),
    np.True_,
    (np.True_, 0),
    range(2),
    (slice(None), range(2)),
    ((0, 1), (1, 2)),
    (np.int8(1), np.uint64(2)),
    (np.array([1, 0], np.uint64),),
    slice(np.int64(0), np.int64(1)),
    np.nonzero(CUBE > 3),
    (slice(None), CUBE[0] > 5),
    (CUBE[:, :, 0] > 5, 1),
    (Ellipsis, CUBE[0, 0] > 1),
    ([0, 1], np.array([True, True, False])),
    (None, [0, 1], None),
]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: str(key).replace("\n", ""))
def test_keys_mean_what_they_mean_in_numpy(key: Any) -> None:
    check(lento.asarray(CUBE)[key], CUBE[key])
    for value in (7.0, np.float64(3), CUBE[key] * 2, (CUBE[key] * 3).tolist(), lento.asarray(CUBE[key] * 4)):
        x, data = lento.asarray(CUBE), CUBE.copy()
        x[key] = value
        data[key] = value.numpy() if isinstance(value, lento.Tensor) else value
        check(x, data)


@pytest.mark.parametrize("key", [1.0, "a", {1}, b"a", [0.5], np.array([0.5]), (Ellipsis, Ellipsis)], ids=repr)
def test_what_is_no_key_is_an_index_error(key: Any) -> None:
    with pytest.raises(IndexError):
        CUBE[key]
    with pytest.raises(IndexError):
        lento.asarray(CUBE)[key]
    with pytest.raises(IndexError):
        x = lento.asarray(CUBE)
        x[key] = 1


# --- iteration, membership, numbers ---


def test_iteration_is_lazy() -> None:
    x = lento.asarray(DATA) + 1
    counts = Counts()
    rows = list(x)
    first, second = x
    backwards = list(reversed(x))
    total = sum(x)
    assert counts["sync.implicit"] == 0
    np.testing.assert_array_equal([row.numpy() for row in rows], DATA + 1)
    np.testing.assert_array_equal([row.numpy() for row in backwards], (DATA + 1)[::-1])
    np.testing.assert_array_equal([first.numpy(), second.numpy()], DATA + 1)
    np.testing.assert_array_equal(total.numpy(), (DATA + 1).sum(axis=0))


def test_0d_tensors_have_no_length() -> None:
    x = lento.asarray(1.5)
    for call in (len, iter, list, reversed):
        with pytest.raises(TypeError):
            call(x)  # type: ignore[operator]


def test_membership() -> None:
    x = lento.asarray(DATA)
    for item in (3, 9, 2.5, [1, 2, 3], [9, 9, 9], DATA[0], np.float32(6), lento.asarray(4.0)):
        theirs = item.numpy() if isinstance(item, lento.Tensor) else item
        assert (item in x) == (theirs in DATA), item
    assert "a" not in x
    assert None not in x


def test_numbers() -> None:
    assert range(10)[lento.asarray(3)] == 3
    assert hex(lento.asarray(255)) == "0xff"
    for wrong in (lento.asarray(1.0), lento.asarray([1]), lento.asarray(True)):
        with pytest.raises(TypeError):
            operator.index(wrong)
    assert complex(lento.asarray([1 + 2j])) == 1 + 2j
    with pytest.raises(TypeError):
        float(lento.asarray(1j))
    with pytest.raises(ValueError):
        bool(lento.zeros((0,)))
    with pytest.raises(OverflowError):
        int(lento.asarray(float("inf")))
    with pytest.raises(ValueError):
        int(lento.asarray(float("nan")))


# --- dtypes ---


NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NAMES += ["float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("name", NAMES)
def test_dtypes_compare_with_what_names_them(name: str) -> None:
    dtype = getattr(lento, name)
    theirs = np.dtype(name)
    for other in (name, theirs, theirs.type, dtype):
        assert dtype == other
        assert other == dtype
        assert not operator.ne(dtype, other)
        assert np.zeros(2, dtype).dtype == theirs
        assert lento.zeros((1,), dtype=other).dtype is dtype
    others = [getattr(lento, each) for each in ("float32", "int8", "complex128") if each != name]
    for other in (*others, "no dtype", np.dtype("U3"), 3, None, object()):
        assert dtype != other
        assert not operator.eq(dtype, other)
    assert (dtype.name, dtype.kind, dtype.itemsize) == (name, theirs.kind, theirs.itemsize)
    assert hash(dtype) == hash(name)
    assert {dtype: 1}[dtype] == 1


def test_dtypes_compare_with_pythons_types() -> None:
    for dtype, python in ((lento.float32, float), (lento.int64, int), (lento.bool, bool), (lento.complex64, complex)):
        assert operator.eq(dtype, python)
    assert operator.ne(lento.float64, float)  # the default float is float32
    with pytest.raises(TypeError):
        lento.float32 < lento.float64  # type: ignore[operator]  # noqa: B015
