"""pandas: tensors become columns in one read, columns become tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pandas as pd
import pytest
from friend_calls import counted_syncs, pending

pytestmark = pytest.mark.peers

RNG = np.random.default_rng(13)
X, Y, KEYS = RNG.standard_normal(1000), RNG.standard_normal(1000), np.arange(1000) % 7
TABLE = RNG.standard_normal((50, 4))
SERIES, FRAME = pd.Series(X), pd.DataFrame(TABLE, columns=list("abcd"))

Tensors = Callable[[np.ndarray], Any]

# A call, and how often it reads: t(...) is a pending tensor.
CALLS: dict[str, tuple[Callable[[Tensors], Any], int]] = {
    "Series": (lambda t: pd.Series(t(X)), 1),
    "Series with an index": (lambda t: pd.Series(t(X), index=t(KEYS)), 2),
    "Series of float32": (lambda t: pd.Series(t(X), dtype="float32"), 1),
    "DataFrame": (lambda t: pd.DataFrame(t(TABLE), columns=list("abcd")), 1),
    "DataFrame of columns": (lambda t: pd.DataFrame({"x": t(X), "key": t(KEYS)}), 2),
    "assign": (lambda t: pd.DataFrame({"x": X}).assign(y=t(Y), key=t(KEYS)), 2),
    "Index": (lambda t: pd.Index(t(KEYS)), 1),
    "iloc": (lambda t: SERIES.iloc[t(KEYS)], 1),
    "take": (lambda t: SERIES.take(t(KEYS)), 1),
    "where": (lambda t: SERIES.where(t(X > 0)), 1),
    "cut": (lambda t: pd.Series(pd.cut(t(X), 5)), 2),
    "qcut": (lambda t: pd.Series(pd.qcut(t(X), 4)), 2),
    "to_datetime": (lambda t: pd.to_datetime(t(KEYS), unit="D"), 1),
    "isna": (lambda t: pd.isna(t(X)), 1),
    "Series + tensor": (lambda t: SERIES + t(Y), 1),
    "tensor + Series": (lambda t: t(Y) + SERIES, 1),
    "Series * number": (lambda t: SERIES * t(np.asarray(2.0)), 1),
    "number * Series": (lambda t: t(np.asarray(2.0)) * SERIES, 1),
    "Series > tensor": (lambda t: SERIES > t(Y), 1),  # noqa: SIM300
    "DataFrame @ tensor": (lambda t: FRAME @ t(TABLE.T), 1),
    "tensor @ DataFrame": (lambda t: t(TABLE.T) @ FRAME, 1),
    "DataFrame + row": (lambda t: FRAME + np.asarray(t(TABLE[0])), 1),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    call, reads = CALLS[name]
    expected = call(lambda array: array)
    with counted_syncs() as syncs:
        result = call(pending)
    assert type(result) is type(expected)
    if isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(result, expected)
    elif isinstance(expected, pd.Series):
        pd.testing.assert_series_equal(result, expected)
    elif isinstance(expected, pd.Index):
        pd.testing.assert_index_equal(result, expected)
    else:
        np.testing.assert_array_equal(result, expected)
    assert syncs.count <= reads


def test_a_new_column() -> None:
    frame = pd.DataFrame({"x": X})
    with counted_syncs() as syncs:
        frame["y"] = pending(Y)
        frame["key"] = pending(KEYS)
    assert syncs.count == 2
    pd.testing.assert_frame_equal(frame, pd.DataFrame({"x": X, "y": Y, "key": KEYS}))


def test_a_frame_does_not_change_with_its_tensor() -> None:
    x = pending(X)
    frame = pd.DataFrame({"x": x})
    x[0] = 100.0
    assert frame["x"][0] == X[0]


COLUMNS: dict[str, tuple[Any, Any]] = {
    "floats": (SERIES, X),
    "integers": (pd.Series(KEYS), KEYS),
    "bools": (SERIES > 0, X > 0),
    "frame": (FRAME, TABLE),
    "some columns": (FRAME[["a", "c"]], TABLE[:, [0, 2]]),
    "mixed numbers": (pd.DataFrame({"a": [1, 2], "b": [0.5, 1]}), np.asarray([[1, 0.5], [2, 1]])),
    "index": (pd.Index([3, 4]), np.asarray([3, 4])),
    "nullable": (pd.Series([1, 2], dtype="Int64"), np.asarray([1, 2])),
    "missing": (pd.Series([1, None], dtype="Int64"), np.asarray([1, np.nan])),
    "array": (pd.array([1.5, 2.5]), np.asarray([1.5, 2.5])),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_become_tensors(name: str) -> None:
    column, expected = COLUMNS[name]
    x = lento.asarray(column)
    assert x.dtype == expected.dtype
    np.testing.assert_array_equal(x.numpy(), expected)


@pytest.mark.parametrize("column", [pd.Series(["a"]), pd.Series(pd.date_range("2020", periods=2))], ids=["str", "time"])
def test_columns_that_are_no_numbers_are_refused(column: Any) -> None:
    with pytest.raises(TypeError, match="no dtype for NumPy's"):
        lento.asarray(column)


# pandas looks for np.ndarray itself here, and takes anything else for a list of labels or one of its own arrays.
# np.asarray(x) is what it wants; it costs no copy.
REFUSED: dict[str, tuple[Callable[[Tensors], Any], type[Exception], str]] = {
    "DataFrame * tensor": (lambda t: FRAME * t(TABLE), ValueError, "Unable to coerce"),
    "mask": (lambda t: SERIES[t(X > 0)], KeyError, "are in the"),
    "groupby": (lambda t: SERIES.groupby(t(KEYS)).sum(), TypeError, "not callable"),
    "unique": (lambda t: pd.unique(t(KEYS)), TypeError, "unique requires"),
    "factorize": (lambda t: pd.factorize(t(KEYS)), TypeError, "factorize requires"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_calls_that_want_arrays(name: str) -> None:
    call, error, words = REFUSED[name]
    with pytest.raises(error, match=words):
        call(pending)
    with counted_syncs() as syncs:
        result = call(lambda array: np.asarray(pending(array)))
    assert syncs.count == 1
    expected = call(lambda array: array)
    for got, want in zip(*(part if isinstance(part, tuple) else (part,) for part in (result, expected)), strict=True):
        np.testing.assert_array_equal(got, want)


def test_numbers_for_pandas_are_pythons() -> None:
    """iloc and fillna know numbers by their class."""
    with pytest.raises(TypeError, match="non-integer key"):
        SERIES.iloc[pending(np.asarray(3))]
    assert SERIES.iloc[int(pending(np.asarray(3)))] == X[3]
    with pytest.raises(AttributeError):
        pd.Series([1.0, None]).fillna(pending(np.asarray(2.0)))
    assert pd.Series([1.0, None]).fillna(float(pending(np.asarray(2.0)))).tolist() == [1.0, 2.0]


def test_a_list_of_numbers_stays_a_list_of_tensors() -> None:
    """pandas keeps 0-d tensors as objects, and finds objects by their hash, which is that of identity: where it makes a
    list of what it gets, as isin and Categorical do, equal numbers are not found. np.asarray(x) is what it wants."""
    x = pending(X)
    assert pd.Series(list(x[:3])).dtype == object
    assert not SERIES.isin(x).all()
    with pytest.raises(ValueError, match="must be unique"):
        pd.Categorical(pending(KEYS))
    with counted_syncs() as syncs:
        series = pd.Series(lento.stack([x[0], x[1]]))
        found = SERIES.isin(np.asarray(x[:10]))
        kinds = pd.Categorical(np.asarray(pending(KEYS)))
    assert syncs.count == 3
    assert series.tolist() == X[:2].tolist()
    assert found.sum() == 10
    assert kinds.equals(pd.Categorical(KEYS))
