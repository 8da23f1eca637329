"""What optimizers, schedules and clipping take and refuse, and the learning rate in a saved state."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import lento
import pytest
from lento import nn, optim


def test_a_changed_learning_rate_is_saved() -> None:
    model = nn.Linear(3, 1)
    saved, resumed = optim.SGD(model, lr=0.1), optim.SGD(model, lr=0.1)
    saved.lr = 0.3
    resumed.load_state_dict(saved.state_dict())
    assert resumed.lr == 0.3


def test_a_schedule_is_neither_saved_nor_replaced() -> None:
    model = nn.Linear(3, 1)
    schedule = optim.cosine(0.1, 10)
    scheduled, plain = optim.SGD(model, lr=schedule), optim.SGD(model, lr=0.2)
    assert "lr" not in scheduled.state_dict()
    scheduled.load_state_dict(plain.state_dict())
    assert scheduled.lr is schedule
    plain.load_state_dict(scheduled.state_dict())
    assert plain.lr == 0.2


def test_a_bad_learning_rate_in_a_state_changes_nothing() -> None:
    optimizer = optim.SGD(nn.Linear(3, 1), lr=0.1)
    for bad in (lento.asarray(-1.0), lento.ones(2)):
        with pytest.raises(ValueError, match="lr"):
            optimizer.load_state_dict({**optimizer.state_dict(), "lr": bad, "step_count": lento.asarray(7)})
        assert (optimizer.lr, optimizer.step_count) == (0.1, 0)


def test_the_values_of_parameters_are_a_list() -> None:
    model = nn.Linear(1, 1)
    before = model.weight.item()
    optim.SGD(model.parameters().values(), lr=1.0).step([lento.ones((1, 1)), lento.zeros(1)])
    assert model.weight.item() == pytest.approx(before - 1)


class Pair(nn.Module):
    def __init__(self, *names: str) -> None:
        for name in names:
            setattr(self, name, lento.zeros(2))


class OtherPair(Pair):
    pass


@pytest.mark.parametrize(
    "gradients,message",
    [
        (OtherPair("b", "a"), "has ['b', 'a'] instead of ['a', 'b']"),
        ({"a": lento.zeros(2), "b": lento.zeros(2)}, "has a dict where the first has a Pair of 2 parts"),
        (lento.zeros(2), "has a Tensor where the first has a Pair of 2 parts"),
    ],
    ids=["names", "dict", "tensor"],
)
def test_gradients_of_another_form_are_refused(gradients: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        optim.SGD(Pair("a", "b"), lr=0.1).step(gradients)


def test_a_warmup_may_end_at_a_number() -> None:
    assert [optim.warmup(1.0, 2)(i) for i in range(4)] == [0.5, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "call,error,message",
    [
        (lambda: optim.Adam(nn.Linear(1, 1), lr=None), TypeError, "Adam(): lr is a number, not None"),  # type: ignore[arg-type]
        (lambda: optim.clip_grad_norm([lento.ones(2)], -1.0), ValueError, "max_norm is -1.0"),
        (
            lambda: optim.SGD(nn.Linear(1, 1), 0.1).load_state_dict(3),  # type: ignore[arg-type]
            TypeError,
            "SGD.load_state_dict(): a state is a dict of tensors by name, not int",
        ),
        (lambda: lento.random.load_state_dict({}), ValueError, "has the name 'state', not []"),
        (lambda: setattr(nn.Linear(1, 1), "weight", [[1.0]]), TypeError, "Linear.weight is a tensor"),
    ],
    ids=["lr", "max_norm", "state", "random", "attribute"],
)
def test_wrong_values_are_named(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        call()


def test_a_parameter_may_be_taken_out() -> None:
    layer = nn.Linear(1, 1)
    layer.bias = None
    assert list(layer.parameters()) == ["weight"]


def test_adam_takes_a_real_gradient_of_a_complex_parameter() -> None:
    p = lento.asarray([1 + 2j], dtype=lento.complex128)
    optim.Adam(p, lr=0.5).step(lento.asarray([3.0]))
    assert p.imag.item() == 2
    assert p.real.item() == pytest.approx(0.5)


def test_a_step_that_fails_changes_nothing() -> None:
    parameters = [lento.ones(2), lento.ones(2)]
    optimizer = optim.SGD(parameters, lr=0.1, momentum=0.9)
    elsewhere = lento.ones(2, device="reference")
    with pytest.raises(lento.errors.DeviceError, match=r"^SGD.step\(\): .*, at test_optim_settings.py:"):
        optimizer.step([lento.ones(2), elsewhere])
    assert optimizer.step_count == 0
    assert [p.tolist() for p in (*parameters, *optimizer.state["momentum_buffer"].values())] == [[1, 1]] * 2 + [
        [0, 0]
    ] * 2


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("lr", -1, "Adam(): lr is -1, which is less than 0 or no number"),
        ("lr", None, "Adam(): lr is a number, not None"),
        ("betas", (0.9, 1.5), "Adam(): betas are two numbers from 0 to less than 1"),
        ("learning_rate", 0.1, "Adam: 'learning_rate' cannot be assigned; the learning rate is lr"),
        ("decay", 0.1, "Adam: there is no 'decay' to assign; the settings are lr, betas, eps, weight_decay"),
    ],
)
def test_settings_are_checked_when_they_are_assigned(name: str, value: Any, message: str) -> None:
    optimizer = optim.Adam(nn.Linear(1, 1), lr=0.5)
    with pytest.raises((ValueError, TypeError, AttributeError), match=re.escape(message)):
        setattr(optimizer, name, value)
    assert (optimizer.lr, optimizer.betas, optimizer.learning_rate()) == (0.5, (0.9, 0.999), 0.5)
    optimizer.lr = optim.cosine(0.25, 10)
    assert optimizer.learning_rate() == 0.25


def test_settings_of_groups_are_checked_when_they_are_assigned() -> None:
    optimizer = optim.SGD(Pair("a", "b"), lr=0.5, groups=[{"params": "a", "lr": 0.25}])
    with pytest.raises(ValueError, match=r"lr is -1, which is less than 0"):
        optimizer.param_groups[0]["lr"] = -1
    assert optimizer.groups[0]["lr"] == 0.25


def test_an_optimizer_of_ones_own_may_have_any_attribute() -> None:
    class Counting(optim.Optimizer):
        def update(self, parameter: Any, gradient: Any, kept: Any, lr: float, step: int) -> None:
            self.updates = step
            parameter -= lr * gradient

    optimizer = Counting(lento.ones(2), lr=0.5)
    optimizer.step(lento.ones(2))
    assert optimizer.updates == 1
    with pytest.raises(AttributeError, match="the learning rate is lr"):
        optimizer.learning_rate = 0.1  # type: ignore[method-assign,assignment]


def test_a_momentum_may_be_given_later() -> None:
    later, first = lento.ones(2), lento.ones(2)
    optimizer = optim.SGD(later, lr=0.25)
    optimizer.momentum = 0.5
    for o in (optimizer, optim.SGD(first, lr=0.25, momentum=0.5)):
        o.step(lento.ones(2))
        o.step(lento.ones(2))
    assert later.tolist() == first.tolist() == [0.375, 0.375]


@pytest.mark.parametrize("wrap", [lambda o: o, lambda o: optim.MultiSteps(o, 2)], ids=["SGD", "MultiSteps"])
def test_a_step_without_gradients_says_where_they_come_from(wrap: Any) -> None:
    optimizer = wrap(optim.SGD(nn.Linear(1, 1), lr=0.1))
    name = type(optimizer).__name__
    with pytest.raises(TypeError, match=rf"{name}.step\(\) takes the gradients that lento.value_and_grad returned: "):
        optimizer.step()
