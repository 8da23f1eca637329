"""Trees of tensors: tuples, lists, dicts, dataclasses and whatever else is registered, with tensors at their leaves.

>>> lento.tree.map(lambda x: x * 2, {"w": lento.ones(2), "b": [lento.zeros(1)]})
{'w': tensor([2., 2.], dtype=float32), 'b': [tensor([0.], dtype=float32)]}
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from . import _core
from ._fail import fail

__all__ = ["flatten", "leaves", "leaves_like", "map", "register", "unflatten"]

_Children = Callable[[Any], Iterable[Any] | Mapping[str, Any]]
_Rebuild = Callable[[Any, list[Any]], Any]
# What the engine knows without asking here.
_KNOWN = (_core.Tensor, tuple, list, dict, float, int, bool, complex, str, type(None))
_registered: dict[type, tuple[_Children, _Rebuild]] = {}
# What lists the same children where nobody asks for their names.
_unnamed: dict[type, _Children] = {}


def register(kind: type, children: _Children, rebuild: _Rebuild) -> None:
    """Make objects of a class nodes of trees: ``children(object)`` lists its children, or gives a dict of them by
    name, and ``rebuild(object, children)`` makes one like it with other children."""
    if any(issubclass(known, kind) for known in _KNOWN):
        raise fail(ValueError, f"register(): what a {kind.__name__} is in a tree cannot be changed")
    _registered[kind] = (children, rebuild)


def _tuple_like(old: tuple[Any, ...], items: list[Any]) -> tuple[Any, ...]:
    # Named tuples and other subclasses may have constructors of any kind, so they are gone round where Python lets us.
    try:
        made = tuple.__new__(type(old), items)
    except TypeError:  # such as time.struct_time
        return type(old)(items)
    if hasattr(old, "__dict__"):
        made.__dict__.update(old.__dict__)
    return made


def _dict_like(old: dict[Any, Any], items: list[Any]) -> dict[Any, Any]:
    # A copy keeps what a class has beside its entries: the factory of a defaultdict, the order of an OrderedDict.
    made = copy.copy(old)
    for key, item in zip(old, items, strict=True):
        made[key] = item
    return made


def _list_like(old: list[Any], items: list[Any]) -> list[Any]:
    made = copy.copy(old)
    made[:] = items
    return made


def _dataclass_like(old: Any, names: list[str], items: list[Any]) -> Any:
    # Not by its constructor, which may compute fields, or refuse what is no tensor.
    made = copy.copy(old)
    for name, item in zip(names, items, strict=True):
        object.__setattr__(made, name, item)
    return made


def _fields(tree: Any) -> list[str]:
    import dataclasses  # whoever has one has loaded it; others need not

    return [field.name for field in dataclasses.fields(tree) if hasattr(tree, field.name)]


def _named_children(tree: Any) -> list[tuple[Any, Any]] | None:
    """The children of a tuple, list, dict or dataclass by position, key or field; None for anything else."""
    if isinstance(tree, tuple | list):
        return list(enumerate(tree))
    if isinstance(tree, dict):
        return list(tree.items())
    if hasattr(type(tree), "__dataclass_fields__") and not isinstance(tree, type):
        return [(name, getattr(tree, name)) for name in _fields(tree)]
    return None


def _like(old: Any, items: list[Any]) -> Any:
    """A tuple, list, dict or dataclass like ``old`` with other children."""
    if type(old) in (tuple, list):
        return type(old)(items)
    if isinstance(old, tuple):
        return _tuple_like(old, items)
    if isinstance(old, list):
        return _list_like(old, items)
    if type(old) is dict:
        return dict(zip(old, items, strict=True))
    return _dict_like(old, items) if isinstance(old, dict) else _dataclass_like(old, _fields(old), items)


def _registered_kind(tree: Any) -> type | None:
    return next((kind for kind in type(tree).__mro__ if kind in _registered), None)


def _node(tree: Any) -> tuple[list[Any], Callable[[list[Any]], Any]] | None:
    """The children of a node and what rebuilds it; None for a leaf."""
    if isinstance(tree, _core.Tensor) or tree is None:
        return None
    kind = _registered_kind(tree)
    if kind is not None:
        children, rebuild = _registered[kind]
        found = _unnamed.get(kind, children)(tree)
        return list(found.values() if isinstance(found, Mapping) else found), lambda items: rebuild(tree, items)
    named = _named_children(tree)
    if named is None:
        return None
    return [child for _, child in named], lambda items: _like(tree, items)


def leaves(tree: Any) -> list[Any]:
    """Everything in a tree that is no node, from left to right."""
    return _core._tree_leaves(tree, _node)


def _named_leaves(tree: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """The leaves of a tree that does not contain itself, each named by the keys, fields and positions on the way."""
    node = _node(tree)
    if node is None:
        yield ".".join(path), tree
        return
    kind = _registered_kind(tree)
    if kind is None:
        named = _named_children(tree) or []
    else:
        found = _registered[kind][0](tree)
        named = list(found.items() if isinstance(found, Mapping) else enumerate(node[0]))
    for key, child in named:
        yield from _named_leaves(child, (*path, str(key)))


def leaves_like(tree: Any, other: Any, what: str = "leaves_like(): the other tree") -> list[Any]:
    """The leaves of ``other``, which has the form of ``tree``, in the order of ``tree``: entries of dicts are found by
    their keys. ``what`` is what an error calls it."""
    found = _core._tree_leaves_like(tree, other)
    return _leaves_like(tree, other, what, "") if found is None else found


def _leaves_like(tree: Any, other: Any, what: str, hint: str) -> list[Any]:
    """The same; ``hint`` is how an error ends."""
    node = _node(tree)
    if node is None:
        if _node(other) is not None:
            raise fail(
                ValueError, f"{what} has a {type(other).__name__} where the first has {type(tree).__name__}{hint}"
            )
        return [other]
    if isinstance(tree, dict):
        if not isinstance(other, dict) or tree.keys() != other.keys():
            found = sorted(str(key) for key in other) if isinstance(other, dict) else type(other).__name__
            keys = sorted(str(key) for key in tree)
            raise fail(ValueError, f"{what} has {found} instead of the keys {keys}{hint}")
        pairs = [(tree[key], other[key]) for key in tree]
    else:
        same = _node(other)
        if same is None or isinstance(other, dict):
            raise fail(
                ValueError,
                f"{what} has a {type(other).__name__} where the first has a {type(tree).__name__} of "
                f"{len(node[0])} parts{hint}",
            )
        if len(same[0]) != len(node[0]):
            raise fail(ValueError, f"{what} has {len(same[0])} parts, not {len(node[0])} parts{hint}")
        if type(other) is not type(tree):
            names, others = ([name for name, _ in _named_leaves(t)] for t in (tree, other))
            if names != others:
                raise fail(ValueError, f"{what} has {others} instead of {names}{hint}")
        pairs = list(zip(node[0], same[0], strict=True))
    return [leaf for one, two in pairs for leaf in _leaves_like(one, two, what, hint)]


def unflatten(tree: Any, values: Iterable[Any]) -> Any:
    """A tree like ``tree`` with these leaves."""
    return _core._tree_unflatten(tree, values if isinstance(values, list) else list(values), _node)


def flatten(tree: Any) -> tuple[list[Any], Callable[[Iterable[Any]], Any]]:
    """The leaves of a tree, and a function that makes a tree of the same form from others."""
    return leaves(tree), lambda values: unflatten(tree, values)


def map(f: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """A tree of ``f(leaf, …)`` over the leaves of one tree, or of several of the same form (dicts by their keys)."""
    columns = [leaves(tree), *(leaves_like(tree, other, "map(): another tree") for other in others)]
    return unflatten(tree, [f(*items) for items in zip(*columns, strict=True)])
