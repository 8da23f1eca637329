"""lento.tree: what nodes are, and that a rebuilt tree is like the old one."""

from __future__ import annotations

import collections
import dataclasses
import time
from typing import Any, NamedTuple

import lento
import pytest
from lento import tree


class Point(NamedTuple):
    x: Any
    y: Any


class Pair(tuple[Any, ...]):
    """A tuple whose constructor takes its parts one by one."""

    def __new__(cls, a: Any, b: Any) -> Pair:
        return super().__new__(cls, (a, b))


class Named(list[Any]):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


@dataclasses.dataclass(frozen=True)
class Weights:
    w: Any
    b: Any
    total: Any = dataclasses.field(init=False, default=None)
    count: int = 3


@dataclasses.dataclass
class Slotted:
    __slots__ = ("a",)
    a: Any


def doubled(value: Any) -> Any:
    return tree.map(lambda x: x * 2, value)


@pytest.mark.parametrize(
    "value",
    [
        collections.Counter(b=2, a=1),
        collections.defaultdict(list, b=2, a=1),
        collections.OrderedDict(b=2, a=1),
        {"b": 2, "a": 1},
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_dict_of_any_class_is_rebuilt(value: Any) -> None:
    made = doubled(value)
    assert type(made) is type(value)
    assert list(made.items()) == [("b", 4), ("a", 2)]
    assert dict(value) == {"b": 2, "a": 1}
    assert getattr(made, "default_factory", None) is getattr(value, "default_factory", None)


def test_tuples_and_lists_of_any_class_are_rebuilt() -> None:
    assert doubled(Point(1, [2])) == Point(2, [4])
    assert type(doubled(Point(1, 2))) is Point
    assert type(doubled(Pair(1, 2))) is Pair
    assert doubled(Pair(1, 2)) == (2, 4)
    assert doubled(time.gmtime(0)).tm_year == 2 * 1970
    named = Named("n")
    named.append(1)
    made = doubled(named)
    assert (made, made.name, named) == ([2], "n", [1])


def test_a_dataclass_is_a_node() -> None:
    weights = Weights(lento.ones(2), lento.asarray(1.0))
    assert len(tree.leaves(weights)) == 4
    gradient = lento.grad(lambda p: (p.w * 3).sum() + p.b * p.count)(weights)
    assert isinstance(gradient, Weights)
    assert (gradient.w.tolist(), float(gradient.b), gradient.total, gradient.count) == ([3, 3], 3, None, None)
    lento.optim.SGD(weights, 1.0).step(gradient)
    assert (weights.w.tolist(), float(weights.b), weights.count) == ([-2, -2], -2, 3)
    assert doubled(Slotted([1])).a == [2]
    assert tree.leaves(Weights) == [Weights]  # the class itself is none


@pytest.mark.parametrize("make", [lambda: [1], lambda: {"a": 1}])
def test_a_container_that_contains_itself_is_an_error(make: Any) -> None:
    value = make()
    value[0 if isinstance(value, list) else "a"] = [value]
    with pytest.raises(ValueError, match=f"a tree has a {type(value).__name__} that contains itself"):
        lento.grad(lambda x: lento.ones(()))(value)
    shared = [1]
    assert doubled([shared, shared]) == [[2], [2]]


def test_an_argument_is_named_once() -> None:
    x = lento.ones(())
    for argnums in ((0, 0), (0, 1, -1), (1, -1)):
        with pytest.raises(ValueError, match=r"grad\(\): argnums \(.*\) names an argument twice"):
            lento.grad(lambda a, b: a * b, argnums)(x, x)
    assert [float(g) for g in lento.grad(lambda a, b: a * b * b, (1, 0))(x, x)] == [2, 1]


def test_unflatten_needs_as_many_values_as_there_are_leaves() -> None:
    form = {"a": 1, "b": [2, 3]}
    assert lento.tree.unflatten(form, iter([4, 5, 6])) == {"a": 4, "b": [5, 6]}
    with pytest.raises(ValueError, match="fewer values than leaves"):
        lento.tree.unflatten(form, [4, 5])
    with pytest.raises(ValueError, match="more values than leaves"):
        lento.tree.unflatten(form, [4, 5, 6, 7])
