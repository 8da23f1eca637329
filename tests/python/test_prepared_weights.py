"""Weights of convolutions that stay what they are are brought into the library's order once; never one that changed."""

from __future__ import annotations

import ctypes
import gc
import importlib

import lento
import numpy as np
import pytest
from on_device import not_on_another_device

pytestmark = not_on_another_device("oneDNN keeps the weights, of the CPU device")

SHAPE = (128, 64, 3, 3)


def reused() -> int:
    return lento.metrics.counter("weight.reused")


def weight(seed: int) -> lento.Tensor:
    w = lento.asarray(np.random.default_rng(seed).integers(-2, 3, SHAPE).astype(np.float32))
    lento.eval(w)
    return w


def image(seed: int) -> lento.Tensor:
    x = lento.asarray(np.random.default_rng(seed).integers(-2, 3, (1, 64, 9, 9)).astype(np.float32))
    lento.eval(x)
    return x


def convolved(x: lento.Tensor, w: lento.Tensor) -> np.ndarray:
    return lento.nn.conv2d(x, w).numpy()


def expected(x: lento.Tensor, w: lento.Tensor) -> np.ndarray:
    """Small integers: every order of summation gives the same."""
    windows = np.lib.stride_tricks.sliding_window_view(x.numpy(), (3, 3), axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w.numpy())


def test_a_weight_that_stays_is_prepared_once() -> None:
    x, w = image(1), weight(2)
    first = convolved(x, w)
    second = convolved(x, w)
    before = reused()
    third = convolved(image(3), w)
    assert reused() == before + 1
    assert np.array_equal(first, second)
    assert np.array_equal(first, expected(x, w))
    assert np.array_equal(third, expected(image(3), w))


def test_a_weight_that_is_updated_in_place_is_prepared_anew() -> None:
    x, w = image(1), weight(2)
    for _ in range(3):
        convolved(x, w)
    donated = lento.metrics.counter("donation")
    for step in range(4):
        w += 1.0
        lento.step(wait=True)
        assert np.array_equal(convolved(x, w), expected(x, w)), step
        assert np.array_equal(convolved(x, w), expected(x, w)), step
        assert np.array_equal(convolved(x, w), expected(x, w)), step
    assert lento.metrics.counter("donation") > donated


@pytest.mark.parametrize("start", [0, 1])
def test_a_part_of_a_tensor_that_is_updated_in_place_is_prepared_anew(start: int) -> None:
    """Prepared weights are known by their address, and a part has another one than the whole that is written."""
    x = image(1)
    both = lento.asarray(np.random.default_rng(2).integers(-2, 3, (2, *SHAPE)).astype(np.float32))
    lento.eval(both)
    for _ in range(3):
        convolved(x, both[start])
    donated = lento.metrics.counter("donation")
    for step in range(4):
        both += 1.0
        lento.step(wait=True)
        for _ in range(3):
            assert np.array_equal(convolved(x, both[start]), expected(x, both[start])), step
    assert lento.metrics.counter("donation") > donated


@pytest.mark.parametrize("start", [0, 1])
def test_a_part_of_a_tensor_that_is_freed_is_prepared_anew(start: int) -> None:
    x = image(1)
    for seed in range(6):
        both = lento.asarray(np.random.default_rng(seed).integers(-2, 3, (2, *SHAPE)).astype(np.float32))
        lento.eval(both)
        for _ in range(3):
            assert np.array_equal(convolved(x, both[start]), expected(x, both[start])), seed
        del both
        gc.collect()


def test_a_weight_that_is_updated_and_used_in_one_step_is_prepared_anew() -> None:
    x, w = image(1), weight(2)
    for _ in range(5):
        w += 1.0
        y = lento.nn.conv2d(x, w)
        lento.step(wait=True)
        assert np.array_equal(y.numpy(), expected(x, w))


def test_another_weight_in_the_same_memory_is_another_weight() -> None:
    x = image(1)
    for seed in range(6):
        w = weight(seed)
        for _ in range(3):
            assert np.array_equal(convolved(x, w), expected(x, w)), seed
        del w
        gc.collect()


