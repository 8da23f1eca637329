"""X1, X2: memory handed to and taken from other array libraries by DLPack, and shared by asarray."""

from __future__ import annotations

import ctypes
import gc
import importlib
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest
from on_device import not_on_another_device
from samples import DTYPES, random_array, seed_of

pytestmark = not_on_another_device("the host's memory is shared")

NUMPY_DTYPES = [dtype for dtype in DTYPES if dtype != "bfloat16"]  # NumPy has none of its own
SHAPES = [(), (0,), (3,), (2, 0, 3), (2, 3, 4)]


def address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def capsule_name(capsule: Any) -> str:
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype = ctypes.c_char_p
    get_name.argtypes = [ctypes.py_object]
    return get_name(capsule).decode()


class Producer:
    """An array that hands its memory over in one given way."""

    def __init__(self, array: np.ndarray, **fixed: Any) -> None:
        self.array = array
        self.fixed = fixed
        self.asked: dict[str, Any] = {}

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **asked: Any) -> Any:
        self.asked = asked
        return self.array.__dlpack__(**{**asked, **self.fixed})


class OldProducer(Producer):
    """From before DLPack 1.0: takes no arguments."""

    def __dlpack__(self) -> Any:  # type: ignore[override]
        return self.array.__dlpack__()


class ElsewhereProducer(Producer):
    """In the memory of a GPU."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __dlpack__(self, **asked: Any) -> Any:
        if asked.pop("dl_device", None) is None or asked.get("copy") is False:
            raise BufferError("only a copy can be on the host")
        return super().__dlpack__(**asked)


# --- to others ---


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_numpy_reads_a_tensors_memory(dtype: str, shape: tuple[int, ...]) -> None:
    data = random_array(seed_of(dtype), dtype, shape, None, None)
    x = lento.asarray(data)
    array = np.from_dlpack(x)
    assert array.dtype == data.dtype
    assert array.shape == shape
    np.testing.assert_array_equal(array, data)
    assert not array.flags.writeable
    if array.size:
        assert address(array) == address(np.from_dlpack(x))


def test_x1_an_export_is_read_only_and_a_copy_is_not() -> None:
    x = lento.ones(3)
    shared = np.from_dlpack(x)
    copied = np.from_dlpack(x, copy=True)
    assert not shared.flags.writeable
    assert address(shared) != address(copied)
    copied[0] = 7
    assert x.tolist() == [1, 1, 1]


def test_x1_exported_memory_is_not_written_by_updates_of_the_tensor() -> None:
    x = lento.zeros(1000)
    lento.eval(x)
    lento.wait()
    before = np.from_dlpack(x)
    for _ in range(5):
        x += 1
        lento.step(wait=True)
    x[0] = 9
    assert x[:2].tolist() == [9, 5]
    assert not before.any()


def test_x1_an_export_outlives_its_tensor() -> None:
    arrays = [np.from_dlpack(lento.arange(10_000) + i) for i in range(50)]
    gc.collect()
    junk = [lento.ones(10_000) * i for i in range(50)]
    lento.eval(*junk)
    lento.wait()
    for i, array in enumerate(arrays):
        np.testing.assert_array_equal(array, np.arange(10_000) + i)


def test_x1_dropping_an_export_frees_its_memory() -> None:
    start = lento.memory()["live"]
    array = np.from_dlpack(lento.ones(1_000_000))
    assert lento.memory()["live"] >= start + 4_000_000
    del array
    assert lento.memory()["live"] < start + 4_000_000
    capsule = lento.ones(1_000_000).__dlpack__(max_version=(1, 0))
    assert lento.memory()["live"] >= start + 4_000_000
    del capsule  # that nobody consumed
    assert lento.memory()["live"] < start + 4_000_000


def test_an_export_may_be_dropped_on_another_thread() -> None:
    arrays = [np.from_dlpack(lento.arange(100)) for _ in range(100)]
    thread = threading.Thread(target=arrays.clear)
    thread.start()
    thread.join()
    assert not arrays


def test_versions_of_capsules() -> None:
    x = lento.ones(2)
    for old in (None, (0, 0), (0, 8)):
        assert capsule_name(x.__dlpack__(max_version=old)) == "dltensor"
    for new in ((1, 0), (1, 3), (2, 0)):
        assert capsule_name(x.__dlpack__(max_version=new)) == "dltensor_versioned"


def test_x1_an_old_consumer_gets_a_copy_unless_it_insists() -> None:
    x = lento.zeros(3)
    first = np.from_dlpack(x)

    class Old:
        def __init__(self, **arguments: Any) -> None:
            self.arguments = arguments

        def __dlpack_device__(self) -> tuple[int, int]:
            return x.__dlpack_device__()

        def __dlpack__(self, **_: Any) -> Any:
            return x.__dlpack__(**self.arguments)

    assert address(np.from_dlpack(Old())) != address(first)
    assert address(np.from_dlpack(Old(copy=True))) != address(first)
    for version in ({}, {"max_version": None}, {"max_version": (0, 8)}, {"max_version": (1, 0)}):
        assert address(np.from_dlpack(Old(copy=False, **version))) == address(first)


def test_exports_that_cannot_be() -> None:
    x = lento.ones(2)
    assert x.__dlpack_device__() == (1, 0)
    assert lento.ones(2, device="reference").__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="dl_device"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="stream"):
        x.__dlpack__(stream=1)
    with pytest.raises(TypeError):
        x.__dlpack__(max_version="1.0")


# --- from others ---


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("copy", [None, True, False])
def test_a_tensor_from_numpy(dtype: str, shape: tuple[int, ...], copy: bool | None) -> None:
    data = random_array(seed_of(dtype), dtype, shape, None, None)
    x = lento.from_dlpack(data, copy=copy)
    assert x.dtype.name == dtype
    assert x.shape == shape
    np.testing.assert_array_equal(x.numpy(), data)
    if data.size:
        assert (address(np.from_dlpack(x)) == address(data)) == (copy is False)


def test_x2_writable_memory_is_copied_and_read_only_memory_is_shared() -> None:
    data = np.arange(5.0)
    x = lento.from_dlpack(data)
    y = lento.asarray(data)
    data[0] = 9
    assert x.tolist() == y.tolist() == [0, 1, 2, 3, 4]
    data.setflags(write=False)
    assert address(np.from_dlpack(lento.from_dlpack(data))) == address(data)
    assert address(np.from_dlpack(lento.asarray(data))) == address(data)
    assert address(np.from_dlpack(lento.asarray(data, copy=True))) != address(data)
    assert lento.asarray(b"abc").tolist() == [97, 98, 99]


def test_x2_shared_memory_is_never_written() -> None:
    data = np.zeros(1000, np.float32)
    x = lento.asarray(data, copy=False)
    assert address(np.from_dlpack(x)) == address(data)
    for _ in range(5):
        x += 1
        lento.step(wait=True)
    x[0] = 3
    y = lento.exp(lento.asarray(data, copy=False))  # the only holder of its operand's value
    lento.eval(y)
    assert y.tolist() == [1] * 1000
    assert x[:2].tolist() == [3, 5]
    assert not data.any()


def test_x2_memory_that_cannot_be_shared() -> None:
    data = np.arange(12.0).reshape(3, 4)
    with pytest.raises(BufferError, match="copy=False"):
        lento.from_dlpack((data > 3)[:, ::2], copy=False)  # bools, whose bytes would have to be looked at
    between = np.zeros(4, np.dtype([("a", np.int8), ("b", np.float64)]))["b"]  # 9 bytes from one to the next
    for view in (data.astype(">f8").T, (data > 3)[::2], between):
        with pytest.raises(ValueError, match="copy=False"):
            lento.asarray(view, copy=False)
        np.testing.assert_array_equal(lento.asarray(view).numpy(), view)
    with pytest.raises(ValueError, match="copy=False"):
        lento.asarray(data, dtype=lento.float32, copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        lento.asarray([1, 2], copy=False)
    unaligned = np.frombuffer(b"\0" * 9, np.uint8)[1:].view(np.float64)
    assert lento.asarray(unaligned).tolist() == [0]
    with pytest.raises(ValueError, match="aligned"):
        lento.asarray(unaligned, copy=False)


@pytest.mark.parametrize("how", ["dlpack", "asarray", "buffer"])
def test_x2_an_owner_lives_as_long_as_its_memory_is_used(how: str) -> None:
    class Array(np.ndarray):
        """Can be referred to weakly."""

    data = np.ones(1000).view(Array)
    gone = weakref.ref(data)
    if how == "dlpack":
        x = lento.from_dlpack(data, copy=False)
    elif how == "asarray":
        x = lento.asarray(data, copy=False)
    else:
        x = lento.asarray(memoryview(data), copy=False)
    y = x + 1
    del data
    gc.collect()
    assert gone() is not None
    del x
    gc.collect()
    assert gone() is not None  # y reads it
    assert y.sum().item() == 2000
    del y
    lento.wait()
    for _ in range(1000):  # what the main thread does between two instructions
        pass
    assert gone() is None


def test_an_owner_may_be_let_go_on_another_thread() -> None:
    data = np.ones(100)
    references = sys.getrefcount(data)
    tensors = [lento.asarray(data, copy=False) for _ in range(100)]
    assert sys.getrefcount(data) == references + 100
    thread = threading.Thread(target=tensors.clear)
    thread.start()
    thread.join()
    lento.asarray(np.ones(1), copy=False)
    assert sys.getrefcount(data) == references


def test_producers_old_and_new() -> None:
    data = np.arange(3.0)
    new = Producer(data)
    assert lento.from_dlpack(new).tolist() == [0, 1, 2]
    assert new.asked == {"max_version": (1, 0)}
    lento.from_dlpack(new, copy=False)
    assert new.asked == {"max_version": (1, 0), "copy": False}
    old = OldProducer(data)
    assert lento.from_dlpack(old).tolist() == [0, 1, 2]
    assert lento.asarray(old, dtype="int32").tolist() == [0, 1, 2]
    shared = lento.from_dlpack(old, copy=False)
    assert address(np.from_dlpack(shared)) == address(data)


def test_memory_that_was_copied_for_us_is_not_copied_again() -> None:
    uploads = lento.metrics.counter("transfer.h2d")
    x = lento.from_dlpack(Producer(np.arange(3.0), copy=True))
    assert lento.metrics.counter("transfer.h2d") == uploads
    assert x.tolist() == [0, 1, 2]


def test_memory_elsewhere() -> None:
    there = ElsewhereProducer(np.arange(3.0))
    with pytest.raises(BufferError, match="name a device"):
        lento.from_dlpack(there)
    assert lento.from_dlpack(there, device="cpu").tolist() == [0, 1, 2]
    with pytest.raises(BufferError):
        lento.from_dlpack(there, device="cpu", copy=False)


def test_devices() -> None:
    data = np.arange(3.0)
    x = lento.from_dlpack(data, device="reference", copy=False)
    assert x.device == "reference"
    assert address(np.from_dlpack(x)) == address(data)
    assert lento.from_dlpack(x).device == "reference"
    assert lento.from_dlpack(x, device="cpu").device == "cpu"
    with pytest.raises(BufferError, match="device"):
        lento.from_dlpack(x, device="cpu", copy=False)


def test_what_is_no_producer() -> None:
    for wrong in (1, [1.0], "x", None, object()):
        with pytest.raises(TypeError, match="__dlpack__"):
            lento.from_dlpack(wrong)

    class Used(Producer):
        def __dlpack__(self, **asked: Any) -> Any:
            capsule = super().__dlpack__(**asked)
            lento.from_dlpack(Wrapped(self, capsule))
            return capsule

    class Wrapped:
        def __init__(self, producer: Producer, capsule: Any) -> None:
            self.__dlpack_device__ = producer.__dlpack_device__
            self.capsule = capsule

        def __dlpack__(self, **_: Any) -> Any:
            return self.capsule

    with pytest.raises(BufferError, match="unused"):
        lento.from_dlpack(Used(np.ones(2)))
    with pytest.raises(TypeError, match="no dtype"):
        lento.from_dlpack(Wrapped(Producer(np.ones(2)), odd_capsule()))


def memory_of(capsule: Any) -> int:
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    # The versioned one has a version, an owner, a deleter and flags before the array.
    return get_pointer(capsule, capsule_name(capsule).encode()) + (32 if "versioned" in capsule_name(capsule) else 0)


def odd_capsule() -> Any:
    """One with elements of 4 lanes."""
    capsule = np.ones(2).__dlpack__()
    lanes = ctypes.c_uint16.from_address(memory_of(capsule) + 22)
    assert lanes.value == 1
    lanes.value = 4
    return capsule


class Broken:
    """Hands over a capsule of an array of shape (2, 3) in which one field is wrong. Its owner reads none of them."""

    def __init__(self, versioned: bool, change: Callable[[int], None]) -> None:
        self.array = np.ones((2, 3))
        self.references = sys.getrefcount(self.array)
        self.capsule = self.array.__dlpack__(max_version=(1, 0) if versioned else None)
        memory = memory_of(self.capsule)
        assert ctypes.c_int32.from_address(memory + 16).value == 2
        change(memory)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule


def set_rank(rank: int) -> Callable[[int], None]:
    return lambda memory: setattr(ctypes.c_int32.from_address(memory + 16), "value", rank)


def set_extent(extent: int) -> Callable[[int], None]:
    return lambda memory: setattr(
        ctypes.c_int64.from_address(ctypes.c_size_t.from_address(memory + 24).value), "value", extent
    )


def set_pointer(offset: int) -> Callable[[int], None]:
    return lambda memory: setattr(ctypes.c_size_t.from_address(memory + offset), "value", 0)


BROKEN: list[tuple[str, Callable[[int], None]]] = [
    ("has -1 axes", set_rank(-1)),
    ("has 65 axes", set_rank(65)),
    ("has 2147483647 axes", set_rank(2**31 - 1)),
    ("has -2147483648 axes", set_rank(-(2**31))),
    ("no shape", set_pointer(24)),
    ("no memory", set_pointer(0)),
    ("axis 0 of the DLPack tensor has -5 elements", set_extent(-5)),
    ("more elements than memory", set_extent(2**62)),
    ("more elements than memory", set_extent(2**60)),
]


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("copy", [None, True, False])
@pytest.mark.parametrize(("words", "change"), BROKEN)
def test_x2_a_broken_capsule_is_an_error(
    words: str, change: Callable[[int], None], copy: bool | None, versioned: bool
) -> None:
    broken = Broken(versioned, change)
    with pytest.raises(BufferError, match=words):
        lento.from_dlpack(broken, copy=copy)
    references = sys.getrefcount(broken.array)
    assert references == broken.references  # it was given back


# --- beside other libraries ---


@pytest.mark.peers
@pytest.mark.parametrize("dtype", DTYPES)
def test_torch(dtype: str) -> None:
    torch = importlib.import_module("torch")
    if not hasattr(torch, dtype):
        pytest.fail(f"torch has no {dtype}")
    here = lento.asarray(random_array(seed_of(dtype), dtype, (3, 4), None, None))
    there = torch.from_dlpack(here)
    assert there.dtype is getattr(torch, dtype)
    assert there.tolist() == here.tolist()
    back = lento.from_dlpack(there)
    assert back.dtype is here.dtype
    assert back.tolist() == here.tolist()
    assert lento.asarray(there.T).tolist() == here.T.tolist()
    shared = lento.from_dlpack(there.clone(), copy=False)
    assert shared.tolist() == here.tolist()


@pytest.mark.peers
@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "bfloat16", "complex64"])
def test_jax(dtype: str) -> None:
    jax = importlib.import_module("jax")
    here = lento.asarray(random_array(seed_of(dtype), dtype, (3, 4), None, None))
    there = jax.numpy.from_dlpack(here)
    assert there.tolist() == here.tolist()
    back = lento.from_dlpack(there)
    assert back.dtype is here.dtype
    assert back.tolist() == here.tolist()
    assert lento.asarray(there).tolist() == here.tolist()
