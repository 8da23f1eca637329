"""Trees of tensors: tuples, lists, dicts and whatever else is registered, with tensors at their leaves.

>>> lento.tree.map(lambda x: x * 2, {"w": lento.ones(2), "b": [lento.zeros(1)]})
{'w': tensor([2., 2.], dtype=float32), 'b': [tensor([0.], dtype=float32)]}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from . import _core

__all__ = ["flatten", "leaves", "leaves_like", "map", "register", "unflatten"]

_Children = Callable[[Any], Iterable[Any]]
_Rebuild = Callable[[Any, list[Any]], Any]
_registered: dict[type, tuple[_Children, _Rebuild]] = {}


def register(kind: type, children: _Children, rebuild: _Rebuild) -> None:
    """Make objects of a class nodes of trees: ``children(object)`` lists its children, and
    ``rebuild(object, children)`` makes one like it with other children."""
    _registered[kind] = (children, rebuild)


def _tuple_like(old: tuple[Any, ...], items: list[Any]) -> tuple[Any, ...]:
    if type(old) is tuple:
        return tuple(items)
    return type(old)(*items) if hasattr(old, "_fields") else type(old)(items)


def _node(tree: Any) -> tuple[list[Any], Callable[[list[Any]], Any]] | None:
    """The children of a node and what rebuilds it; None for a leaf."""
    if isinstance(tree, _core.Tensor) or tree is None:
        return None
    kind = next((kind for kind in type(tree).__mro__ if kind in _registered), None)
    if kind is not None:
        children, rebuild = _registered[kind]
        return list(children(tree)), lambda items: rebuild(tree, items)
    if isinstance(tree, tuple):
        return list(tree), lambda items: _tuple_like(tree, items)
    if isinstance(tree, list):
        return tree, lambda items: type(tree)(items)
    if isinstance(tree, dict):
        keys = list(tree)
        return [tree[key] for key in keys], lambda items: type(tree)(zip(keys, items, strict=True))
    return None


def leaves(tree: Any) -> list[Any]:
    """Everything in a tree that is no node, from left to right."""
    node = _node(tree)
    if node is None:
        return [tree]
    return [leaf for child in node[0] for leaf in leaves(child)]


def leaves_like(tree: Any, other: Any, what: str = "leaves_like(): the other tree") -> list[Any]:
    """The leaves of ``other``, which has the form of ``tree``, in the order of ``tree``: entries of dicts are found by
    their keys. ``what`` is what an error calls it."""
    node = _node(tree)
    if node is None:
        if _node(other) is not None:
            raise ValueError(f"{what} has a {type(other).__name__} where the first has {type(tree).__name__}")
        return [other]
    if isinstance(tree, dict):
        if not isinstance(other, dict) or tree.keys() != other.keys():
            found = sorted(str(key) for key in other) if isinstance(other, dict) else type(other).__name__
            raise ValueError(f"{what} has {found} instead of the keys {sorted(str(key) for key in tree)}")
        pairs = [(tree[key], other[key]) for key in tree]
    else:
        same = _node(other)
        if same is None or isinstance(other, dict) or len(same[0]) != len(node[0]):
            size = f"{len(same[0])} parts" if same is not None else type(other).__name__
            raise ValueError(f"{what} has {size}, not {len(node[0])} parts")
        pairs = list(zip(node[0], same[0], strict=True))
    return [leaf for one, two in pairs for leaf in leaves_like(one, two, what)]


def _rebuild(tree: Any, values: Iterable[Any]) -> Any:
    node = _node(tree)
    if node is None:
        return next(iter(values))
    children, rebuild = node
    return rebuild([_rebuild(child, values) for child in children])


def unflatten(tree: Any, values: Iterable[Any]) -> Any:
    """A tree like ``tree`` with these leaves."""
    rest = iter(values)
    made = _rebuild(tree, rest)
    if next(rest, rest) is not rest:
        raise ValueError("unflatten(): there are more values than leaves")
    return made


def flatten(tree: Any) -> tuple[list[Any], Callable[[Iterable[Any]], Any]]:
    """The leaves of a tree, and a function that makes a tree of the same form from others."""
    return leaves(tree), lambda values: unflatten(tree, values)


def map(f: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """A tree of ``f(leaf, …)`` over the leaves of one tree, or of several of the same form (dicts by their keys)."""
    columns = [leaves(tree), *(leaves_like(tree, other, "map(): another tree") for other in others)]
    return unflatten(tree, [f(*items) for items in zip(*columns, strict=True)])
