"""NumPy's functions that are not in the Array API: grids, polynomials, insertions, and programs that use SciPy."""

from __future__ import annotations

from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts

DATA = np.arange(12, dtype=np.float32).reshape(3, 4)


def check(result: Any, expected: Any) -> None:
    assert type(result) is lento.Tensor
    assert result.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)


# --- array, grids ---


def test_array() -> None:
    check(lento.array([1, 2]), np.array([1, 2]))
    check(lento.array([[1, 2]], dtype=np.float64), np.array([[1, 2]], dtype=np.float64))
    check(lento.array(3, ndmin=2), np.array(3, ndmin=2))
    source = np.ones(3)
    made = lento.array(source)
    source[:] = 7
    check(made, np.ones(3))
    with pytest.raises(ValueError, match=r"^array\(\): "):
        lento.array([[1, 2], [3]])


def test_round_takes_decimals() -> None:
    numbers = np.array([3.14159, -2.71828, 25.0])
    x = lento.asarray(numbers)
    for decimals in (-1, 0, 2):
        for rounded in (lento.round(x, decimals), lento.round(x, decimals=decimals), x.round(decimals)):
            np.testing.assert_array_equal(rounded.numpy(), np.round(numbers, decimals))
    np.testing.assert_array_equal(lento.round(x=x).numpy(), np.round(numbers))
    with pytest.raises(TypeError, match=r"^delete\(\)"):
        lento.delete(x)


def test_mgrid_and_ogrid() -> None:
    check(lento.mgrid[0:2, 0:3], np.mgrid[0:2, 0:3])
    check(lento.mgrid[1:7:2], np.mgrid[1:7:2])
    check(lento.mgrid[:3], np.mgrid[:3])
    check(lento.mgrid[0.0:3], np.mgrid[0.0:3].astype(np.float32))
    check(lento.mgrid[-1:1:5j], np.mgrid[-1:1:5j].astype(np.float32))
    y, x = lento.mgrid[0:1:3j, 0:2:4j]
    for here, there in zip((y, x), np.mgrid[0:1:3j, 0:2:4j].astype(np.float32), strict=True):
        check(here, there)
    for here, there in zip(lento.ogrid[0:2, 1:7:2], np.ogrid[0:2, 1:7:2], strict=True):
        check(here, there)
    check(lento.ogrid[:4], np.ogrid[:4])
    for wrong in (3, slice(1, None)):
        with pytest.raises(TypeError, match=r"mgrid: each axis is a slice with an end, .*, at .*\.py"):
            lento.mgrid[wrong]


def test_ix_selects_rows_and_columns() -> None:
    x = lento.asarray(DATA)
    check(x[lento.ix_([0, 2], [1, 3])], DATA[np.ix_([0, 2], [1, 3])])
    mask = np.array([True, False, True])
    check(x[lento.ix_(mask, [1])], DATA[np.ix_(mask, [1])])
    with pytest.raises(ValueError, match="ix_: tensor 0 must be a vector"):
        lento.ix_(DATA, [1])


def test_indices() -> None:
    rows, columns = lento.indices((2, 3))
    check(rows, np.indices((2, 3))[0])
    check(columns, np.indices((2, 3))[1])
    with pytest.raises(ValueError):
        lento.indices((2, -1))


# --- inserting and deleting ---


@pytest.mark.parametrize("index", [0, 2, 3, -1, [1], [0, 3], [3, 0, 0], [-1, 1], []])
def test_insert_into_a_vector(index: Any) -> None:
    x = np.array([1.0, 2.0, 3.0])
    check(lento.insert(x, index, 7.0), np.insert(x, np.array(index, int), 7.0))
    if isinstance(index, list) and len(index) > 1:
        many = np.arange(len(index)) + 10.0
        check(lento.insert(lento.asarray(x), lento.asarray(index), many), np.insert(x, index, many))


