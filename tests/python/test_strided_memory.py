"""X1, X2: foreign memory that is not row-major is read where it lies."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts, in_thread
from on_device import not_on_another_device
from samples import DTYPES, random_array, seed_of

pytestmark = not_on_another_device("the host's memory is shared")

VIEWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "transposed": lambda a: a.T,
    "columns": lambda a: a[:, 1:4],
    "every_second": lambda a: a[::2, ::3],
    "backwards": lambda a: a[::-1, ::-2],
    "one_column": lambda a: a[:, 2],
    "new_axis": lambda a: a[:, None, ::2],
    "one_row_again": lambda a: np.lib.stride_tricks.as_strided(a, (3, 6), (0, a.itemsize)),
    "windows": lambda a: np.lib.stride_tricks.sliding_window_view(a, (2, 3)),
    "fortran": np.asfortranarray,
    "three_axes": lambda a: a.reshape(2, 2, 6).transpose(2, 0, 1),
    "a_single_one": lambda a: a[1:2, 3:4].T,
    "none": lambda a: a[:0].T,
}


def array(dtype: str = "float64") -> np.ndarray:
    return random_array(seed_of(dtype), dtype, (4, 6), None, None)


def shared(view: np.ndarray, how: str) -> lento.Tensor:
    if how == "dlpack":
        return lento.from_dlpack(view, copy=False)
    return lento.asarray(memoryview(view) if how == "buffer" else view, copy=False)


@pytest.mark.parametrize("how", ["dlpack", "asarray", "buffer"])
@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_x2_any_strides_are_shared(view: Callable[[np.ndarray], np.ndarray], how: str) -> None:
    data = array()
    theirs = view(data)
    x = shared(theirs, how)
    assert x.shape == theirs.shape
    (data if np.shares_memory(theirs, data) else theirs)[...] += 1  # the owner's right, as nothing is pending
    for ours, expected in [
        (x * 2, theirs * 2),
        (lento.sum(x), theirs.sum()),
        (lento.sum(x, axis=0), theirs.sum(axis=0)),
        (lento.exp(x)[..., ::-1], np.exp(theirs)[..., ::-1]),
        (lento.reshape(x, (-1,)) + 1, theirs.reshape(-1) + 1),
        (x @ lento.ones(theirs.shape[-1], dtype=lento.float64), theirs @ np.ones(theirs.shape[-1])),
        (lento.cumulative_sum(x, axis=0), np.cumsum(theirs, axis=0)),
        (lento.take(x, lento.asarray([0]), axis=0), np.take(theirs, [0], axis=0)),
        (x, theirs),
    ]:
        np.testing.assert_allclose(ours.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [name for name in DTYPES if name not in ("bool", "bfloat16")])
@pytest.mark.parametrize("fusion", [True, False])
def test_x2_every_dtype_is_read_by_strides(dtype: str, fusion: bool) -> None:
    data = array(dtype)
    with lento.options(fusion=fusion):
        for view in (data.T, data[::-1, ::2]):
            x = lento.asarray(view, copy=False)
            np.testing.assert_array_equal((x + x).numpy(), view + view)
            np.testing.assert_array_equal(lento.stack([x, x]).numpy(), np.stack([view, view]))


def test_x2_a_step_reads_the_memory_and_copies_nothing() -> None:
    data = np.arange(12.0).reshape(3, 4)
    x = lento.asarray(data.T, copy=False)
    counts = Counts()
    for i in range(5):
        data[0, 0] = i  # between steps nothing that reads it is pending
        y = x * 2
        lento.step(wait=True)
        assert (x.is_pending, y.is_pending) == (True, False)
        assert y[0, 0].item() == 2 * i
    # y and its element, never x.
    assert (counts["transfer.h2d"], counts["tensor.evaluated"]) == (0, 10)
    assert x[0, 0].item() == 4
    lento.eval(x)  # asked for by itself, it becomes a value of its own
    assert not x.is_pending
    data[0, 0] = 9
    assert x[0, 0].item() == 4


def test_x2_the_strides_belong_to_the_plan() -> None:
    data = np.arange(144.0).reshape(12, 12)
    views = [data[:6, :6], data[:6, :6].T, data[:6, ::2], data[:6, 5::-1]]
    for _ in range(2):
        for view in views:
            y = lento.asarray(view, copy=False) + 1
            np.testing.assert_array_equal(y.numpy(), view + 1)
    counts = Counts()
    for start in (1, 3, 6):  # another place alone is a number (T4)
        np.testing.assert_array_equal(
            (lento.asarray(data[start : start + 6, :6], copy=False) + 1).numpy(), data[start : start + 6, :6] + 1
        )
    assert counts["plan.miss"] + counts["plan.rebind"] == 0


def test_x2_importing_touches_no_element() -> None:
    """Memory of a terabyte, of which one page exists."""
    row = np.zeros(4)
    wide = np.lib.stride_tricks.as_strided(row, (1 << 19, 1 << 18), (0, 0))
    x = lento.asarray(wide, copy=False)
    assert x.shape == wide.shape
    assert x[5:7, :3].tolist() == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("reads", [False, True])
def test_x2_the_owner_of_strided_memory_lives_as_long_as_it_is_used(reads: bool) -> None:
    data = np.arange(12.0)
    gone = weakref.ref(data)
    x = lento.asarray(data.reshape(3, 4).T, copy=False)
    del data
    y = x + 1
    lento.step(wait=True)
    gc.collect()
    assert gone() is not None  # x may be read again
    if reads:
        assert x[3, 2].item() == 11
        x.numpy()  # a copy, so that the memory is needed no more
    z = y * 2
    if not reads:
        z = z + x
        del x
        gc.collect()
        assert gone() is not None  # what is pending reads it
    lento.step(wait=True)
    assert z[3, 2].item() in (24, 35)
    for _ in range(1000):  # its end is told to the thread that runs Python
        gc.collect()
        if gone() is None:
            break
        threading.Event().wait(0.01)
    assert gone() is None


def test_x1_exports_of_strided_memory_are_row_major() -> None:
    data = np.arange(12.0).reshape(3, 4)
    x = lento.asarray(data.T, copy=False)
    out = np.from_dlpack(x)
    np.testing.assert_array_equal(out, data.T)
    assert out.flags.c_contiguous
    assert not np.shares_memory(out, data)


def test_e10_another_thread_reads_strided_memory() -> None:
    data = np.arange(12.0).reshape(3, 4)
    x = lento.asarray(data.T, copy=False)
    np.testing.assert_array_equal(in_thread(lambda: (x * 2).numpy()), data.T * 2)
    np.testing.assert_array_equal((x + 1).numpy(), data.T + 1)


def test_t9_many_of_them_do_not_make_the_tape_endless() -> None:
    data = np.arange(6.0).reshape(2, 3)
    with lento.options(max_pending_nodes=50):
        held = [lento.asarray(data.T, copy=False) for _ in range(200)]
        total: Any = 0
        for x in held:
            total = total + x
        np.testing.assert_array_equal(total.numpy(), data.T * 200)


def test_derivatives_by_strided_memory() -> None:
    data = np.arange(12.0).reshape(3, 4)
    x = lento.asarray(data.T, copy=False)
    np.testing.assert_array_equal(lento.grad(lambda t: (t * t).sum())(x).numpy(), 2 * data.T)
    rows = lento.vmap(lambda row: row.sum())(x)
    np.testing.assert_array_equal(rows.numpy(), data.T.sum(axis=1))


# --- as_strided itself ---


def test_as_strided_is_read_where_it_lies() -> None:
    x = lento.arange(12, dtype=lento.float32)
    lento.eval(x)
    windows = lento.as_strided(x, (5, 4), (2, 1)) * 2
    text = lento.dump(windows, "backend")
    assert "1 steps, 1 kernels, 0 bytes of temporaries" in text
    np.testing.assert_array_equal(
        windows.numpy(), np.lib.stride_tricks.sliding_window_view(np.arange(12.0), 4)[::2] * 2
    )


def test_t4_the_offset_is_a_number_of_the_plan() -> None:
    x = lento.arange(12, dtype=lento.float32)
    lento.eval(x)
    lento.cache.clear()
    counts = Counts()
    for offset in range(6):
        assert lento.as_strided(x, (2, 2), (3, 1), offset).tolist() == [[offset, offset + 1], [offset + 3, offset + 4]]
    assert (counts["plan.miss"], counts["plan.hit"]) == (1, 5)


def test_e3_a_part_by_strides_of_a_tensor_of_ones_own_is_a_value() -> None:
    x = lento.arange(12, dtype=lento.float32)
    part = lento.as_strided(x, (2, 2), (3, 1))
    lento.step()
    assert not part.is_pending


@pytest.mark.parametrize(
    "shape, strides, offset", [((2,), (12,), 0), ((3,), (-1,), 1), ((2, 2), (1 << 62, 1 << 62), 0), ((1,), (0,), 12)]
)
def test_t2_what_reaches_outside_is_refused(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> None:
    with pytest.raises(IndexError, match=r"as_strided: .* reaches outside of the 12 elements"):
        lento.as_strided(lento.arange(12), shape, strides, offset)
