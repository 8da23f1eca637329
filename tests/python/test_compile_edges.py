"""compile (clauses F1 to F4): what changes in the middle of a frozen call, numbers of the host of other types, which
calls are alike, and which results are the same object."""

from __future__ import annotations

import contextlib
import enum
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts
from frozen_functions import warnings_are_errors

__all__ = ["warnings_are_errors"]  # a fixture for all tests here


class Box:
    """Anything with attributes."""

    w: Any
    k: Any


@pytest.fixture
def quick_switches() -> Iterator[None]:
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(old)


def frozen(f: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    g = lento.compile(f)
    for _ in range(2):
        g(*args)
    counts = Counts()
    g(*args)
    assert counts["freeze.hit"] == 1
    return g


# --- what changes in the middle ---


def test_f1_a_list_that_a_host_number_empties_raises_as_without_compile() -> None:
    held = [lento.ones(3) for _ in range(3)]
    box = Box()
    box.k = 1.0

    def number() -> float:
        if box.k > 1:
            held.clear()
        return float(box.k)

    def f(x: lento.Tensor) -> lento.Tensor:
        k = lento.host_number(number)
        for i in range(3):
            held[i] = held[i] * k + x
        return held[0] * 1

    g = frozen(f, lento.ones(3))
    box.k = 2.0
    with pytest.raises(IndexError):
        g(lento.ones(3))


def test_f1_a_tensor_that_a_host_number_replaces_is_read() -> None:
    box = Box()

    def number() -> float:
        if box.k == 2.0:
            box.w = lento.ones(3) * 100
        return float(box.k)

    def f(x: lento.Tensor) -> lento.Tensor:
        k = lento.host_number(number)
        box.w = box.w * k + x
        return box.w  # type: ignore[no-any-return]

    def results(h: Callable[[lento.Tensor], lento.Tensor]) -> list[list[float]]:
        box.w = lento.ones(3)
        found = []
        for box.k in (1.0, 1.0, 1.0, 2.0, 1.0):
            found.append(h(lento.ones(3)).tolist())
        return found

    assert results(lento.compile(f)) == results(f)


def test_f1_a_tensor_that_a_host_number_changes_in_place_is_read() -> None:
    box = Box()

    def number() -> float:
        if box.k == 2.0:
            box.w += 100
        return float(box.k)

    def f(x: lento.Tensor) -> None:
        k = lento.host_number(number)
        box.w *= k
        box.w += x

    def results(h: Callable[[lento.Tensor], None]) -> list[list[float]]:
        box.w = lento.ones(3)
        found = []
        for box.k in (1.0, 1.0, 1.0, 2.0, 1.0):
            h(lento.ones(3))
            found.append(box.w.tolist())
        return found

    assert results(lento.compile(f)) == results(f)


def test_f1_threads_lose_no_changes(quick_switches: None) -> None:
    box = Box()
    box.w = lento.zeros(4)

    def f(x: lento.Tensor) -> None:
        w = box.w
        w += x

    g = frozen(f, lento.ones(4))
    box.w = lento.zeros(4)

    def run() -> None:
        for _ in range(500):
            g(lento.exp(lento.zeros(4)))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert box.w.tolist() == [2000.0] * 4


def test_f1_a_list_that_another_thread_changes_is_looked_at_again(quick_switches: None) -> None:
    held = [lento.ones(3) for _ in range(300)]

    def f(x: lento.Tensor) -> lento.Tensor:
        for i in range(3):
            held[i] = held[i] + x
        return held[0] * 1

    g = frozen(f, lento.ones(3))
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            copy = list(held)
            held.clear()
            held.extend(copy)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(2000):
                with contextlib.suppress(IndexError):
                    g(lento.exp(lento.zeros(3)))
    finally:
        stop.set()
        thread.join()


def test_an_object_that_was_not_set_up_raises() -> None:
    kind = type(lento.compile(lambda x: x))
    with pytest.raises(TypeError, match="compile"):
        kind.__new__(kind)(lento.ones(2))  # type: ignore[operator]


class Name(enum.Enum):
    W = 1


def test_f4_a_tensor_stored_under_a_key_with_python_code_is_told() -> None:
    held: dict[Any, lento.Tensor] = {Name.W: lento.ones(2), ("w", 0): lento.ones(2)}

    def store(x: lento.Tensor, key: Any) -> None:
        held[key] = held[key] + x

    g = frozen(lambda x: store(x, ("w", 0)), lento.ones(2))
    g(lento.ones(2))
    assert held["w", 0].tolist() == [5.0, 5.0]
    with pytest.warns(RuntimeWarning, match="key"):
        lento.compile(lambda x: store(x, Name.W))(lento.ones(2))


# --- numbers of the host ---


def asked(f: Callable[[lento.Tensor, Any], lento.Tensor], x: lento.Tensor, numbers: list[Any]) -> None:
    """`f` of a number of the host gives the same with and without compile, for each of these."""
    box = Box()
    g = lento.compile(lambda x: f(x, lento.host_number(lambda: box.k)))
    for box.k in numbers:
        expected = f(x, box.k)
        found = g(x)
        assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())


