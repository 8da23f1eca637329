"""What PyTorch's programs give to optimizers: parameters as a dict, as a list, in groups; gradients are the model's."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle
import re
from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest
from lento import nn, optim


class Net(nn.Module):
    def __init__(self) -> None:
        self.head = nn.Linear(3, 2)
        self.body = nn.Linear(2, 3)
        self.tied = self.head.weight

    def forward(self, x: lento.Tensor) -> lento.Tensor:
        return self.head(self.body(x)) + self.tied.sum()


X = lento.asarray([[1.0, 2.0], [0.5, -1.0]])


def loss(net: nn.Module) -> lento.Tensor:
    return (net(X) ** 2).mean()


def groups_of(net: nn.Module) -> list[dict[str, Any]]:
    """As nanoGPT makes them."""
    named = dict(net.named_parameters())
    return [
        {"params": [p for p in named.values() if p.ndim >= 2], "weight_decay": 0.5},
        {"params": [p for p in named.values() if p.ndim < 2], "weight_decay": 0.0},
    ]


def stepped(make: Callable[[nn.Module], optim.Optimizer], change: Callable[[Any], Any] = lambda g: g) -> Any:
    lento.random.seed(0)
    net = Net()
    optimizer = make(net)
    for _ in range(2):
        optimizer.step(change(lento.grad(loss)(net)))
    return {name: value.numpy() for name, value in net.state_dict().items()}


def plain(net: nn.Module) -> optim.Optimizer:
    return optim.AdamW(net, lr=0.1, weight_decay=0.0, groups=[{"params": lambda _, p: p.ndim > 1, "weight_decay": 0.5}])


@pytest.mark.parametrize(
    ("make", "same"),
    [
        (lambda net: optim.SGD(net.parameters(), lr=0.1), lambda net: optim.SGD(net, lr=0.1)),
        (lambda net: optim.SGD(net.parameters().values(), lr=0.1), lambda net: optim.SGD(net, lr=0.1)),
        (lambda net: optim.SGD([*net.parameters().values()][::-1], lr=0.1), lambda net: optim.SGD(net, lr=0.1)),
        (lambda net: optim.AdamW(groups_of(net), lr=0.1), plain),
        (
            lambda net: optim.SGD([{"params": net.body}, {"params": net.head.parameters(), "lr": 0.2}], lr=0.1),
            lambda net: optim.SGD(net, lr=0.1, groups=[{"params": net.head, "lr": 0.2}]),
        ),
    ],
    ids=["dict", "values", "another order", "groups", "groups of modules"],
)
@pytest.mark.parametrize(
    "change",
    [
        lambda g: g,
        lambda g: optim.clip_grad_norm(g, 1e9)[0],
        lambda g: lento.tree.map(lambda x: x * 1, g),
        copy.deepcopy,
        lambda g: {"net": [g]},
    ],
    ids=["as they are", "clipped", "mapped", "copied", "in a tree"],
)
def test_gradients_of_the_model_are_found_by_the_parameters_that_they_are_of(
    make: Callable[[nn.Module], optim.Optimizer],
    same: Callable[[nn.Module], optim.Optimizer],
    change: Callable[[Any], Any],
) -> None:
    found, expected = stepped(make, change), stepped(same)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_an_optimizer_of_a_part_takes_the_gradients_of_the_whole() -> None:
    for pick in (lambda net: net.body, lambda net: net.body.parameters(), lambda net: [net.body.bias]):
        net = Net()
        before = net.state_dict()
        optim.SGD(pick(net), lr=0.1).step(lento.grad(loss)(net))
        moved = {name for name, value in net.state_dict().items() if (value != before[name]).any()}
        assert moved and moved <= {"body.weight", "body.bias"}


class Outer(nn.Module):
    """Modules in a list, in a dict and twice, and one that points back."""

    def __init__(self) -> None:
        self.inner = Net()
        self.steps = [nn.Linear(2, 2), {"last": (nn.Linear(2, 1), "a name")}]
        self.again = self.inner.body
        self.steps[0].outer = self  # type: ignore[attr-defined]

    def forward(self, x: lento.Tensor) -> lento.Tensor:
        return self.steps[1]["last"][0](self.steps[0](self.inner(x))) + self.again(x).sum()  # type: ignore[index]


@pytest.mark.parametrize("change", [lambda g: g, copy.deepcopy, lambda g: lento.tree.map(lambda x: x * 1, g)])
@pytest.mark.parametrize(
    "part",
    [
        lambda net: net.inner,
        lambda net: net.inner.body,
        lambda net: net.again,
        lambda net: net.steps[0],
        lambda net: net.steps[1]["last"][0],
    ],
    ids=["inner", "twice inner", "another name", "in a list", "in a dict"],
)
def test_a_part_of_the_gradients_is_of_that_part_of_the_model(part: Callable[[Any], Any], change: Any) -> None:
    net = Outer()
    gradients = part(change(lento.grad(loss)(net)))  # the rest is gone
    parameters = part(net).parameters()
    expected = {name: (p - 0.5 * gradients.parameters()[name]).numpy() for name, p in parameters.items()}
    optim.SGD([*parameters.values()][::-1], lr=0.5).step(gradients)
    assert expected
    for name, p in parameters.items():
        np.testing.assert_allclose(p.numpy(), expected[name], rtol=1e-6, err_msg=name)


@dataclasses.dataclass
class Pair:
    left: nn.Module
    right: nn.Module


def test_gradients_of_modules_in_a_dataclass_are_found() -> None:
    pair = Pair(nn.Linear(2, 1), nn.Linear(2, 1))
    before = pair.left.weight.numpy().copy()
    gradients = lento.grad(lambda pair: (pair.left(X) + 2 * pair.right(X)).sum())(pair)
    optim.SGD([pair.right.weight, pair.left.weight], lr=1.0).step(gradients)
    np.testing.assert_allclose(pair.left.weight.numpy(), before - X.numpy().sum(0), rtol=1e-5)


def test_gradients_of_a_checkpointed_model_are_of_the_model() -> None:
    lento.random.seed(0)
    net, same = Net(), Net()
    same.load_state_dict(net.state_dict())
    optim.SGD([*net.parameters().values()][::-1], lr=0.1).step(lento.grad(loss)(lento.checkpoint(net)))
    optim.SGD(same, lr=0.1).step(lento.grad(loss)(same))
    for name, p in same.parameters().items():
        np.testing.assert_allclose(net.parameters()[name].numpy(), p.numpy(), rtol=1e-6, err_msg=name)


def test_gradients_inside_a_function_are_of_the_copy_that_it_was_given() -> None:
    net = Net()
    before = net.state_dict()

    def adapted(copied: nn.Module) -> lento.Tensor:
        optim.SGD(copied.body.parameters().values(), lr=0.1).step(lento.grad(loss)(copied).body)
        return loss(copied)

    assert lento.grad(adapted)(net).body.parameters().keys() == net.body.parameters().keys()
    assert all((value == before[name]).all() for name, value in net.state_dict().items())


@pytest.mark.parametrize("make", [lambda net: net.parameters().values(), lambda net: [*net.parameters().values()]])
@pytest.mark.parametrize(
    "change",
    [
        lambda g: g.parameters().values(),
        lambda g: (one for one in g.parameters().values()),
        lambda g: map(lento.Tensor.clone, g.parameters().values()),
    ],
    ids=["values", "generator", "map"],
)
@pytest.mark.parametrize("wrap", [lambda o: o, lambda o: optim.MultiSteps(o, every=2)], ids=["step", "gathered"])
def test_gradients_may_be_values_too(make: Any, change: Any, wrap: Any) -> None:
    net = Net()
    expected = {name: (p - 0.1 * g).numpy() for (name, p), g in zip(
        net.parameters().items(), lento.grad(loss)(net).parameters().values(), strict=True)}  # fmt: skip
    optimizer = wrap(optim.SGD(make(net), lr=0.1))
    for _ in range(getattr(optimizer, "every", 1)):
        optimizer.step(change(lento.grad(loss)(net)))
    for name, p in net.parameters().items():
        np.testing.assert_allclose(p.numpy(), expected[name], rtol=1e-5, err_msg=name)


def test_gathered_gradients_and_those_of_several_modules_are_found() -> None:
    one, two = nn.Linear(2, 1), nn.Linear(2, 1)
    optimizer = optim.SGD([two.weight, one.weight], lr=1.0)
    before = one.weight.numpy().copy(), two.weight.numpy().copy()
    gradients = lento.grad(lambda one, two: (one(X) + 2 * two(X)).sum(), argnums=(0, 1))(one, two)
    steps = optim.MultiSteps(optimizer, every=2)
    assert [steps.step(gradients), steps.step(gradients)] == [False, True]
    np.testing.assert_allclose(one.weight.numpy(), before[0] - X.numpy().sum(0), rtol=1e-5)
    np.testing.assert_allclose(two.weight.numpy(), before[1] - 2 * X.numpy().sum(0), rtol=1e-5)


def test_parameters_by_name_take_a_part_of_the_gradients_by_name() -> None:
    net = Net()
    before = net.body.bias.numpy().copy()
    optim.SGD(net.body.parameters(), lr=1.0).step(lento.tree.map(lento.ones_like, net).body)
    np.testing.assert_allclose(net.body.bias.numpy(), before - 1, rtol=1e-6)


def test_gradients_that_lack_a_parameter_change_nothing() -> None:
    net, other = Net(), Net()
    before = net.state_dict()
    half = lento.grad(lambda body: (body(X) ** 2).mean())(net.body)
    optimizer = optim.SGD([net.body.weight, net.head.bias], lr=1.0)
    with pytest.raises(ValueError, match=re.escape("SGD.step(): the gradient of 1 is not there; take the gradients")):
        optimizer.step(half)
    whose = "give the gradients of the model whose parameters the optimizer has, as lento.grad gives them, at "
    for gradients in (
        lento.grad(loss)(other),
        [lento.grad(loss)(other)],
        pickle.loads(pickle.dumps(lento.grad(loss)(net))),  # nobody knows whose
    ):
        with pytest.raises(ValueError, match=rf"^SGD.step\(\): what is given as gradients has .*; {whose}"):
            optimizer.step(gradients)
    with pytest.raises(ValueError, match=whose):
        optim.SGD(net, lr=1.0).step(lento.grad(lambda body: (body(X) ** 2).mean())(other.body))
    with pytest.raises(ValueError, match=r"has 1 parts, not 2 parts, at "):
        optimizer.step([lento.ones(1)])
    assert all((value == before[name]).all() for name, value in net.state_dict().items())


def test_gradients_do_not_keep_their_model_alive_nor_show_it() -> None:
    net = Net()
    gradients = lento.grad(loss)(net)
    origin = gradients._origin
    assert origin is not None and origin() is net and list(gradients.state_dict()) == list(net.state_dict())
    assert repr(gradients) == repr(net)
    del net
    gc.collect()
    assert origin() is None


@pytest.mark.parametrize(
    "parameters", [lambda net: list(net.parameters()), lambda net: iter(net.parameters()), lambda net: net.body]
)
def test_names_are_refused_where_parameters_are_wanted(parameters: Callable[[Net], Any]) -> None:
    given = parameters(Net())
    if isinstance(given, nn.Module):
        given = [{"params": list(given.parameters())}]
    says = "Adam(): the names of parameters are given; give model, or model.parameters().values(), at "
    with pytest.raises(TypeError, match=re.escape(says)):
        optim.Adam(given)
