"""compile (clause F3): what a function reaches without being given it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts, ones
from frozen_functions import bits, frozen, t, warnings_are_errors

__all__ = ["warnings_are_errors"]  # a fixture for all tests here


# --- F3: what is reached without being given ---

weight = lento.ones(3)


def test_f3_a_global_is_read_anew() -> None:
    global weight
    g = frozen(lambda x: x * weight, ones())
    counts = Counts()
    weight[...] = 5
    np.testing.assert_array_equal(g(ones()).numpy(), [5, 5, 5])
    weight = t(1, 2, 3)  # another object under the name
    np.testing.assert_array_equal(g(ones()).numpy(), [1, 2, 3])
    assert (counts["freeze.hit"], counts["freeze.record"]) == (2, 0)


def test_f3_a_captured_variable_is_read_anew_and_may_get_another_shape() -> None:
    w = t(1, 2)
    g = frozen(lambda x: x * w, t(1, 1))
    w = t(3, 4)
    np.testing.assert_array_equal(g(t(1, 1)).numpy(), [3, 4])
    w = t(5)
    for _ in range(3):
        np.testing.assert_array_equal(g(t(1, 1)).numpy(), [5, 5])


def test_f3_handles_are_changed_in_place() -> None:
    total = lento.zeros(2)

    def add(x: lento.Tensor) -> lento.Tensor:
        nonlocal total
        total += x
        total[0] = total[1] * 2
        return total

    g = lento.compile(add)
    counts = Counts()
    for i in range(1, 6):
        assert g(t(1, 1)) is total
        np.testing.assert_array_equal(total.numpy(), [2 * i, i])
    assert counts["freeze.hit"] == 3


def test_f3_an_argument_is_changed_in_place() -> None:
    def f(x: lento.Tensor) -> None:
        x *= 2

    g = lento.compile(f)
    for _ in range(4):
        x = t(1, 2)
        other = x.__copy__()
        assert g(x) is None
        np.testing.assert_array_equal(x.numpy(), [2, 4])
        np.testing.assert_array_equal(other.numpy(), [1, 2])


def test_f3_t6_a_changed_tensor_is_donated() -> None:
    state = lento.zeros(1000)

    def step() -> None:
        nonlocal state
        state += 1

    g = frozen(step)
    lento.wait()
    counts = Counts()
    for _ in range(5):
        g()
    lento.wait()
    assert counts["freeze.hit"] == 5
    assert counts["donation"] == 5
    assert float(state[0]) == 7


class Simulation:
    def __init__(self) -> None:
        self.position, self.velocity, self.previous = t(0, 1), t(1, 0), t(0, 0)
        self.dt = 0.5

    def step(self) -> lento.Tensor:
        self.previous = self.position
        self.position = self.position + self.velocity * self.dt
        self.velocity = self.velocity - self.position * self.dt
        return (self.velocity**2).sum()


def test_f3_attributes_that_get_other_tensors() -> None:
    plain, compiled = Simulation(), Simulation()
    g = lento.compile(compiled.step)
    counts = Counts()
    for _ in range(6):
        assert bits(plain.step()) == bits(g())
        assert bits([plain.position, plain.velocity, plain.previous]) == bits(
            [compiled.position, compiled.velocity, compiled.previous]
        )
    assert counts["freeze.hit"] == 4


def test_f3_a_number_beside_the_function_that_changes_is_seen() -> None:
    compiled = Simulation()
    g = frozen(compiled.step)
    plain = Simulation()
    for _ in range(2):
        plain.step()
    compiled.dt = plain.dt = 0.25
    for _ in range(4):
        assert bits(plain.step()) == bits(g())


def test_f3_the_shape_of_a_tensor_that_is_not_computed_with_is_seen() -> None:
    class Cache:
        def __init__(self) -> None:
            self.held: Any = t(1, 2)
            self.beside = t(1)  # no code names it

        def f(self, x: lento.Tensor) -> lento.Tensor:
            return x * (0 if self.held is None else self.held.shape[0])

    cache = Cache()
    g = frozen(cache.f, ones())
    cache.beside = t(1, 2, 3)
    counts = Counts()
    np.testing.assert_array_equal(g(ones()).numpy(), [2, 2, 2])
    assert counts["freeze.hit"] == 1
    cache.held = t(1, 2, 3, 4)
    np.testing.assert_array_equal(g(ones()).numpy(), [4, 4, 4])
    cache.held = None
    np.testing.assert_array_equal(g(ones()).numpy(), [0, 0, 0])


def test_f3_a_number_that_only_others_use_may_change() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.count = 0
            self.factor = 2.0

        def step(self, x: lento.Tensor) -> lento.Tensor:
            return self.scaled(x)

        def scaled(self, x: lento.Tensor) -> lento.Tensor:
            return x * self.factor

        def report(self) -> str:
            return f"{self.count} steps"

    trainer = Trainer()
    g = frozen(trainer.step, ones())
    counts = Counts()
    for _ in range(5):
        trainer.count += 1
        np.testing.assert_array_equal(g(ones()).numpy(), [2, 2, 2])
    assert counts["freeze.hit"] == 5
    trainer.factor = 3.0
    np.testing.assert_array_equal(g(ones()).numpy(), [3, 3, 3])


def test_f3_a_number_that_a_module_uses_is_seen() -> None:
    class Scaled(lento.nn.Module):
        def __init__(self) -> None:
            self.weight = t(1, 2)
            self.factor = 2.0

        def forward(self, x: lento.Tensor) -> lento.Tensor:
            return x * self.weight * self.factor

    model = lento.nn.Sequential(Scaled(), Scaled())
    g = frozen(lambda x: model(x), t(1, 1))
    model[1].factor = 3.0
    for _ in range(3):
        np.testing.assert_array_equal(g(t(1, 1)).numpy(), [6, 24])
    by_argument = frozen(lambda m, x: m(x), model, t(1, 1))
    model[0].factor = 1.0
    counts = Counts()
    for _ in range(4):
        np.testing.assert_array_equal(by_argument(model, t(1, 1)).numpy(), [3, 12])
    assert counts["freeze.hit"] == 2


def test_f3_an_attribute_of_a_function_is_read_anew() -> None:
    def f(x: lento.Tensor) -> lento.Tensor:
        return x * f.weight  # type: ignore[attr-defined, no-any-return]

    f.weight = t(2)  # type: ignore[attr-defined]
    g = frozen(f, t(1))
    f.weight = t(3)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(g(t(1)).numpy(), [3])


def test_f3_a_number_of_a_class_that_changes_is_seen() -> None:
    class Settings:
        scale = 2.0

    g = frozen(lambda x: x * Settings.scale, ones())
    Settings.scale = 3.0
    for _ in range(3):
        np.testing.assert_array_equal(g(ones()).numpy(), [3, 3, 3])


@pytest.mark.parametrize("optimizer", [lento.optim.SGD, lento.optim.Adam, lento.optim.AdamW, lento.optim.RAdam])
def test_f3_a_training_step_with_a_model_an_optimizer_and_dropout(optimizer: Any) -> None:
    def train(wrap: Callable[..., Any]) -> list[Any]:
        lento.random.seed(5)
        nn = lento.nn
        model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.4), nn.Linear(8, 1))
        rates = optimizer(model, lr=lento.optim.cosine(0.1, 10))

        def loss(model: Any, x: lento.Tensor) -> lento.Tensor:
            return (model(x) ** 2).mean()

        def step(x: lento.Tensor) -> lento.Tensor:
            value, gradients = lento.value_and_grad(loss)(model, x)
            rates.step(gradients)
            return value

        taken = wrap(step)
        seen = []
        for i in range(8):
            seen.append(taken(lento.asarray(np.random.default_rng(i).normal(size=(6, 3)).astype(np.float32))))
            lento.step()
        model.eval()  # another mode: other code
        seen.append(taken(lento.ones((6, 3))))
        return bits([seen, model.state_dict(), rates.state_dict()])

    counts = Counts()
    assert train(lambda f: f) == train(lento.compile)
    assert counts["freeze.hit"] >= 4
    assert counts["freeze.fallback"] == 0


def test_f3_groups_and_settings_that_change() -> None:
    def train(wrap: Callable[..., Any]) -> list[Any]:
        w = {"a": t(1, 2), "b": t(3, 4)}
        optimizer = lento.optim.AdamW(w, lr=0.1, groups=[{"params": "b", "lr": 0.01}])

        def step() -> None:
            optimizer.step(lento.grad(lambda p: (p["a"] * p["b"]).sum())(w))

        taken = wrap(step)
        for i in range(10):
            if i == 5:
                optimizer.groups[0]["lr"] = 0.5
            if i == 7:
                optimizer.weight_decay = 0.25
            taken()
        return bits([w, optimizer.state_dict()])

    counts = Counts()
    assert train(lambda f: f) == train(lento.compile)
    assert counts["freeze.hit"] == 6


def test_f3_an_optimizer_of_ones_own() -> None:
    class Decay(lento.optim.Optimizer):
        kept = ("velocity",)

        def update(self, parameter: Any, gradient: Any, kept: Any, lr: float, step: int) -> None:
            kept["velocity"] *= 0.9
            kept["velocity"] += gradient
            parameter -= lr * kept["velocity"]

    def train(wrap: Callable[..., Any]) -> list[Any]:
        w = t(1, 2)
        optimizer = Decay(w, lr=lambda step: 0.5 / (step + 1))
        taken = wrap(lambda: optimizer.step(lento.grad(lambda p: (p**2).sum())(w)))
        for _ in range(6):
            taken()
        return [*bits(w), optimizer.step_count]

    counts = Counts()
    assert train(lambda f: f) == train(lento.compile)
    assert counts["freeze.hit"] == 4


def test_f3_a_generator_advances_as_by_the_function() -> None:
    mine = lento.Generator(4)

    def f(x: lento.Tensor) -> Any:
        return x + lento.random.normal((3,)), lento.random.uniform((2,), generator=mine)

    g = lento.compile(f)
    lento.random.seed(9)
    expected = [bits(f(ones())) for _ in range(5)]
    lento.random.seed(9)
    mine.state = (4, 0)
    counts = Counts()
    assert [bits(g(ones())) for _ in range(5)] == expected
    assert counts["freeze.hit"] == 3


def test_f3_host_numbers_are_asked_anew() -> None:
    now = [1.0, 3]
    g = lento.compile(lambda x: x * lento.host_number(lambda: now[0]) + lento.host_number(lambda: now[1]))
    counts = Counts()
    for i in range(5):
        now[:] = [0.5 * i, i]
        np.testing.assert_array_equal(g(ones()).numpy(), np.full(3, 1.5 * i, np.float32))
    assert counts["freeze.hit"] == 3
    assert lento.host_number(lambda: 7) == 7  # outside of a recording it is a number
