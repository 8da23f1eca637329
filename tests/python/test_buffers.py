"""The memory of tensors for others: the buffer protocol, __array__, pickles, copies, weak references."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import struct
import weakref
from typing import Any

import lento
import numpy as np
import pytest
from comparisons import numpy_dtype
from engine import Counts
from samples import DTYPES, random_array, seed_of

WITH_FORMAT = [name for name in DTYPES if name != "bfloat16"]


def sample(dtype: str, shape: tuple[int, ...]) -> Any:
    return random_array(seed_of(dtype), dtype, shape, None, None)


@pytest.mark.parametrize("dtype", WITH_FORMAT)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)])
def test_a_buffer_has_the_values_without_a_copy(dtype: str, shape: tuple[int, ...]) -> None:
    data = sample(dtype, shape)
    x = lento.asarray(data)
    view = memoryview(x)
    assert view.readonly
    assert view.c_contiguous
    assert (view.shape, view.itemsize, view.nbytes) == (shape, data.itemsize, data.nbytes)
    assert view.tobytes() == bytes(x) == x.tobytes() == data.tobytes()
    array = np.asarray(x)
    assert array.dtype == data.dtype
    np.testing.assert_array_equal(array, data)
    assert not array.flags.writeable
    assert np.shares_memory(array, np.asarray(x)) or data.size == 0


def test_formats_are_those_of_the_struct_module() -> None:
    for dtype in WITH_FORMAT:
        format = memoryview(lento.zeros((2,), dtype=dtype)).format
        if dtype.startswith("complex"):  # NumPy's own
            assert format == {"complex64": "Zf", "complex128": "Zd"}[dtype]
        else:
            assert struct.calcsize(format) == numpy_dtype(dtype).itemsize
            assert memoryview(np.zeros(2, dtype)).format == format


def test_exports_are_read_only() -> None:
    x = lento.asarray([1.0, 2.0])
    with pytest.raises((BufferError, TypeError)):
        io.BytesIO(b"12345678").readinto(x)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        memoryview(x)[0] = 5.0
    with pytest.raises(ValueError):
        np.asarray(x)[0] = 5.0
    writable = np.array(x)
    writable[0] = 5.0
    x.numpy()[0] = 7.0
    x.to_numpy()[0] = 7.0
    assert x.tolist() == [1.0, 2.0]


def test_what_has_no_format_is_a_buffer_error() -> None:
    x = lento.zeros((2,), dtype=lento.bfloat16)
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(x)
    with pytest.raises(BufferError, match="at most 64 axes"):
        memoryview(lento.reshape(lento.zeros(1), (1,) * 65))
    assert np.asarray(x).dtype == numpy_dtype("bfloat16")  # by __array__, a copy


def test_an_export_keeps_its_value_while_the_tensor_changes() -> None:
    x = lento.asarray(np.arange(1000, dtype=np.float32))
    array = np.asarray(x)
    counts = Counts()
    x += 1
    lento.step(wait=True)
    assert counts["donation"] == 0
    x[3] = 50
    lento.step(wait=True)
    assert counts["donation"] == 1  # of the memory that nobody else looks at
    np.testing.assert_array_equal(array, np.arange(1000))
    del x
    gc.collect()
    np.testing.assert_array_equal(array, np.arange(1000))


def test_memory_returns_when_the_last_export_goes() -> None:
    before = lento.memory()["live"]
    view: memoryview | None = memoryview(lento.ones((1000,)))
    assert lento.memory()["live"] >= before + 4000
    view = None
    assert view is None
    assert lento.memory()["live"] == before


def test_exporting_a_pending_tensor_is_a_counted_sync_and_errors_surface() -> None:
    x = lento.ones((3,)) + 1
    counts = Counts()
    assert memoryview(x).tolist() == [2.0] * 3
    assert counts["sync.implicit"] == 1
    bad = lento.asarray([1.0])[lento.asarray([4])]
    for read in (memoryview, bytes, np.asarray, lambda t: t.tobytes()):
        with pytest.raises(IndexError):
            read(bad)
    with lento.options(sync="error"), pytest.raises(lento.Error):
        memoryview(lento.ones((2,)) * 2)


def test_array_protocol_says_when_it_copies() -> None:
    x = lento.asarray([1.0, 2.0])
    assert np.shares_memory(x.__array__(), x.__array__(copy=False))
    assert not np.shares_memory(x.__array__(), x.__array__(copy=True))
    assert x.__array__(np.float32, copy=False).dtype == np.float32
    assert x.__array__(np.int16).tolist() == [1, 2]
    with pytest.raises(ValueError):
        x.__array__(np.float64, copy=False)
    with pytest.raises(ValueError):
        lento.zeros(2, dtype=lento.bfloat16).__array__(copy=False)
    assert x.to_numpy().flags.writeable


# --- pickles ---


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_pickle_protocol(dtype: str, protocol: int) -> None:
    for shape in ((), (0, 2), (2, 3)):
        x = lento.asarray(sample(dtype, shape))
        back = pickle.loads(pickle.dumps(x, protocol))
        assert (back.dtype, back.shape) == (x.dtype, shape)
        assert back.tobytes() == x.tobytes()


def test_protocol_5_carries_buffers_beside_the_pickle() -> None:
    x = lento.asarray(np.arange(10_000, dtype=np.float32))
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps({"w": x, "again": x}, protocol=5, buffer_callback=buffers.append)
    assert len(text) < 500
    assert len(buffers) == 1
    assert np.shares_memory(np.asarray(buffers[0]), np.asarray(x))
    for given in (buffers, [bytearray(buffers[0])], [bytes(buffers[0])]):
        back = pickle.loads(text, buffers=given)
        assert back["w"] is back["again"]
        np.testing.assert_array_equal(back["w"].numpy(), x.numpy())
    scratch = bytearray(buffers[0])
    back = pickle.loads(text, buffers=[scratch])
    scratch[:] = bytes(len(scratch))  # a tensor is a value: the memory it was loaded from is not its own
    np.testing.assert_array_equal(back["w"].numpy(), x.numpy())


def test_a_pickle_with_the_wrong_content_is_refused() -> None:
    x = lento.asarray([1.0, 2.0])
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
    with pytest.raises(ValueError, match="wrong number of bytes"):
        pickle.loads(text, buffers=[b"1234"])
    with pytest.raises(TypeError):
        pickle.loads(text, buffers=[3])  # type: ignore[list-item]


def test_pickles_of_before_still_load() -> None:
    old = (
        b"\x80\x04\x959\x00\x00\x00\x00\x00\x00\x00\x8c\rlento._pickle\x94\x8c\x06tensor\x94\x93\x94\x8c\x07float32\x94K\x02\x85"
        b"\x94C\x08\x00\x00\x80?\x00\x00\x00@\x94\x87\x94R\x94."
    )
    assert pickle.loads(old).tolist() == [1.0, 2.0]


# --- copies, identity, weak references ---


def test_copies_share_the_value_until_one_changes() -> None:
    x = lento.ones((3,)) * 2
    counts = Counts()
    others = [copy.copy(x), copy.deepcopy(x), x.copy(), copy.deepcopy([x])[0]]
    assert counts["sync.implicit"] == 0
    x += 1
    for other in others:
        assert other is not x
        assert other.tolist() == [2.0] * 3
    assert copy.deepcopy({"a": x, "b": x})["a"].tolist() == [3.0] * 3


def test_hash_is_identity() -> None:
    x, y = lento.asarray([1.0]), lento.asarray([1.0])
    table = {x: "x", y: "y"}
    assert (table[x], table[y]) == ("x", "y")
    before = hash(x)
    x += 1
    assert hash(x) == before
    assert x in {x}


def test_weak_references_end_with_the_tensor() -> None:
    gone: list[str] = []
    x = lento.ones((2,))
    reference = weakref.ref(x, lambda _: gone.append("x"))
    table = weakref.WeakValueDictionary({"x": x})
    assert reference() is x
    assert table["x"] is x
    del x
    assert reference() is None
    assert gone == ["x"]
    assert len(table) == 0
    again = weakref.ref(lento.ones((2,)))  # an object from the free list
    assert again() is None
