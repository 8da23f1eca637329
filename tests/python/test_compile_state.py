"""compile (clauses F3 and F4): what a function changes and depends on besides its arguments, and is not lost."""

from __future__ import annotations

import argparse
import array
import copy
import functools
import gc
import operator
import pickle
import sys
import threading
import types
import warnings
import weakref
from collections import UserDict, deque, namedtuple
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ClassVar

import lento
import numpy as np
import pytest
from engine import Counts
from frozen_functions import t, told_as_plain, warnings_are_errors

__all__ = ["warnings_are_errors"]  # a fixture for all tests here


# --- F4: stores into arguments ---


def test_f4_stores_into_a_dict_that_is_an_argument() -> None:
    def f(p: dict[str, lento.Tensor], x: lento.Tensor) -> None:
        for name in p:
            p[name] = p[name] - x * 0.5

    def calls(g: Callable[..., Any], _: int) -> list[float]:
        p = {"a": t(1)}
        for _ in range(5):
            g(p, t(1))
        return list(p["a"].tolist())

    told_as_plain(f, calls, "stores into an argument, argument 0")


def test_f4_stores_into_a_list_that_is_an_argument() -> None:
    def replace(xs: list[Any]) -> None:
        xs[1][0] = xs[1][0] * 2

    def append(xs: list[Any]) -> None:
        xs[1].append(xs[1][0] * 2)

    def calls(g: Callable[..., Any], _: int) -> list[Any]:
        xs = [t(2), [t(1)]]
        for _ in range(2):
            g(xs)
        return [x.tolist() for x in xs[1]]

    told_as_plain(replace, calls, "stores into an argument, argument 0[1]")
    told_as_plain(append, calls, "stores into an argument, argument 0[1]")


# --- F4: tensors that are kept where nobody looks ---


class Slots:
    __slots__ = ("h",)


class Settings:
    last: Any = None


@pytest.mark.parametrize("is_returned", [True, False])
@pytest.mark.parametrize("where", ["deque", "long list", "slots", "class", "module", "array"])
def test_f4_a_tensor_that_is_kept_where_nobody_looks(where: str, is_returned: bool) -> None:
    def calls(g: Callable[..., Any], i: int) -> list[Any]:
        read = stores[where][1]
        if where == "long list":
            history[:] = [t(0)] * 1100
        seen = []
        for k in range(4):
            g(t(i + k))
            seen.append(read().tolist())
        return seen

    history = [t(0)] * 1100
    queue: deque[Any] = deque(maxlen=2)
    slots, array = Slots(), np.empty(1, object)
    module = types.ModuleType("settings_of_test")
    stores: dict[str, tuple[Callable[[Any], Any], Callable[[], Any]]] = {
        "deque": (queue.append, lambda: queue[-1]),
        "long list": (lambda y: history.append(y), lambda: history[-1]),
        "slots": (lambda y: setattr(slots, "h", y), lambda: slots.h),
        "class": (lambda y: setattr(Settings, "last", y), lambda: Settings.last),
        "module": (lambda y: setattr(module, "last", y), lambda: module.last),  # type: ignore[attr-defined]
        "array": (lambda y: array.__setitem__(0, y), lambda: array[0]),
    }
    store = stores[where][0]

    def f(x: lento.Tensor) -> Any:
        y = x * 2
        y += 1
        store(y)
        return {"y": [y]} if is_returned else None

    g = lento.compile(f)
    counts = Counts()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        given = [calls(g, i) for i in range(3)]
    assert given == [calls(f, i) for i in range(3)]
    assert counts["freeze.hit"] == 0
    assert len(caught) == 1
    assert "it keeps a tensor" in str(caught[0].message)


def test_f4_tensors_that_are_new_and_known_are_no_reason() -> None:
    class Cache:
        def __init__(self) -> None:
            self.h = t(0)
            self.all = {"a": t(0)}

    cache = Cache()

    def f(x: lento.Tensor) -> Any:
        y = x * 2
        z = y + 1
        z += y
        cache.h = y
        cache.all["a"] = z
        cycle: list[Any] = [x * 3]
        cycle.append(cycle)
        return y, {"again": [y, y]}, z, cache

    g = lento.compile(f)
    counts = Counts()
    for i in range(5):
        y, again, z, same = g(t(i))
        assert (y.tolist(), z.tolist(), same is cache) == ([2 * i], [4 * i + 1], True)
        assert again["again"][0] is y
        assert cache.h is y
        assert cache.all["a"] is z
    assert counts["freeze.hit"] == 3


# --- F4: changes that are explained, and verify ---


def test_f3_a_number_that_changes_between_the_first_two_calls() -> None:
    class Settings:
        dt = 1.0

    o = Settings()
    o.dt = 1.0
    g = lento.compile(lambda x: x * o.dt)
    counts = Counts()
    for dt in (1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0):
        o.dt = dt
        assert g(t(1)).tolist() == [dt]
    assert counts["freeze.hit"] == 2


