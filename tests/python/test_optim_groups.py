"""Groups of parameters: who is in them, their settings, states, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts
from lento import nn, optim


class Net(nn.Module):
    def __init__(self) -> None:
        self.body = nn.Linear(2, 2)
        self.head = nn.Linear(2, 1)


def ones_like(model: Any) -> Any:
    return lento.tree.map(lento.ones_like, model)


def moved(model: Net, optimizer: optim.Optimizer) -> dict[str, float]:
    """By how much a step with gradients of 1 lowers each parameter."""
    before = {name: p.numpy().copy() for name, p in model.parameters().items()}
    optimizer.step(ones_like(model))
    return {name: round(float((before[name] - p.numpy()).mean()), 5) for name, p in model.parameters().items()}


@pytest.mark.parametrize(
    "pick",
    [
        lambda net: "head",
        lambda net: ["head.weight", "head.bias"],
        lambda net: net.head,
        lambda net: net.head.parameters().values(),
        lambda net: iter([net.head.weight, net.head.bias]),
        lambda net: lambda name, p: name.startswith("head"),
    ],
    ids=["name", "names", "module", "values", "iterator", "function"],
)
def test_a_group_is_a_part_by_name_by_tensors_or_by_a_function(pick: Callable[[Net], Any]) -> None:
    net = Net()
    optimizer = optim.SGD(net, lr=0.5, groups=[{"params": pick(net), "lr": 0.25}])
    assert moved(net, optimizer) == {"body.weight": 0.5, "body.bias": 0.5, "head.weight": 0.25, "head.bias": 0.25}
    assert [id(p) for p in optimizer.groups[0]["params"]] == [id(net.head.weight), id(net.head.bias)]


def test_a_list_of_groups_takes_a_list_of_gradients() -> None:
    net = Net()
    optimizer = optim.SGD([{"params": net.body}, {"params": net.head.parameters().values(), "lr": 0.25}], lr=0.5)
    bias: Any = net.head.bias
    before = bias.item()
    gradients = ones_like(net)
    optimizer.step([gradients.body, list(gradients.head.parameters().values())])
    assert bias.item() == pytest.approx(before - 0.25)
    assert list(optimizer.parameters) == ["0.weight", "0.bias", "1.0", "1.1"]


def test_a_setting_that_a_group_does_not_have_is_the_optimizers() -> None:
    net = Net()
    optimizer = optim.SGD(net, lr=0.5, momentum=0.5, groups=[{"params": "head", "weight_decay": 0.0}])
    optimizer.lr = 0.125
    assert moved(net, optimizer)["head.bias"] == 0.125
    optimizer.groups[0]["lr"] = 0.25
    optimizer.groups[0]["momentum"] = 0.0
    assert moved(net, optimizer) == {"body.weight": 0.1875, "body.bias": 0.1875, "head.weight": 0.25, "head.bias": 0.25}


def test_a_group_may_have_a_schedule() -> None:
    net = Net()
    optimizer = optim.SGD(net, lr=0.5, groups=[{"params": "head", "lr": optim.linear(1.0, 0.0, 2)}])
    assert [moved(net, optimizer)["head.bias"] for _ in range(3)] == [1.0, 0.5, 0.0]


def test_param_groups_are_those_of_pytorch() -> None:
    net = Net()
    optimizer = optim.AdamW(net, lr=0.5, groups=[{"params": "head", "weight_decay": 0.0}])
    head, rest = optimizer.param_groups
    assert (rest["weight_decay"], head["weight_decay"], head["lr"]) == (1e-2, 0.0, 0.5)
    assert [len(group["params"]) for group in optimizer.param_groups] == [2, 2]
    assert list(head) == ["params", "lr", "betas", "eps", "weight_decay"]
    for group in optimizer.param_groups:
        group["lr"] *= 0.5
    assert (optimizer.lr, optimizer.groups[0]["lr"]) == (0.25, 0.25)
    with pytest.raises(ValueError, match="AdamW: 'size' is no setting that can be changed"):
        head["size"] = 3
    with pytest.raises(KeyError):
        head["size"]


def test_settings_of_groups_compile_nothing() -> None:
    net = Net()
    optimizer = optim.AdamW(net, lr=0.5, groups=[{"params": "head", "lr": 0.1, "weight_decay": 0.5}])
    for _ in range(4):
        optimizer.step(ones_like(net))
        lento.step(wait=True)
    counts = Counts()
    for i in range(4):
        optimizer.groups[0].update(lr=0.1 / (i + 2), weight_decay=0.3 + i, betas=(0.5, 0.6 + i / 10))
        optimizer.step(ones_like(net))
        lento.step(wait=True)
    assert (counts["plan.miss"], counts["kernel.compile"]) == (0, 0)


# --- states ---


def with_groups(net: Net, **head: Any) -> optim.Optimizer:
    return optim.AdamW(net, lr=0.5, groups=[{"params": "head", **head}, {"params": "body.bias", "weight_decay": 0.25}])


def test_groups_are_saved_and_restored() -> None:
    net = Net()
    optimizer = with_groups(net, lr=0.1, betas=(0.5, 0.6), eps=1e-3)
    saved = optimizer.state_dict()
    assert list(saved)[:6] == [
        "step_count",
        "lr",
        "groups.0.lr",
        "groups.0.betas",
        "groups.0.eps",
        "groups.1.weight_decay",
    ]
    other = with_groups(Net(), lr=0.2, betas=(0.9, 0.9), eps=1e-8)
    other.groups[1]["weight_decay"] = 0.0
    other.load_state_dict(saved)
    settings = [{name: own[name] for name in own if name != "params"} for own in other.groups]
    assert settings == [{"lr": 0.1, "betas": (0.5, 0.6), "eps": 1e-3}, {"weight_decay": 0.25}]


def test_a_schedule_of_a_group_is_neither_saved_nor_replaced() -> None:
    schedule = optim.constant(0.1)
    scheduled, plain = with_groups(Net(), lr=schedule), with_groups(Net(), lr=0.2)
    assert "groups.0.lr" not in scheduled.state_dict()
    scheduled.load_state_dict(plain.state_dict())
    assert scheduled.groups[0]["lr"] is schedule
    plain.load_state_dict(scheduled.state_dict())
    assert plain.groups[0]["lr"] == 0.2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups.2.lr": None}, "not known here: groups.2.lr"),
        ({"groups.1.weight_decay": None}, "missing: groups.1.weight_decay"),
        ({"groups.1.weight_decay": -1.0}, "groups.1.weight_decay is -1.0, which is less than 0"),
        ({"groups.0.betas": [0.5, 1.5]}, "groups.0.betas are two numbers from 0 to less than 1"),
        ({"groups.0.betas": [0.5]}, "groups.0.betas has shape (2,), but the given value (1,)"),
    ],
    ids=["unknown", "missing", "negative", "betas", "shape"],
)
def test_a_state_with_other_groups_changes_nothing(change: dict[str, Any], message: str) -> None:
    optimizer = with_groups(Net(), betas=(0.5, 0.6))
    state: dict[str, Any] = {**optimizer.state_dict(), "lr": lento.asarray(7.0), "step_count": lento.asarray(3)}
    for name, value in change.items():
        if name in state and value is None:
            del state[name]
        else:
            state[name] = lento.asarray(0.1 if value is None else value)
    with pytest.raises(ValueError, match=re.escape(message)):
        optimizer.load_state_dict(state)
    assert (optimizer.lr, optimizer.step_count, optimizer.groups[0]["betas"]) == (0.5, 0, (0.5, 0.6))


# --- errors ---


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda n: optim.SGD(n, 0.1, groups=[{"params": "haed"}]), "SGD(): groups.0: no parameter is named 'haed'"),
        (lambda n: optim.SGD(n, 0.1, groups=[{"params": "hea"}]), "SGD(): groups.0: no parameter is named 'hea'"),
        (lambda n: optim.SGD(n, 0.1, groups=[{"params": lambda name, p: False}]), "SGD(): groups.0 has no parameters"),
        (
            lambda n: optim.SGD(n, 0.1, groups=[{"params": "head"}, {"params": n.head.bias}]),
            "SGD(): head.bias is in groups.0 and groups.1",
        ),
        (
            lambda n: optim.SGD(n, 0.1, groups=[{"params": lento.ones(2)}]),
            "SGD(): groups.0 has a tensor that is none of the parameters",
        ),
        (
            lambda n: optim.SGD(n, 0.1, groups=[{"params": "head", "betas": (0.1, 0.2)}]),
            "SGD(): groups.0 has betas, which is no setting that a group of this optimizer may have",
        ),
        (
            lambda n: optim.SGD(n, 0.1, groups=[{"params": "head", "momentum": 0.5}]),
            "SGD(): groups.0 has momentum, which is no setting",
        ),
        (
            lambda n: optim.Adam(n, 0.1, groups=[{"params": "head", "lr": -1.0}]),
            "Adam(): groups.0.lr is -1.0, which is less than 0",
        ),
        (
            lambda n: optim.Adam(n, groups=[{"lr": 0.1}]),
            "Adam(): groups.0 must be a dict with 'params', not one with 'lr'",
        ),
        (
            lambda n: optim.Adam([{"params": n.head}, n.body]),
            "Adam(): groups.1 must be a dict with 'params', not Linear",
        ),
        (lambda n: optim.Adam(n, groups=[{}]), "Adam(): groups.0 must be a dict with 'params', not an empty one"),
        (
            lambda n: optim.Adam([{"params": n.head}], groups=[{"params": "0"}]),
            "Adam(): groups are given twice: as parameters and as groups",
        ),
        (lambda n: optim.Adam([{"params": n.head}, {"params": n.head}]), "Adam(): a tensor is there twice"),
    ],
)
def test_groups_that_do_not_fit_are_refused(make: Callable[[Net], Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        make(Net())


def test_a_gradient_that_does_not_fit_changes_no_group() -> None:
    parameters = {"a": lento.ones(2), "b": lento.ones(2)}
    optimizer = optim.SGD(parameters, 0.1, groups=[{"params": "b", "lr": 0.2}])
    with pytest.raises(ValueError, match=r"SGD.step\(\): b has shape \(2,\), but its gradient \(3,\)"):
        optimizer.step({"a": lento.ones(2), "b": lento.ones(3)})
    assert parameters["a"].tolist() == [1, 1]


# --- an optimizer of one's own ---


class Signs(optim.Optimizer):
    """Steps in the direction of the gradient's sign, two at most."""

    kept = ("calls",)

    def update(
        self, parameter: lento.Tensor, gradient: lento.Tensor, kept: dict[str, lento.Tensor], lr: float, step: int
    ) -> None:
        parameter -= lr * lento.sign(gradient)
        kept["calls"] += 1
        if step > 2:
            raise ArithmeticError("no more")