def test_insert_along_axes() -> None:
    for index, values, axis in ((1, 5, 0), (1, [5, 6, 7], 1), (-1, [[5], [6], [7]], 1), ([0, 2], [[5, 6]], 1)):
        check(lento.insert(DATA, index, values, axis=axis), np.insert(DATA, index, values, axis=axis))
    check(lento.insert(DATA, 2, [8, 9]), np.insert(DATA, 2, [8, 9]))
    counts = Counts()
    lento.insert(lento.asarray(DATA), lento.asarray([1, 2]), 0, axis=0)
    assert counts["sync.implicit"] == 0
    with pytest.raises(IndexError, match="insert: position 4 is out of range for an axis of size 3"):
        lento.insert([1, 2, 3], 4, 0)
    with pytest.raises(IndexError):
        lento.insert([1, 2, 3], [4], 0).numpy()
    with pytest.raises(TypeError, match="insert: the positions must be integers"):
        lento.insert([1, 2, 3], 1.5, 0)


@pytest.mark.parametrize("index", [0, 2, -1, [1], [0, 0, 2], [-1, 1], []])
def test_delete(index: Any) -> None:
    x = np.array([1.0, 2.0, 3.0])
    check(lento.delete(x, index), np.delete(x, np.array(index, int)))
    check(lento.delete(DATA, index, axis=0), np.delete(DATA, np.array(index, int), axis=0))
    check(lento.delete(lento.asarray(x), lento.asarray(np.array(index, int))), np.delete(x, np.array(index, int)))


@pytest.mark.parametrize("beyond", [2**63, 2**63 + 1, 2**64 - 3, 2**64 - 1])
def test_t10_positions_that_only_uint64_has_do_not_count_from_the_end(beyond: int) -> None:
    x, positions = lento.arange(6), lento.asarray([1, beyond], dtype="uint64")
    layers = [lento.zeros(2), lento.ones(2), lento.ones(2) * 2]
    for call in (
        lambda: lento.insert(x, positions, 7),
        lambda: lento.delete(x, positions),
        lambda: lento.choose(positions, layers),
    ):
        with pytest.raises(IndexError, match="out of range"):
            call().tolist()
    with pytest.raises(ValueError, match="must be less than"):
        lento.bincount(positions)
    assert lento.choose(positions, layers, mode="clip").tolist() == [1, 2]
    assert lento.choose(positions, layers, mode="wrap").tolist() == [1, beyond % 3]


def test_delete_by_a_mask_and_what_it_waits_for() -> None:
    mask = np.array([True, False, True])
    check(lento.delete(DATA, mask, axis=0), np.delete(DATA, mask, axis=0))
    counts = Counts()
    lento.delete(lento.asarray(DATA), 1, axis=0)
    assert counts["sync.implicit"] == 0
    with pytest.raises(IndexError, match="position 3 is out of range"):
        lento.delete([1, 2, 3], 3)
    with pytest.raises(ValueError, match="the mask"):
        lento.delete([1, 2, 3], mask[:2])


# --- polynomials, histograms, sorting, triangles ---


def test_polyfit_and_polyval() -> None:
    x = np.linspace(-3, 3, 20)
    y = 2 * x**3 - x + 0.5
    np.testing.assert_allclose(lento.polyfit(x, y, 3), [2, 0, -1, 0.5], atol=1e-12)
    single = lento.polyfit(x.astype(np.float32), y.astype(np.float32), 3)
    assert single.dtype is lento.float32
    np.testing.assert_allclose(lento.polyval(single, lento.asarray(x, dtype=lento.float32)), y, rtol=1e-4, atol=1e-4)
    slope = lento.grad(lambda y: lento.polyfit(x, y, 1)[0])(y)
    np.testing.assert_allclose(slope, x / (x @ x), rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="polyfit: the points"):
        lento.polyfit(x, y[1:], 1)
    with pytest.raises(ValueError, match="degree cannot be negative"):
        lento.polyfit(x, y, -1)


