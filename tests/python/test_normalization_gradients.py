"""Derivatives of layer, RMS, batch, group and instance norm, which have a formula of their own: beside NumPy in float64
and differences, at edges, under transforms, and what they need of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest
from lento import nn
from on_device import not_on_another_device

Array = Any
EPS = 1e-3


def running(x: Any, w: Any, b: Any) -> Any:
    """Also through the statistics."""
    output, mean, var = nn.batch_norm_train(x, lento.zeros(3, dtype=x.dtype), lento.ones(3, dtype=x.dtype), w, b)
    return output + (mean * var).sum()


def running_instances(x: Any, w: Any, b: Any) -> Any:
    output, mean, var = nn.instance_norm_train(x, lento.zeros(3, dtype=x.dtype), lento.ones(3, dtype=x.dtype), w, b)
    return output + (mean * var).sum()


# A function, the shape of x, that of weight and bias.
NORMS: dict[str, tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]] = {
    "layer": (lambda x, w, b: nn.layer_norm(x, (5,), w, b, EPS), (4, 5), (5,)),
    "layer of two axes": (lambda x, w, b: nn.layer_norm(x, (3, 4), w, b, EPS), (2, 2, 3, 4), (3, 4)),
    "layer of all axes": (lambda x, w, b: nn.layer_norm(x, (3, 4), w, b, EPS), (3, 4), (3, 4)),
    "layer without weight": (lambda x, w, b: nn.layer_norm(x, (5,), None, b, EPS) + 0 * w, (4, 5), (5,)),
    "layer without both": (lambda x, w, b: nn.layer_norm(x, (5,), eps=EPS) + w * b, (4, 5), (5,)),
    "layer of one row": (lambda x, w, b: nn.layer_norm(x, (5,), w, b, EPS), (1, 5), (5,)),
    "rms": (lambda x, w, b: nn.rms_norm(x, (5,), w, EPS) + b, (4, 5), (5,)),
    "rms without weight": (lambda x, w, b: nn.rms_norm(x, (5,), None, EPS) + w * b, (4, 5), (5,)),
    "batch": (lambda x, w, b: nn.batch_norm(x, weight=w, bias=b, training=True, eps=EPS), (6, 3), (3,)),
    "batch of images": (lambda x, w, b: nn.batch_norm(x, None, None, w, b, True, eps=EPS), (2, 3, 4, 2), (3,)),
    "batch without weight": (lambda x, w, b: nn.batch_norm(x, training=True) + (w * b).sum(), (2, 3, 4), (3,)),
    "batch and its statistics": (running, (2, 3, 4), (3,)),
    "instance": (lambda x, w, b: nn.instance_norm(x, weight=w, bias=b, eps=EPS), (2, 3, 7), (3,)),
    "instance and its statistics": (running_instances, (2, 3, 7), (3,)),
    "group": (lambda x, w, b: nn.group_norm(x, 3, w, b, EPS), (2, 6, 4), (6,)),
    "group of a matrix": (lambda x, w, b: nn.group_norm(x, 2, w, b, EPS), (3, 6), (6,)),
}


def arrays(name: str, dtype: Any = np.float64) -> list[Array]:
    _, shape, parameter = NORMS[name]
    random = np.random.default_rng(len(name))
    # Times five, so that no two terms of the formula are alike.
    x = random.normal(3, 5, shape)
    return [a.astype(dtype) for a in (x, random.uniform(0.5, 2, parameter), random.normal(size=parameter))]


def loss_of(name: str) -> Callable[..., Any]:
    function, shape, _ = NORMS[name]
    cotangent = np.random.default_rng(9).normal(size=shape)
    return lambda *args: (function(*args) * lento.asarray(cotangent).astype(args[0].dtype)).sum()


def tensors(values: list[Array]) -> list[Any]:
    return [lento.asarray(v) for v in values]


@pytest.mark.parametrize("name", NORMS)
def test_gradients_are_those_of_differences(name: str) -> None:
    f, values = loss_of(name), arrays(name)
    gradients = lento.grad(f, (0, 1, 2))(*tensors(values))
    random, h = np.random.default_rng(1), 1e-5
    for i in range(3):
        v = random.normal(size=values[i].shape)
        ahead, behind = list(values), list(values)
        ahead[i], behind[i] = values[i] + h * v, values[i] - h * v
        by_differences = (float(f(*tensors(ahead))) - float(f(*tensors(behind)))) / (2 * h)
        np.testing.assert_allclose((gradients[i].numpy() * v).sum(), by_differences, rtol=2e-7, atol=1e-8)


@pytest.mark.parametrize("name", NORMS)
def test_forward_mode_and_second_derivatives(name: str) -> None:
    f, values = loss_of(name), arrays(name)
    v = [np.random.default_rng(2).normal(size=a.shape) for a in values]
    slope = lambda at: [g.numpy() for g in lento.grad(f, (0, 1, 2))(*tensors(at))]  # noqa: E731
    _, change = lento.jvp(f, tuple(tensors(values)), tuple(tensors(v)))
    expected = sum((g * d).sum() for g, d in zip(slope(values), v, strict=True))
    np.testing.assert_allclose(float(change), expected, rtol=1e-11)
    h = 1e-5
    ahead, behind = ([a + sign * h * d for a, d in zip(values, v, strict=True)] for sign in (1, -1))
    differences = [(a - b) / (2 * h) for a, b in zip(slope(ahead), slope(behind), strict=True)]

    def along(*args: Any) -> Any:
        return sum(((g * lento.asarray(d)).sum() for g, d in zip(lento.grad(f, (0, 1, 2))(*args), v, strict=True)))

    for found, wanted in zip(lento.grad(along, (0, 1, 2))(*tensors(values)), differences, strict=True):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["layer", "rms", "group", "instance"])
def test_vmap_gives_the_gradients_of_single_examples(name: str) -> None:
    function, shape, _ = NORMS[name]
    x, w, b = arrays(name)
    many = np.stack([x, x * 0.5 + 1, -x])
    f = lambda x, w: (function(x, w, lento.asarray(b)) ** 2 * lento.asarray(np.arange(x.size).reshape(shape))).sum()  # noqa: E731
    together = lento.vmap(lento.grad(f, (0, 1)), in_axes=(0, None))(lento.asarray(many), lento.asarray(w))
    for i in range(3):
        alone = lento.grad(f, (0, 1))(lento.asarray(many[i]), lento.asarray(w))
        for all_of_them, one in zip(together, alone, strict=True):
            np.testing.assert_allclose(all_of_them[i].numpy(), one.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_narrow_types_are_computed_in_float32(name: str, dtype: str) -> None:
    given = [t.astype(dtype) for t in tensors(arrays(name, np.float32))]
    gradients = lento.grad(loss_of(name), (0, 1, 2))(*given)
    exact = lento.grad(loss_of(name), (0, 1, 2))(*[t.astype("float64") for t in given])
    # The cotangent is rounded too, where sums follow.
    eps = {"float32": 2.0**-19, "float16": 2.0**-7, "bfloat16": 2.0**-4}[dtype]
    for found, wanted, x in zip(gradients, exact, given, strict=True):
        assert found.dtype == x.dtype
        size = np.abs(wanted.numpy()).max() + 1
        np.testing.assert_allclose(found.astype("float64").numpy(), wanted.numpy(), rtol=eps, atol=eps * size)


def test_rows_of_one_number_have_no_gradient() -> None:
    f = lambda x: (nn.layer_norm(x, (4,)) * lento.asarray([1.0, 2.0, 3.0, 4.0])).sum()  # noqa: E731
    slope = lento.grad(f)(lento.full((2, 4), 7.0))
    assert np.isfinite(slope.numpy()).all()
    np.testing.assert_allclose(slope.sum(axis=1).numpy(), 0, atol=1e-3)


@pytest.mark.parametrize("shape", [(0, 4), (2, 0, 4)])
def test_an_empty_batch(shape: tuple[int, ...]) -> None:
    f = lambda x, w: nn.layer_norm(x, (4,), w).sum()  # noqa: E731
    slope, of_weight = lento.grad(f, (0, 1))(lento.ones(shape), lento.ones(4))
    assert slope.shape == shape
    assert of_weight.tolist() == [0, 0, 0, 0]


# --- what they need ---


def steps(function: Callable[..., Any], dtype: str, *shapes: tuple[int, ...]) -> tuple[list[str], float]:
    """The kernels of a gradient that go over all of the first shape, and the temporaries as a multiple of its bytes."""
    given = [lento.asarray(np.random.default_rng(i).normal(size=s)).astype(dtype) for i, s in enumerate(shapes)]
    lento.eval(*given)
    # A product reads the result, and another one gives its cotangent, as in a network.
    last = lento.ones((shapes[0][-1], 4), dtype=dtype)
    lento.eval(last)
    f = lambda *args: ((function(*args) @ last) ** 2).sum()  # noqa: E731
    gradients = lento.grad(f, tuple(range(len(given))))(*given)
    lines = lento.dump(list(gradients), "backend").splitlines()
    head = next(line for line in lines if "bytes of temporaries" in line)
    assert {line.split()[1] for line in lines if line.startswith("call")} == {"matrix_multiply"}
    rows = lambda line: np.prod([int(n) for n in line.split("(")[1].split(")")[0].split(",")])  # noqa: E731
    large = [line for line in lines if line.startswith("run") and rows(line) == np.prod(shapes[0])]
    temporaries = int(head.split(" bytes of temporaries")[0].split()[-1])
    return large, temporaries / (given[0].size * given[0].dtype.itemsize)


@not_on_another_device("how ops are fused is the CPU device's")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_derivative_of_layer_norm_is_a_pass_over_rows_and_one_over_columns(dtype: str) -> None:
    large, temporaries = steps(lambda x, w, b: nn.layer_norm(x, (128,), w, b), dtype, (512, 128), (128,), (128,))
    # The result with its statistics; dx; the derivatives of weight and bias.
    assert len(large) == 3, large
    # The result and its cotangent.
    assert temporaries < 2.2


@not_on_another_device("how ops are fused is the CPU device's")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_derivative_of_rms_norm_is_a_pass_over_rows_and_one_over_columns(dtype: str) -> None:
    large, temporaries = steps(lambda x, w: nn.rms_norm(x, (128,), w), dtype, (512, 128), (128,))
    assert len(large) == 3, large
    assert temporaries < 2.2


@not_on_another_device("how ops are fused is the CPU device's")
def test_the_derivative_of_batch_norm_sums_once_and_writes_once() -> None:
    f = lambda x, w, b: nn.batch_norm(x, weight=w, bias=b, training=True)  # noqa: E731
    large, temporaries = steps(f, "float32", (8, 16, 12, 12), (16,), (16,))
    # Mean; variance; the result; both sums; dx.
    assert len(large) <= 5, large
    assert temporaries < 3.4


@not_on_another_device("threads and fusion are the CPU device's")
@pytest.mark.parametrize("name", NORMS)
def test_bits_do_not_depend_on_fusion(name: str) -> None:
    bits = lambda: [g.numpy().tobytes() for g in lento.grad(loss_of(name), (0, 1, 2))(*tensors(arrays(name)))]  # noqa: E731
    wanted = bits()
    with lento.options(fusion=False):
        assert bits() == wanted
