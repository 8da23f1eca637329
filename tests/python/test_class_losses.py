"""Cross-entropy of class numbers: values and derivatives beside NumPy in float64, edges, and the memory it needs."""

from __future__ import annotations

from typing import Any

import lento
import numpy as np
import pytest
from lento import nn
from on_device import not_on_another_device

Array = Any


def expected(
    x: Array, target: Array, weight: Array | None = None, ignored: int = -100, smoothing: float = 0.0
) -> tuple[float, Array]:
    """The mean and its gradient, for logits (batch, classes) in float64."""
    x = np.asarray(x, np.float64)
    classes = x.shape[1]
    per_class = np.ones(classes) if weight is None else np.asarray(weight, np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        shifted = x - x.max(axis=1, keepdims=True)
        logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        counted = target != ignored
        safe = np.where(counted, target, 0)
        mixed = np.full(x.shape, smoothing / classes) * per_class
        mixed[np.arange(len(x)), safe] += (1 - smoothing) * per_class[safe]
        losses = -np.where(mixed == 0, 0, mixed * logs).sum(axis=1)
        total = per_class[safe][counted].sum()
        slope = (np.exp(logs) * mixed.sum(axis=1, keepdims=True) - mixed) * counted[:, None]
        return losses[counted].sum() / total, slope / total


def both(x: Array, target: Array, **options: Any) -> tuple[float, Array]:
    f = lambda x: nn.cross_entropy(x, lento.asarray(target), **options)  # noqa: E731
    value, slope = lento.value_and_grad(f)(lento.asarray(x))
    return float(value), np.asarray(slope)


# Few classes are read where they lie, many on the way over the row.
@pytest.mark.parametrize("classes", [1, 2, 10, 63, 64, 200])
@pytest.mark.parametrize("smoothing", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_value_and_gradient_are_those_of_the_formula(classes: int, smoothing: float, weighted: bool) -> None:
    random = np.random.default_rng(classes)
    x = random.normal(0, 3, (17, classes))
    target = random.integers(0, classes, 17)
    target[3] = target[11] = -100
    weight = random.uniform(0.5, 2, classes) if weighted else None
    options: dict[str, Any] = {"label_smoothing": smoothing}
    if weighted:
        options["weight"] = lento.asarray(weight)
    value, slope = both(x, target, **options)
    wanted, wanted_slope = expected(x, target, weight, smoothing=smoothing)
    np.testing.assert_allclose(value, wanted, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(slope, wanted_slope, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("classes", [10, 100])
def test_narrow_types_are_computed_in_float32(dtype: str, classes: int) -> None:
    random = np.random.default_rng(1)
    x = lento.asarray(random.normal(0, 3, (9, classes)).astype(np.float32)).astype(dtype)
    target = random.integers(0, classes, 9)
    f = lambda x: nn.cross_entropy(x, lento.asarray(target), reduction="sum", label_smoothing=0.1)  # noqa: E731
    value, slope = lento.value_and_grad(f)(x)
    assert slope.dtype == x.dtype
    wanted, wanted_slope = expected(np.asarray(x.astype("float32")), target, smoothing=0.1)
    eps = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-22}[dtype]
    np.testing.assert_allclose(float(value), wanted * 9, rtol=2 * eps)
    np.testing.assert_allclose(np.asarray(slope.astype("float32")), wanted_slope * 9, rtol=eps, atol=eps * 2.0**-3)


@pytest.mark.parametrize("classes", [3, 100])
def test_large_logits_lose_nothing(classes: int) -> None:
    """What all logits have in common cancels before anything is rounded."""
    small = np.random.default_rng(2).integers(-8, 8, (6, classes)).astype(np.float32) / 4
    target = np.arange(6) % classes
    value, slope = both(small, target)
    far, far_slope = both(small + np.float32(2.0**20), target)
    assert far == value
    assert far_slope.tobytes() == slope.tobytes()


@pytest.mark.parametrize("classes", [4, 100])
def test_classes_that_are_ruled_out_have_no_gradient(classes: int) -> None:
    x = np.random.default_rng(3).normal(size=(5, classes))
    x[:, 2] = -np.inf
    target = np.array([0, 1, 3, 0, -100])
    value, slope = both(x, target)
    wanted, wanted_slope = expected(x, target)
    np.testing.assert_allclose(value, wanted, rtol=1e-13)
    np.testing.assert_allclose(slope, wanted_slope, rtol=1e-12, atol=1e-15)
    assert (slope[:, 2] == 0).all()
    # The target's own: the loss is infinite, its gradient is not.
    value, slope = both(x, np.array([2, 1, 3, 0, 0]))
    assert value == np.inf
    assert np.isfinite(slope).all()


def test_smoothing_over_a_class_that_is_ruled_out_is_infinite() -> None:
    x = np.array([[0.0, -np.inf, 1.0]])
    assert both(x, np.array([0]), label_smoothing=0.1)[0] == np.inf


@pytest.mark.parametrize("classes", [3, 100])
def test_a_batch_whose_targets_are_all_ignored(classes: int) -> None:
    x = np.ones((4, classes), np.float32)
    target = np.full(4, 7)
    value, slope = both(x, target, ignore_index=7, reduction="sum", label_smoothing=0.1)
    assert value == 0
    assert (slope == 0).all()
    assert np.isnan(both(x, target, ignore_index=7)[0])  # 0 / 0, as in PyTorch
    none = nn.cross_entropy(lento.asarray(x), lento.asarray(target), ignore_index=7, reduction="none")
    assert none.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("classes", [3, 100])
def test_an_empty_batch(classes: int) -> None:
    x, target = np.zeros((0, classes), np.float32), np.zeros(0, np.int64)
    value, slope = both(x, target, reduction="sum")
    assert value == 0
    assert slope.shape == (0, classes)
    assert nn.cross_entropy(lento.asarray(x), lento.asarray(target), reduction="none").shape == (0,)


def test_t10_without_a_class_every_target_is_wrong() -> None:
    with pytest.raises(IndexError):
        nn.cross_entropy(lento.zeros((2, 0)), lento.asarray([0, 0])).numpy()


@pytest.mark.parametrize("classes", [3, 100])
@pytest.mark.parametrize("wrong", [-1, 100, 2**40])
def test_t10_a_target_that_is_no_class_poisons_loss_and_gradient(classes: int, wrong: int) -> None:
    target = lento.asarray(np.array([0, wrong]))
    f = lambda x: nn.cross_entropy(x, target, reduction="sum")  # noqa: E731
    value, slope = lento.value_and_grad(f)(lento.ones((2, classes)))
    for result in (value, slope):
        with pytest.raises(IndexError, match=f"^cross_entropy: index {wrong} is out of range"):
            result.numpy()


# --- transforms ---


def on_images(classes: int) -> tuple[Array, Array]:
    random = np.random.default_rng(classes)
    return random.normal(size=(2, classes, 3, 2)), random.integers(0, classes, (2, 3, 2))


@pytest.mark.parametrize("classes", [3, 70])
def test_classes_along_axis_1_of_images(classes: int) -> None:
    x, target = on_images(classes)
    value, slope = both(x, target, label_smoothing=0.2)
    rows = np.moveaxis(x, 1, -1).reshape(-1, classes)
    wanted, wanted_slope = expected(rows, target.reshape(-1), smoothing=0.2)
    np.testing.assert_allclose(value, wanted, rtol=1e-13)
    np.testing.assert_allclose(np.moveaxis(slope, 1, -1).reshape(-1, classes), wanted_slope, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("classes", [3, 70])
def test_vmap_gives_the_gradients_of_single_samples(classes: int) -> None:
    random = np.random.default_rng(4)
    x, target = random.normal(size=(5, classes)), random.integers(0, classes, 5)
    weight = lento.asarray(random.uniform(0.5, 2, classes))
    f = lambda x, y: nn.cross_entropy(x, y, weight, reduction="sum", label_smoothing=0.1)  # noqa: E731
    together = lento.vmap(lento.grad(f))(lento.asarray(x), lento.asarray(target))
    alone = [lento.grad(f)(lento.asarray(x[i]), lento.asarray(target[i])).numpy() for i in range(5)]
    np.testing.assert_allclose(together.numpy(), alone, rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("classes", [3, 70])
@pytest.mark.parametrize("weighted", [False, True])
def test_forward_mode_and_second_derivatives(classes: int, weighted: bool) -> None:
    random = np.random.default_rng(5)
    x, v = random.normal(size=(4, classes)), random.normal(size=(4, classes))
    target = lento.asarray(random.integers(0, classes, 4))
    weight = lento.asarray(random.uniform(0.5, 2, classes)) if weighted else None
    f = lambda x: nn.cross_entropy(x, target, weight, label_smoothing=0.1)  # noqa: E731
    slope = lambda x: lento.grad(f)(lento.asarray(x)).numpy()  # noqa: E731
    _, change = lento.jvp(f, (lento.asarray(x),), (lento.asarray(v),))
    np.testing.assert_allclose(float(change), (slope(x) * v).sum(), rtol=1e-12)
    h = 1e-5
    differences = (slope(x + h * v) - slope(x - h * v)) / (2 * h)
    _, forward_over_reverse = lento.jvp(lento.grad(f), (lento.asarray(x),), (lento.asarray(v),))
    inner = lambda x: (lento.grad(f)(x) * lento.asarray(v)).sum()  # noqa: E731
    for product in (forward_over_reverse, lento.grad(inner)(lento.asarray(x))):
        np.testing.assert_allclose(product.numpy(), differences, rtol=1e-6, atol=1e-9)


def test_the_weight_has_a_derivative() -> None:
    random = np.random.default_rng(6)
    x, target = lento.asarray(random.normal(size=(9, 70))), lento.asarray(random.integers(0, 70, 9))
    weight, v = random.uniform(0.5, 2, 70), random.normal(size=70)
    f = lambda w: nn.cross_entropy(x, target, w, label_smoothing=0.3)  # noqa: E731
    slope = lento.grad(f)(lento.asarray(weight)).numpy()
    h = 1e-6
    by_differences = (float(f(lento.asarray(weight + h * v))) - float(f(lento.asarray(weight - h * v)))) / (2 * h)
    np.testing.assert_allclose((slope * v).sum(), by_differences, rtol=1e-7)


# --- probabilities ---


def mixture(shape: tuple[int, ...], seed: int) -> Array:
    target = np.random.default_rng(seed).uniform(0, 1, shape)
    target[0] = 0  # a row may have no weight at all
    return target


@pytest.mark.parametrize("classes", [1, 3, 200])
@pytest.mark.parametrize("smoothing", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_probabilities_have_the_gradients_of_the_formula(classes: int, smoothing: float, weighted: bool) -> None:
    random = np.random.default_rng(classes)
    x, target = random.normal(0, 3, (6, classes)), mixture((6, classes), classes)
    weight = random.uniform(0.5, 2, classes) if weighted else np.ones(classes)
    f = lambda x, t, *w: nn.cross_entropy(x, t, *w, label_smoothing=smoothing)  # noqa: E731
    given = [lento.asarray(each) for each in (x, target, weight)[: 3 if weighted else 2]]
    value, slopes = lento.value_and_grad(f, argnums=tuple(range(len(given))))(*given)
    shifted = x - x.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    mixed = target * (1 - smoothing) + smoothing / classes
    wanted = [
        np.exp(logs) * (mixed * weight).sum(axis=1, keepdims=True) - mixed * weight,
        -logs * weight * (1 - smoothing),
        -(logs * mixed).sum(axis=0),
    ]
    np.testing.assert_allclose(float(value), -(logs * mixed * weight).sum() / 6, rtol=1e-13, atol=1e-14)
    for slope, want in zip(slopes, wanted, strict=False):
        np.testing.assert_allclose(slope.numpy(), want / 6, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 5, 3)])
def test_probabilities_have_derivatives_of_every_order_and_vmap(shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(8)
    weight = lento.asarray(random.uniform(0.5, 2, 5))
    given = [lento.asarray(random.normal(size=shape)), lento.asarray(mixture(shape, 9))]
    along = [lento.asarray(random.normal(size=shape)) for _ in given]
    f = lambda x, t: nn.cross_entropy(x, t, weight, reduction="sum", label_smoothing=0.2)  # noqa: E731

    def slope(*given: Any) -> Any:
        gradients = lento.grad(f, argnums=(0, 1))(*given)
        return sum((g * v).sum() for g, v in zip(gradients, along, strict=True))

    def differences(function: Any, h: float = 1e-5) -> float:
        ends = (function(*(x + s * h * v for x, v in zip(given, along, strict=True))) for s in (1, -1))
        return float(next(ends) - next(ends)) / (2 * h)

    np.testing.assert_allclose(float(slope(*given)), differences(f), rtol=1e-7)
    np.testing.assert_allclose(float(lento.jvp(f, given, along)[1]), differences(f), rtol=1e-7)
    np.testing.assert_allclose(float(lento.jvp(slope, given, along)[1]), differences(slope), rtol=1e-6)
    second = lento.grad(slope, argnums=(0, 1))(*given)
    found = sum(float((g * v).sum()) for g, v in zip(second, along, strict=True))
    np.testing.assert_allclose(found, differences(slope), rtol=1e-6)
    many = [lento.stack([x, x * 0.5]) for x in given]
    together = lento.vmap(lento.grad(f, argnums=(0, 1)))(*many)
    for i in range(2):
        for g, alone in zip(together, lento.grad(f, argnums=(0, 1))(*(x[i] for x in many)), strict=True):
            np.testing.assert_allclose(g[i].numpy(), alone.numpy(), rtol=1e-12, atol=1e-15)


def test_probabilities_of_no_rows_or_no_classes() -> None:
    for shape in [(0, 3), (2, 0)]:
        x = lento.zeros(shape)
        f = lambda x: nn.cross_entropy(x, lento.zeros(x.shape), reduction="sum")  # noqa: E731
        value, slope = lento.value_and_grad(f)(x)
        assert (value.item(), slope.shape) == (0, shape)


# --- what it needs ---


@not_on_another_device("how ops are fused is the CPU device's")
@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.1}], ids=["plain", "smoothed"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_nothing_as_large_as_the_logits_but_their_gradient(dtype: str, options: dict[str, Any]) -> None:
    rows, classes = 64, 8192
    x = lento.ones((rows, classes), dtype=dtype)
    target = lento.asarray(np.arange(rows))
    lento.eval(x, target)
    lento.wait()
    lento.reset_peak_memory()
    before = lento.memory()["live"]
    value, slope = lento.value_and_grad(lambda x: nn.cross_entropy(x, target, **options))(x)
    lines = lento.dump([value, slope], "backend").splitlines()
    lento.eval(value, slope)
    lento.wait()
    logits = x.size * x.dtype.itemsize
    assert lento.memory()["peak"] - before < logits * 1.2
    # One kernel for the value, one for the gradient.
    large = [line for line in lines if line.startswith("run") and f"({rows}, {classes})" in line]
    assert len(large) == 2
    assert not [line for line in lines if line.startswith("call") and not line.startswith(("call iota", "call take"))]


@not_on_another_device("how ops are fused is the CPU device's")
@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.1}], ids=["plain", "smoothed"])
@pytest.mark.parametrize("weighted", [False, True])
def test_of_probabilities_nothing_is_as_large_as_the_logits_but_their_gradient(
    options: dict[str, Any], weighted: bool
) -> None:
    rows, classes = 64, 8192
    x, target = lento.ones((rows, classes)), lento.full((rows, classes), 1 / classes)
    weight = lento.ones(classes) if weighted else None
    lento.eval(x, target, *([weight] if weighted else []))
    lento.wait()
    lento.reset_peak_memory()
    before = lento.memory()["live"]
    value, slope = lento.value_and_grad(lambda x: nn.cross_entropy(x, target, weight, **options))(x)
    lento.eval(value, slope)
    lento.wait()
    assert lento.memory()["peak"] - before < x.size * x.dtype.itemsize * 1.2


@not_on_another_device("how ops are fused is the CPU device's")
@pytest.mark.parametrize("loss", ["nll_loss", "kl_div"])
def test_of_logarithms_the_powers_are_made_again(loss: str) -> None:
    """The logarithms or the losses, and the gradient: a cross-entropy needs the last alone."""
    x = lento.asarray(np.random.default_rng(8).normal(size=(64, 8192)).astype(np.float32))
    target = lento.arange(64) if loss == "nll_loss" else lento.full(x.shape, 1 / 8192)
    lento.eval(x, target)
    lento.wait()
    lento.reset_peak_memory()
    before = lento.memory()["live"]
    value, slope = lento.value_and_grad(lambda x: getattr(nn, loss)(nn.log_softmax(x, -1), target))(x)
    lento.eval(value, slope)
    lento.wait()
    assert lento.memory()["peak"] - before < x.size * x.dtype.itemsize * 2.1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "axis"), [((7, 13), 1), ((64, 300), -1), ((5, 6, 7), 1), ((1, 4), 0)])
