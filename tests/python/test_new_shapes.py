"""E4: a new shape of a known pattern is fitted to the plan it has; no code is compiled."""

from __future__ import annotations

from collections.abc import Callable

import lento
import numpy as np
import pytest
from engine import Counts
from on_device import not_on_another_device

pytestmark = not_on_another_device("it may have no cache of kernels, as the toy device")


def tensor(*shape: int) -> lento.Tensor:
    values = np.linspace(-2, 3, num=int(np.prod(shape)), dtype=np.float32).reshape(shape)
    made = lento.asarray(values)
    lento.eval(made)
    return made


def chain(x: lento.Tensor) -> lento.Tensor:
    for _ in range(5):
        x = lento.tanh(x * 0.5 + 1) - x / (x * x + 2)
    return x


def with_bias(x: lento.Tensor) -> lento.Tensor:
    return lento.maximum(x + x[0:1], 0) * x[:, 0:1]


def layer(x: lento.Tensor) -> lento.Tensor:
    return lento.softmax(lento.matmul(x, lento.matrix_transpose(x)) / 4)


def normed(x: lento.Tensor) -> lento.Tensor:
    return (x - lento.mean(x, axis=-1, keepdims=True)) / lento.sqrt(lento.var(x, axis=-1, keepdims=True) + 1e-5)


def sums(x: lento.Tensor) -> lento.Tensor:
    return lento.sum(lento.exp(x), axis=0) + lento.max(x, axis=0)


def reshaped(x: lento.Tensor) -> lento.Tensor:
    return lento.reshape(lento.permute_dims(x, (1, 0)) * 2, (-1,)) + 1


def inner_part(x: lento.Tensor) -> lento.Tensor:
    return x[1:, :-1] * 2 + x[:-1, 1:]


FUNCTIONS = [chain, with_bias, layer, normed, sums, reshaped, inner_part]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_e4_a_new_shape_compiles_nothing(function: Callable[[lento.Tensor], lento.Tensor]) -> None:
    lento.cache.clear()
    lento.eval(function(tensor(6, 9)))
    for shape in [(7, 9), (6, 8), (128, 513)]:
        x = tensor(*shape)
        counts = Counts()
        y = function(x)
        lento.eval(y)
        assert (counts["plan.rebind"], counts["plan.miss"], counts["kernel.compile"]) == (1, 0, 0), shape
        expected = function(lento.asarray(x.numpy(), device="reference")).numpy()
        np.testing.assert_allclose(y.numpy(), expected, rtol=2e-5, atol=2e-5)


def test_e4_what_is_broadcast_belongs_to_the_pattern() -> None:
    def add(rows: int) -> None:
        lento.eval(tensor(5, 4) + tensor(rows, 4))

    lento.cache.clear()
    add(5)
    counts = Counts()
    add(1)
    assert (counts["plan.rebind"], counts["plan.miss"]) == (0, 1)


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_e4_another_dtype_or_rank_is_another_pattern(dtype: str) -> None:
    lento.cache.clear()
    lento.eval(tensor(5, 4) + 1)
    counts = Counts()
    lento.eval(lento.ones((5, 5), dtype=dtype) + 1)
    lento.eval(tensor(5) + 1)
    assert (counts["plan.rebind"], counts["plan.miss"]) == (0, 2)


def test_e4_other_attributes_are_another_pattern() -> None:
    lento.cache.clear()
    lento.eval(lento.sum(tensor(5, 4), axis=0))
    counts = Counts()
    lento.eval(lento.sum(tensor(5, 6), axis=1))
    assert (counts["plan.rebind"], counts["plan.miss"]) == (0, 1)


def test_e4_m2_a_new_shape_is_explained() -> None:
    lento.cache.clear()
    lento.eval(tensor(5, 4) + 1)
    lento.explain()
    lento.eval(tensor(5, 6) + 1)
    text = lento.explain()
    assert "Fitted new shapes to a step of 1 op" in text
    assert "argument 0 is float32(5, 6) and was float32(5, 4)" in text
