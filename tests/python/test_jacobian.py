"""lento.jacobian and lento.hessian, compared with derivatives by hand and with loops."""

from __future__ import annotations

import re

import lento
import numpy as np
import pytest


def test_the_shape_is_that_of_the_result_then_that_of_the_argument() -> None:
    a = lento.asarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    j = lento.jacobian(lambda x: lento.stack([a @ x, a @ (x * x)]))(lento.asarray([1.0, 2.0, 3.0]))
    assert j.shape == (2, 2, 3)
    expected = np.stack([a.numpy(), a.numpy() * 2 * np.array([1, 2, 3], np.float32)])
    np.testing.assert_array_equal(j.numpy(), expected)


def test_each_row_is_the_gradient_of_an_element() -> None:
    x = lento.asarray(np.linspace(-1, 2, 12, dtype=np.float32).reshape(3, 4))

    def f(x: lento.Tensor) -> lento.Tensor:
        return lento.softmax(x) @ lento.tanh(x).T

    whole = lento.jacobian(f)(x).numpy()
    for i in range(3):
        for k in range(3):
            row = lento.grad(lambda x, i=i, k=k: f(x)[i, k])(x).numpy()
            np.testing.assert_allclose(whole[i, k], row, rtol=1e-6, atol=1e-7)


def test_arguments_may_be_trees_and_several() -> None:
    x = lento.asarray([1.0, 2.0])
    by_tree = lento.jacobian(lambda p: p["a"] * p["b"])({"a": x, "b": x + 1, "n": 3})
    assert by_tree["a"].tolist() == [[2, 0], [0, 3]]
    assert by_tree["n"] is None
    by_x, by_y = lento.jacobian(lambda x, y: x * y.sum(), argnums=(0, 1))(x, lento.ones(3))
    assert by_x.tolist() == [[3, 0], [0, 3]]
    assert by_y.tolist() == [[1, 1, 1], [2, 2, 2]]
    assert lento.jacobian(lambda x: x[:0])(x).shape == (0, 2)
    assert lento.jacobian(lambda x: lento.ones(3))(x).tolist() == [[0, 0]] * 3


def test_what_stands_beside_the_tensor_is_given_back() -> None:
    x = lento.asarray([1.0, 2.0])
    rows, aux = lento.jacobian(lambda x: (x * x, {"norm": x.sum(), "name": "seen"}), has_aux=True)(x)
    assert rows.tolist() == [[2, 0], [0, 4]]
    assert aux["norm"].item() == 3 and aux["name"] == "seen"
    (by_x, by_y), seen = lento.jacobian(lambda x, y: [x * y, 7], (0, 1), has_aux=True)(x, lento.ones(2))
    assert (by_x.tolist(), by_y.tolist(), seen) == ([[1, 0], [0, 1]], [[1, 0], [0, 2]], 7)
    for given, found in [(x, "a Tensor"), ((x,), "1 entries")]:
        says = f"jacobian(): with has_aux the function must give a pair of a tensor and anything, not {found}"
        with pytest.raises(TypeError, match=re.escape(says)):
            lento.jacobian(lambda _, given=given: given, has_aux=True)(x)


def test_a_hessian_is_symmetric_and_right() -> None:
    x = lento.asarray([0.5, -1.0, 2.0])
    h = lento.hessian(lambda x: x[0] * x[1] ** 2 + lento.exp(x[2]) * x[0])(x).numpy()
    e = float(np.exp(np.float32(2.0)))
    np.testing.assert_allclose(h, [[0, -2, e], [-2, 1, 0], [e, 0, 0.5 * e]], rtol=1e-6)
    assert lento.hessian(lambda y, x: (y * x * x).sum(), argnums=1)(x, x).shape == (3, 3)


def test_wrong_use_is_said_by_the_function_that_was_called() -> None:
    x = lento.ones(2)
    with pytest.raises(TypeError, match=r"jacobian\(\): the function must give a tensor, not tuple"):
        lento.jacobian(lambda x: (x, x))(x)
    with pytest.raises(TypeError, match=r"jacobian\(\): the function must give real floating numbers, not int64"):
        lento.jacobian(lambda x: lento.argmax(x))(x)
    with pytest.raises(ValueError, match=r"jacobian\(\): there is no argument 1"):
        lento.jacobian(lambda x: x, argnums=1)(x)
    with pytest.raises(TypeError, match=r"jacobian\(\): argument 0 must be floating, not int64"):
        lento.jacobian(lambda x: x)(lento.asarray([1, 2]))
    with pytest.raises(ValueError, match=r"hessian\(\): the function must give a scalar, not a tensor of shape \(2,\)"):
        lento.hessian(lambda x: x)(x)
    with pytest.raises(TypeError, match=r"hessian\(\): the function must give a tensor, not float"):
        lento.hessian(lambda x: 1.0)(x)  # type: ignore[arg-type,return-value]
    with pytest.raises(ValueError, match=r"hessian\(\): there is no argument 2"):
        lento.hessian(lambda x: x.sum(), argnums=(0, 2))(x)
    with pytest.raises(TypeError, match=r"hessian\(\): an argument must be real, not complex64"):
        lento.hessian(lambda x: lento.abs(x).sum())(x.astype(lento.complex64))


def test_a_hessian_by_several_arguments_has_a_block_for_each_pair() -> None:
    x, y = lento.asarray([1.0, 2.0]), lento.asarray([3.0, 4.0, 5.0])
    f = lambda x, y: (x**3).sum() * y.sum()  # noqa: E731
    (xx, xy), (yx, yy) = lento.hessian(f, argnums=(0, 1))(x, y)
    assert xx.tolist() == [[72, 0], [0, 144]]
    assert xy.tolist() == [[3, 3, 3], [12, 12, 12]]
    assert yx.tolist() == lento.matrix_transpose(xy).tolist()
    assert yy.tolist() == [[0] * 3] * 3
    assert lento.hessian(f, argnums=(1,))(x, y)[0][0].shape == (3, 3)


def test_a_hessian_by_a_tree_is_a_tree_of_trees() -> None:
    x = lento.asarray([1.0, 2.0])
    blocks = lento.hessian(lambda p: (p["a"] * p["b"]).sum() + p["n"])({"a": x, "b": x, "n": 3})
    assert blocks["a"]["a"].tolist() == [[0, 0], [0, 0]]
    assert blocks["a"]["b"].tolist() == [[1, 0], [0, 1]]
    assert blocks["n"] is blocks["a"]["n"] is None
    layer = lento.nn.Linear(2, 1)
    assert lento.hessian(lambda layer: (layer(x) ** 2).sum())(layer).weight.bias.shape == (1, 2, 1)
