"""What a function can reach without being given it: the places where it finds tensors, and what has to be there still
for a frozen call to do what the function would."""

from __future__ import annotations

import array
import functools
import gc
import operator
import sys
import sysconfig
import types
from collections import deque
from collections.abc import Callable, Container, Iterator
from contextvars import ContextVar
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from . import _core
from ._core import Device, DType, Generator, Tensor

# As Place::Kind and Place::Holds in python/src/frozen_entry.h.
DICT, LIST, CELL, LENGTH = range(4)
SAME, ATOM, TENSOR = range(3)

#: Values that are told apart by type and equality.
ATOMS: frozenset[type] = frozenset(
    {int, float, complex, bool, str, bytes, type(None), type(Ellipsis), slice, range, DType, Device}
)

#: What optimizers are asked for at each call.
_ASKED_ANEW = ("lr", "step_count")

#: Where one of them is used, any attribute may be meant.
_READERS_OF_ANY_NAME = frozenset({"getattr", "hasattr", "vars", "__dict__", "attrgetter", "eval", "exec"})
_MAKERS = ("__init__", "__new__", "__post_init__")
#: Modules of the standard library whose objects are walked as those of the user.
_PLAIN_HOLDERS = ("types", "argparse", "collections")
_CACHED = type(functools.lru_cache(lambda: None))
_SLOT = types.MemberDescriptorType

_MOST_BYTES = 4096  # of an array that is compared by value
_MOST_PLACES = 10_000  # looking at them costs 15 ns each
_MOST_ITEMS = 1_000  # of a list or dict that is looked into
_DEEPEST = 60
#: Packages that keep no tensors of Lento's, and whose numbers no function depends on. The standard library is found by
#: where it lies, as a user's module may have a name of its.
_OF_OTHERS = frozenset(
    [
        "numpy",
        "torch",
        "jax",
        "jaxlib",
        "scipy",
        "pandas",
        "sklearn",
        "matplotlib",
        "PIL",
        "IPython",
        "tqdm",
        "pytest",
        "_pytest",
    ]
)
_STANDARD = sysconfig.get_paths()["stdlib"]
_known_packages: dict[str, bool] = {}


class Place(NamedTuple):
    kind: int
    holds: int
    container: Any
    key: Any
    value: Any
    name: str

    @property
    def where(self) -> tuple[int, int, Any]:
        """The same for the same place as long as its container lives."""
        return (self.kind, id(self.container), self.key if self.kind in (DICT, LIST) else None)


class TooMuch(Exception):
    """There is more than is worth looking at before each call."""


def is_atom(value: Any) -> bool:
    return type(value) in ATOMS or (type(value).__module__ == "numpy" and _is_numpy_scalar(value))


def _is_numpy_scalar(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def _package(thing: Any) -> str:
    return str(getattr(thing, "__module__", None) or "").partition(".")[0]


def _is_of_others(package: str) -> bool:
    """Whether a package is one of other libraries, or of the standard library."""
    found = _known_packages.get(package)
    if found is None:
        file = getattr(sys.modules.get(package), "__file__", None)
        if file is None:
            found = package in sys.stdlib_module_names and package != "__main__"
        else:
            found = file.startswith(_STANDARD) and "site-packages" not in file
        found = _known_packages[package] = found or package in _OF_OTHERS
    return found


def _is_users(thing: Any) -> bool:
    """Whether a function or class is neither Lento's nor of others."""
    package = _package(thing)
    return package != "lento" and not _is_of_others(package)


def _names(code: types.CodeType, without: Container[types.CodeType] = ()) -> frozenset[str]:
    """All names that the code uses, of globals and of attributes, also in functions inside of it. A string may be one
    too: getattr(settings, "rate")."""
    if code in without:
        return frozenset()
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant, without)
        else:
            parts = constant if isinstance(constant, tuple) else (constant,)
            found.update(part for part in parts if isinstance(part, str) and part.isidentifier())
    return frozenset(found)


def _functions(kind: type) -> Iterator[tuple[str, types.FunctionType]]:
    """The methods of a class itself, by the names of its attributes."""
    for name, value in vars(kind).items():
        for inner in (value, getattr(value, "__func__", None), getattr(value, "fget", None)):
            if isinstance(inner, types.FunctionType):
                yield name, inner


def _is_called_by_python(name: str) -> bool:
    """Whether a method is one of operators, calls and the like, or what the call of a module calls. What sets an object
    up is not: it names all attributes."""
    if name == "forward":
        return True
    return name.startswith("__") and name not in ("__init__", "__post_init__", "__repr__", "__setstate__")


