"""T6: a handle is a cell. In-place operators and item assignment give it a new value; nobody else notices."""

from __future__ import annotations

import operator
from typing import Any

import lento
import numpy as np
import pytest

OPERATORS = [
    operator.iadd,
    operator.isub,
    operator.imul,
    operator.itruediv,
    operator.ifloordiv,
    operator.imod,
    operator.ipow,
]
BIT_OPERATORS = [operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift]


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_t6_in_place_operator_returns_self(op: Any) -> None:
    data = np.array([1.0, 2.0, 3.5], np.float32)
    x = lento.asarray(data)
    other, view = x, x[1:]
    before = lento.asarray(data) + 0
    y = op(x, 2)
    assert y is x
    np.testing.assert_allclose(x.numpy(), op(data.copy(), np.float32(2)), rtol=1e-6)
    assert other is x
    assert view.tolist() == [2.0, 3.5]
    assert before.tolist() == data.tolist()


@pytest.mark.parametrize("op", BIT_OPERATORS, ids=lambda op: op.__name__)
def test_t6_in_place_bit_operator(op: Any) -> None:
    data = np.array([1, 6, 3], np.int32)
    x = lento.asarray(data)
    assert op(x, 2) is x
    assert x.tolist() == op(data.copy(), 2).tolist()


def test_t6_matmul_in_place() -> None:
    x = lento.asarray(np.eye(2, dtype=np.float32))
    y = x
    x @= lento.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert x is y
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_t6_other_handles_keep_their_value() -> None:
    x = lento.zeros((3,))
    copy = lento.asarray(x)
    view = x[:2]
    x += 1
    x[0] = 7
    assert x.tolist() == [7, 1, 1]
    assert copy.tolist() == [0, 0, 0]
    assert view.tolist() == [0, 0]


def test_t6_shape_and_dtype_stay() -> None:
    x = lento.zeros((3,), dtype=lento.int32)
    with pytest.raises(TypeError):
        x += 1.5
    with pytest.raises(TypeError):
        x /= 2
    with pytest.raises(ValueError):
        x += lento.zeros((2, 3), dtype=lento.int32)
    assert x.dtype is lento.int32
    assert x.tolist() == [0, 0, 0]
    x += lento.asarray(np.array([1, 2, 3], np.int8))
    assert x.dtype is lento.int32
    assert x.tolist() == [1, 2, 3]
    y = lento.zeros((2,), dtype=lento.float16)
    y += lento.asarray([1.0, 2.0])
    assert y.dtype is lento.float16


def test_t6_a_number_that_does_not_fit_raises() -> None:
    x = lento.zeros((3,), dtype=lento.uint8)
    with pytest.raises(OverflowError):
        x += 256
    with pytest.raises(OverflowError):
        x[0] = -1


KEYS: list[Any] = [
    0,
    -1,
    slice(1, 3),
    slice(None, None, -1),
    slice(None, None, 2),
    (slice(None), 1),
    (0, 2),
    (Ellipsis, 0),
    ([0, 2], [1, 1]),
    [0, 2],
    (slice(None), [0, 3]),
    np.array([1, 0]),
    np.array([True, False, True]),
    (np.array([True, False, True]), 1),
    None,
    (),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("value", ["number", "tensor", "array"])
def test_t6_item_assignment_agrees_with_numpy(key: Any, value: str) -> None:
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = lento.asarray(data)
    part = data[key]
    new = -np.arange(1, part.size + 1, dtype=np.float32).reshape(part.shape)
    if value == "number":
        x[key] = 7.5
        data[key] = 7.5
    elif value == "tensor":
        x[key] = lento.asarray(new)
        data[key] = new
    else:
        x[key] = new.tolist()
        data[key] = new
    assert x.tolist() == data.tolist()


def test_t6_mask_assignment() -> None:
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = lento.asarray(data)
    mask = x > 5
    x[mask] = 0
    data[data > 5] = 0
    assert x.tolist() == data.tolist()
    x[x == 0] = lento.asarray(np.arange(1.0, 8.0, dtype=np.float32))
    data[data == 0] = np.arange(1.0, 8.0)
    assert x.tolist() == data.tolist()


def test_t6_self_referencing_assignment() -> None:
    x = lento.arange(6)
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3, 4]
    x[...] = x[::-1]
    assert x.tolist() == [4, 3, 2, 1, 0, 0]


def test_t6_many_assignments_cost_linear_memory() -> None:
    """n assignments into one tensor of size n must not allocate n copies of it."""
    for n in (500, 1000):
        x = lento.zeros((n,))
        lento.eval(x)
        lento.reset_peak_memory()
        before = lento.memory()["live"]
        for i in range(n):
            x[i] = float(i)
        assert x.tolist() == [float(i) for i in range(n)]
        peak = lento.memory()["peak"] - before
        assert peak <= 8 * n * 4 + 4096, f"{n} assignments took {peak} bytes at the peak"


