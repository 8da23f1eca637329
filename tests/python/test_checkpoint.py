"""checkpoint: the derivative is the same, what a function does beside its result happens once, and what it finds the
second time is what it found the first time."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest
from lento import nn

Block = Callable[[lento.Tensor], lento.Tensor]


def t(*values: float) -> lento.Tensor:
    return lento.asarray(np.array(values, np.float32))


def value_and_slope(block: Block, x: lento.Tensor) -> tuple[np.ndarray, np.ndarray]:
    value, pull = lento.vjp(block, x)
    (slope,) = pull(lento.ones_like(value))
    return value.numpy(), slope.numpy()


# --- the derivative ---


def test_checkpoint_has_the_same_derivative() -> None:
    w = lento.asarray(np.random.default_rng(1).normal(size=(3, 3)).astype(np.float32))

    def block(p: dict[str, lento.Tensor], x: lento.Tensor) -> lento.Tensor:
        return lento.tanh(p["w"] @ lento.tanh(x))

    def f(layer: Any, p: Any, x: Any) -> Any:
        return layer(p, layer(p, x)).sum()

    plain = lento.grad(lambda p, x: f(block, p, x), (0, 1))({"w": w}, t(1, 2, 3))
    again = lento.grad(lambda p, x: f(lento.checkpoint(block), p, x), (0, 1))({"w": w}, t(1, 2, 3))
    np.testing.assert_array_equal(plain[0]["w"].numpy(), again[0]["w"].numpy())
    np.testing.assert_array_equal(plain[1].numpy(), again[1].numpy())


def test_checkpoint_computes_twice() -> None:
    """What is recomputed is not merged with what was computed."""
    f = lambda x: lento.exp(lento.sin(x))  # noqa: E731
    x = t(1, 2)

    def count(layer: Any) -> int:
        return lento.dump(lento.grad(lambda y: layer(y).sum())(x)).count("sin")

    assert count(f) == 1
    assert count(lento.checkpoint(f)) == 1  # the forward sine is dead here
    value, gradient = lento.value_and_grad(lambda y: lento.checkpoint(f)(y).sum())(x)
    assert lento.dump([value, gradient]).count("sin") == 2


# --- random numbers ---


def test_a_generator_of_its_own_draws_the_same_again() -> None:
    generator = lento.random.Generator(5)
    block = lento.checkpoint(lambda x: x * lento.random.uniform((64,), generator=generator))
    x = lento.ones(64)
    value, slope = value_and_slope(block, x)
    np.testing.assert_array_equal(slope, value)  # it is linear in x, which is 1
    # The generator has moved once, as without checkpoint.
    plain = lento.random.Generator(5)
    lento.random.uniform((64,), generator=plain)
    assert generator.state == plain.state


def test_generators_that_are_made_or_seeded_inside() -> None:
    def block(x: lento.Tensor) -> lento.Tensor:
        lento.random.seed(3)
        own = lento.random.Generator(int(x[0].item()))
        return x * lento.random.uniform((2,)) * lento.random.uniform((2,), generator=own)

    value, pull = lento.vjp(lento.checkpoint(block), t(1, 1))
    lento.random.uniform((7,))
    state = lento.random.default_generator().state
    np.testing.assert_array_equal(pull(t(1, 1))[0].numpy(), value.numpy())
    assert lento.random.default_generator().state == state


def test_checkpoints_inside_checkpoints_draw_the_same_again() -> None:
    generator = lento.random.Generator(1)
    draw = lambda x: x * lento.random.uniform((3,), generator=generator)  # noqa: E731
    inner = lento.checkpoint(draw)
    outer = lento.checkpoint(lambda x: inner(draw(inner(x))))
    value, slope = value_and_slope(outer, lento.ones(3))
    np.testing.assert_allclose(slope, value, rtol=1e-6)
    # A derivative inside draws again what is its own, and the outer one what follows it.
    with_slope = lento.checkpoint(lambda x: draw(x * lento.grad(lambda y: inner(y).sum())(x)))
    value, slope = value_and_slope(with_slope, lento.ones(3))
    np.testing.assert_allclose(slope, value, rtol=1e-6)


def test_drawing_something_else_the_second_time_is_an_error() -> None:
    sizes = iter([2, 3, 2])
    block = lento.checkpoint(lambda x: x * lento.random.uniform((2, next(sizes))).sum())
    _, pull = lento.vjp(block, t(1, 2))
    with pytest.raises(ValueError, match="draws other random numbers than the first time"):
        pull(t(1, 1))
    state = lento.random.default_generator().state  # the thread draws as always afterwards
    lento.random.uniform((4,))
    assert lento.random.default_generator().state != state
    draws = iter([True, False])
    block = lento.checkpoint(lambda x: x * lento.random.uniform((2,)) if next(draws) else x)
    _, pull = lento.vjp(block, t(1, 2))
    with pytest.raises(ValueError, match="draws other random numbers than the first time"):
        pull(t(1, 1))


# --- tensors that are changed ---


def test_a_captured_batch_norm_counts_once() -> None:
    x = lento.asarray(np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32))

    def trained(wrap: Callable[[Block], Block]) -> list[bytes]:
        norm = nn.BatchNorm(3)
        slope = lento.grad(lambda x: (wrap(lambda x: norm(x))(x) ** 3).sum())(x)
        return [slope.tobytes(), *(buffer.tobytes() for buffer in norm.buffers().values())]

    assert trained(lento.checkpoint) == trained(lambda block: block)


def test_captured_tensors_are_as_they_were_and_stay_as_they_are() -> None:
    count, table = t(1), t(10, 20)

    def block(x: lento.Tensor) -> lento.Tensor:
        own = x * 1
        own += table[0]  # the function's own
        table[0] = table[0] + 1
        count.__imul__(2)
        return own * count

    _, pull = lento.vjp(lento.checkpoint(block), t(3))
    assert (count.tolist(), table.tolist()) == ([2], [11, 20])
    count += 5
    assert pull(t(1))[0].tolist() == [2]  # the count as it was then
    assert (count.tolist(), table.tolist()) == ([7], [11, 20])
    assert pull(t(1))[0].tolist() == [2]


def test_what_a_thread_of_the_function_changes_is_changed_again() -> None:
    """As documented: nobody watches it."""
    count = t(0)

    def block(x: lento.Tensor) -> lento.Tensor:
        thread = threading.Thread(target=lambda: count.__iadd__(1))
        thread.start()
        thread.join()
        return x * 2

    _, pull = lento.vjp(lento.checkpoint(block), t(1))
    assert (pull(t(1))[0].tolist(), count.tolist()) == ([2], [2])


def test_a_function_that_fails_the_second_time_leaves_no_trace() -> None:
    count = t(0)
    calls = iter(range(3))

    def block(x: lento.Tensor) -> lento.Tensor:
        count.__iadd__(1)
        if next(calls) == 1:
            raise KeyError("second")
        return x * 2

    _, pull = lento.vjp(lento.checkpoint(block), t(1))
    with pytest.raises(KeyError, match="second"):
        pull(t(1))
    assert count.tolist() == [1]
    assert pull(t(1))[0].tolist() == [2]
    count += 1  # and nobody notes changes any more
    assert count.tolist() == [2]


def test_what_the_function_makes_for_itself_is_not_kept() -> None:
    made: list[weakref.ref[lento.Tensor]] = []

    def block(x: lento.Tensor) -> lento.Tensor:
        own = x * 2
        own += 1
        made.append(weakref.ref(own))
        return own * own

    _, pull = lento.vjp(lento.checkpoint(block), t(1))
    gc.collect()
    assert made[0]() is None
    assert pull(t(1))[0].tolist() == [12]


@pytest.mark.parametrize("changed,value,slope", [("result", 3, 2), ("argument", 12, 11), ("both", 2, 1)])
def test_results_and_arguments_that_it_changes_are_not_kept(changed: str, value: float, slope: float) -> None:
    """Nor their values before, which would be kept with them."""
    made: list[weakref.ref[lento.Tensor]] = []

    def block(x: lento.Tensor) -> lento.Tensor:
        own = x if changed == "both" else x * 2
        own += 1
        if changed == "argument":
            x += 3
        made.extend([weakref.ref(own), weakref.ref(x)])
        return own * x if changed == "argument" else own

    x = t(1)
    found, pull = lento.vjp(lento.checkpoint(block), x)
    assert [tensor() for tensor in made] == [None, None]
    assert (found.tolist(), pull(t(1))[0].tolist(), x.tolist()) == ([value], [slope], [1])
    assert [tensor() for tensor in made] == [None] * 4
