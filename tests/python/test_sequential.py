"""Sequential: its steps are added, replaced, taken away and sliced as in a list."""

from __future__ import annotations

from typing import Any

import lento
import numpy as np
import pytest
from lento import nn

X = lento.ones(2)


def made() -> nn.Sequential:
    lento.random.seed(0)
    return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 4), lento.tanh)


def test_steps_can_be_added_to_a_sequential() -> None:
    model = nn.Sequential(nn.Linear(2, 3))
    assert model.append(nn.ReLU()) is model
    assert model.extend([nn.Linear(3, 1), lento.tanh]) is model
    assert (len(model), model(lento.ones(2)).shape) == (4, (1,))
    assert list(model.parameters()) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    with pytest.raises(TypeError, match=r"Sequential.append\(\): step 4 is a int, which cannot be called"):
        model.append(3)


@pytest.mark.parametrize("part", [slice(2), slice(1, 3), slice(-2, None), slice(None, None, 2), slice(9, None)])
def test_a_slice_is_a_sequential_of_the_same_steps(part: slice) -> None:
    model = made()
    steps = list(model)
    few = model[part]
    assert type(few) is nn.Sequential
    assert list(few) == steps[part]
    assert all(one is other for one, other in zip(few, steps[part], strict=True))
    assert list(model) == steps


def test_a_slice_shares_its_parameters_and_names_them_anew() -> None:
    model = made()
    tail = model[2:]
    assert list(tail.state_dict()) == ["0.weight", "0.bias"]
    before = model[2].bias.numpy().copy()
    lento.optim.SGD(tail, lr=1.0).step(lento.grad(lambda tail: tail(lento.ones(3)).sum())(tail))
    assert (model[2].bias.numpy() != before).all()
    np.testing.assert_array_equal(tail(model[:2](X)), model(X))


@pytest.mark.parametrize("i", [0, 2, -2, np.int64(-4)])
def test_a_step_is_replaced_under_its_name(i: Any) -> None:
    model = made()
    steps, names = list(model), list(model.state_dict())
    steps[i] = other = nn.Linear(*steps[i].weight.shape[::-1])  # type: ignore[attr-defined]
    model[i] = other
    assert model[i] is other
    assert list(model) == steps
    assert list(model.state_dict()) == names
    model[-1] = nn.Linear(4, 1)
    assert list(model.state_dict()) == [*names, "3.weight", "3.bias"]


@pytest.mark.parametrize("i", [0, 1, -1, slice(1, 3), slice(None), slice(None, None, 2)])
def test_what_is_left_of_a_deletion_is_numbered_from_0(i: Any) -> None:
    model = made()
    steps = list(model)
    del model[i]
    del steps[i]
    assert (len(model), list(model)) == (len(steps), steps)
    assert [name for name in vars(model) if name.isdecimal()] == [str(k) for k in range(len(steps))]
    assert len(model.append(nn.ReLU())) == len(steps) + 1


@pytest.mark.parametrize("i", [0, 2, 4, 9, -1, -9])
def test_a_step_is_inserted_as_in_a_list(i: int) -> None:
    model = made()
    steps = list(model)
    step = nn.Linear(2, 2)
    assert model.insert(i, step) is model
    steps.insert(i, step)
    assert list(model) == steps
    assert [name for name in vars(model) if name.isdecimal()] == ["0", "1", "2", "3", "4"]


def test_steps_are_changed_after_calls_and_derivatives_too() -> None:
    model = made()
    lento.grad(lambda model: model(X).sum())(model)
    model[1] = lento.tanh
    model.insert(0, nn.Linear(2, 2))
    del model[-1]
    assert lento.grad(lambda model: model(X).sum())(model)[3].weight.shape == (4, 3)
    assert list(model.parameters()) == [f"{i}.{name}" for i in (0, 1, 3) for name in ("weight", "bias")]


def test_what_is_beside_the_steps_stays_where_it_is() -> None:
    class Scaled(nn.Sequential):
        def __init__(self) -> None:
            super().__init__(nn.Linear(2, 2), nn.ReLU())
            self.scale = lento.ones(2)

    model = Scaled()
    names = list(model.parameters())
    model.insert(1, lento.tanh)
    model[-1] = nn.Tanh()
    del model[1]
    assert list(model.parameters()) == names == ["scale", "0.weight", "0.bias"]


def test_steps_that_are_not_there_or_cannot_be_called_change_nothing() -> None:
    model = made()
    steps = list(model)
    for i in (4, -5):
        text = rf"^Sequential: there is no step {i}; there are 4 steps, at test_sequential.py:\d+$"
        with pytest.raises(IndexError, match=text):
            model[i]
        with pytest.raises(IndexError, match=text):
            model[i] = nn.ReLU()
        with pytest.raises(IndexError, match=text):
            del model[i]
    with pytest.raises(TypeError, match=r"^Sequential: the number of a step is an int, not slice, at "):
        model[0:1] = [nn.ReLU()]  # type: ignore[index]
    with pytest.raises(TypeError, match=r"^Sequential: the number of a step is an int, not str, at "):
        model["0"]  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"^Sequential\[…\] = …: step 1 is a int, which cannot be called, at "):
        model[1] = 3
    with pytest.raises(TypeError, match=r"^Sequential.insert\(\): step 1 is a int, which cannot be called, at "):
        model.insert(1, 3)
    with pytest.raises(TypeError, match=r"^Sequential.extend\(\): step 5 is a str, which cannot be called"):
        model.extend([nn.ReLU(), "text"])
    assert list(model) == steps
