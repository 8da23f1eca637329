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


def test_groups_of_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match=r"SGD\(\): groups of parameters"):
        optim.SGD([{"params": nn.Linear(3, 1), "lr": 0.5}], lr=0.1)


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
        (lambda: lento.random.load_state_dict({}), ValueError, "has the name 'state', not []"),
        (lambda: setattr(nn.Linear(1, 1), "weight", [[1.0]]), TypeError, "Linear.weight is a tensor"),
    ],
    ids=["lr", "max_norm", "random", "attribute"],
)
def test_wrong_values_are_named(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        call()


def test_a_parameter_may_be_taken_out() -> None:
    layer = nn.Linear(1, 1)
    layer.bias = None
    assert list(layer.parameters()) == ["weight"]