def test_f3_a_host_number_of_another_type_is_recorded() -> None:
    whole = lento.asarray([1, 2])
    asked(lambda x, k: x * k, whole, [2, 2, 2, 3, 2.5, 2.5, 2.5, 3.0])
    asked(lambda x, k: x * k, whole, [2.5, 2.5, 2.5, 2])
    asked(lambda x, k: x + lento.full((2,), k), whole, [2, 2, 2, 0.5])


def test_f3_a_host_number_that_does_not_fit_raises() -> None:
    box = Box()
    g = lento.compile(lambda x: x * lento.host_number(lambda: box.k))
    x = lento.asarray([1, 2], dtype=lento.int8)
    for box.k in (3, 3, 4, -128):
        assert g(x).tolist() == (x * box.k).tolist()
    for box.k in (300, -129):
        with pytest.raises(OverflowError):
            g(x)
    box.k = 5
    assert g(x).tolist() == [5, 10]


# --- which calls are alike ---


@pytest.mark.parametrize(
    ("one", "other", "number"),
    [
        (np.float64(0.0), np.float64(-0.0), lambda k: np.copysign(1.0, k)),
        (np.float32(0.0), np.float32(-0.0), lambda k: np.copysign(1.0, k)),
        (complex(0, 0.0), complex(-0.0, -0.0), lambda k: np.copysign(1.0, k.real)),
        (slice(1, 2), slice(True, 2), lambda k: 2.0 if k.start is True else 3.0),
        (range(0, 3, 2), range(0, 4, 2), lambda k: k.stop),
    ],
)
def test_f2_arguments_that_are_equal_but_not_alike_are_other_signatures(one: Any, other: Any, number: Any) -> None:
    def f(x: lento.Tensor, k: Any) -> lento.Tensor:
        return x * float(number(k))

    g = frozen(f, lento.ones(1), one)
    assert g(lento.ones(1), other).tolist() == f(lento.ones(1), other).tolist()
    assert g(lento.ones(1), one).tolist() == f(lento.ones(1), one).tolist()


@pytest.mark.parametrize("kind", [float, np.float64, np.float32, np.int16, np.longdouble, np.bool_, np.str_])
def test_f2_an_argument_that_is_made_anew_is_the_same(kind: Any) -> None:
    value = "nan" if issubclass(kind, float | np.floating) else "1"
    make = (lambda: kind(int(value))) if value == "1" else (lambda: kind(value))
    g = lento.compile(lambda x, k: x * 2)
    for _ in range(2):
        g(lento.ones(1), make())
    counts = Counts()
    for _ in range(4):
        g(lento.ones(1), make())
    assert counts["freeze.hit"] == 4


def test_f2_whether_two_tensors_are_one_is_part_of_a_call() -> None:
    x, y = lento.ones(2), lento.ones(2)
    box = Box()
    box.w = lento.ones(2)

    def arguments(a: lento.Tensor, b: lento.Tensor) -> lento.Tensor:
        return a + b * (2 if a is b else 3)

    def attribute(a: lento.Tensor) -> lento.Tensor:
        return a + box.w * (2 if a is box.w else 3)

    g = frozen(arguments, x, y)
    for _ in range(4):
        assert g(x, x).tolist() == [3.0, 3.0]
        assert g(x, y).tolist() == [4.0, 4.0]
    g = frozen(attribute, x)
    for _ in range(4):
        assert g(box.w).tolist() == [3.0, 3.0]
    assert g(y).tolist() == [4.0, 4.0]


# --- which results are the same object ---


def test_f1_a_captured_list_is_returned_itself() -> None:
    held = [lento.ones(2)]

    def f(x: lento.Tensor) -> tuple[lento.Tensor, list[lento.Tensor]]:
        held[0] = held[0] + x
        return x * 2, held

    g = frozen(f, lento.ones(2))
    counts = Counts()
    for i in range(3):
        result = g(lento.ones(2))[1]
        assert result is held
        assert held[0].tolist() == [i + 5.0] * 2
    assert counts["freeze.hit"] == 3