def test_t6_in_place_updates_are_donated() -> None:
    x = lento.zeros((64,))
    lento.eval(x)
    before = lento.metrics.counter("donation")
    for i in range(32):
        x[i] = 1.0
    assert float(x.sum()) == 32.0
    assert lento.metrics.counter("donation") - before >= 31


def test_t6_a_held_value_is_not_overwritten() -> None:
    x = lento.zeros((4,))
    lento.eval(x)
    held = lento.asarray(x)
    x[0] = 5.0
    lento.eval(x, held)
    assert held.tolist() == [0, 0, 0, 0]
    assert x.tolist() == [5, 0, 0, 0]


def test_deleting_elements_is_refused() -> None:
    x = lento.zeros((4,))
    with pytest.raises(TypeError):
        del x[0]


def test_e9_an_optimizer_step_needs_no_second_copy_of_its_state() -> None:
    size = 1 << 20
    state = [lento.ones(size) * i for i in range(3)]
    lento.step(wait=True)

    def update(parts: list[lento.Tensor]) -> list[lento.Tensor]:
        w, m, v = parts
        g = w * 0.1
        m = m * 0.9 + g * 0.1
        v = v * 0.99 + g * g * 0.01
        return [w - 0.01 * m / (lento.sqrt(v) + 1e-8), m, v]

    state = update(state)
    lento.step(wait=True)
    live = lento.memory()["live"]
    before = lento.metrics.counter("donation")
    for _ in range(3):
        state = update(state)
        lento.step(wait=True)
    assert lento.metrics.counter("donation") - before == 9
    assert lento.memory()["live"] == live


def test_e9_a_result_takes_no_memory_that_somebody_still_reads() -> None:
    x = lento.arange(1000, dtype="float32")
    lento.step(wait=True)
    y = lento.reshape(x, (10, 100))
    lento.step(wait=True)
    x = x + 1  # y has the same memory
    lento.step(wait=True)
    assert (float(x[0]), float(y[0, 0])) == (1.0, 0.0)


def test_e9_a_chain_gives_no_input_away_that_a_later_kernel_reads() -> None:
    size = 20_000
    x = lento.asarray(np.ones(size, np.float32))
    b = lento.asarray(np.ones(size, np.float32))
    lento.step(wait=True)
    for _ in range(80):  # too long for one kernel
        x = x + b
    del b
    lento.step(wait=True)
    np.testing.assert_array_equal(x.numpy(), np.full(size, 81, np.float32))


def test_e9_a_chain_gives_no_input_away_beside_other_steps() -> None:
    size = 20_000
    x, z, w = (lento.asarray(np.full(size, value, np.float32)) for value in (1, 1, 5))
    lento.step(wait=True)
    y = lento.sort(z)
    t = x * 2
    u = t + y + w
    del w, t, y
    lento.step(wait=True)
    np.testing.assert_array_equal(u.numpy(), np.full(size, 8, np.float32))


def softmax_parts(x: lento.Tensor) -> tuple[lento.Tensor, lento.Tensor]:
    e = lento.exp(x - lento.max(x, axis=1, keepdims=True))
    return e, lento.sum(e, axis=1, keepdims=True)


def test_e9_a_value_kept_in_a_result_destroys_no_input_of_the_same_pass() -> None:
    values = np.linspace(-1, 2, 64, dtype=np.float32).reshape(4, 16)
    x, w = lento.asarray(values), lento.asarray(values * 3)
    lento.step(wait=True)
    e, s = softmax_parts(x)
    y = e + w
    p = e / s
    del w, e, s
    lento.step(wait=True)
    expected = np.exp(values - values.max(1, keepdims=True))
    np.testing.assert_allclose(y.numpy(), expected + values * 3, rtol=1e-6, atol=1e-6)  # they nearly cancel
    np.testing.assert_allclose(p.numpy(), expected / expected.sum(1, keepdims=True), rtol=1e-6)


def test_e9_a_value_kept_in_a_result_destroys_no_input_of_a_later_pass() -> None:
    values = np.linspace(-1, 2, 64, dtype=np.float32).reshape(4, 16)
    x, w = lento.asarray(values), lento.asarray(values * 3)
    lento.step(wait=True)
    e, s = softmax_parts(x)
    m = lento.max(e / s + w, axis=1, keepdims=True)
    q = e - m
    del x, e, s, m
    lento.step(wait=True)
    expected = np.exp(values - values.max(1, keepdims=True))
    largest = (expected / expected.sum(1, keepdims=True) + values * 3).max(1, keepdims=True)
    np.testing.assert_allclose(q.numpy(), expected - largest, rtol=1e-5, atol=1e-6)
