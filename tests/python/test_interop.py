"""Tensors from and to Python: lists, NumPy arrays, buffers, pickling, printing."""

from __future__ import annotations

import array
import copy
import pickle
import struct
from typing import Any

import lento
import ml_dtypes
import numpy as np
import pytest
from comparisons import numpy_dtype
from samples import DTYPES, random_array, seed_of


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)])
def test_numpy_round_trip(dtype: str, shape: tuple[int, ...]) -> None:
    data = random_array(seed_of(dtype), dtype, shape, None, None)
    x = lento.asarray(data)
    assert x.dtype.name == dtype
    assert x.shape == shape
    back = x.numpy()
    assert back.dtype == data.dtype
    np.testing.assert_array_equal(back, data)
    assert np.asarray(x).dtype == data.dtype
    expected = data.astype(np.float32).tolist() if dtype == "bfloat16" else data.tolist()
    assert x.tolist() == expected


@pytest.mark.parametrize("dtype", DTYPES)
def test_strided_and_read_only_arrays(dtype: str) -> None:
    data = random_array(seed_of(dtype), dtype, (4, 6), None, None)
    read_only = data.copy()
    read_only.setflags(write=False)
    for view in (
        data.T,
        data[::2, ::-1],
        data[:, 1:4],
        np.broadcast_to(data[0], (3, 6)),
        np.asfortranarray(data),
        read_only,
        data[1, 2],
    ):
        np.testing.assert_array_equal(lento.asarray(view).numpy(), view)


@pytest.mark.parametrize(
    "dtype", ["int16", "uint32", "int64", "float16", "float32", "float64", "complex64", "complex128"]
)
def test_big_endian_arrays(dtype: str) -> None:
    data = random_array(seed_of(dtype), dtype, (3, 4), None, None)
    swapped = data.astype(data.dtype.newbyteorder(">"))
    x = lento.asarray(swapped)
    assert x.dtype.name == dtype
    np.testing.assert_array_equal(x.numpy(), data)
    np.testing.assert_array_equal(lento.asarray(swapped[::2].T).numpy(), data[::2].T)


def test_unaligned_arrays() -> None:
    raw = np.frombuffer(b"\0" + struct.pack("<4f", 1, 2, 3, 4), dtype=np.uint8)
    view = raw[1:].view("<f4")
    assert lento.asarray(view).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "data",
    [
        np.array(["a"]),
        np.array([object()]),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.zeros(2, dtype=[("a", "f4")]),
        np.zeros(2, dtype=np.longdouble),
        np.ma.masked_array([1.0, 2.0], [True, False]),
    ],
    ids=["str", "object", "datetime", "record", "longdouble", "masked"],
)
def test_arrays_without_meaning_are_refused(data: Any) -> None:
    with pytest.raises(TypeError):
        lento.asarray(data)


def test_buffers() -> None:
    assert lento.asarray(array.array("d", [1.5, 2.5])).dtype is lento.float64
    assert lento.asarray(array.array("i", [1, 2])).tolist() == [1, 2]
    assert lento.asarray(b"\x01\x02").dtype is lento.uint8
    assert lento.asarray(bytearray(b"\x01\x02")).tolist() == [1, 2]
    view = memoryview(array.array("f", range(6))).cast("B").cast("f", (2, 3))
    assert lento.asarray(view).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert lento.asarray(memoryview(array.array("h", range(6)))[::2]).tolist() == [0, 2, 4]


