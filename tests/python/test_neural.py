"""Promises of the neural, special and random ops that a comparison with an oracle does not show: numbers are arguments
and never structure (T4), errors at the call (T2), data errors that poison (T10), stable formulas, reproducible choices
(T5)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest
from lento import nn, random, special

Call = Callable[[], Any]


def f32(*shape: int) -> Any:
    return lento.zeros(shape, dtype=lento.float32)


def i64(*values: int) -> Any:
    return lento.asarray(np.array(values, np.int64))


# --- T4: numbers are arguments of the plan ---


def structure(call: Callable[[Any], Any], number: Any) -> str:
    """The graph that a call records, without the values of the numbers and without source lines."""
    text = re.sub(r"\s*@ .*", "", lento.dump(call(number)))
    return re.sub(r"(\$\d+: \w+) = [^,)\s]+", r"\1", text)


X = lento.asarray(np.linspace(-2, 2, 24, dtype=np.float32).reshape(2, 3, 4))
NUMBERS: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "leaky_relu": (lambda v: nn.leaky_relu(X, v), 0.2, 0.31),
    "elu": (lambda v: nn.elu(X, v), 0.2, 0.31),
    "celu": (lambda v: nn.celu(X, v), 0.2, 0.31),
    "softplus": (lambda v: nn.softplus(X, v), 0.2, 0.31),
    "hardshrink": (lambda v: nn.hardshrink(X, v), 0.2, 0.31),
    "layer_norm": (lambda v: nn.layer_norm(X, (4,), eps=v), 1e-5, 1e-3),
    "rms_norm": (lambda v: nn.rms_norm(X, (4,), eps=v), 1e-5, 1e-3),
    "batch_norm": (lambda v: nn.batch_norm(X, training=True, eps=v), 1e-5, 1e-3),
    "dropout": (lambda v: nn.dropout(X, v), 0.2, 0.31),
    "huber_loss": (lambda v: nn.huber_loss(X, X, delta=v), 0.2, 0.31),
    "label_smoothing": (lambda v: nn.cross_entropy(X[0], i64(0, 1, 2), label_smoothing=v), 0.2, 0.31),
    "ignore_index": (lambda v: nn.cross_entropy(X[0], i64(0, 1, 2), ignore_index=v), 1, 2),
    "attention_scale": (lambda v: nn.scaled_dot_product_attention(X, X, X, scale=v), 0.2, 0.31),
    "uniform": (lambda v: random.uniform((3,), 0.0, v), 2.0, 3.5),
    "randint": (lambda v: random.randint((3,), 0, v), 5, 1000),
    "bernoulli": (lambda v: random.bernoulli((3,), v), 0.2, 0.31),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_t4_numbers_are_not_structure(name: str) -> None:
    call, first, second = NUMBERS[name]
    assert structure(call, first) == structure(call, second)


def test_t5_a_new_seed_does_not_change_the_structure() -> None:
    def draw(seed: int) -> Any:
        return random.normal((3, 4), generator=random.Generator(seed))

    assert structure(draw, 1) == structure(draw, 2**63 + 5)


# --- T2: errors at the call ---

WRONG: list[tuple[Call, type[Exception], list[str]]] = [
    (lambda: nn.conv2d(f32(1, 3, 5, 5), f32(4, 2, 3, 3)), lento.ShapeError, ["conv2d", "(1, 3, 5, 5)", "(4, 2, 3, 3)"]),
    (lambda: nn.conv2d(f32(5, 5), f32(4, 2, 3, 3)), lento.ShapeError, ["conv2d", "(5, 5)"]),
    (lambda: nn.conv1d(f32(1, 2, 5), f32(4, 2, 3), stride=2, auto_padding="same"), ValueError, ["stride"]),
    (lambda: nn.conv1d(f32(1, 2, 5), f32(4, 2, 3), auto_padding="sane"), ValueError, ["auto_padding", "sane"]),
    (lambda: nn.conv1d(f32(1, 2, 5), f32(4, 2, 9)), lento.ShapeError, ["conv1d"]),
    (lambda: nn.conv2d(f32(1, 3, 5, 5), f32(4, 3, 3, 3), f32(3)), lento.ShapeError, ["bias", "(3,)", "4"]),
    (lambda: nn.conv2d(f32(1, 3, 5, 5), f32(4, 3, 3, 3), stride=(1, 2, 3)), lento.ShapeError, ["stride", "3"]),
    (lambda: nn.conv_transpose1d(f32(1, 2, 5), f32(2, 2, 3), output_padding=1), ValueError, ["output_padding"]),
    (lambda: nn.max_pool2d(f32(1, 1, 4, 4), 2, padding=2), ValueError, ["max_pool2d", "padding"]),
    (lambda: nn.avg_pool1d(f32(1, 1, 2), 5), lento.ShapeError, ["avg_pool1d"]),
    (lambda: nn.linear(f32(2, 3), f32(4, 5)), lento.ShapeError, ["linear", "(2, 3)", "(4, 5)"]),
    (lambda: nn.layer_norm(f32(2, 3), (4,)), lento.ShapeError, ["layer_norm", "(2, 3)", "(4,)"]),
    (lambda: nn.group_norm(f32(2, 6, 4), 4), ValueError, ["group_norm", "6", "4"]),
    (lambda: nn.batch_norm(f32(2, 3)), ValueError, ["running_mean"]),
    (lambda: nn.softmax(f32(2, 3), 2), IndexError, ["softmax", "2"]),
    (lambda: nn.glu(f32(3, 5)), lento.ShapeError, ["glu", "(3, 5)"]),
    (lambda: nn.dropout(f32(3), 1.5), ValueError, ["dropout", "1.5"]),
    (lambda: nn.cross_entropy(f32(4, 3), i64(1, 2)), lento.ShapeError, ["cross_entropy", "(4, 3)", "(2,)"]),
    (lambda: nn.nll_loss(f32(4, 3), f32(4)), lento.DTypeError, ["nll_loss", "float32"]),
    (lambda: nn.mse_loss(f32(4, 3), f32(4, 3), "most"), ValueError, ["mse_loss", "most", "mean"]),
    (lambda: nn.embedding(f32(3), f32(4, 2)), lento.DTypeError, ["embedding", "float32"]),
    (lambda: nn.interpolate(f32(1, 1, 4)), ValueError, ["interpolate", "size"]),
    (lambda: nn.interpolate(f32(1, 1, 4), 8, mode="bilinear"), ValueError, ["bilinear"]),
    (lambda: nn.pixel_shuffle(f32(1, 3, 2, 2), 2), lento.ShapeError, ["pixel_shuffle"]),
    (lambda: nn.fold(f32(1, 4, 9), 4, 2, padding=1), lento.ShapeError, ["fold", "(1, 4, 9)"]),
    (lambda: nn.scaled_dot_product_attention(f32(2, 3), f32(2, 4), f32(2, 4)), lento.ShapeError, ["(2, 3)", "(2, 4)"]),
    (lambda: random.randint((3,), 5, 5), ValueError, ["randint", "5"]),
    (lambda: random.randint(0, 9, 3), ValueError, ["randint", "the shape, here (0,)"]),
    (lambda: random.randint((3,), 0, 300, dtype=lento.uint8), ValueError, ["randint", "uint8"]),
    (lambda: random.normal((3,), dtype=lento.int32), lento.DTypeError, ["normal", "int32"]),
    (lambda: random.normal((2, 3), f32(4)), lento.ShapeError, ["normal", "(4,)", "(2, 3)"]),
    (lambda: random.choice(f32(3), (4,), replace=False), ValueError, ["choice", "4", "3"]),
]


@pytest.mark.parametrize(("call", "kind", "words"), WRONG)
def test_t2_errors_name_the_op_and_the_cause(call: Call, kind: type[Exception], words: list[str]) -> None:
    with pytest.raises(kind) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
    assert "test_neural.py:" in str(caught.value)


# --- T10: data errors poison what depends on them ---

POISONED: dict[str, Call] = {
    "embedding": lambda: nn.embedding(i64(0, 4), f32(4, 2)),
    "embedding below zero": lambda: nn.embedding(i64(0, -1), f32(4, 2)),
    "nll_loss": lambda: nn.nll_loss(f32(2, 3), i64(0, 3)),
    "nll_loss below zero": lambda: nn.nll_loss(f32(2, 3), i64(0, -1)),
    "cross_entropy": lambda: nn.cross_entropy(f32(2, 3), i64(0, 7)),
    "max_unpool1d": lambda: nn.max_unpool1d(f32(1, 1, 2), lento.asarray(np.array([[[0, 9]]])), 2),
}


@pytest.mark.parametrize("name", POISONED)
def test_t10_numbers_out_of_range_poison(name: str) -> None:
    result = POISONED[name]()
    with pytest.raises(IndexError):
        result.numpy()


BELOW_ZERO: dict[str, Callable[[int], Any]] = {
    "embedding": lambda i: nn.embedding(i64(0, i), f32(4, 2)),
    "embedding of int8": lambda i: nn.embedding(i64(0, i).astype(lento.int8), f32(4, 2)),
    "embedding_bag": lambda i: nn.embedding_bag(lento.asarray([[0, i]]), f32(4, 2)),
    "gradient of embedding": lambda i: lento.grad(lambda w: nn.embedding(i64(0, i), w).sum())(f32(4, 2)),
    "nll_loss": lambda i: nn.nll_loss(f32(2, 3), i64(0, i)),
    "choose": lambda i: lento.choose(i64(0, i), [f32(2), f32(2)]),
}


@pytest.mark.parametrize("name", BELOW_ZERO)
def test_t10_numbers_below_zero_are_named_as_they_were_given(name: str) -> None:
    for number in (-1, -7, -128) if name == "embedding of int8" else (-1, -7, -(2**48), -(2**48) - 1, -(2**63)):
        with pytest.raises(IndexError, match=f": index {number} is out of range"):
            BELOW_ZERO[name](number).numpy()


def test_t10_an_ignored_class_may_be_any_number() -> None:
    loss = nn.cross_entropy(f32(2, 3), i64(1, -100))
    np.testing.assert_allclose(loss.item(), np.log(3), rtol=1e-6)


# --- formulas that hold where naive ones do not ---


def test_softmax_and_losses_survive_large_numbers() -> None:
    x = lento.asarray(np.array([[1e4, 0.0, -1e4], [-1e4, 1e4, 1e4]], np.float32))
    np.testing.assert_allclose(nn.softmax(x).numpy(), [[1, 0, 0], [0, 0.5, 0.5]])
    assert np.isfinite(nn.log_softmax(x).numpy()).all()
    np.testing.assert_allclose(nn.cross_entropy(x, i64(0, 2)).item(), np.log(2) / 2, rtol=1e-6)
    np.testing.assert_allclose(nn.log_sigmoid(x).numpy()[0], [0, -np.log(2), -1e4], rtol=1e-6)
    np.testing.assert_allclose(nn.softplus(x).numpy()[0], [1e4, np.log(2), 0], rtol=1e-6)
    loss = nn.binary_cross_entropy_with_logits(
        x, lento.asarray(np.array([[0, 0, 1], [1, 1, 0]], np.float32)), reduction="none"
    )
    np.testing.assert_allclose(loss.numpy(), [[1e4, np.log(2), 1e4], [1e4, 0, 1e4]], rtol=1e-6)


@pytest.mark.parametrize("dtype", [lento.float16, lento.bfloat16])
def test_half_types_are_summed_in_float32(dtype: Any) -> None:
    row = lento.ones((1, 70000), dtype=dtype)  # more than float16 can count
    np.testing.assert_allclose(nn.softmax(row).astype(lento.float32).numpy(), 1 / 70000, rtol=1e-2)
    assert nn.mse_loss(row, lento.zeros_like(row)).item() == 1
    assert not np.isnan(nn.layer_norm(row, (70000,)).astype(lento.float32).numpy()).any()
    assert nn.layer_norm(row, (70000,)).dtype is dtype


def test_softmax_of_nothing_and_of_a_number() -> None:
    assert nn.softmax(f32(0, 3)).shape == (0, 3)
    assert nn.softmax(f32(3, 0)).shape == (3, 0)
    assert nn.softmax(lento.asarray(2.5), 0).item() == 1
    assert nn.log_softmax(lento.asarray(2.5)).item() == 0


def test_attention_rows_that_see_nothing_give_zeros() -> None:
    mask = lento.asarray(np.array([[True, False, True], [False, False, False]]))
    q, kv = random.normal((2, 4)), random.normal((3, 4))
    result = nn.scaled_dot_product_attention(q, kv, kv, mask).numpy()
    assert np.isfinite(result).all()
    np.testing.assert_array_equal(result[1], np.zeros(4))


def test_batch_norm_train_follows_the_running_statistics() -> None:
    x = random.normal((64, 3), 2.0, 3.0)
    mean, var = lento.zeros((3,)), lento.ones((3,))
    for _ in range(60):
        output, mean, var = nn.batch_norm_train(x, mean, var)
    np.testing.assert_allclose(mean.numpy(), x.numpy().mean(0), rtol=1e-2)
    np.testing.assert_allclose(var.numpy(), x.numpy().var(0, ddof=1), rtol=1e-2)
    np.testing.assert_allclose(output.numpy().std(0), 1, rtol=1e-3)


def test_unpooling_restores_what_pooling_kept() -> None:
    x = random.normal((2, 3, 6, 6))
    values, indices = nn.max_pool2d_with_indices(x, 2)
    restored = nn.max_unpool2d(values, indices, 2).numpy()
    kept = restored != 0
    assert kept.sum() == values.size
    np.testing.assert_array_equal(restored[kept], x.numpy()[kept])


def test_fold_of_unfold_counts_the_blocks() -> None:
    x = lento.ones((1, 2, 5, 6))
    counts = nn.fold(nn.unfold(x, 3), (5, 6), 3).numpy()[0, 0]
    assert counts[0, 0] == 1 and counts[2, 2] == 9


def test_conv_transpose_is_the_adjoint_of_conv() -> None:
    x, weight = random.normal((2, 4, 7, 6), dtype="float64"), random.normal((6, 2, 3, 2), dtype="float64")
    options: dict[str, Any] = {"stride": (2, 1), "padding": 1, "groups": 2}
    y = nn.conv2d(x, weight, **options)
    g = random.normal(y.shape, dtype="float64")
    back = nn.conv_transpose2d(g, weight, **options)
    np.testing.assert_allclose(lento.sum(y * g).item(), lento.sum(x * back).item(), rtol=1e-10)


# --- T5: random ---


def test_t5_dropout_is_chosen_once() -> None:
    x = lento.ones((1000,))
    dropped = nn.dropout(x, 0.5)
    np.testing.assert_array_equal(dropped.numpy(), (dropped * 1).numpy())
    again = nn.dropout(x, 0.5, generator=random.Generator(3)).numpy()
    np.testing.assert_array_equal(again, nn.dropout(x, 0.5, generator=random.Generator(3)).numpy())
    assert (nn.dropout(x, 0.5).numpy() != nn.dropout(x, 0.5).numpy()).any()
    np.testing.assert_array_equal(nn.dropout(x, 1.0).numpy(), np.zeros(1000))
    np.testing.assert_array_equal(nn.dropout(x, 0.0).numpy(), np.ones(1000))


def test_channel_dropout_drops_whole_channels() -> None:
    for drop, shape in ((nn.dropout1d, (50, 8, 4)), (nn.dropout2d, (50, 8, 4, 3)), (nn.dropout3d, (50, 8, 2, 3, 2))):
        channels = drop(lento.ones(shape), 0.5).numpy().reshape(50, 8, -1)
        np.testing.assert_array_equal(channels.min(-1), channels.max(-1))
        assert 120 < (channels[..., 0] == 0).sum() < 280
        assert drop(lento.ones(shape[1:]), 0.5).shape == shape[1:]


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    y = nn.alpha_dropout(random.normal((100_000,)), 0.3).numpy()
    assert abs(y.mean()) < 0.02 and abs(y.var() - 1) < 0.03


def test_rrelu_in_training_draws_slopes_from_its_range() -> None:
    x = random.normal((10_000,))
    slopes = (nn.rrelu(x, 0.1, 0.4, training=True) / x).numpy()
    negative = x.numpy() < 0
    np.testing.assert_array_equal(slopes[~negative], 1)
    assert slopes[negative].min() >= 0.1 * (1 - 1e-6) and slopes[negative].max() <= 0.4 * (1 + 1e-6)
    assert abs(slopes[negative].mean() - 0.25) < 0.01


def test_attention_dropout_keeps_the_mean() -> None:
    q, v = lento.zeros((1, 4)), lento.ones((20_000, 1))
    mean = nn.scaled_dot_product_attention(q, lento.zeros((20_000, 4)), v, dropout_p=0.25).item()
    assert abs(mean - 1) < 0.02 and mean != 1


def test_t5_the_first_numbers_of_the_documented_seed() -> None:
    generator = random.Generator(0)
    bits = lento._core.prim.random_bits((4,), 0, 0, "uint32").numpy()
    np.testing.assert_array_equal(random.uniform((4,), generator=generator).numpy(), (bits >> 8) / np.float32(2**24))


def test_t5_ops_take_blocks_of_four_words() -> None:
    one, two = random.Generator(9), random.Generator(9)
    random.uniform((5,), generator=one)  # 5 words: two blocks
    random.uniform((8,), generator=two)  # 8 words: two blocks
    assert one.state == two.state
    assert random.uniform((2,), generator=one).tolist() == random.uniform((2,), generator=two).tolist()


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-5, 5), (0, 2**32), (0, 2**40 + 3), (-(2**63), 2**63 - 1)])
def test_t5_randint_covers_its_range(low: int, high: int) -> None:
    drawn = random.randint((4000,), low, high, generator=random.Generator(1)).numpy()
    assert drawn.min() >= low and drawn.max() < high
    if high - low > 1000:
        thirds = np.bincount(((drawn.astype(object) - low) * 3 // (high - low)).astype(np.int64), minlength=3)
        assert (np.abs(thirds - 4000 / 3) < 200).all()


def test_t5_parameters_may_be_tensors() -> None:
    loc = lento.asarray(np.array([0.0, 1000.0], np.float32))
    drawn = random.normal((500, 2), loc, 0.5).numpy()
    assert abs(drawn[:, 0].mean()) < 0.2 and abs(drawn[:, 1].mean() - 1000) < 0.2
    assert random.normal(loc=loc).shape == (2,)
    assert random.bernoulli(p=lento.asarray(np.array([0.0, 1.0, 0.0], np.float32))).tolist() == [False, True, False]


# --- special functions ---


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_special_functions_far_out(dtype: Any) -> None:
    import scipy.special as sp

    x = np.concatenate([np.linspace(-30, 30, 401), [-1000, 1000, np.inf, -np.inf, np.nan]]).astype(dtype)
    t = lento.asarray(x)
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    wide = x.astype(np.float64)
    np.testing.assert_allclose(special.log_ndtr(t).numpy(), sp.log_ndtr(wide), rtol=tolerance, atol=1e-37)
    positive = lento.asarray(np.abs(x))
    np.testing.assert_allclose(special.erfcx(positive).numpy(), sp.erfcx(np.abs(wide)), rtol=tolerance)
    p = np.concatenate([10 ** np.linspace(-36, -0.4, 200), [0.0, 1.0]]).astype(dtype)
    np.testing.assert_allclose(special.ndtri(lento.asarray(p)).numpy(), sp.ndtri(p.astype(np.float64)), rtol=tolerance)
