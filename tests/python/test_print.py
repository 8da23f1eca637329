"""Printed tensors look like the same arrays in NumPy, character by character."""

from __future__ import annotations

from typing import Any

import lento
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.3.0",
    reason="older versions of NumPy switch to scientific notation elsewhere for float16 and float32",
)

DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0)


def expected_repr(a: np.ndarray[Any, Any]) -> str:
    """NumPy's repr with Lento's name, which shows every dtype but bool and int64."""
    body = "tensor(" + np.array2string(a, separator=", ", prefix="tensor(", suffix=")")
    extras = []
    if (a.size == 0 and a.shape != (0,)) or a.size > 1000:
        extras.append(f"shape={a.shape}")
    if a.dtype.name not in ("bool", "int64") or a.size == 0:
        extras.append(f"dtype={a.dtype.name}")
    if not extras:
        return body + ")"
    body, tail = body + ",", ", ".join(extras) + ")"
    wraps = len(body) - (body.rfind("\n") + 1) + len(tail) + 1 > 75
    return body + ("\n       " if wraps else " ") + tail


def floats(rng: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    kinds = [
        lambda: rng.standard_normal(shape),
        lambda: rng.integers(-50, 50, shape) * 1.0,
        lambda: rng.standard_normal(shape) * 10.0 ** rng.integers(-12, 12),
        lambda: np.frombuffer(rng.bytes(int(np.prod(shape)) * dtype.itemsize), dtype).reshape(shape),
        lambda: np.round(rng.standard_normal(shape) * 100) / 10.0 ** rng.integers(0, 6),
        lambda: 2.0 ** rng.integers(-30, 30, shape),
        lambda: rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape),
    ]
    a = np.array(kinds[rng.integers(len(kinds))]()).astype(dtype)
    if a.size and rng.random() < 0.3:
        flat = a.reshape(-1)
        for _ in range(rng.integers(1, 4)):
            flat[rng.integers(flat.size)] = rng.choice(SPECIAL)
    return a


def random_array(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    dtype = np.dtype(name)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        if rng.random() < 0.5:
            return np.asarray(rng.integers(0 if dtype.kind == "u" else -20, 100, shape), dtype)
        limits = np.iinfo(dtype)
        return np.asarray(rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True), dtype)
    if dtype.kind == "c":
        part = np.dtype("float32" if dtype.itemsize == 8 else "float64")
        a = np.empty(shape, dtype)
        a.real, a.imag = floats(rng, part, shape), floats(rng, part, shape)
        return a
    return floats(rng, dtype, shape)


def random_shape(rng: np.random.Generator) -> tuple[int, ...]:
    rank = int(rng.integers(0, 5))
    longest = {0: 1, 1: 60, 2: 30, 3: 12, 4: 6}[rank]
    lowest = 0 if rng.random() < 0.1 else 1
    return tuple(int(n) for n in rng.integers(lowest, longest, rank))


@pytest.mark.parametrize("dtype", DTYPES)
def test_prints_like_numpy(dtype: str) -> None:
    rng = np.random.default_rng(DTYPES.index(dtype))
    with np.errstate(all="ignore"):
        for _ in range(300):
            a = random_array(rng, dtype, random_shape(rng))
            x = lento.asarray(a)
            assert str(x) == str(a), repr(a)
            assert repr(x) == expected_repr(a), repr(a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(1001,), (40, 40), (7, 200), (200, 7), (11, 10, 12), (2, 3, 4, 50), (1, 2000), (2000, 1)]
)
def test_summarises_like_numpy(dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape))
    with np.errstate(all="ignore"):
        for _ in range(5):
            a = random_array(rng, dtype, shape)
            assert str(lento.asarray(a)) == str(a)
            assert repr(lento.asarray(a)) == expected_repr(a)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_empty(dtype: str, shape: tuple[int, ...]) -> None:
    a = np.zeros(shape, dtype)
    assert str(lento.asarray(a)) == str(a) == "[]"
    assert repr(lento.asarray(a)) == expected_repr(a)


def test_examples() -> None:
    assert repr(lento.asarray([1.0, 2.0])) == "tensor([1., 2.], dtype=float32)"
    assert repr(lento.asarray([1, 2])) == "tensor([1, 2])"
    assert repr(lento.asarray([True, False])) == "tensor([ True, False])"
    assert repr(lento.asarray(1.5)) == "tensor(1.5, dtype=float32)"
    assert str(lento.asarray(1.5)) == "1.5"
    assert repr(lento.zeros((0, 2))) == "tensor([], shape=(0, 2), dtype=float32)"
    assert repr(lento.asarray([[0.5, 1e10], [float("nan"), 0]])) == (
        "tensor([[5.e-01, 1.e+10],\n        [   nan, 0.e+00]], dtype=float32)"
    )


def test_bfloat16() -> None:
    x = lento.astype(lento.asarray([1.0, 0.1, -2.5, float("inf")]), lento.bfloat16)
    assert repr(x) == "tensor([ 1. ,  0.1, -2.5,  inf], dtype=bfloat16)"
    assert str(lento.astype(lento.asarray(3.140625), lento.bfloat16)) == "3.14"


def test_many_axes() -> None:
    a = np.reshape(np.asarray([1, 2]), (1,) * 40 + (2,))
    assert repr(lento.asarray(a)) == expected_repr(a)
    x = lento.reshape(lento.asarray([7]), (1,) * 200)
    assert repr(x) == "tensor(" + "[" * 200 + "7" + "]" * 200 + ")"
