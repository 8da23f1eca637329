"""Trees of tensors: tuples, lists, dicts and whatever else is registered, with tensors at their leaves.

>>> lento.tree.map(lambda x: x * 2, {"w": lento.ones(2), "b": [lento.zeros(1)]})
{'w': tensor([2., 2.], dtype=float32), 'b': [tensor([0.], dtype=float32)]}
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from typing import Any

from . import _core

__all__ = ["flatten", "leaves", "map", "register", "unflatten"]

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
    """A tree of ``f(leaf, …)`` over the leaves of one tree, or of several of the same form."""
    columns = [leaves(tree), *(leaves(other) for other in others)]
    if builtins.any(len(column) != len(columns[0]) for column in columns):
        raise ValueError("map(): the trees have different numbers of leaves")
    return unflatten(tree, [f(*items) for items in zip(*columns, strict=True)])