def test_nested_lists() -> None:
    assert lento.asarray([[1, 2], [3, 4]]).dtype is lento.int64
    assert lento.asarray([1, 2.5]).dtype is lento.float32
    assert lento.asarray([True, 2]).dtype is lento.int64
    assert lento.asarray([1, 2j]).dtype is lento.complex64
    assert lento.asarray([]).shape == (0,)
    assert lento.asarray([[], []]).shape == (2, 0)
    assert lento.asarray(((1, 2), [3, 4])).tolist() == [[1, 2], [3, 4]]
    assert lento.asarray(range(3)).tolist() == [0, 1, 2]
    assert lento.asarray([np.float32(1), 2]).tolist() == [1, 2]
    assert lento.asarray([np.array([1, 2]), [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert lento.asarray([lento.asarray(1.0), 2.0]).tolist() == [1, 2]
    row = lento.asarray([1.0, 2.0], dtype=lento.float64)
    assert lento.asarray([[row, [3, 4]], ([5, 6], row)]).tolist() == [[[1, 2], [3, 4]], [[5, 6], [1, 2]]]
    assert lento.asarray([row, [3, 4]]).dtype is lento.float64
    assert lento.asarray([lento.asarray(1), 2.5]).dtype is lento.float32
    assert lento.asarray([row, [3, 4j]]).dtype is lento.complex128
    assert lento.asarray([row[0], 2.5], dtype=lento.int32).tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"different shapes: \(2,\) and \(3,\)"):
        lento.asarray([row, [1, 2, 3]])
    assert lento.asarray([2**63]).dtype is lento.uint64
    for ragged in ([[1, 2], [3]], [1, [2]], [[1], 2], [[[1]], [2]]):
        with pytest.raises(ValueError):
            lento.asarray(ragged)
    for wrong in (["a"], [None], "abc", None, {}, object()):
        with pytest.raises(TypeError):
            lento.asarray(wrong)
    with pytest.raises(OverflowError):
        lento.asarray([2**63, -1])
    with pytest.raises(OverflowError):
        lento.asarray([2**64])


def test_lists_of_tensors_are_not_read() -> None:
    x = lento.asarray([1.0, 2.0]) + 1
    with lento.options(sync="error"):
        y = lento.asarray([x[1], 5.0, x[0]])
    assert y.tolist() == [3, 5, 2]


def test_asarray_dtype_device_and_copy() -> None:
    x = lento.asarray([1.7, 2.2], dtype=lento.int32)
    assert x.tolist() == [1, 2]
    assert lento.asarray(np.arange(3), dtype="float16").dtype is lento.float16
    for given in (np.float64, np.dtype("float64"), "float64", lento.float64):
        assert lento.asarray([1], dtype=given).dtype is lento.float64
    for python, expected in (
        (float, lento.float32),
        (int, lento.int64),
        (bool, lento.bool),
        (complex, lento.complex64),
    ):
        assert lento.asarray([1], dtype=python).dtype is expected
    assert lento.asarray([1], dtype=ml_dtypes.bfloat16).dtype is lento.bfloat16
    with pytest.raises(OverflowError):
        lento.asarray([300], dtype=lento.uint8)
    assert lento.asarray([1.0], device=lento.devices()[0]).device == lento.devices()[0]
    y = lento.asarray(x)
    assert y is not x
    assert y.tolist() == x.tolist()
    assert lento.asarray(x, copy=True).tolist() == x.tolist()
    assert lento.asarray(x, copy=False) is x
    with pytest.raises(ValueError):
        lento.asarray(x, copy=False, dtype=lento.float32)
    with pytest.raises(ValueError):
        lento.asarray([1.0], copy=False)
    assert lento.asarray(3, lento.float32).shape == ()


class HasArray:
    def __array__(self) -> Any:
        return np.arange(3, dtype=np.float64)


def test_objects_with_array_protocol() -> None:
    x = lento.asarray(HasArray())
    assert x.dtype is lento.float64
    assert x.tolist() == [0, 1, 2]


def test_array_protocol_of_a_tensor() -> None:
    x = lento.asarray([1.0, 2.0])
    assert np.asarray(x, dtype=np.int32).tolist() == [1, 2]
    assert np.array(x, copy=True).tolist() == [1, 2]
    assert not np.array(x, copy=False).flags.writeable
    x.numpy()[0] = 5  # a copy: the tensor is a value
    assert x.tolist() == [1, 2]


def test_python_scalars() -> None:
    assert float(lento.asarray(1.5)) == 1.5
    assert int(lento.asarray([[-2.9]])) == -2
    assert complex(lento.asarray(1 + 2j)) == 1 + 2j
    assert bool(lento.asarray([0.0])) is False
    assert [10, 20, 30][lento.asarray(1)] == 20
    assert lento.asarray([[5]]).item() == 5
    x = lento.asarray(np.arange(6).reshape(2, 3))
    assert x.item(4) == 4
    assert x.item(1, 2) == 5
    assert x.item(-1) == 5
    with pytest.raises(IndexError):
        x.item(6)
    assert type(lento.asarray(True).item()) is bool
    assert type(lento.asarray(2**63).item()) is int
    assert lento.asarray(2**63).item() == 2**63
    assert 3 in lento.asarray([1, 3])
    assert 4 not in lento.asarray([1, 3])


def test_attributes() -> None:
    x = lento.asarray(np.arange(6, dtype=np.int16).reshape(2, 3))
    assert (x.shape, x.ndim, x.size, x.itemsize, x.nbytes) == ((2, 3), 2, 6, 2, 12)
    assert x.T.shape == (3, 2)
    assert x.T.tolist() == x.numpy().T.tolist()
    assert lento.zeros((2, 3, 4)).mT.shape == (2, 4, 3)
    with pytest.raises(ValueError):
        lento.zeros((2,)).mT  # noqa: B018
    z = lento.asarray([1 + 2j])
    assert z.real.tolist() == [1.0]
    assert z.imag.tolist() == [2.0]
    with pytest.raises(AttributeError):
        x.shape = (3, 2)
    assert type(x).__module__ == "lento"
    for values in ([1.0, 2.0], 3):  # torch.Tensor makes tensors
        with pytest.raises(TypeError, match=r"^Tensor\(\): .* use lento.asarray\(values\), .*, at test_interop.py:"):
            lento.Tensor(values)


def test_dtype_objects() -> None:
    assert repr(lento.float32) == "lento.float32"
    assert str(lento.bfloat16) == "bfloat16"
    assert [getattr(lento, n).kind for n in ("bool", "int8", "uint8", "float16", "bfloat16", "complex64")] == list(
        "biuffc"
    )
    assert [getattr(lento, n).itemsize for n in DTYPES] == [numpy_dtype(n).itemsize for n in DTYPES]
    assert len({getattr(lento, n) for n in DTYPES}) == 15
    assert pickle.loads(pickle.dumps(lento.float32)) is lento.float32
    assert copy.deepcopy(lento.int8) is lento.int8


def test_devices() -> None:
    first = lento.default_device()
    assert first in lento.devices()
    assert lento.zeros((1,)).device == first
    assert first == str(first)
    assert hash(first) == hash(lento.Device(str(first)))
    assert pickle.loads(pickle.dumps(first)) == first
    assert first != 3


@pytest.mark.parametrize("dtype", DTYPES)
def test_pickle_and_copy(dtype: str) -> None:
    x = lento.asarray(random_array(seed_of(dtype), dtype, (2, 3), None, None))
    for other in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        assert other is not x
        assert other.dtype is x.dtype
        np.testing.assert_array_equal(other.numpy(), x.numpy())


KEYS: list[Any] = [
    0,
    -1,
    slice(1, None),
    slice(None, None, -1),
    slice(-100, 100),
    slice(5, 2),
    slice(None, None, 3),
    None,
    Ellipsis,
    (),
    (0, 1),
    (slice(None), 2),
    (Ellipsis, 1),
    (0, None, slice(1, 3)),
    (None, Ellipsis, None),
    [0, 1, 1],
    [[0, 1], [1, 0]],
    [],
    (slice(None), [2, 0]),
    ([0, 1], [1, 2]),
    ([[0], [1]], [0, 2]),
    ([0, 1], slice(None), [1, 2]),
    (slice(None), [0, 1], [1, 2]),
    (0, slice(None), [1, 2]),
    ([0, 1], 0, None, [1, 2]),
    np.array([1, 0], np.uint8),
    np.array([True, False]),
    (np.array([True, False]), 1),
    (slice(None), np.array([True, False, True])),
    np.arange(24).reshape(2, 3, 4) % 2 == 0,
    True,
    False,
    (True, 0),
    np.int64(1),
    np.array(1),
    (Ellipsis, np.array([-1, 0])),
    (1, Ellipsis, slice(None, None, -2)),
]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: str(key).replace("\n", ""))
def test_indexing_agrees_with_numpy(key: Any) -> None:
    data = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    expected = data[key]
    result = lento.asarray(data)[key]
    assert result.shape == expected.shape
    assert result.tolist() == expected.tolist()


def test_indexing_with_tensors() -> None:
    data = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = lento.asarray(data)
    assert x[lento.asarray([1, 0])].tolist() == data[[1, 0]].tolist()
    assert x[x > 5].tolist() == data[data > 5].tolist()
    assert x[:, lento.asarray([0, 2]), 1].tolist() == data[:, [0, 2], 1].tolist()


@pytest.mark.parametrize(
    "key",
    [2, -3, (0, 0, 0, 0), (Ellipsis, Ellipsis), 1.5, "a", np.array([True, False, True]), slice("a", None)],
    ids=str,
)
def test_wrong_indices(key: Any) -> None:
    with pytest.raises((IndexError, TypeError)):
        lento.asarray(np.zeros((2, 3, 4)))[key]


def test_repr_looks_like_numpys() -> None:
    assert repr(lento.asarray([1, 2, 3])) == "tensor([1, 2, 3])"
    assert str(lento.asarray([1.5, 2.0])).find("1.5") >= 0
    x = lento.asarray(np.linspace(0, 1, 7).reshape(1, 7))
    assert repr(x).splitlines()[0].startswith("tensor([[0.")
    assert "..." in repr(lento.zeros((5000,)))


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "bool", "complex128"])
def test_str_shows_numpys_numbers(dtype: str) -> None:
    data = random_array(seed_of(dtype), dtype, (3, 4), None, None)

    def numbers(text: str) -> str:
        return "".join(text.split()).split("(", 1)[1].split(",dtype")[0].rstrip(")")

    assert numbers(repr(lento.asarray(data))) == numbers(repr(data))
    assert str(lento.asarray(data)) == str(data)