def test_gradients_keep_the_weight_in_their_own_order() -> None:
    x, w = image(1), weight(2)
    y = expected(x, w)
    given = y.astype(np.float32) % 3
    spread = np.zeros(x.shape, np.float32)
    for i in range(3):
        for j in range(3):
            spread[:, :, i : i + 7, j : j + 7] += np.einsum("nohw,oc->nchw", given, w.numpy()[:, :, i, j])
    for _ in range(4):
        assert np.array_equal(convolved(x, w), y)
        assert np.array_equal(lento.nn.conv_transpose2d(lento.asarray(given), w).numpy(), spread)


def test_e9_what_is_kept_counts_as_cached_and_goes_with_the_weight() -> None:
    x, w = image(1), weight(7)
    lento.cache.clear()
    gc.collect()
    convolved(x, w)
    convolved(x, w)
    live = lento.memory()["live"]
    before = reused()
    convolved(x, w)
    assert reused() == before + 1
    assert lento.memory()["live"] == live
    assert lento.memory()["cached"] >= w.nbytes
    del w
    gc.collect()
    other = weight(8)
    convolved(x, other)
    assert reused() == before + 1


def test_e9_nothing_is_kept_under_a_memory_limit() -> None:
    x, w = image(1), weight(9)
    convolved(x, w)
    convolved(x, w)
    lento.set_memory_limit(lento.memory()["live"] + (64 << 20))
    try:
        before = reused()
        for _ in range(3):
            assert np.array_equal(convolved(x, w), expected(x, w))
        assert reused() == before
    finally:
        lento.set_memory_limit(0)


def written_through(exported: np.ndarray) -> np.ndarray:
    """As a library writes that does not look at the read-only flag of DLPack."""
    pointer = ctypes.cast(exported.__array_interface__["data"][0], ctypes.POINTER(ctypes.c_float))
    return np.ctypeslib.as_array(pointer, exported.shape)


def test_exported_memory_is_prepared_every_time() -> None:
    x, w = image(1), weight(2)
    for _ in range(3):
        convolved(x, w)  # kept by now
    exported = np.from_dlpack(w)
    writable = written_through(exported)
    before = reused()
    for seed in range(4):
        writable[...] = np.random.default_rng(seed).integers(-2, 3, SHAPE)
        assert np.array_equal(w.numpy(), writable)
        for _ in range(3):
            assert np.array_equal(convolved(x, w), expected(x, w)), seed
    # Nobody tells what was written before the export went.
    writable[...] = 1
    del exported, writable
    gc.collect()
    for _ in range(3):
        assert np.array_equal(convolved(x, w), expected(x, w))
    assert reused() == before


def test_a_copy_for_another_library_is_no_export() -> None:
    x, w = image(1), weight(2)
    np.from_dlpack(w, copy=True)[...] = 5
    w.__dlpack__()
    for _ in range(2):
        convolved(x, w)
    before = reused()
    assert np.array_equal(convolved(x, w), expected(x, w))
    assert reused() == before + 1


@pytest.mark.peers
def test_what_torch_writes_is_what_is_convolved() -> None:
    torch = importlib.import_module("torch")
    x, w = image(1), weight(2)
    for _ in range(3):
        convolved(x, w)
    there = torch.from_dlpack(w)
    for _ in range(3):
        there += 1
        assert np.array_equal(w.numpy(), there.numpy())
        assert np.array_equal(convolved(x, w), expected(x, w))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_weights_of_16_bits_are_converted_every_time(dtype: str) -> None:
    x, w = image(1).astype(getattr(lento, dtype)), weight(2).astype(getattr(lento, dtype))
    lento.eval(x, w)
    # Summed in float32, which is exact here, and rounded once.
    exact = lento.asarray(expected(x.astype(lento.float32), w.astype(lento.float32)).astype(np.float32))
    rounded = exact.astype(getattr(lento, dtype)).astype(lento.float32).numpy()
    before = reused()
    for _ in range(3):
        assert np.array_equal(lento.nn.conv2d(x, w).astype(lento.float32).numpy(), rounded)
    assert reused() == before


def test_memory_of_somebody_else_is_prepared_every_time() -> None:
    """Nobody tells when it changes, or when other weights come to lie there."""
    x = image(1)
    memory = np.zeros(SHAPE, np.float32)
    for seed in range(4):
        memory.flags.writeable = True
        memory[...] = np.random.default_rng(seed).integers(-2, 3, SHAPE)
        memory.flags.writeable = False  # now it is shared, not copied
        w = lento.asarray(memory)
        for _ in range(3):
            assert np.array_equal(convolved(x, w), expected(x, w)), seed
