"""What a call of a compiled function is given and what it leaves behind, as tokens that the C++ side reads
(python/src/frozen_entry.h)."""

from __future__ import annotations

import gc
import sys
from collections.abc import Container
from typing import Any

from . import _core, tree
from ._core import Tensor
from ._reached import ATOM, DICT, LENGTH, SAME, TENSOR, Place, Reached, is_atom
from ._recording import is_host_number

_MOST_TOKENS = 20_000  # of the arguments of a call


class CannotFreeze(Exception):
    """With the reason."""


# As ArgumentToken::Kind in python/src/frozen_entry.h.
_TENSOR, _ATOM, _SAME, _TUPLE, _LIST, _DICT = range(6)
_KINDS: dict[type, int] = {tuple: _TUPLE, list: _LIST, dict: _DICT}


class Form:
    """The arguments of a call: their tree, and what it is known by."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.tokens: list[tuple[int, Any, int]] = []
        self.tensors: list[Tensor] = []
        self.objects: list[tuple[str, Any]] = []
        self.obstacle = ""
        self._containers: list[tuple[str, Any, list[Any]]] = []  # lists and dicts, and what they hold
        self.positional = len(args)
        self.names = tuple(kwargs)
        key = [self._add(f"argument {i}", value, 0) for i, value in enumerate(args)]
        key += [(name, self._add(f"argument {name!r}", value, 0)) for name, value in kwargs.items()]
        # One tensor that is given twice is not two tensors: what changes one changes the other.
        first: dict[int, int] = {}
        same = tuple(first.setdefault(id(tensor), i) for i, tensor in enumerate(self.tensors))
        self.key = (self.positional, tuple(key), same, str(_core.default_device()))

    def changed(self) -> str:
        """The name of a list or dict that holds other objects than before the call; empty when there is none."""
        for name, container, before in self._containers:
            now = _held(container)
            if len(now) != len(before) or any(a is not b for a, b in zip(now, before, strict=True)):
                return name
        return ""

    def containers(self) -> set[int]:
        """The ids of the lists and dicts."""
        return {id(container) for _, container, _ in self._containers}

    def forget(self) -> None:
        """Keeps alive no more than what objects are known by."""
        self.tensors, self.tokens, self._containers = [], [], []

    def _add(self, name: str, value: Any, depth: int) -> Any:
        if isinstance(value, Tensor):
            self.tokens.append((_TENSOR, value, 0))
            self.tensors.append(value)
            return ("tensor", value.dtype, value.shape, str(value.device))
        if is_atom(value):
            self.tokens.append((_ATOM, value, 0))
            text = value.hex() if type(value) is float else repr(value)
            return (type(value), text)
        kind = _KINDS.get(type(value))
        if depth > 50 or len(self.tokens) > _MOST_TOKENS:
            self.obstacle = self.obstacle or f"{name} is nested too deeply, or has too many parts"
        elif kind == _DICT and all(is_atom(key) for key in value):
            self.tokens.append((_DICT, tuple(value), len(value)))
            self._containers.append((name, value, _held(value)))
            return (dict, tuple((repr(k), self._add(f"{name}[{k!r}]", v, depth + 1)) for k, v in value.items()))
        elif kind in (_TUPLE, _LIST):
            self.tokens.append((kind, None, len(value)))
            if kind == _LIST:
                self._containers.append((name, value, _held(value)))
            return (kind, tuple(self._add(f"{name}[{i}]", v, depth + 1) for i, v in enumerate(value)))
        elif hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__"):
            kind_name = f"{type(value).__module__}.{type(value).__name__}"
            self.obstacle = self.obstacle or f"{name} is a {kind_name}, whose values may be others; give a tensor"
        self.tokens.append((_SAME, value, 0))
        self.objects.append((name, value))
        return ("object", id(value))


def _held(container: list[Any] | dict[Any, Any]) -> list[Any]:
    return [*container, *container.values()] if isinstance(container, dict) else list(container)


class Handles:
    """The tensors of arguments and places, by numbers: an object that is there twice has two, the first counts."""

    def __init__(self, form: Form, before: Reached) -> None:
        self.keys: list[Any] = []
        self.alias: list[int] = []
        self.numbers: dict[int, int] = {}  # of each object
        for i, tensor in enumerate(form.tensors):
            self._add(i, tensor)
        for place in before.places:
            if place.holds == TENSOR:
                self._add(place.where, place.value)

    def _add(self, key: Any, tensor: Tensor) -> None:
        number = len(self.keys)
        self.keys.append(key)
        self.alias.append(self.numbers.setdefault(id(tensor), number))


class Wanted:
    """The tensors that a call leaves behind."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.made_ones: list[int] = []
        self._numbers: dict[int, int] = {}
        self._made: dict[int, int] = {}

    def number(self, tensor: Tensor) -> int:
        if id(tensor) not in self._numbers:
            self._numbers[id(tensor)] = len(self.tensors)
            self.tensors.append(tensor)
        return self._numbers[id(tensor)]

    def made(self, tensor: Tensor) -> int:
        """The number of a Tensor object that is new."""
        if id(tensor) not in self._made:
            self._made[id(tensor)] = len(self.made_ones)
            self.made_ones.append(self.number(tensor))
        return self._made[id(tensor)]


def _is_plain_key(key: Any) -> bool:
    """Whether to look a key up runs no Python code."""
    return all(map(_is_plain_key, key)) if type(key) is tuple else is_atom(key)


