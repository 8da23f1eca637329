"""How a call of another library is tried: with NumPy's arrays and with tensors, and how often it waits."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import lento
import numpy as np
import scipy._lib._array_api as scipy_mode

assert scipy_mode.SCIPY_ARRAY_API, "SciPy was imported before SCIPY_ARRAY_API=1 was set: run make test-peers"

# What another order of the same sums and products and another exp or log leave of float64, whose eps is 2e-16.
FLOAT_ERROR = 1e-12

Call = Callable[..., Any]
Data = Mapping[str, Any]


def pending(array: Any) -> lento.Tensor:
    """The same numbers as a tensor that nobody has computed yet."""
    return lento.flip(lento.asarray(np.flip(np.asarray(array))))


class Syncs:
    """The reads so far that had to compute something or wait for it (E8)."""

    def __init__(self) -> None:
        self.count = 0


@contextmanager
def counted_syncs() -> Iterator[Syncs]:
    def now() -> int:
        return lento.metrics.counter("sync.implicit") + lento.metrics.counter("sync.wait")

    syncs, before = Syncs(), now()
    yield syncs
    syncs.count = now() - before


def arguments(call: Call, data: Data) -> list[Any]:
    """The data that the call's parameters name."""
    return [data[name] for name in inspect.signature(call).parameters]


def call_with_tensors(call: Call, data: Data) -> tuple[Any, int]:
    """The result of the call with pending tensors in the place of arrays, and how often it waited."""
    given = [pending(value) if isinstance(value, np.ndarray) else value for value in arguments(call, data)]
    with counted_syncs() as syncs, warnings.catch_warnings():
        warnings.simplefilter("error", lento.AssignmentWarning)  # a write that is lost
        result = call(*given)
    return result, syncs.count


def leaves(result: Any) -> list[Any]:
    """The arrays and numbers in nested tuples and lists."""
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in leaves(part)]
    return [result]


def assert_same(result: Any, expected: Any, *, error: float = 0, dtypes: bool = True) -> None:
    """Equal in structure, shape, dtype and numbers; relative to the largest number when an error is allowed."""
    assert len(leaves(result)) == len(leaves(expected))
    for got, want in zip(leaves(result), leaves(expected), strict=True):
        ours, theirs = np.asarray(got), np.asarray(want)
        assert ours.shape == theirs.shape
        if dtypes:
            assert ours.dtype == theirs.dtype
        if error == 0:
            np.testing.assert_array_equal(ours, theirs)
        else:
            finite = np.abs(theirs[np.isfinite(theirs)])
            np.testing.assert_allclose(ours, theirs, rtol=error, atol=error * finite.max(initial=0))


def check(call: Call, data: Data, *, error: float = 0, dtypes: bool = True) -> Any:
    """The call gives with tensors what it gives with arrays. Returns the result with tensors."""
    result, _ = call_with_tensors(call, data)
    assert_same(result, call(*arguments(call, data)), error=error, dtypes=dtypes)
    return result


def check_types(result: Any, kind: type | tuple[type, ...]) -> None:
    assert {type(leaf).__name__ for leaf in leaves(result) if not isinstance(leaf, kind)} == set()


def syncs_of(call: Call, data: Data) -> int:
    """How often the call waits when it is not the first of its kind."""
    call_with_tensors(call, data)
    return call_with_tensors(call, data)[1]
