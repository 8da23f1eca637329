"""Recurrent networks as one call: sequences of any length and of different lengths, derivatives, vmap, threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import oracles
import pytest
from engine import Counts
from lento import nn
from on_device import not_on_another_device

GATES = {"rnn": 1, "gru": 3, "lstm": 4}
KINDS = sorted(GATES)
LAYERS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}

Arrays = list[np.ndarray]


def shapes_of(kind: str, length: int, batch: int, features: int, hidden: int) -> list[tuple[int, ...]]:
    rows = GATES[kind] * hidden
    states = [(batch, hidden)] * (2 if kind == "lstm" else 1)
    return [(length, batch, features), *states, (rows, features), (rows, hidden), (rows,), (rows,)]


def operands(kind: str, length: int, batch: int, features: int, hidden: int, dtype: str = "float64") -> Arrays:
    """x, the states, and the weights, of a size at which nothing saturates."""
    random = np.random.default_rng(length + 10 * batch + 100 * hidden)
    shapes = shapes_of(kind, length, batch, features, hidden)
    scale = [1.0] + [0.5] * (len(shapes) - 5) + [features**-0.5, hidden**-0.5, 0.5, 0.5]
    return [(random.normal(size=shape) * s).astype(dtype) for shape, s in zip(shapes, scale, strict=True)]


def run(kind: str, *tensors: Any, **how: Any) -> tuple[lento.Tensor, ...]:
    return tuple(getattr(nn, kind)(*tensors, **how))


def loss_of(kind: str, **how: Any) -> Callable[..., lento.Tensor]:
    """A number that depends on each output and each state, on none like on another one."""

    def loss(*tensors: lento.Tensor) -> lento.Tensor:
        total = lento.asarray(0.0, dtype=tensors[0].dtype)
        for i, y in enumerate(run(kind, *tensors, **how)):
            weight = lento.sin(lento.arange(y.size, dtype=y.dtype) + i).reshape(y.shape)
            total = total + (y * weight).sum() + (y * y).sum() * 0.25
        return total

    return loss


# --- lengths are extents ---


@not_on_another_device("it may have no cache of kernels, as the toy device")
@pytest.mark.parametrize("kind", KINDS)
def test_e4_a_new_length_compiles_nothing(kind: str) -> None:
    def step(length: int, batch: int) -> None:
        given = [lento.asarray(x) for x in operands(kind, length, batch, 3, 4, "float32")]
        lento.eval(*given)
        value, gradients = lento.value_and_grad(loss_of(kind), argnums=tuple(range(len(given))))(*given)
        lento.eval(value, *gradients)

    lento.cache.clear()
    step(5, 3)
    for length, batch in [(9, 3), (30, 3), (17, 6)]:
        counts = Counts()
        step(length, batch)
        assert (counts["plan.rebind"], counts["plan.miss"], counts["kernel.compile"]) == (1, 0, 0), length


# --- values ---


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("length", "batch", "hidden"), [(7, 3, 40), (3, 150, 33), (4, 1, 200), (1, 2, 16)])
@pytest.mark.parametrize("kind", KINDS)
def test_many_blocks_agree_with_numpy(kind: str, length: int, batch: int, hidden: int, dtype: str) -> None:
    given = operands(kind, length, batch, 5, hidden, dtype)
    lengths = np.random.default_rng(1).integers(1, length + 1, batch)
    # An element is a sum of `hidden` terms of about 1 in all; what a step is off is passed on to the next.
    bound = 8 * np.finfo(dtype).eps * hidden**0.5 * length
    for how in ({}, {"reverse": True}, {"lengths": lengths}, {"lengths": lengths, "reverse": True}):
        extra = ["tanh"] if kind == "rnn" else []
        wide = [x.astype(np.float64) for x in given]
        expected = getattr(oracles, kind)(*wide, *extra, how.get("reverse", False), how.get("lengths"))
        ours = {name: lento.asarray(x) if name == "lengths" else x for name, x in how.items()}
        for y, want in zip(run(kind, *map(lento.asarray, given), **ours), expected, strict=True):
            np.testing.assert_allclose(y.numpy(), want, rtol=0, atol=bound)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_no_bit(kind: str) -> None:
    given = [lento.asarray(x) for x in operands(kind, 6, 40, 30, 230, "float32")]
    lengths = lento.asarray(np.arange(40) % 6 + 1)
    results = []
    before = lento.get_num_threads()
    try:
        for threads in (1, 2):
            lento.set_num_threads(threads)
            made = []
            for how in ({}, {"lengths": lengths}):
                gradients = lento.grad(loss_of(kind, **how), argnums=tuple(range(len(given))))(*given)
                made += [x.numpy() for x in (*run(kind, *given, **how), *gradients)]
            results.append(made)
    finally:
        lento.set_num_threads(before)
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kind", KINDS)
def test_short_floats_are_computed_in_float32(kind: str, dtype: str) -> None:
    given = [lento.asarray(x).astype(getattr(lento, dtype)) for x in operands(kind, 20, 2, 3, 5, "float32")]
    wide = run(kind, *(x.astype(lento.float32) for x in given))
    for y, want in zip(run(kind, *given), wide, strict=True):
        assert str(y.dtype) == dtype
        # Only the projected inputs and the results are rounded.
        bound = 2**-6 if dtype == "bfloat16" else 2**-9
        np.testing.assert_allclose(y.astype(lento.float32).numpy(), want.numpy(), atol=bound)


def test_complex_numbers_take_the_loop() -> None:
    x, h, wi, wh, bi, bh = (x + 0.25j * x[::-1] for x in operands("rnn", 4, 2, 3, 5))
    expected = oracles.rnn(x, h, wi, wh, bi, bh, "tanh", True)
    for y, want in zip(run("rnn", *map(lento.asarray, (x, h, wi, wh, bi, bh)), reverse=True), expected, strict=True):
        np.testing.assert_allclose(y.numpy(), want, rtol=1e-12)


# --- sequences of different lengths ---


@pytest.mark.parametrize("kind", KINDS)
def test_lengths_are_those_of_sequences_alone(kind: str) -> None:
    layer = LAYERS[kind](3, 4, 2, batch_first=True, bidirectional=True)
    lengths = [4, 1, 6]
    x = np.random.default_rng(0).normal(size=(3, 6, 3)).astype(np.float32)
    y, state = layer(lento.asarray(x), lengths=lento.asarray(lengths))
    states = state if kind == "lstm" else (state,)
    for n, end in enumerate(lengths):
        alone, last = layer(lento.asarray(x[n : n + 1, :end]))
        np.testing.assert_allclose(y[n, :end].numpy(), alone[0].numpy(), rtol=1e-5, atol=1e-6)
        assert (y[n, end:] == 0).all()
        for mine, other in zip(states, last if kind == "lstm" else (last,), strict=True):
            np.testing.assert_allclose(mine[:, n].numpy(), other[:, 0].numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_what_lies_behind_the_end_is_not_read(kind: str) -> None:
    given = operands(kind, 4, 2, 3, 5)
    lengths = lento.asarray([2, 4])
    expected = run(kind, *map(lento.asarray, given), lengths=lengths)
    given[0][2:, 0] = np.nan
    for y, want in zip(run(kind, *map(lento.asarray, given), lengths=lengths), expected, strict=True):
        np.testing.assert_array_equal(y.numpy(), want.numpy())


def test_lengths_of_another_number_are_refused() -> None:
    with pytest.raises(lento.errors.ShapeError, match="lengths must be 2 integers, one per sequence, got int64"):
        nn.LSTM(3, 4)(lento.ones((5, 2, 3)), lengths=lento.asarray([5, 3, 1]))
    with pytest.raises(lento.errors.ShapeError, match="lengths must be 2 integers, one per sequence, got float32"):
        nn.GRU(3, 4)(lento.ones((5, 2, 3)), lengths=lento.asarray([5.0, 3.0]))


# --- derivatives ---


def directional(loss: Callable[..., lento.Tensor], given: Arrays, direction: Arrays, step: float = 1e-5) -> float:
    """By central differences of the fourth order."""

    def at(t: float) -> float:
        return float(loss(*(lento.asarray(x + t * d) for x, d in zip(given, direction, strict=True))))

    return (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step)


CASES: list[dict[str, Any]] = [{}, {"reverse": True}, {"lengths": [3, 1, 4]}, {"lengths": [2, 4, 1], "reverse": True}]


def with_tensors(how: dict[str, Any]) -> dict[str, Any]:
    return {name: lento.asarray(x) if name == "lengths" else x for name, x in how.items()}


@pytest.mark.parametrize("how", CASES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_of_both_orders_agree_with_differences(kind: str, how: dict[str, Any]) -> None:
    given = operands(kind, 4, 3, 2, 3)
    random = np.random.default_rng(5)
    direction: Arrays = [random.normal(size=x.shape) for x in given]
    along = [lento.asarray(d) for d in direction]
    tensors = [lento.asarray(x) for x in given]
    loss = loss_of(kind, **with_tensors(how))
    every = tuple(range(len(given)))

    def slope(*tensors: lento.Tensor) -> lento.Tensor:
        gradients = lento.grad(loss, argnums=every)(*tensors)
        return sum((g * d).sum() for g, d in zip(gradients, along, strict=True))

    first = directional(loss, given, direction)
    np.testing.assert_allclose(float(slope(*tensors)), first, rtol=1e-8)
    _, pushed = lento.jvp(loss, tuple(tensors), tuple(along))
    np.testing.assert_allclose(float(pushed), first, rtol=1e-8)
    curvature = sum(
        float((g * d).sum()) for g, d in zip(lento.grad(slope, argnums=every)(*tensors), along, strict=True)
    )
    np.testing.assert_allclose(curvature, directional(slope, given, direction), rtol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("batch", "features", "hidden"), [(0, 2, 3), (2, 0, 3), (2, 3, 0)])
def test_derivatives_of_no_examples_features_or_units(kind: str, batch: int, features: int, hidden: int) -> None:
    given = [lento.ones(shape) for shape in shapes_of(kind, 4, batch, features, hidden)]
    gradients = lento.grad(loss_of(kind), argnums=tuple(range(len(given))))(*given)
    assert [g.shape for g in gradients] == [x.shape for x in given]
    assert all(np.isfinite(g.numpy()).all() for g in gradients)


# --- vmap ---


@pytest.mark.parametrize("how", [{}, {"lengths": [2, 4]}], ids=str)
@pytest.mark.parametrize("shared", [True, False], ids=["one-weight", "many-weights"])
@pytest.mark.parametrize("kind", KINDS)
def test_vmap_is_a_loop(kind: str, shared: bool, how: dict[str, Any]) -> None:
    given = operands(kind, 4, 2, 3, 5)
    count = 1 if not shared else len(given) - 4
    many = [np.stack([x, x[::-1] * 0.5, x - 0.25]) for x in given]
    axes = tuple(0 if i < count or not shared else None for i in range(len(given)))
    tensors = [lento.asarray(given[i] if axis is None else many[i]) for i, axis in enumerate(axes)]
    every = tuple(range(len(given)))

    def function(*tensors: lento.Tensor) -> tuple[lento.Tensor, ...]:
        loss = loss_of(kind, **with_tensors(how))
        return (*run(kind, *tensors, **with_tensors(how)), *lento.grad(loss, argnums=every)(*tensors))

    results = lento.vmap(function, in_axes=axes)(*tensors)
    for i in range(3):
        alone = function(*(x if axis is None else x[i] for x, axis in zip(tensors, axes, strict=True)))
        for y, want in zip(results, alone, strict=True):
            np.testing.assert_allclose(y[i].numpy(), want.numpy(), rtol=1e-10, atol=1e-12)


# --- PyTorch ---


@pytest.mark.peers
@pytest.mark.parametrize("kind", KINDS)
def test_lengths_agree_with_packed_sequences_of_torch(kind: str) -> None:
    torch = pytest.importorskip("torch")
    theirs = getattr(torch.nn, kind.upper())(3, 4, 2, bidirectional=True)
    ours = LAYERS[kind](3, 4, 2, bidirectional=True)
    ours.load_state_dict({name: lento.asarray(value.numpy()) for name, value in theirs.state_dict().items()})
    x = np.random.default_rng(0).normal(size=(6, 3, 3)).astype(np.float32)
    lengths = [6, 4, 1]
    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.tensor(x), torch.tensor(lengths))
    y, state = theirs(packed)
    expected = torch.nn.utils.rnn.pad_packed_sequence(y)[0]
    mine, mine_state = ours(lento.asarray(x), lengths=lento.asarray(lengths))
    np.testing.assert_allclose(mine.numpy(), expected.detach().numpy(), rtol=1e-4, atol=1e-5)
    pairs = zip(mine_state, state, strict=True) if kind == "lstm" else [(mine_state, state)]
    for one, other in pairs:
        np.testing.assert_allclose(one.numpy(), other.detach().numpy(), rtol=1e-4, atol=1e-5)