def test_f4_a_difference_that_verify_finds_is_not_frozen_any_more() -> None:
    class Hidden:
        __slots__ = ("k",)

    hidden = Hidden()
    hidden.k = 1.0
    g = lento.compile(lambda x: x * hidden.k, verify=2)
    for _ in range(3):
        g(t(1))
    hidden.k = 2.0
    with pytest.raises(RuntimeError, match="would give something else"):
        g(t(1))
    for _ in range(5):
        assert g(t(1)).tolist() == [2]


# --- F3: Python state that is changed outside ---


class Base:
    inherited = 1.0

    class Inner:
        number = 1.0


class Numbers(Base):
    number = 1.0
    listed: ClassVar[list[float]] = [1.0]

    @staticmethod
    def static() -> float:
        return FACTOR

    @classmethod
    def of_class(cls) -> float:
        return cls.number

    def __init__(self) -> None:
        self.own = FACTOR

    def method(self) -> float:
        return 1.0


FACTOR = 1.0
variable: ContextVar[float] = ContextVar("variable")


def helper() -> float:
    return settings.b  # type: ignore[no-any-return]


settings: Any = types.ModuleType("settings_of_a_user")
settings.inner = types.ModuleType("settings_of_a_user.inner")
sys.modules[settings.__name__] = settings


def set_global(value: float) -> None:
    globals()["FACTOR"] = value


def set_method(value: float) -> None:
    Numbers.method = lambda self: value  # type: ignore[method-assign]


def imported() -> float:
    from settings_of_a_user import a  # type: ignore[import-not-found]

    return a  # type: ignore[no-any-return]


held: Any = types.SimpleNamespace(
    space=types.SimpleNamespace(dt=1.0),
    arguments=argparse.Namespace(dt=1.0),
    user=UserDict(dt=1.0),
    queue=deque([1.0]),
    numbers={1.0},
    data=bytearray(b"\x01"),
    array=array.array("d", [1.0]),
    small=np.ones(3),
    slots=Slots(),
)
held.slots.h = 1.0
cached = functools.lru_cache(lambda: held.space.dt)
attribute_of = operator.attrgetter("space.dt")

CHANGES: dict[str, tuple[Callable[[], float], Callable[[float], Any]]] = {
    "module, two functions": (lambda: settings.a * 0 + helper(), lambda v: setattr(settings, "b", v)),
    "inner module": (lambda: settings.inner.dt, lambda v: setattr(settings.inner, "dt", v)),
    "imported inside": (imported, lambda v: setattr(settings, "a", v)),
    "static method": (lambda: Numbers.static(), set_global),
    "class method": (lambda: Numbers.of_class(), lambda v: setattr(Numbers, "number", v)),
    "made inside": (lambda: Numbers().own, set_global),
    "inherited": (lambda: Numbers.inherited, lambda v: setattr(Base, "inherited", v)),
    "list of a class": (lambda: Numbers.listed[0], lambda v: Numbers.listed.__setitem__(0, v)),
    "nested class": (lambda: Numbers.Inner.number, lambda v: setattr(Base.Inner, "number", v)),
    "patched method": (lambda: Numbers().method(), set_method),
    "getattr": (lambda: getattr(held.space, "dt"), lambda v: setattr(held.space, "dt", v)),  # noqa: B009
    "name made up": (lambda: getattr(held.space, f"d{'t'}"), lambda v: setattr(held.space, "dt", v)),
    "attrgetter": (lambda: attribute_of(held), lambda v: setattr(held.space, "dt", v)),
    "vars": (lambda: vars(held.space)["d" + "t"], lambda v: setattr(held.space, "dt", v)),
    "globals": (lambda: globals()["FACTOR"], set_global),
    "namespace of arguments": (lambda: held.arguments.dt, lambda v: setattr(held.arguments, "dt", v)),
    "UserDict": (lambda: held.user["dt"], lambda v: held.user.__setitem__("dt", v)),
    "deque": (lambda: held.queue[-1], lambda v: held.queue.append(v)),
    "set": (lambda: max(held.numbers), lambda v: held.numbers.add(v)),
    "bytearray": (lambda: held.data[0], lambda v: held.data.__setitem__(0, int(v))),
    "array": (lambda: held.array[0], lambda v: held.array.__setitem__(0, v)),
    "NumPy": (lambda: float(held.small[0]), lambda v: held.small.__setitem__(0, v)),
    "slots": (lambda: held.slots.h, lambda v: setattr(held.slots, "h", v)),
    "context variable": (lambda: variable.get(1.0), lambda v: variable.set(v)),
    "lru_cache": (lambda: cached.__wrapped__(), lambda v: setattr(held.space, "dt", v)),
}