def test_signatures_and_docs_are_there() -> None:
    import inspect

    signature = inspect.signature(lento.nn.softmax)
    assert list(signature.parameters)[:2] == ["x", "axis"]
    assert "exponential" in (lento.exp.__doc__ or "").lower()
    assert next(iter(inspect.signature(lento.Tensor.sum).parameters)) == "self"
    assert lento.exp.__module__ == "lento"
    assert lento.linalg.qr.__module__ == "lento.linalg"


def test_results_with_several_parts_are_named() -> None:
    q, r = lento.linalg.qr(lento.asarray(np.eye(2, dtype=np.float32)))
    result = lento.linalg.qr(lento.asarray(np.eye(2, dtype=np.float32)))
    assert isinstance(result, tuple)
    assert len(result._fields) == 2
    np.testing.assert_allclose((q @ r).numpy(), np.eye(2), atol=1e-6)


def test_namespaces() -> None:
    assert callable(lento.linalg.svd)
    assert callable(lento.fft.rfft)
    assert callable(lento.nn.relu)
    assert callable(lento.random.normal)
    assert callable(lento._core.prim.reduce_sum)
    assert lento.pi == np.pi
    assert lento.newaxis is None
    assert lento.broadcast_shapes((2, 1), (3,)) == (2, 3)
    with pytest.raises(ValueError):
        lento.broadcast_shapes((2,), (3,))


