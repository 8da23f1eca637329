"""What a gradient and an optimizer find in a module: its leaves, in the order and number of Module.parameters()."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import Any

import lento
import pytest
from lento import nn, tree


@dataclasses.dataclass
class Pair:
    a: lento.Tensor
    b: Any


class Tensors(list[Any]):
    pass


class Holds(nn.Module):
    """A module with these attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.number = 3
        self.name = "holds"
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x: Any) -> Any:
        return x


def one() -> lento.Tensor:
    return lento.ones(2)


def shared() -> nn.Module:
    w = one()
    return Holds(a=w, b=[w, one()], c={"w": w})


def circle() -> nn.Module:
    inner = Holds(w=one())
    outer = Holds(inner=inner, v=one())
    inner.outer = [outer]
    return outer


def filled_by_forward() -> nn.Module:
    class Keeps(Holds):
        def forward(self, x: Any) -> Any:
            self.last = x
            self.seen = [x, self.inner]
            return x

    module = Keeps(inner=Holds(w=one()), w=one())
    module(one())
    return module


MODULES: dict[str, Callable[[], nn.Module]] = {
    "nested": lambda: nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Sequential(nn.LayerNorm(3), nn.Linear(3, 1))),
    "buffers": lambda: Holds(w=one(), table=lento.arange(3), mean=nn.Buffer(one()), norm=nn.BatchNorm1d(2)),
    "containers": lambda: Holds(a=[one(), (one(), {"k": one()}, None)], b={}, c=(), d=nn.ModuleList([nn.Linear(1, 1)])),
    "shared": shared,
    "circle": circle,
    "filled by forward": filled_by_forward,
    "a dataclass": lambda: Holds(pair=Pair(one(), [one()]), w=one()),
    "a class of lists": lambda: Holds(w=one(), inner=Tensors([one(), nn.Linear(1, 1)])),
    "keys that are numbers": lambda: Holds(heads={1: one(), 2: nn.Linear(1, 1)}),
    "checkpointed": lambda: Holds(inner=lento.checkpoint(nn.Linear(2, 2)), w=one()),
}


@pytest.mark.parametrize("name", MODULES)
def test_leaves_are_the_parameters(name: str) -> None:
    module = MODULES[name]()
    found = list(module.parameters().values())
    assert [id(leaf) for leaf in tree.leaves(module)] == [id(p) for p in found]
    assert [id(leaf) for leaf in tree.leaves([module, 1])] == [*(id(p) for p in found), id(1)]
    changed = tree.unflatten(module, [p * 2 for p in found])
    assert [p.tolist() for p in changed.parameters().values()] == [(p * 2).tolist() for p in found]


@pytest.mark.parametrize("attributes", [{"d": {1: one(), "1": one()}}, {"a.b": one(), "a": {"b": one()}}])
def test_two_tensors_of_one_name_are_refused(attributes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="two tensors would be named"):
        tree.leaves(Holds(**attributes))


def test_a_call_passes_all_arguments_and_errors_on() -> None:
    class Adds(nn.Module):
        def forward(self, *values: float, scale: float = 1.0, **more: float) -> float:
            return (sum(values) + sum(more.values())) * scale

    module = Adds()
    assert module() == 0
    assert module(1, 2, scale=2.0, extra=4) == 14
    assert module(*range(40)) == sum(range(40))
    assert module(*range(40), **{f"k{i}": i for i in range(40)}) == 2 * sum(range(40))
    module.forward = lambda x: x + 1  # one of its own
    assert module(1) == 2
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        module()
    with pytest.raises(TypeError, match="Module"):
        nn.Module.__call__(3)


def test_a_call_may_go_through_a_method_of_a_class_between() -> None:
    class Twice(nn.Linear):
        def __call__(self, x: Any) -> Any:
            return super().__call__(super().__call__(x))

    x = lento.ones((1, 2))
    layer = Twice(2, 2)
    assert (layer(x) - layer.forward(layer.forward(x))).tolist() == [[0, 0]]


def test_what_another_thread_assigns_meanwhile_is_a_parameter() -> None:
    inside, assigned = threading.Event(), threading.Event()

    class Waits(nn.Module):
        def forward(self, x: Any) -> Any:
            self.mine = x
            inside.set()
            assert assigned.wait(60)
            return x

    module = Waits()
    call = threading.Thread(target=module, args=(one(),))
    call.start()
    assert inside.wait(60)
    module.weight = one()
    assigned.set()
    call.join()
    assert list(module.parameters()) == ["weight"]


@pytest.mark.parametrize("kind", [list, dict, float, lento.Tensor, object])
def test_what_is_known_in_a_tree_cannot_be_registered(kind: type) -> None:
    with pytest.raises(ValueError, match=f"register.*: what a {kind.__name__} is in a tree cannot be changed"):
        tree.register(kind, lambda value: [], lambda value, children: value)