def test_histogram2d() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=100), rng.normal(size=100)
    for arguments in ({}, {"bins": (3, 5)}, {"bins": 4, "range": [[-1, 1], [-2, 2]], "density": True}):
        for here, there in zip(lento.histogram2d(x, y, **arguments), np.histogram2d(x, y, **arguments), strict=True):
            np.testing.assert_allclose(here, there, rtol=1e-6)
    edges = [np.array([-1.0, 0, 2]), np.array([-2.0, 0, 1, 3])]
    for here, there in zip(lento.histogram2d(x, y, edges=edges), np.histogram2d(x, y, bins=edges), strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-6)
    with pytest.raises(ValueError, match=r"histogram2d: .* must have one shape"):
        lento.histogram2d(x, y[1:])


def test_partition() -> None:
    x = np.random.default_rng(4).normal(size=(4, 9)).astype(np.float32)
    for kth in (0, 4, -1):
        here = lento.partition(x, kth).numpy()
        np.testing.assert_array_equal(here[:, kth], np.partition(x, kth)[:, kth])
        picked = np.take_along_axis(x, lento.argpartition(x, kth).numpy(), axis=-1)
        np.testing.assert_array_equal(picked[:, kth], here[:, kth])
    with pytest.raises(IndexError, match="partition: position 9 is out of range"):
        lento.partition(x, 9)


def test_triangles_by_either_name() -> None:
    a = np.array([[2.0, 0.5], [1.0, 4.0]])
    b = np.array([[1.0], [2.0]])
    lower, upper = np.linalg.solve(np.tril(a), b), np.linalg.solve(np.triu(a), b)
    solve = lento.linalg.solve_triangular
    for expected, keywords in (
        (lower, {"lower": True}),
        (lower, {"upper": False}),
        (upper, {"lower": False}),
        (upper, {"upper": True}),
        (upper, {}),
        (lower, {"lower": True, "upper": False}),
    ):
        check(solve(a, b, **keywords), expected)
    with pytest.raises(ValueError, match="upper and lower are both true"):
        solve(a, b, lower=True, upper=True)


# --- bools ---


def test_zero_and_one_into_bools() -> None:
    mask = lento.zeros(4, dtype=lento.bool)
    mask[1] = 1
    mask[2:] = True
    mask[3] = 0
    assert mask.tolist() == [False, True, True, False]
    for value in (2, -1, 1.0, np.array([0, 2])):
        with pytest.raises(TypeError, match="cannot be stored in a tensor of dtype bool; compare it first"):
            mask[0:2] = value
    check(lento.index_put(mask, ([0],), 1), np.array([True, True, True, False]))


# --- derivatives of functions of arrays, and SciPy ---


def rosenbrock(x: Any) -> Any:
    return lento.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def test_gradients_by_arrays_lists_and_numbers() -> None:
    f = lambda x: lento.sum(x**3)  # noqa: E731
    check(lento.grad(f)(np.array([1.0, 2.0])), np.array([3.0, 12.0]))
    check(lento.grad(f)(np.array([1.0, 2.0], np.float32)), np.array([3.0, 12.0], np.float32))
    check(lento.grad(f)([1.0, 2.0]), np.array([3.0, 12.0], np.float32))
    check(lento.grad(f)((1.0, 2)), np.array([3.0, 12.0], np.float32))
    check(lento.grad(f)(2.0), np.array(12.0, np.float32))
    check(lento.grad(f)([[1.0], [2.0]]), np.array([[3.0], [12.0]], np.float32))
    value, slope = lento.value_and_grad(f)(np.array([1.0, 2.0]))
    check(value, np.array(9.0))
    check(slope, np.array([3.0, 12.0]))
    gradients = lento.grad(lambda p: p["w"].sum() * p["b"])({"w": np.ones(2), "b": 3.0})
    check(gradients["w"], np.array([3.0, 3.0]))
    assert float(gradients["b"]) == 2
    a, b = lento.grad(lambda p: p[0] * p[1][0])([2.0, [3.0]])  # lists of different lengths are a tree
    assert (float(a), float(b[0])) == (3, 2)
    check(lento.jacobian(lambda x: x**2)(np.array([1.0, 2.0])), np.array([[2.0, 0.0], [0.0, 4.0]]))
    check(lento.hessian(f)([1.0, 2.0]), np.array([[6.0, 0.0], [0.0, 12.0]], np.float32))
    _, pull = lento.vjp(lambda x: x * x, np.array([1.0, 2.0]))
    check(pull(lento.ones(2, dtype=lento.float64))[0], np.array([2.0, 4.0]))
    check(pull(np.array([1.0, 10.0], np.float32))[0], np.array([2.0, 40.0]))
    check(pull([1.0, 10.0])[0], np.array([2.0, 40.0]))
    _, change = lento.jvp(lambda x: x * x, ([1.0, 2.0],), ([1.0, 10.0],))
    check(change, np.array([2.0, 40.0], np.float32))
    _, pull = lento.vjp(lambda x: (x * x, {"third": x**3}), 2.0)
    check(pull((1, {"third": 0.5}))[0], np.array(10.0, np.float32))
    with pytest.raises(lento.ShapeError, match=r"^vjp\(\): cotangent 0 has shape \(2,\), its output \(\)"):
        pull((np.ones(2), {"third": 1.0}))
    with pytest.raises(TypeError, match="cotangents must be tensors, not str"):
        pull(("one", {"third": 1.0}))