@pytest.mark.parametrize("what", CHANGES)
def test_f3_python_state_that_changes_is_seen(what: str) -> None:
    read, write = CHANGES[what]
    for module in (settings, settings.inner):
        module.a = module.b = module.dt = 1.0
    globals()["FACTOR"] = 1.0
    held.space.dt = 1.0
    g = lento.compile(lambda x: x * read())
    counts = Counts()
    for _ in range(4):
        assert g(t(1)).tolist() == [1]
    assert counts["freeze.hit"] == 2
    for value in (3.0, 4.0):
        write(value)
        for _ in range(3):
            assert g(t(1)).tolist() == [value]
    assert counts["freeze.hit"] == 4


def test_f3_an_attribute_that_takes_the_place_of_another() -> None:
    space = types.SimpleNamespace(a=1.0)
    g = lento.compile(lambda x: x * (2 if hasattr(space, "b") else 1))
    for _ in range(3):
        assert g(t(1)).tolist() == [1]
    del space.a
    space.b = 1.0
    assert g(t(1)).tolist() == [2]


def test_f4_a_file_that_is_read_inside(tmp_path: Any) -> None:
    def calls(g: Callable[..., Any], i: int) -> list[float]:
        lento.save(path, t(i))
        return list(g(t(1)).tolist())

    path = tmp_path / "x.npy"
    told_as_plain(lambda x: x * lento.load(path), calls, "lento.load() is called inside")


def test_f3_sets_that_are_arguments() -> None:
    f = lambda x, s: x * len(s)  # noqa: E731
    g = lento.compile(f)
    s = {1, 2}
    for i in range(8):
        if i % 3 == 0:
            s.add(i + 5)
        assert g(t(1), s).tolist() == f(t(1), s).tolist()


def test_f3_tensors_of_a_namespace_are_read_and_replaced() -> None:
    space = types.SimpleNamespace(h=t(0))

    def f(x: lento.Tensor) -> lento.Tensor:
        space.h = space.h + x
        return space.h * 1

    g = lento.compile(f)
    counts = Counts()
    for i in range(5):
        assert g(t(1)).tolist() == [i + 1]
    assert counts["freeze.hit"] == 3


def test_f3_class_attributes_of_optimizers_of_ones_own() -> None:
    class Own(lento.optim.Optimizer):
        factor = 1.0

        def update(self, parameter: Any, gradient: Any, kept: Any, lr: float, step: int) -> None:
            parameter -= gradient * self.factor

    def train(wrap: Callable[..., Any]) -> list[Any]:
        w = t(1, 2)
        optimizer = Own(w, lr=0.5)
        taken = wrap(lambda: optimizer.step(lento.grad(lambda p: (p**2).sum())(w)))
        seen = []
        for i in range(8):
            Own.factor = 1.0 if i < 4 else 0.25
            taken()
            seen.append(w.tolist())
        return seen

    counts = Counts()
    assert train(lento.compile) == train(lambda f: f)
    assert counts["freeze.hit"] == 4


# --- F5: copies, memory and threads ---


@lento.compile
def of_module(x: lento.Tensor) -> lento.Tensor:
    return x * 2


def test_f5_copies_of_compiled_functions() -> None:
    assert copy.deepcopy(of_module) is of_module
    assert pickle.loads(pickle.dumps(of_module)) is of_module

    class Scaled:
        def __init__(self) -> None:
            self.factor = 2.0
            self.g: Any = lento.compile(self.scaled)

        def scaled(self, x: lento.Tensor) -> lento.Tensor:
            return x * self.factor

    first = Scaled()
    second = copy.deepcopy(first)
    second.factor = 3.0
    for _ in range(3):
        assert (first.g(t(1)).tolist(), second.g(t(1)).tolist()) == ([2], [3])


def test_f5_named_tuples_of_one_call_are_not_kept() -> None:
    Batch = namedtuple("Batch", "x y")
    alive = []

    def f(batch: Any) -> Any:
        return batch.x * batch.y

    g = lento.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(80):
            batch = Batch(t(i), t(2))
            alive.append(weakref.ref(batch.x))
            assert g(batch).tolist() == [2 * i]
    del batch
    gc.collect()
    assert sum(x() is not None for x in alive) <= 8


def test_f5_threads_with_more_signatures_than_are_kept() -> None:
    g = lento.compile(lambda x, i: x + i)
    x = t(1)
    wrong: list[Any] = []

    def call(seed: int) -> None:
        numbers = np.random.default_rng(seed).integers(0, 80, 1500) + np.arange(1500) // 8
        try:
            for i in numbers.tolist():
                if g(x, i).shape != (1,):
                    wrong.append(i)
        except BaseException as error:
            wrong.append(error)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        threads = [threading.Thread(target=call, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert wrong == []
