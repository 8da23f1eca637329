"""Clause T2 for the Array API: a wrong call says at once what is wrong, with the op, the operands and the rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest
from lento import errors

x23 = lento.zeros((2, 3))
v3 = lento.zeros(3)
i3 = lento.zeros(3, dtype=lento.int64)
square = lento.ones((2, 2))

WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: lento.reshape(x23, (4, 2)),
        errors.ShapeError,
        r"reshape: float32\(2, 3\) has 6 elements, shape \(4, 2\) has 8",
    ),
    (lambda: lento.reshape(x23, (-1, -1)), ValueError, "more than one -1"),
    (lambda: lento.broadcast_to(x23, (2, 4)), errors.ShapeError, "broadcast_to"),
    (lambda: lento.broadcast_to(x23, (-1, 3)), ValueError, "negative length"),
    (lambda: lento.broadcast_arrays(x23, lento.zeros(2)), errors.ShapeError, r"\(2, 3\), \(2,\) cannot be broadcast"),
    (lambda: lento.concat([x23, v3]), errors.ShapeError, "concat"),
    (lambda: lento.concat([]), ValueError, "at least one tensor"),
    (
        lambda: lento.stack([x23, v3]),
        errors.ShapeError,
        r"stack: all tensors must have one shape, got float32\(2, 3\), float32\(3,\)",
    ),
    (lambda: lento.expand_dims(x23, 4), IndexError, "expand_dims: axis 4 is out of range"),
    (lambda: lento.squeeze(x23, 0), ValueError, "has length 2, not 1"),
    (lambda: lento.permute_dims(x23, (0, 0)), ValueError, "permute_dims"),
    (lambda: lento.moveaxis(x23, (0, 1), (0,)), ValueError, "cannot be moved"),
    (lambda: lento.flip(x23, axis=2), IndexError, r"flip: axis 2 is out of range for float32\(2, 3\)"),
    (lambda: lento.flip(x23, axis=(0, -2)), ValueError, "given twice"),
    (lambda: lento.roll(x23, (1, 2, 3), axis=(0, 1)), ValueError, "must have one length"),
    (lambda: lento.tile(x23, (-1,)), ValueError, "cannot be negative"),
    (lambda: lento.repeat(x23, -1), ValueError, "cannot be negative"),
    (lambda: lento.repeat(x23, lento.asarray(np.array([1, 2])), axis=1), errors.ShapeError, "do not fit axis 1"),
    (lambda: lento.repeat(v3, lento.asarray(np.array([1, -2, 3]))), ValueError, "cannot be negative, got -2"),
    (lambda: lento.split(v3, 2), ValueError, "cannot be divided into 2 equal parts"),
    (lambda: lento.pad(x23, (1, 2, 3)), ValueError, "takes 1, 2 or 4 numbers"),
    (lambda: lento.pad(lento.zeros((0,)), 1, mode="edge"), ValueError, "nothing to pad with"),
    (lambda: lento.pad(x23, 1, mode="mirror"), ValueError, "mirror"),
    (lambda: lento.unfold(v3, 0, 4), errors.ShapeError, "longer than axis 0"),
    (lambda: lento.as_strided(v3, (2, 2), (2, 1)), IndexError, "outside of the 3 elements"),
    (lambda: lento.narrow(v3, 0, 2, 2), IndexError, "2 elements from 2 on"),
    (lambda: lento.select(v3, 0, 3), IndexError, "index 3 is out of range"),
    (lambda: lento.arange(0, 5, 0), ValueError, "step cannot be zero"),
    (lambda: lento.linspace(0, 1, -1), ValueError, "cannot be negative"),
    (lambda: lento.full((2,), 300, dtype=lento.int8), OverflowError, "300 does not fit int8"),
    (lambda: lento.eye(-1), ValueError, "cannot be negative"),
    (lambda: lento.tril(v3), errors.ShapeError, "a matrix has at least 2"),
    (lambda: lento.meshgrid(x23), errors.ShapeError, "at most one axis"),
    (lambda: lento.sum(x23, axis=5), IndexError, r"sum: axis 5 is out of range for float32\(2, 3\)"),
    (lambda: lento.max(lento.zeros((0,))), ValueError, "max"),
    (lambda: lento.argmax(lento.zeros((0,))), ValueError, "argmax"),
    (lambda: lento.max(lento.zeros(2, dtype=lento.complex64)), errors.DTypeError, "max"),
    (lambda: lento.cumulative_sum(x23), ValueError, "say along which one"),
    (lambda: lento.quantile(v3, 1.5), ValueError, "between 0 and 1"),
    (lambda: lento.nonzero(lento.zeros(())), ValueError, "nonzero"),
    (lambda: lento.searchsorted(x23, v3), errors.ShapeError, "must have one axis"),
    (lambda: lento.topk(v3, 4), ValueError, "k is 4"),
    (lambda: lento.bincount(lento.asarray(np.array([1, -1]))), ValueError, "cannot be negative, got -1"),
    (lambda: lento.take(x23, v3, axis=0), errors.DTypeError, r"take: the indices must be integers, got float32\(3,\)"),
    (lambda: lento.take_along_axis(x23, i3), errors.ShapeError, "as many axes"),
    (lambda: lento.gather(x23, 0, i3), errors.ShapeError, "gather"),
    (lambda: lento.scatter(v3, 0, i3, 1j), errors.DTypeError, "cannot be stored"),
    (lambda: lento.masked_fill(v3, v3, 1), errors.DTypeError, "mask must be bool"),
    (lambda: lento.index_add(x23, 0, i3, v3), errors.ShapeError, "index_add"),
    (lambda: lento.matmul(x23, x23), errors.ShapeError, r"matmul: .*\(2, 3\)"),
    (lambda: lento.matmul(x23, lento.zeros(())), errors.ShapeError, "zero-dimensional"),
    (lambda: lento.vecdot(v3, lento.zeros(2)), errors.ShapeError, "differ"),
    (lambda: lento.tensordot(x23, x23, axes=1), errors.ShapeError, "differ in length"),
    (lambda: lento.tensordot(x23, x23, axes=3), ValueError, "cannot be paired"),
    (lambda: lento.linalg.cross(x23, lento.zeros((2, 2))), errors.ShapeError, "must have length 3"),
    (lambda: lento.einsum("ij,jk->ik", x23), ValueError, "for 2 tensors, got 1"),
    (lambda: lento.einsum("ijk->i", x23), errors.ShapeError, "name 3 axes"),
    (lambda: lento.einsum("ij,jk->ik", x23, x23), errors.ShapeError, "of length"),
    (lambda: lento.einsum("i?->i", x23), ValueError, "contain"),
    (lambda: lento.einsum("ij->k", x23), ValueError, "in no input"),
    (lambda: lento.einsum("ij->ii", x23), ValueError, "twice in the output"),
    (lambda: lento.linalg.inv(x23), errors.ShapeError, "not square"),
    (lambda: lento.linalg.cholesky(v3), errors.ShapeError, "a matrix has at least 2"),
    (lambda: lento.linalg.solve(square, v3), errors.ShapeError, "as many rows"),
    (lambda: lento.linalg.matrix_norm(square, ord="frob"), ValueError, "'frob'"),
    (lambda: lento.linalg.matrix_norm(square, ord=3), ValueError, "no matrix norm of order '3'"),
    (lambda: lento.linalg.matrix_power(lento.ones((2, 2), dtype=lento.int64), -1), errors.DTypeError, "negative power"),
    (lambda: lento.fft.fft(v3, n=0), ValueError, "at least one element"),
    (lambda: lento.fft.rfft(lento.zeros(3, dtype=lento.complex64)), errors.DTypeError, "rfft"),
    (lambda: lento.fft.fft(v3, norm="back"), ValueError, "back"),
    (lambda: lento.fft.fftfreq(0), ValueError, "at least 1"),
]


@pytest.mark.parametrize(("call", "kind", "words"), WRONG, ids=lambda each: each if isinstance(each, str) else "")
def test_t2_wrong_call_is_refused_at_once(call: Callable[[], Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        call()
    assert "test_array_errors.py:" in str(caught.value)


def test_singular_matrix_poisons_what_depends_on_it() -> None:
    bad = lento.linalg.inv(lento.zeros((2, 2)))
    with pytest.raises(errors.LinAlgError, match="singular"):
        bad.numpy()
    np.testing.assert_array_equal(square.numpy(), np.ones((2, 2)))


def test_only_counts_are_evaluated() -> None:
    data = lento.asarray(np.array([3, 1, 3, 0]))
    calls: list[tuple[Callable[[], Any], int]] = [
        (lambda: lento.nonzero(data), 1),
        (lambda: lento.unique_all(data), 1),
        (lambda: lento.unique_values(data), 1),
        (lambda: lento.repeat(data, data), 1),
        (lambda: lento.bincount(data), 1),
        (lambda: lento.masked_select(data, data > 0), 1),
        (lambda: lento.histogram(data), 0),
        (lambda: lento.isin(data, data), 0),
        (lambda: lento.digitize(data, lento.asarray(np.array([1, 2]))), 0),
        (lambda: lento.masked_scatter(data, data > 0, data), 0),
        (lambda: lento.median(data), 0),
        (lambda: lento.linalg.lstsq(square, square), 0),
        (lambda: lento.linalg.matrix_exp(square), 0),
        (lambda: lento.linalg.lu(square), 0),
        (lambda: lento.linalg.matrix_rank(square), 0),
        (lambda: lento.tril_indices(4), 0),
        (lambda: lento.pad(data, 2, mode="reflect"), 0),
    ]
    for call, expected in calls:
        before = lento.metrics.counter("sync.implicit")
        call()
        assert lento.metrics.counter("sync.implicit") - before == expected