def _is_users_module(module: Any) -> bool:
    if not isinstance(module, types.ModuleType):
        return False
    package = module.__name__.partition(".")[0]
    return package != "lento" and not _is_of_others(package)


def _own_attributes(kind: type) -> dict[str, Any]:
    return next((held for held in gc.get_referents(vars(kind)) if type(held) is dict), {})


_known_slots: WeakKeyDictionary[type, list[str]] = WeakKeyDictionary()


def _slots(kind: type) -> list[str]:
    """The attributes of a user's objects that are in no dict."""
    found = _known_slots.get(kind)
    if found is None:
        own = [name for base in kind.__mro__ for name, value in vars(base).items() if type(value) is _SLOT]
        found = _known_slots[kind] = own if _is_users(kind) else []
    return found


def state_of(value: Any) -> tuple[Any, ...] | bytes | None:
    """What an object that is no list or dict holds now, where that is compared; None for others."""
    kind = type(value)
    if kind is set or kind is deque:
        return tuple(value) if len(value) <= _MOST_ITEMS else None
    if kind is bytearray or kind is array.array:
        return bytes(value) if len(value) <= _MOST_BYTES else None
    if kind is ContextVar:
        return (value.get(None),)
    if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
        return bytes(value.tobytes()) if value.nbytes <= _MOST_BYTES and not value.dtype.hasobject else None
    slots = () if isinstance(value, type) else _slots(kind)
    return tuple(getattr(value, name, None) for name in slots) if slots else None


def is_same_state(a: tuple[Any, ...] | bytes | None, b: tuple[Any, ...] | bytes | None) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(operator.is_, a, b))
    return type(a) is type(b) and a == b


