"""Sizes that cannot be counted: every op refuses a result with more elements than a tensor can have (clause T2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import harness
import lento
import numpy as np
import pytest
from samples import Call, OpInfo, calls_of, load_catalogue

CATALOGUE = load_catalogue()
MOST = 2**57
LONG = 2**31


def elements(shape: tuple[int, ...]) -> int:
    """As the engine counts: an empty tensor has strides too, so that its other lengths count."""
    return math.prod(max(extent, 1) for extent in shape)


def column(length: int = LONG, dtype: str = "float32") -> lento.Tensor:
    return lento.zeros((length, 1), dtype=dtype)


def row(length: int = LONG, dtype: str = "float32") -> lento.Tensor:
    return lento.zeros((1, length), dtype=dtype)


# At least one of each family, and what multiplies lengths by hand.
TOO_LARGE: dict[str, Callable[[], Any]] = {
    "add": lambda: column() + row(LONG + 1),
    "sum of a product": lambda: (lento.ones((2**32, 1)) * lento.ones((1, 2**32))).sum(),
    "a comparison": lambda: column() == row(),
    "in place": lambda: row().__iadd__(column()),
    "three operands": lambda: lento.where(column(dtype="bool"), row(), 1.0),
    "where": lambda: lento.where(row() > 0, column(), 0.0),
    "kron": lambda: lento.kron(lento.zeros((LONG, LONG // 8)), lento.zeros((2, 2**40))),
    "outer": lambda: lento.outer(lento.zeros(2**40), lento.zeros(2**40)),
    "vmap": lambda: lento.vmap(lambda x: x + lento.zeros(2**40))(lento.zeros(2**40)),
    "vmap of two": lambda: lento.vmap(lambda a: lento.vmap(lambda b: a + b)(lento.zeros(2**32)))(lento.zeros(2**32)),
    "broadcast_shapes": lambda: lento.broadcast_shapes((2**40, 1), (2**40,)),
    "broadcast_to": lambda: lento.broadcast_to(lento.zeros(()), (2**30, 2**30)),
    "broadcast_arrays": lambda: lento.broadcast_arrays(column(), row()),
    "tril_indices": lambda: lento.tril_indices(2**31),
    "triu_indices": lambda: lento.triu_indices(2**20, 2**40),
    "tri": lambda: lento.tri(2**30),
    "eye": lambda: lento.eye(2**30),
    "diag": lambda: lento.diag(lento.zeros(2**30)),
    "meshgrid": lambda: lento.meshgrid(lento.zeros(2**30), lento.zeros(2**30)),
    "matmul": lambda: column() @ row(),
    "einsum": lambda: lento.einsum("i,j->ij", lento.zeros(2**30), lento.zeros(2**30)),
    "tensordot": lambda: lento.tensordot(lento.zeros(2**30), lento.zeros(2**30), axes=0),
    "tile": lambda: lento.tile(lento.zeros(2**30), (2**30,)),
    "repeat": lambda: lento.repeat(lento.zeros(2**40), 2**40),
    "pad": lambda: lento.pad(lento.zeros((2**28, 1)), ((0, 0), (0, 2**40))),
    "concat": lambda: lento.concat([lento.zeros((2**56,)), lento.zeros((2**56 + 1,))]),
    "stack": lambda: lento.stack([lento.zeros(2**56)] * 3),
    "zeros": lambda: lento.zeros((2**30, 2**30)),
    "full": lambda: lento.full((2**57 + 1,), True),
    "an empty one": lambda: lento.zeros((0, 2**40, 2**40)),
    "arange": lambda: lento.arange(2**62),
    "linspace": lambda: lento.linspace(0, 1, 2**62),
    "normal": lambda: lento.random.normal((2**30, 2**30)),
    "choice": lambda: lento.random.choice(lento.zeros(3), (2**32, 2**32)),
    "take": lambda: lento.take(lento.zeros((4, 2**40)), lento.zeros(2**40, dtype="int64"), axis=0),
    "x[i]": lambda: lento.zeros((4, 2**40))[lento.zeros(2**40, dtype="int64")],
    "resize": lambda: lento.resize(lento.zeros(3), (2**32, 2**32)),
    "unflatten": lambda: lento.unflatten(lento.zeros((2, 0)), 1, (2**32, 2**32, 0)),
    "sliding windows": lambda: lento.sliding_window_view(lento.zeros(2**32), 2**31),
    "as_strided": lambda: lento.as_strided(lento.zeros(3), (2**40, 2**40), (0, 0)),
    "a convolution": lambda: lento.nn.conv1d(lento.zeros((2**30, 1, 4)), lento.zeros((2**30, 1, 1))),
    "upsampling": lambda: lento.nn.interpolate(lento.zeros((2**30, 1, 4)), scale_factor=2**28),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_t2_a_result_that_cannot_be_counted_is_refused_by_the_call(name: str) -> None:
    with pytest.raises((lento.ShapeError, ValueError), match=r"too large|at most|cannot choose"):
        TOO_LARGE[name]()


def test_t2_a_refused_call_leaves_no_trace() -> None:
    a, b = column(), row()
    before = {entry["id"] for entry in lento.live_tensors()}
    key = lento.graph_key(a, b)
    state = lento.random.default_generator().state
    with pytest.raises(lento.ShapeError):
        a + b
    with pytest.raises(lento.ShapeError):
        lento.random.uniform((2**40, 2**40))
    assert lento.random.default_generator().state == state
    assert {entry["id"] for entry in lento.live_tensors()} == before
    assert lento.graph_key(a, b) == key


def test_the_largest_tensor_can_be_recorded_in_every_dtype() -> None:
    for dtype in ("bool", "float32", "complex128"):
        x = lento.zeros((2**28, 2**29), dtype=dtype)
        assert x.size == MOST
        assert x.nbytes == MOST * x.itemsize
        assert (x == x).shape == x.shape
    with pytest.raises(lento.ShapeError, match="at most 144115188075855872 elements"):
        lento.zeros((2**28, 2**29 + 1))


def test_e6_temporaries_that_cannot_be_counted_together_raise_memory_error() -> None:
    """Each of them can be counted, but not their sum: the block that they share must not wrap."""
    x = lento.zeros((2**57,), dtype="complex128") + 1
    parts = [lento.cumulative_sum(x * k) for k in range(1, 8)]
    with pytest.raises(MemoryError):
        lento.eval(sum(lento.flip(part) for part in parts), wait=True)


# --- every op of the catalogue, with its samples blown up ---


def blown_up(value: Any, axes: set[int], length: int) -> Any:
    """The array as a lazy tensor of zeros whose given axes are `length` long; lists of arrays likewise."""
    if isinstance(value, list) and any(isinstance(each, np.ndarray) for each in value):
        return [blown_up(each, axes, length) for each in value]
    if not isinstance(value, np.ndarray):
        return harness.to_lento(value)
    shape = [length if axis in axes else extent for axis, extent in enumerate(value.shape)]
    return lento.zeros(tuple(shape), dtype=str(value.dtype))


def variants(call: Call) -> list[tuple[set[int], int]]:
    ranks = [value.ndim for value in call.arguments.values() if isinstance(value, np.ndarray)]
    most = max(ranks, default=0)
    found: list[tuple[set[int], int]] = [({axis}, length) for axis in range(most) for length in (2**33, 2**52)]
    return [*found, (set(range(most)), 2**28)]


def first_calls(op: OpInfo) -> list[Call]:
    """One call per sample, whatever its dtype."""
    by_label: dict[str, Call] = {}
    for call in calls_of(op):
        by_label.setdefault(call.label, call)
        if len(by_label) >= 4:
            break
    return list(by_label.values())


# They read values to know the shape of their result.
READERS = {
    "argwhere", "bincount", "compress", "extract", "flatnonzero", "intersect1d", "isin", "masked_select", "nonzero",
    "one_hot", "repeat", "setdiff1d", "union1d", "unique_all", "unique_counts", "unique_inverse", "unique_values",
}  # fmt: skip


@pytest.mark.parametrize("op", [op for op in CATALOGUE if op.name not in READERS], ids=lambda op: op.qualified)
def test_t2_no_op_gives_a_shape_that_cannot_be_counted(op: OpInfo) -> None:
    function = harness.find_function(op)
    for call in first_calls(op):
        for axes, length in variants(call):
            try:
                arguments = {name: blown_up(value, axes, length) for name, value in call.arguments.items()}
                result = function(**arguments)
            except (TypeError, ValueError, IndexError, OverflowError, MemoryError):
                continue
            for part in result if isinstance(result, tuple) else (result,):
                if isinstance(part, lento.Tensor):
                    assert elements(part.shape) <= MOST, f"{call.id}: {part.shape}"