def test_ones_own_optimizer_has_groups_and_changes_nothing_where_it_raises() -> None:
    parameters = {"a": lento.ones(1), "b": lento.ones(1)}
    optimizer = Signs(parameters, 0.5, groups=[{"params": "b", "lr": 0.25}])
    gradients = {"a": lento.full(1, 7.0), "b": lento.full(1, -7.0)}
    for _ in range(2):
        optimizer.step(gradients)
    with pytest.raises(ArithmeticError, match="no more"):
        optimizer.step(gradients)
    assert [parameters["a"].item(), parameters["b"].item()] == [0.0, 1.5]
    assert optimizer.state_dict()["calls.a"].item() == 2
    assert optimizer.step_count == 2


# --- beside torch ---


@pytest.mark.peers
def test_groups_agree_with_torch() -> None:
    torch = pytest.importorskip("torch")
    net = Net()
    theirs = [torch.nn.Parameter(torch.tensor(p.numpy().copy())) for p in net.parameters().values()]
    settings: list[dict[str, Any]] = [{"lr": 0.05, "weight_decay": 0.5}, {"betas": (0.5, 0.6), "eps": 1e-2}]
    optimizer = optim.AdamW(
        net, lr=0.02, groups=[{"params": name, **own} for name, own in zip(("body", "head"), settings, strict=True)]
    )
    other = torch.optim.AdamW([{"params": theirs[:2], **settings[0]}, {"params": theirs[2:], **settings[1]}], lr=0.02)
    for i in range(8):
        gradients = lento.tree.map(lambda p, i=i: lento.cos(p * (i + 1)), net)
        for p, g in zip(theirs, lento.tree.leaves(gradients), strict=True):
            p.grad = torch.tensor(g.numpy().copy())
        optimizer.step(gradients)
        other.step()
        for p, q in zip(net.parameters().values(), theirs, strict=True):
            np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=2e-6, atol=1e-6)


def test_what_was_assigned_to_groups_is_saved_and_restored() -> None:
    def make() -> optim.AdamW:
        parts = list(nn.Linear(2, 2).parameters().values())
        groups = [{"params": parts[:1], "weight_decay": 0.1}, {"params": parts[1:], "weight_decay": 0.0}]
        return optim.AdamW(groups, lr=1e-3)

    saved, other = make(), make()
    for group in saved.param_groups:
        group["lr"] = 5e-4  # as nanoGPT does before each step
    saved.param_groups[1]["eps"] = 1e-5
    other.load_state_dict(saved.state_dict())
    assert [group["lr"] for group in other.param_groups] == [5e-4, 5e-4]
    assert [group["eps"] for group in other.param_groups] == [1e-8, 1e-5]
    with pytest.raises(ValueError, match=r"not known here: groups.1.momentum"):
        make().load_state_dict({**saved.state_dict(), "groups.1.momentum": 0.5})