def stored_places(before: Reached, after: Reached, outside: set[int]) -> tuple[list[Place], set[Any]]:
    """Places that hold another Tensor than before, and those that the function has changed otherwise, which nobody need
    look at. Raises where a tensor is kept that was not there."""
    old = {place.where: place for place in before.places}
    stored: list[Place] = []
    dropped: set[Any] = set()
    for place in after.places:
        known = old.get(place.where)
        if is_host_number(place.value):
            raise CannotFreeze(f"it keeps a number from lento.host_number: {place.name}")
        if place.holds == TENSOR:
            if known is not None and known.holds == TENSOR:
                if known.value is not place.value:
                    if place.value.shape != known.value.shape or place.value.dtype != known.value.dtype:
                        raise CannotFreeze(f"it gives {place.name} another shape or dtype")
                    if place.kind == DICT and not _is_plain_key(place.key):
                        raise CannotFreeze(f"it stores a tensor under a key that Python code compares: {place.name}")
                    stored.append(place)
            elif place.value.id not in outside:
                raise CannotFreeze(f"it keeps a tensor where none was: {place.name}")
        elif known is not None and place.kind == LENGTH and place.key == known.key:
            if any(a is not b for a, b in zip(place.value or (), known.value or (), strict=True)):
                raise CannotFreeze(f"it changes {place.name}")
        elif known is not None and (
            (place.kind == LENGTH and place.key != known.key)
            or (place.holds == ATOM and (known.holds != ATOM or known.value != place.value))
            or (place.holds == SAME and known.value is not place.value)
        ):
            if place.where in after.rates:
                raise CannotFreeze(f"it reads {place.name} and changes it; ask for it with lento.host_number")
            dropped.add(place.where)
    return stored, dropped


# As ResultToken::Kind in python/src/frozen_entry.h.
_MADE, HANDLE, _CONSTANT, _TUPLE_RESULT, _LIST_RESULT, _DICT_RESULT, _REBUILD = range(7)


def result_tokens(
    result: Any, handles: Handles, wanted: Wanted, given: set[int], before: Reached, after: Reached
) -> list[tuple[int, Any, int]]:
    """The tree of the result. What was there before is given back itself; a list of the arguments (``given``), or one
    that is there twice, would be another one each time."""
    tokens: list[tuple[int, Any, int]] = []
    met: set[int] = set()

    def add(value: Any) -> None:
        if isinstance(value, Tensor):
            number = handles.numbers.get(id(value))
            tokens.append((_MADE, None, wanted.made(value)) if number is None else (HANDLE, None, number))
            return
        node = None if type(value) in _KINDS else tree._node(value)
        if node is None and type(value) not in _KINDS:
            tokens.append((_CONSTANT, value, 0))
            return
        if type(value) is not tuple:
            if id(value) in given:
                raise CannotFreeze("it returns a list or dict that is an argument; return the tensors in it")
            if before.has(value) and after.has(value):
                tokens.append((_CONSTANT, value, 0))
                return
            if after.has(value) or id(value) in met:
                raise CannotFreeze(
                    "it returns a list, dict or object that it also keeps, that is there twice, or that contains itself"
                )
            met.add(id(value))
        if type(value) is tuple or type(value) is list:
            tokens.append((_TUPLE_RESULT if type(value) is tuple else _LIST_RESULT, None, len(value)))
            children = list(value)
        elif type(value) is dict:
            tokens.append((_DICT_RESULT, tuple(value), len(value)))
            children = list(value.values())
        else:
            assert node is not None
            children, rebuild = node
            tokens.append((_REBUILD, rebuild, len(children)))
        for child in children:
            add(child)

    add(result)
    return tokens


def same_result(a: list[tuple[int, Any, int]], b: list[tuple[int, Any, int]]) -> bool:
    if len(a) != len(b):
        return False
    for (kind, thing, index), (other_kind, other, other_index) in zip(a, b, strict=True):
        if kind != other_kind or index != other_index:
            return False
        if kind == _CONSTANT and thing is not other:
            if type(thing) is not type(other) or not is_atom(thing) or repr(thing) != repr(other):
                return False
        elif kind == _DICT_RESULT and thing != other:
            return False
    return True


def _references(objects: list[Any]) -> list[int]:
    return [sys.getrefcount(thing) for thing in objects]


_ONE = _references([object()])[0]


def _new_tensors(box: list[Any], old: Container[int]) -> dict[int, list[Any]]:
    """Of each new Tensor object in a tree: itself, and how many references the tree has."""
    found: dict[int, list[Any]] = {}
    seen: dict[int, Any] = {}
    waiting = [box]
    while waiting:
        value: Any = waiting.pop()
        if isinstance(value, Tensor):
            if id(value) not in old:
                found.setdefault(id(value), [value, 0])[1] += 1
        elif id(value) not in seen:
            node = (
                (list(value), None)
                if type(value) in (tuple, list)
                else (list(value.values()), None)
                if type(value) is dict
                else tree._node(value)
            )
            if node is not None:
                seen[id(value)] = value
                waiting += node[0]
    return found


def kept_elsewhere(box: list[Any], old: Container[int], after: Reached, explained: set[int], recorder: Any) -> str:
    """Which tensor that the call has made is kept neither by the result, in the box, nor by a place that is known."""

    def look() -> str:
        for number, line in recorder.living():
            if number not in explained:
                return "it keeps a tensor that it makes where nobody can look; return it" + (
                    f", at {line}" if line else ""
                )
        found = _new_tensors(box, old)
        for place in after.places:
            if place.holds == TENSOR and id(place.value) not in old:
                found.setdefault(id(place.value), [place.value, 0])[1] += 2  # one of them is the Place's
        counts = [count for _, count in found.values()]
        tensors = [entry[0] for entry in found.values()]
        found.clear()
        if any(now > count + _ONE for count, now in zip(counts, _references(tensors), strict=True)):
            return "it keeps a tensor that it returns, where nobody can look"
        return ""

    if not look():
        return ""
    gc.collect()  # what only cycles held
    return look()