def test_f4_a_list_of_the_arguments_or_one_that_is_there_twice_is_told() -> None:
    def twice(x: lento.Tensor) -> Any:
        held = [x * 2]
        return held, held

    def passes(xs: list[lento.Tensor]) -> Any:
        return xs

    with pytest.warns(RuntimeWarning, match="twice"):
        g = lento.compile(twice)
        for _ in range(4):
            one, two = g(lento.ones(2))
            assert one is two
    with pytest.warns(RuntimeWarning, match="that is an argument"):
        g = lento.compile(passes)
        for _ in range(4):
            given = [lento.ones(2)]
            assert g(given) is given


# --- numbers of the host that are computed with, out of sight ---


@pytest.mark.parametrize(
    "f",
    [
        lambda x, k: lento.grad(lambda x: lento.tanh(x * k).sum())(x),
        lambda x, k: lento.vmap(lambda x: x * k)(x),
        lambda x, k: lento.grad(lambda x: lento.checkpoint(lambda x: lento.exp(x * k))(x).sum())(x),
        lambda x, k: lento.linspace(0, k, 3) * x,
        lambda x, k: lento.nn.celu(x, k),
        lambda x, k: lento.elu(x, k),
        lambda x, k: abs(x) ** k,
    ],
)
def test_f4_a_host_number_that_is_more_than_an_operand_is_told(f: Callable[[lento.Tensor, Any], lento.Tensor]) -> None:
    with pytest.warns(RuntimeWarning, match="host_number"):
        asked(f, lento.asarray([1.0, 2.0, -3.0]), [0.25, 0.25, 0.25, 0.5, 0.75])


@pytest.mark.parametrize(
    "f",
    [
        lambda x, k: x * k + (x - k) / k,
        lambda x, k: k / x + k - x,
        lambda x, k: x // k,
        lambda x, k: lento.where(x > k, x, 1.0),
        lambda x, k: lento.where(x > 0, x, k),
        lambda x, k: lento.maximum(x, k),
        lambda x, k: lento.clip(x, 0.0, k),
        lambda x, k: lento.full((3,), k) + x,
    ],
)
def test_f3_a_host_number_is_an_operand_of(f: Callable[[lento.Tensor, Any], lento.Tensor]) -> None:
    counts = Counts()
    asked(f, lento.asarray([1.0, 2.0, -3.0]), [0.5, 0.5, 0.5, 0.25, 0.75])
    assert counts["freeze.hit"] == 3


def test_f3_a_host_number_is_an_operand_in_place() -> None:
    def f(x: lento.Tensor, k: Any) -> lento.Tensor:
        x = x * 1
        x *= k
        x[1:] = k
        return x

    counts = Counts()
    asked(f, lento.asarray([1.0, 2.0, -3.0]), [0.5, 0.5, 0.5, 0.25, 0.75])
    assert counts["freeze.hit"] == 3


def test_f3_a_host_number_that_is_no_number_any_more_is_recorded() -> None:
    box = Box()

    def f(x: lento.Tensor) -> lento.Tensor:
        return x * lento.host_number(lambda: box.k)

    g = lento.compile(f)
    for box.k in (0.5, 0.5, 0.5):
        g(lento.ones(2))
    box.k = np.float32(0.25)
    assert g(lento.ones(2)).tolist() == [0.25, 0.25]


# --- the keys of dicts ---


def test_f2_the_order_of_a_dict_and_the_names_of_attributes_are_looked_at() -> None:
    numbers = {"a": 1.0, "b": 2.0}
    box = Box()
    box.w = 1.0

    def first(x: lento.Tensor) -> lento.Tensor:
        return x * next(iter(numbers.values()))

    def has(x: lento.Tensor) -> lento.Tensor:
        return x * (2.0 if hasattr(box, "w") else 3.0)

    g, h = frozen(first, lento.ones(2)), frozen(has, lento.ones(2))
    numbers["a"] = numbers.pop("a")
    assert g(lento.ones(2)).tolist() == [2.0, 2.0]
    del box.w
    box.k = 1.0
    assert h(lento.ones(2)).tolist() == [3.0, 3.0]


def test_f4_a_call_that_changes_the_order_of_a_dict_is_told() -> None:
    numbers = {"a": 1.0, "b": 2.0}

    def f(x: lento.Tensor) -> lento.Tensor:
        name, number = next(iter(numbers.items()))
        numbers[name] = numbers.pop(name)
        return x * number

    g = lento.compile(f)
    with pytest.warns(RuntimeWarning, match="the keys of numbers"):
        for i in range(6):
            assert g(lento.ones(2)).tolist() == [1.0 + i % 2] * 2
