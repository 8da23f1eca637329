"""Calls in PyTorch's order: repeat, view and transpose do what is meant, are warned of, or say what to write."""

from __future__ import annotations

import warnings
from typing import Any

import lento
import numpy as np
import pytest

X = lento.ones((2, 3))


# --- repeat and view ---


@pytest.mark.parametrize("dtype", [lento.int32, "int32", np.int32])
def test_view_of_other_elements_is_bitcast(dtype: Any) -> None:
    with pytest.raises(TypeError, match=r"view\(\) takes a shape; with a dtype it is lento.bitcast\(x, dtype\), at "):
        X.view(dtype)


def repeated(x: lento.Tensor) -> list[lento.Tensor]:
    return [x.repeat(2, 1) for _ in range(2)]


def test_pytorchs_repeat_is_warned_of_once_at_its_line() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        results = repeated(X)
    (warning,) = caught
    assert (warning.filename, warning.lineno) == (__file__, repeated.__code__.co_firstlineno + 1)
    text = str(warning.message)
    assert "x.repeat(2, axis=1)" in text
    assert "lento.tile(x, (2, 1))" in text
    assert results[0].shape == (2, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="as in NumPy"):
            X.repeat(2, 1)


def test_numpys_repeat_is_not_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert X.repeat(2).shape == (12,)
        assert X.repeat(2, axis=1).shape == lento.repeat(X, 2, 1).shape == np.repeat(X, 2, axis=1).shape == (2, 6)
        assert X.repeat_interleave(2, 1).shape == (2, 6)
        assert X.repeat(2, 0).shape == (4, 3) and X.repeat(2, -1).shape == (
            2,
            6,
        )  # PyTorch's would be an error, or empty


def test_pytorchs_repeat_with_more_axes_names_tile() -> None:
    with pytest.raises(TypeError, match=r"repeat\(\) takes repeats and axis, as in NumPy; .* lento.tile\(x, .*, at "):
        X.repeat(2, 1, 1)  # type: ignore[call-arg]


def test_pytorchs_repeat_of_a_tuple_is_warned_of() -> None:
    x = lento.asarray([[1.0, 2.0], [3.0, 4.0]])
    with pytest.warns(
        RuntimeWarning, match=r"write lento.repeat\(x, \(2, 1\)\). PyTorch's .* is lento.tile\(x, \(2, 1\)"
    ):
        repeated = lento.ones(2).repeat((2, 1))  # type: ignore[arg-type]
    np.testing.assert_array_equal(repeated, np.ones(2, np.float32).repeat((2, 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lento.ones(2).repeat([2, 1]).shape == lento.ones(2).repeat(lento.asarray([2, 1])).shape == (3,)
        assert lento.tile(x, (2, 1)).tolist() == x.tolist() * 2


# --- transpose ---


def test_transpose_with_two_of_more_axes_swaps_them_as_pytorch_does() -> None:
    x = lento.asarray(np.arange(24).reshape(2, 3, 4))
    for two in ((0, 2), (-1, 1), (1, 1)):
        expected = np.swapaxes(x.numpy(), *two)
        np.testing.assert_array_equal(x.transpose(*two), expected)
        np.testing.assert_array_equal(lento.transpose(x, *two), expected)
    np.testing.assert_array_equal(x.transpose(2, 0, 1), x.numpy().transpose(2, 0, 1))
    assert x.transpose().shape == lento.transpose(x).shape == (4, 3, 2)
    with pytest.raises(IndexError, match="axis 3 is out of range"):
        x.transpose(0, 3)


def test_a_transpose_of_a_matrix_that_changes_nothing_is_warned_of() -> None:
    for transpose in (X.transpose, lambda *axes: lento.transpose(X, *axes)):
        with pytest.warns(
            RuntimeWarning, match=r"transpose\(0, 1\) leaves the two axes.*is x.swapaxes\(0, 1\), or x.T"
        ):
            assert transpose(0, 1).shape == (2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert X.transpose(1, 0).shape == X.transpose((1, 0)).shape == X.transpose(-1, 0).shape == (3, 2)
        assert X.transpose((0, 1)).shape == (2, 3)
        with pytest.raises(OverflowError):
            X.transpose(0, 2**70)