class Reached:
    """The places, from functions and objects on."""

    def __init__(self, roots: list[tuple[str, Any]], without: Container[types.CodeType] = ()) -> None:
        self._without = without  # code whose names do not count
        self._found: list[tuple[Place, bool]] = []  # and whether it only matters if code has its name
        self._rates: list[Place] = []  # what optimizers are asked for at each call
        self._seen: set[int] = set()
        self._names: set[str] = set()
        self._users_names: set[str] = set()  # of code that is not Lento's
        self._classes: set[type] = set()  # whose methods are known
        self._made: set[type] = set()  # of which there may be new objects
        self._class_attributes: list[tuple[dict[str, Any], str, str, bool]] = []  # those that no code names yet
        self._modules: list[tuple[types.ModuleType, str, set[str]]] = []  # and the names that were looked for
        self._values: list[tuple[str, Any, str | None]] = []  # what is compared by value, and the name that it needs
        self._methods: list[tuple[str, types.FunctionType, type]] = []  # those that nobody was seen to call
        self._attributes: dict[Any, str] = {}
        self._kept: list[Any] = []  # objects whose ids are in _seen
        self.generators: dict[int, Generator] = {}
        for name, root in roots:
            if isinstance(root, Generator):
                self.generators[_core._generator_address(root)] = root
            self._visit(root, name, 0, True)
            self._keep_value(root, name, None)
        known = -1
        while known != len(self._found) + len(self._names):
            known = len(self._found) + len(self._names)
            self._visit_methods()
            self._visit_modules()
            self._visit_class_attributes()
        names_all = not _READERS_OF_ANY_NAME.isdisjoint(self._users_names)
        self.places = [
            place for place, needs_name in self._found if not needs_name or names_all or str(place.key) in self._names
        ]
        self.values = [
            (name, value) for name, value, key in self._values if key is None or names_all or key in self._names
        ]
        self.names = self._users_names
        rates = [place for place in self._rates if place.key in self._users_names]
        self.places += rates
        #: Those of optimizers that code of the user's names.
        self.rates = {place.where: place for place in rates}
        #: Attributes with tensors that no code names: whoever wants one of them reads it, as all of a module's.
        self.unnamed = {where for where, key in self._attributes.items() if key not in self._names}

    def _add(
        self, kind: int, container: Any, key: Any, value: Any, name: str, depth: int, atoms: bool, needs_name: bool
    ) -> None:
        if len(self._found) > _MOST_PLACES:
            raise TooMuch
        if isinstance(value, Tensor):
            place = Place(kind, TENSOR, container, key, value, name)
            self._found.append((place, False))
            if needs_name:
                self._attributes[place.where] = str(key)
        elif is_atom(value):
            place = Place(kind, ATOM, container, key, value, name)
            if atoms or key not in _ASKED_ANEW:
                self._found.append((place, needs_name))
            else:
                self._rates.append(place)
        else:
            if isinstance(value, Generator):
                self.generators[_core._generator_address(value)] = value
            at = len(self._found)
            self._found.append((Place(kind, SAME, container, key, value, name), needs_name))
            self._keep_value(value, name, str(key) if needs_name else None)
            self._visit(value, name, depth + 1, atoms)
            if needs_name and any(place.holds == TENSOR for place, _ in self._found[at:]):
                self._found[at] = (self._found[at][0], False)

    def _visit(self, value: Any, name: str, depth: int, atoms: bool) -> None:
        if id(value) in self._seen or depth > _DEEPEST:
            return
        self._seen.add(id(value))
        self._kept.append(value)
        if isinstance(value, types.FunctionType):
            self._visit_function(value, depth, atoms)
        elif isinstance(value, types.MethodType):
            self._visit(value.__self__, _owner(name), depth, atoms)
            self._visit(value.__func__, name, depth, atoms)
        elif isinstance(value, functools.partial):
            self._visit(value.func, name, depth, atoms)
            self._visit(value.args, f"{name}.args", depth, atoms)
            self._visit(value.keywords, f"{name}.keywords", depth, atoms)
        elif isinstance(value, _core._Compiled | _CACHED):
            self._visit(value.__wrapped__, name, depth, atoms)
        elif isinstance(value, operator.attrgetter | operator.methodcaller):
            self._users_names.update(".".join(map(str, value.__reduce__()[1])).split("."))
            self._names |= self._users_names
        elif isinstance(value, list | tuple):
            if not isinstance(value, tuple):
                self._found.append((Place(LENGTH, SAME, value, len(value), None, f"the length of {name}"), False))
            for i, item in enumerate(value if len(value) <= _MOST_ITEMS else ()):
                self._add(LIST, value, i, item, f"{name}[{i}]", depth, atoms, False)
        elif isinstance(value, dict):
            self._found.append((_keys(value, f"the keys of {name}"), False))
            for key, item in list(value.items()) if len(value) <= _MOST_ITEMS else ():
                self._add(DICT, value, key, item, f"{name}[{key!r}]", depth, atoms, False)
        elif isinstance(value, type):
            for base in value.__mro__[:-1]:
                self._add_class(base, name, True)
        elif isinstance(value, types.ModuleType):
            if _is_users_module(value):
                self._modules.append((value, name, set()))
        elif not isinstance(value, Generator):
            self._visit_object(value, name, depth, atoms)

    def _visit_function(self, f: types.FunctionType, depth: int, atoms: bool) -> None:
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            if name == "__class__":  # of super(), and no reason to look at more than instances need
                continue
            try:
                held = cell.cell_contents
            except ValueError:  # empty
                continue
            self._add(CELL, cell, None, held, name, depth, atoms, False)
        if f.__defaults__:
            self._visit(f.__defaults__, f"{f.__name__}.__defaults__", depth, atoms)
        if f.__kwdefaults__:
            self._visit(f.__kwdefaults__, f"{f.__name__}.__kwdefaults__", depth, atoms)
        if not _is_users(f):
            return
        for key, item in list(vars(f).items()):
            self._add(DICT, vars(f), key, item, f"{f.__name__}.{key}", depth, atoms, True)
        names = _names(f.__code__, self._without)
        self._names |= names
        self._users_names |= names
        known = f.__globals__
        for name in sorted(names):
            if name in known:
                value = known[name]
                if not isinstance(value, types.ModuleType) or _is_users_module(value):
                    self._add(DICT, known, name, value, name, depth, atoms, False)
            elif _is_users_module(module := sys.modules.get(name)):  # imported inside
                self._visit(module, name, depth, atoms)

    def _visit_modules(self) -> None:
        """What users' code names of modules."""
        for module, name, seen in list(self._modules):
            own = vars(module)
            new = sorted((self._users_names & own.keys()) - seen)
            seen.update(new)
            for inner in new:
                value = own[inner]
                if not isinstance(value, types.ModuleType) or _is_users_module(value):
                    self._add(DICT, own, inner, value, f"{name}.{inner}", 1, True, False)

    def _visit_class_attributes(self) -> None:
        """Attributes of classes that some code names."""
        waiting, self._class_attributes = self._class_attributes, []
        for own, key, name, atoms in waiting:
            if key in self._names or _is_called_by_python(key):
                self._add(DICT, own, key, own[key], name, 1, atoms, True)
            else:
                self._class_attributes.append((own, key, name, atoms))

    def has(self, value: Any) -> bool:
        """Whether an object was looked into."""
        return id(value) in self._seen

    def _visit_methods(self) -> None:
        """Methods that some code names or Python calls by itself: what they name and reach, until there are no more."""
        while True:
            called = [one for one in self._methods if one[0] in self._names or _is_called_by_python(one[0])]
            if not called:
                return
            self._methods = [one for one in self._methods if one not in called]
            for name, method, kind in called:
                self._names |= _names(method.__code__)
                if _is_users(kind):
                    self._visit(method, f"{kind.__name__}.{name}", 1, True)

    def _add_class(self, kind: type, name: str, is_made: bool) -> None:
        """What a class of the user's has; ``is_made`` where the function may make objects of it. Tensors there are not
        found: nobody may put others there."""
        if kind not in self._classes:
            self._classes.add(kind)
            self._methods += [(name, method, kind) for name, method in _functions(kind)]
            if _is_users(kind):
                own = _own_attributes(kind)
                shown = kind.__name__
                self._class_attributes += [
                    (own, key, f"{shown}.{key}", not _is_optimizer(kind))
                    for key, item in own.items()
                    if not isinstance(item, Tensor) and (callable(item) or not key.startswith("__"))
                ]
        if is_made and _is_users(kind) and kind not in self._made:
            self._made.add(kind)
            for key, method in _functions(kind):
                if key in _MAKERS:
                    self._visit(method, f"{name}.{key}", 1, True)

    def _keep_value(self, value: Any, name: str, key: str | None) -> None:
        if state_of(value) is not None:
            self._values.append((name, value, key))

    def _visit_object(self, value: Any, name: str, depth: int, atoms: bool) -> None:
        kind = type(value)
        own = getattr(value, "__dict__", None)
        if _is_of_others(_package(kind)) and kind.__module__ not in _PLAIN_HOLDERS:
            return
        atoms = atoms and not _is_optimizer(kind)
        for base in kind.__mro__[:-1]:
            self._add_class(base, base.__name__, False)
        for slot in _slots(kind):
            self._visit(getattr(value, slot, None), f"{name}.{slot}", depth + 1, atoms)
        if type(own) is not dict:
            return
        # An attribute that is new may hide one of the class.
        what = f"the attributes of {name}"
        place = _keys(own, what) if _is_users(kind) else Place(LENGTH, SAME, own, len(own), None, what)
        self._found.append((place, False))
        for key, item in list(own.items()):
            self._add(DICT, own, key, item, f"{name}.{key}", depth, atoms, True)


