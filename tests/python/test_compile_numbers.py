"""compile (clauses F3 and F4): numbers of the host, and rates of optimizers: asked for anew, or told."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts
from frozen_functions import t, told_as_plain, warnings_are_errors

__all__ = ["warnings_are_errors"]  # a fixture for all tests here


# --- F4: numbers of the host that Python looks at ---

USES: dict[str, Callable[[Any, lento.Tensor], Any]] = {
    ">=": lambda k, x: x * k * (10 if k >= 3 else 1),
    "==": lambda k, x: x * k * (10 if k == 3 else 1),
    "bool": lambda k, x: x * k + 1 if k else x * k,
    "int": lambda k, x: x * k * int(k),
    "float": lambda k, x: x * k * float(k),
    "round": lambda k, x: x * k * round(k),
    "str": lambda k, x: x * k * len(str(k) * 3),
    "f-string": lambda k, x: x * k + len(f"{k:.3f}"),
    "max": lambda k, x: x * k + max(k, 3),
    "min": lambda k, x: x * min(k, 3),
    "arithmetic": lambda k, x: x * k + x * (2 * k - 1),
    "sqrt": lambda k, x: x * k + math.sqrt(k),
    "floor": lambda k, x: x * k + math.floor(k),
    "hash": lambda k, x: x * k + hash(k),
    "in": lambda k, x: x * k + (1 if k in (2, 3) else 0),
    "roll": lambda k, x: lento.roll(x, k) * k,
    "arange": lambda k, x: lento.arange(k) * k,
    "eye": lambda k, x: lento.eye(3, k=k) * k,
    "asarray": lambda k, x: x * k + lento.asarray(k) + lento.asarray([k, 1]).sum(),
    "range": lambda k, x: x * k + len(range(k)),
    "numpy": lambda k, x: x * k + float((np.ones(2) * k).sum()),
    "attribute": lambda k, x: x * k + k.real,
    "result": lambda k, x: (x * k, k),
    "list": lambda k, x: (x * k, {"k": [k]}),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", [int, float])
def test_f4_a_host_number_that_python_looks_at(use: str, kind: type) -> None:
    if kind is float and use in ("roll", "eye", "range"):
        return

    def calls(g: Callable[..., Any], i: int) -> Any:
        now[0] = kind(i)
        found = lento.tree.leaves(g(t(1, 2, 3)))
        return [leaf.tolist() if isinstance(leaf, lento.Tensor) else (type(leaf), leaf) for leaf in found]

    now: list[Any] = [0]
    told_as_plain(lambda x: USES[use](lento.host_number(lambda: now[0]), x), calls, "lento.host_number")


def test_f4_a_host_number_that_is_a_length() -> None:
    def calls(g: Callable[..., Any], i: int) -> Any:
        now[0] = max(1, i - 2)
        return g().tolist()

    def f() -> lento.Tensor:
        k = lento.host_number(lambda: now[0])
        return lento.arange(k) * k

    now = [1]
    told_as_plain(f, calls, "lento.host_number")


def test_f4_a_host_number_that_is_kept() -> None:
    class Log:
        last: Any = None

    def f(x: lento.Tensor) -> lento.Tensor:
        log.last = lento.host_number(lambda: now[0])
        return x * log.last

    def calls(g: Callable[..., Any], i: int) -> Any:
        now[0] = float(i)
        return g(t(1)).tolist(), log.last + 1

    log, now = Log(), [0.0]
    log.last = 1.0
    told_as_plain(f, calls, "keeps a number from lento.host_number: log.last")


@pytest.mark.parametrize("number", [True, np.float32(2), np.float64(2), np.int64(2)])
def test_f4_what_a_host_number_may_be(number: Any) -> None:
    f = lambda x: x * lento.host_number(lambda: number)  # noqa: E731
    g = lento.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(4):
            assert (g(t(1, 2)).tolist(), g(t(1)).dtype) == (f(t(1, 2)).tolist(), f(t(1)).dtype)


def test_f3_a_host_number_on_both_sides_of_operators() -> None:
    def f(x: lento.Tensor) -> Any:
        k = lento.host_number(lambda: now[0])
        y = x * 1
        y *= k
        assert isinstance(k, float)
        return k * x, k - x, x / k, k / x, x**2 * k, k > x, x <= k, lento.where(x > 1, x, k), y, lento.full((2,), k)

    now = [0.5]
    g = lento.compile(f)
    counts = Counts()
    for i in range(5):
        now[0] = 0.75 * i + 0.25
        assert [y.tolist() for y in g(t(1, 2, 3))] == [y.tolist() for y in f(t(1, 2, 3))]
    assert counts["freeze.hit"] == 3


@pytest.mark.parametrize("use", ["lr > 0.25", "max(lr, 0.2)", "step > 4"])
def test_f4_an_optimizer_of_ones_own_that_looks_at_its_rate(use: str) -> None:
    class Own(lento.optim.Optimizer):
        def update(self, parameter: Any, gradient: Any, kept: Any, lr: float, step: int) -> None:
            factor = eval(use, {"lr": lr, "step": step})
            parameter -= gradient * lr * (2.0 if factor is True else 1.0 if factor is False else factor)

    def train(wrap: Callable[..., Any]) -> list[Any]:
        w = t(1, 2)
        optimizer = Own(w, lr=lambda step: 0.5 / (step + 1))
        taken = wrap(lambda: optimizer.step(lento.grad(lambda p: (p**2).sum())(w)))
        for _ in range(7):
            taken()
        return [w.tolist(), optimizer.step_count]

    with pytest.warns(RuntimeWarning, match="used on the host"):
        given = train(lento.compile)
    assert given == train(lambda f: f)


# --- F3: rates and step counts of optimizers that the function reads itself ---


def trained(count: int, f: Callable[..., Any], poke: Callable[[Any, int], None]) -> Callable[..., Any]:
    def run(wrap: Callable[..., Any]) -> list[Any]:
        w = t(1, 2)
        optimizer = lento.optim.SGD(w, lr=0.5)
        g = wrap(lambda x: f(optimizer, w, x))
        seen = []
        for i in range(count):
            poke(optimizer, i)
            seen.append(lento.asarray(g(t(1, 1))).tolist())
        return seen

    return run


def test_f3_a_rate_that_the_function_reads_is_seen() -> None:
    def poke(optimizer: Any, i: int) -> None:
        optimizer.lr = 0.5 if i < 4 else 0.25

    for f in (lambda o, w, x: x * o.lr, lambda o, w, x: o.lr):
        run = trained(8, f, poke)
        counts = Counts()
        assert run(lento.compile) == run(lambda f: f)
        assert counts["freeze.hit"] == 4


def test_f4_a_step_count_that_the_function_reads_and_changes() -> None:
    def f(optimizer: Any, w: Any, x: Any) -> Any:
        optimizer.step(lento.grad(lambda p: (p**2).sum())(w))
        return x * 2 if optimizer.step_count >= 4 else x

    run = trained(8, f, lambda o, i: None)
    with pytest.warns(RuntimeWarning, match=r"reads .*step_count and changes it"):
        given = run(lento.compile)
    assert given == run(lambda f: f)


step = {"number": 0}


def test_f3_a_host_number_of_a_dict_of_the_module() -> None:
    g = lento.compile(lambda x: x * lento.host_number(lambda: 0.5 ** step["number"]))
    counts = Counts()
    for step["number"] in range(30):
        assert g(t(1)).tolist() == [0.5 ** step["number"]]
    assert counts["freeze.hit"] == 28


def test_f3_a_number_that_the_function_and_its_host_number_read() -> None:
    f = lambda x: x * lento.host_number(lambda: step["number"]) + step["number"]  # noqa: E731
    g = lento.compile(f)
    for i in range(12):
        step["number"] = i // 4
        assert g(t(1)).tolist() == f(t(1)).tolist()