def test_the_gradient_of_log_softmax_is_that_of_its_ops(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    def of_ops(x: lento.Tensor) -> lento.Tensor:
        shifted = x - lento.stop_gradient(lento.max(x, axis=axis, keepdims=True))
        return shifted - lento.log(lento.sum(lento.exp(shifted), axis=axis, keepdims=True))

    random = np.random.default_rng(9)
    x, w = (lento.asarray(random.normal(0, 3, shape).astype(dtype)) for _ in range(2))
    ours = lento.grad(lambda x: (nn.log_softmax(x, axis) * w).sum())(x)
    np.testing.assert_array_equal(ours.numpy(), lento.grad(lambda x: (of_ops(x) * w).sum())(x).numpy())
    second, wanted = (
        lento.grad(lambda x, f=f: (lento.grad(lambda x: (f(x) * w**2).sum())(x) ** 2).sum())(x)
        for f in (lambda x: nn.log_softmax(x, axis), of_ops)
    )
    # Of large and small terms that cancel: rounding is that of the largest.
    error = np.abs(second.numpy() - wanted.numpy()).max()
    assert error <= 4 * np.finfo(dtype).eps * np.abs(wanted.numpy()).max()


@not_on_another_device("threads and fusion are the CPU device's")
@pytest.mark.parametrize("classes", [10, 3000])
def test_bits_do_not_depend_on_threads_or_fusion(classes: int) -> None:
    random = np.random.default_rng(7)
    x = random.normal(size=(200, classes)).astype(np.float32)
    target = random.integers(0, classes, 200)

    def bits() -> tuple[float, bytes]:
        value, slope = both(x, target, label_smoothing=0.1)
        return value, slope.tobytes()

    wanted, threads = bits(), lento.get_num_threads()
    try:
        lento.set_num_threads(1)
        assert bits() == wanted
    finally:
        lento.set_num_threads(threads)
    with lento.options(fusion=False):
        assert bits() == wanted


BEYOND_SIGNED = [2**63, 2**63 + 1, 2**64 - 100, 2**64 - 3, 2**64 - 1]  # 2^64 - 100 has the bits of -100, ignored


@pytest.mark.parametrize("wrong", BEYOND_SIGNED)
@pytest.mark.parametrize("loss", [nn.cross_entropy, nn.nll_loss, nn.multi_margin_loss])
@pytest.mark.parametrize("classes", [4, 80])
def test_t10_a_class_number_that_only_uint64_has_is_wrong(loss: Any, wrong: int, classes: int) -> None:
    x = lento.asarray(np.random.default_rng(6).normal(size=(3, classes)).astype(np.float32))
    right = [0, 2, 1]
    np.testing.assert_array_equal(
        np.asarray(loss(x, lento.asarray(right, dtype="uint64"))), np.asarray(loss(x, lento.asarray(right)))
    )
    with pytest.raises(IndexError, match="out of range"):
        loss(x, lento.asarray([0, wrong, 1], dtype="uint64")).item()


@pytest.mark.parametrize("wrong", [-1, -(2**48), -(2**48) - 1, -(2**62), -(2**62) - 1, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("loss", [nn.cross_entropy, nn.nll_loss, nn.multi_margin_loss])
def test_t10_class_numbers_far_below_0_are_wrong_too(loss: Any, wrong: int) -> None:
    x = lento.ones((2, 5))
    with pytest.raises(IndexError, match=r"index -?\d+ is out of range"):
        loss(x, lento.asarray([1, wrong]), reduction="none").tolist()