def test_shapes_and_axes_may_be_given_one_by_one() -> None:
    x = lento.zeros((2, 3, 4))
    assert x.reshape(6, 4).shape == x.reshape((6, 4)).shape == (6, 4)
    assert x.reshape(-1).shape == (24,)
    assert x.permute_dims(2, 0, 1).shape == (4, 2, 3)
    assert [y.shape for y in lento.broadcast_arrays(x, lento.zeros((4,)))] == [(2, 3, 4)] * 2
    with pytest.raises(TypeError):
        x.reshape(6, "4")


def test_x2_read_only_views_of_what_is_written_are_copied() -> None:
    a = np.zeros(3, np.float32)
    fixed = a[:]
    fixed.flags.writeable = False
    for view in (fixed, np.broadcast_to(a, (3,)), memoryview(a).toreadonly(), memoryview(bytearray(12)).toreadonly()):
        x = lento.asarray(view)
        a[0] = 9
        assert x.tolist()[0] == 0
        a[0] = 0


def test_x2_bools_of_other_bytes_are_true() -> None:
    raw = np.array([0, 1, 2, 255, 0, 128], np.uint8)
    for readonly in (False, True):
        a = raw.copy().view(np.bool_)
        a.flags.writeable = not readonly
        for x in (lento.asarray(a), lento.from_dlpack(a) if not readonly else lento.asarray(a[::1])):
            assert x.tolist() == [False, True, True, True, False, True]
            assert [i.tolist() for i in lento.nonzero(x)] == [[1, 2, 3, 5]]
            assert int(x.sum()) == 4
            assert lento.argsort(x, stable=True).tolist() == [0, 4, 1, 2, 3, 5]
    with pytest.raises(ValueError, match="copy=False"):
        lento.asarray(raw.view(np.bool_), copy=False)


def test_lists_that_contain_themselves_are_refused() -> None:
    with_tensor: list[Any] = [lento.asarray(1.0)]
    with_tensor.append(with_tensor)
    without: list[Any] = []
    without += [without, without]
    for endless in (with_tensor, without):
        with pytest.raises(ValueError, match="deeper than 64 levels"):
            lento.asarray(endless)


def test_what_a_refusing_producer_says_reaches_the_user() -> None:
    class Refusing:
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("not today")

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    with pytest.raises(BufferError, match="not today"):
        lento.asarray(Refusing())


def test_a_list_of_tensors_on_two_devices_needs_a_word() -> None:
    here, there = lento.asarray(1.0), lento.asarray(2.0, device="reference")
    with pytest.raises(lento.errors.DeviceError, match=f"{here.device} and reference:0"):
        lento.asarray([here, there])
    assert lento.asarray([here, there], device="cpu").tolist() == [1, 2]
