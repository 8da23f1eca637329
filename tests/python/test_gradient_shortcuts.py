"""Gradients where the rules of single ops would be slow together: transposed weights, slices of one tensor."""

from __future__ import annotations

import itertools
from typing import Any

import lento
import numpy as np
import pytest
from on_device import not_on_another_device


def t(*values: float) -> lento.Tensor:
    return lento.asarray(np.array(values, np.float64))


@not_on_another_device("which products read with strides is the CPU device's")
def test_gradients_of_linear_layers_lie_as_their_weights_do() -> None:
    weight, x = lento.ones((48, 32)), lento.asarray(np.linspace(-1, 1, 8 * 32, dtype=np.float32).reshape(8, 32))
    cotangent = lento.asarray(np.cos(np.arange(8 * 48, dtype=np.float32)).reshape(8, 48))
    lento.eval(weight, x, cotangent)

    def loss(weight: Any, evaluated: bool = False) -> Any:
        columns = weight.T
        if evaluated:
            lento.eval(columns)
        return lento.sum((x @ columns) * cotangent)

    gradient = lento.grad(loss)(weight)
    kernels = [line for line in lento.dump(gradient * 2, "backend").splitlines() if line.startswith("kernel")]
    # "any" would be a tensor that is read with a stride.
    assert kernels
    assert not [line for line in kernels if " any" in line]
    expected = np.asarray(cotangent).T @ np.asarray(x)
    np.testing.assert_allclose(np.asarray(gradient), expected, rtol=1e-5, atol=1e-5)
    # Which way the product is taken does not depend on what was computed meanwhile.
    again = lento.grad(loss)(weight, evaluated=True)
    assert np.asarray(gradient).tobytes() == np.asarray(again).tobytes()


def test_gradients_of_transposed_factors_of_every_kind() -> None:
    random = np.random.default_rng(3)

    def factor(*shape: int) -> Any:
        return lento.asarray(random.normal(size=shape) + 1j * random.normal(size=shape))

    for a, b in [
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((3, 4), (2, 4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 3, 4), (1, 4, 5)),
    ]:
        x, y = factor(*a), factor(*b)
        turned = [lento.matrix_transpose(x), lento.matrix_transpose(y)]
        lento.eval(x, y, *turned)
        weight = factor(*lento.matmul(x, y).shape)

        def straight(x: Any, y: Any, weight: Any = weight) -> Any:
            return lento.sum(lento.real(lento.matmul(x, y) * weight))

        def across(x: Any, y: Any, straight: Any = straight) -> Any:
            return straight(lento.matrix_transpose(x), lento.matrix_transpose(y))

        for plain, transposed in zip(
            lento.grad(straight, (0, 1))(x, y), lento.grad(across, (0, 1))(*turned), strict=True
        ):
            np.testing.assert_allclose(np.asarray(lento.matrix_transpose(transposed)), np.asarray(plain), rtol=1e-12)


@pytest.mark.parametrize("backwards", [False, True])
def test_slices_that_are_all_of_a_tensor_are_joined(backwards: bool) -> None:
    def loss(x: lento.Tensor, ends: list[int]) -> lento.Tensor:
        parts = [x[:, a:b] for a, b in itertools.pairwise([0, *ends])]
        order = list(enumerate(parts))
        return sum((lento.sum(part**2 * (i + 1)) for i, part in (order[::-1] if backwards else order)), t(0))

    x = t(*range(14)).reshape(2, 7)
    weight = np.array([1, 1, 2, 2, 2, 3, 3])
    gradient = lento.grad(loss)(x, [2, 5, 7])
    assert "concatenate" in lento.dump(gradient)
    assert "strided_update" not in lento.dump(gradient)
    np.testing.assert_array_equal(gradient.numpy(), 2 * x.numpy() * weight)
    # What is left out gets zeros.
    part = lento.grad(loss)(x, [2, 5])
    assert "concatenate" not in lento.dump(part)
    np.testing.assert_array_equal(part.numpy(), 2 * x.numpy() * np.where(np.arange(7) < 5, weight, 0))
    hessian = lento.grad(lambda x: lento.sum(lento.grad(loss)(x, [2, 5, 7]) * x))(x)
    np.testing.assert_array_equal(hessian.numpy(), 4 * x.numpy() * weight)


def test_slices_that_meet_in_other_ways() -> None:
    x = np.arange(12.0).reshape(3, 4)
    functions: list[Any] = [
        # twice, beside a whole one; along two axes; apart; in an order of their own; with steps
        lambda x: x[:, :2] * x[:, 2:] + x[:, :2] + x[:, 2:] * x[:, :2],
        lambda x: lento.sum(x[0] * x[1] * x[2]) + lento.sum(x[:, 0] * x[:, 1]) + lento.sum(x),
        lambda x: lento.sum(x[0] * x[2]),
        lambda x: lento.sum(x[1] * x[0]) + lento.sum(x[2] * x[1] * x[0]),
        lambda x: lento.sum(x[:, ::2] * x[:, 1::2]) + lento.sum(x[::-1] * x[:3]),
        lambda x: lento.sum(lento.sin(x)[:2] * 3) + lento.sum(lento.sin(x)[2:] * x[2:]),
    ]
    for function in functions:
        gradient = lento.grad(lambda x, f=function: lento.sum(f(x)))(lento.asarray(x)).numpy()
        for place in np.ndindex(x.shape):
            step = np.zeros_like(x)
            step[place] = 1e-5
            up, down = (float(lento.sum(function(lento.asarray(x + sign * step)))) for sign in (1, -1))
            assert gradient[place] == pytest.approx((up - down) / 2e-5, rel=1e-6, abs=1e-5)