def _keys(known: dict[Any, Any], name: str) -> Place:
    """What keys a dict has, and their order."""
    return Place(LENGTH, SAME, known, len(known), tuple(known) if len(known) <= _MOST_ITEMS else None, name)


def _is_optimizer(kind: type) -> bool:
    return any(base.__name__ == "Optimizer" and base.__module__.startswith("lento.optim") for base in kind.__mro__)


def asked_by(functions: list[Callable[..., Any]], roots: list[tuple[str, Any]]) -> set[Any]:
    """The places of numbers that functions of host_number read, and other code does not: they may change."""
    if not functions:
        return set()
    names: set[str] = set()
    codes = []
    for function in functions:
        code = getattr(getattr(function, "__func__", function), "__code__", None)
        if code is not None:
            codes.append(code)
            names |= _names(code)
    others = Reached(roots, codes)
    known = {place.where for place in others.places}
    return {
        place.where
        for place in Reached([("host_number", function) for function in functions]).places
        if place.holds == ATOM
        and (place.kind != DICT or (place.key in names and not (place.key in others.names and place.where in known)))
    }


def _owner(name: str) -> str:
    return name.rpartition(".")[0] or "self"


def name_of(f: Callable[..., Any]) -> str:
    """ "step (train.py:12)"."""
    inner = f
    while isinstance(inner, functools.partial | types.MethodType):
        inner = inner.func if isinstance(inner, functools.partial) else inner.__func__
    name = getattr(inner, "__qualname__", type(f).__qualname__).rpartition("<locals>.")[2]
    code = getattr(inner, "__code__", None)
    if code is None:
        return str(name)
    return f"{name} ({code.co_filename.rpartition('/')[2]}:{code.co_firstlineno})"