def test_changes_are_integers_lists_and_arrays_too() -> None:
    square = lambda x: x * x  # noqa: E731
    _, pull = lento.vjp(square, np.array([1.0, 2.0]))
    _, push = lento.linearize(square, np.array([1.0, 2.0]))
    for change in ([1, 10], (1, 10.0), np.array([1, 10]), np.array([1, 10], np.float32)):
        check(pull(change)[0], np.array([2.0, 40.0]))
        check(push(change), np.array([2.0, 40.0]))
        check(lento.jvp(square, (np.array([1.0, 2.0]),), (change,))[1], np.array([2.0, 40.0]))
    check(lento.jvp(square, (3.0,), (1,))[1], np.array(6.0, np.float32))
    product = lambda p, i: p["a"] * p["b"] * i  # noqa: E731
    check(lento.jvp(product, ({"a": 2.0, "b": 3.0}, 5), ({"a": 1, "b": 0.5}, None))[1], np.array(20.0, np.float32))
    with pytest.raises(TypeError, match="tangents must be tensors, not str"):
        lento.jvp(square, (3.0,), ("one",))
    clipped = lento.custom_gradient(lambda x: x * 10, lambda xs, ys, gs: [lento.clip(gs[0], -1, 1)])
    check(clipped(np.array([1.0, 2.0])), np.array([10.0, 20.0]))
    check(clipped(2.0), np.array(20.0, np.float32))
    check(lento.stop_gradient(np.array([1.0, 2.0])), np.array([1.0, 2.0]))
    check(lento.stop_gradient(2.0), np.array(2.0, np.float32))


def test_beside_tensors_arrays_are_constants() -> None:
    gradients = lento.grad(lambda p: (p[0] * p[1]).sum())((lento.ones(2), np.full(2, 3.0, np.float32)))
    check(gradients[0], np.full(2, 3, np.float32))
    assert gradients[1] is None


def test_scipy_minimizes_with_gradients() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    start = np.array([-1.2, 1.0, 0.5])
    for method in ("BFGS", "L-BFGS-B", "CG"):
        found = optimize.minimize(lento.value_and_grad(rosenbrock), start, jac=True, method=method)
        assert found.success
        np.testing.assert_allclose(found.x, 1, atol=1e-4)
    found = optimize.minimize(
        rosenbrock, start, jac=lento.grad(rosenbrock), hess=lento.hessian(rosenbrock), method="Newton-CG"
    )
    np.testing.assert_allclose(found.x, 1, atol=1e-4)
    found = optimize.minimize(lento.value_and_grad(rosenbrock), start.tolist(), jac=True)
    np.testing.assert_allclose(found.x, 1, atol=1e-4)
    root = optimize.root(lambda x: lento.stack([x[0] ** 2 - 2, x[1] - x[0]]), [1.0, 1.0])
    np.testing.assert_allclose(root.x, np.sqrt(2), rtol=1e-6)
