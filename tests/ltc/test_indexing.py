"""Indexing and assignment say what NumPy says; what the index and index_put tests of the Lazy Tensor Core ask."""

from __future__ import annotations

from typing import Any

import lento
import numpy as np
import pytest

X = np.arange(4 * 3 * 5, dtype=np.float32).reshape(4, 3, 5)
ROWS = np.array([0, 2, 1])
PAIR = np.array([[0, 1], [2, 0]])
MASK = (X[:, :, 0] % 2) == 0


def ours(index: Any) -> Any:
    """The same index with Lento's tensors in the place of arrays."""
    if isinstance(index, tuple):
        return tuple(ours(part) for part in index)
    return lento.asarray(index) if isinstance(index, np.ndarray) else index


def same(x: Any, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(x.numpy(), expected)
    assert x.shape == expected.shape


BASIC: list[Any] = [
    0,
    -1,
    slice(1, 3),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(10, 20),
    (slice(None), 1),
    (1, 2, 3),
    (..., 0),
    (0, ...),
    (..., slice(1, -1)),
    None,
    (slice(None), None, 2),
    (slice(3, 0, -2), ..., slice(4, None, -3)),
    (),
    ...,
]
ARRAYS: dict[str, Any] = {
    "one": ROWS,
    "one negative": -ROWS - 1,
    "one of rank 2": PAIR,
    "one of rank 0": np.array(2),
    "empty": np.zeros(0, dtype=np.int64),
    "head open": (slice(None), ROWS),
    "middle open": (ROWS, slice(None), ROWS),
    "tail open": (ROWS, ROWS),
    "tail open, ellipsis": (ROWS, ROWS, ...),
    "middle broadcast": (ROWS, slice(None), PAIR[:, :, None]),
    "tail broadcast": (ROWS, PAIR[:, :, None]),
    "array and integer": (ROWS, 1),
    "array and slice": (ROWS, slice(0, 2), slice(None, None, 2)),
    "all": (ROWS, ROWS, ROWS),
}


@pytest.mark.parametrize("index", BASIC, ids=repr)
def test_basic_indexing(index: Any) -> None:
    same(lento.asarray(X)[index], X[index])


@pytest.mark.parametrize("name", ARRAYS)
def test_integer_array_indexing(name: str) -> None:
    same(lento.asarray(X)[ours(ARRAYS[name])], X[ARRAYS[name]])


def test_index_from_numpy() -> None:
    x = lento.asarray(X)
    same(x[ROWS], X[ROWS])
    x[ROWS] = 7
    expected = X.copy()
    expected[ROWS] = 7
    same(x, expected)


@pytest.mark.parametrize("index", [MASK, X > 20, MASK[:, 0], np.zeros_like(MASK)], ids=["rows", "all", "first", "none"])
def test_mask_indexing(index: np.ndarray) -> None:
    same(lento.asarray(X)[ours(index)], X[index])


@pytest.mark.parametrize("index", BASIC, ids=repr)
def test_basic_assignment(index: Any) -> None:
    x, expected = lento.asarray(X), X.copy()
    value = X[index] * 2 + 1
    x[index] = lento.asarray(value)
    expected[index] = value
    same(x, expected)


@pytest.mark.parametrize("name", ARRAYS)
def test_integer_array_assignment(name: str) -> None:
    index = ARRAYS[name]
    x, expected = lento.asarray(X), X.copy()
    value = np.asarray(X[index] * 2 + 1, dtype=np.float32)
    x[ours(index)] = lento.asarray(value)
    expected[index] = value
    same(x, expected)
    x[ours(index)] = -1
    expected[index] = -1
    same(x, expected)


@pytest.mark.parametrize("index", [MASK, X > 20, MASK[:, 0], np.zeros_like(MASK)], ids=["rows", "all", "first", "none"])
def test_mask_assignment(index: np.ndarray) -> None:
    x, expected = lento.asarray(X), X.copy()
    x[ours(index)] = -3
    expected[index] = -3
    same(x, expected)
    value = np.arange(X[index].size, dtype=np.float32).reshape(X[index].shape)
    x[ours(index)] = lento.asarray(value)
    expected[index] = value
    same(x, expected)


def test_assign_everywhere() -> None:
    x = lento.asarray(X)
    x[...] = 0
    same(x, np.zeros_like(X))
    x[:] = 2.5
    same(x, np.full_like(X, 2.5))
    x[...] = lento.asarray(np.float32(4))
    same(x, np.full_like(X, 4))


def test_update_of_a_part() -> None:
    x, expected = lento.asarray(X), X.copy()
    x[:, 1:3] += 10
    expected[:, 1:3] += 10
    same(x, expected)
    x[1:3, 0] *= x[0:2, 1]
    expected[1:3, 0] *= expected[0:2, 1]
    same(x, expected)
    x[0, ::2] -= lento.asarray(X[1, ::2])
    expected[0, ::2] -= X[1, ::2]
    same(x, expected)


@pytest.mark.parametrize("index", [4, -5, (0, 3), (0, 0, 0, 0), 1.5, "a"], ids=repr)
def test_wrong_indices_raise_at_the_call(index: Any) -> None:
    with pytest.raises((IndexError, TypeError)):
        lento.asarray(X)[index]


def test_index_array_out_of_range_poisons_the_result() -> None:
    """T10: never clamped, never read outside; raised on reading what depends on it, every time."""
    x = lento.asarray(X)
    bad = x[lento.asarray(np.array([0, 4]))]
    good = x + 1
    for _ in range(2):
        with pytest.raises(IndexError):
            (bad * 2).numpy()
    same(good, X + 1)
