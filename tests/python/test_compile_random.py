"""compile (clauses F1 and F3): random functions of arguments, state and random numbers do the same frozen and plain, to
the bit, whatever happens between their calls."""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts

PROGRAMS = int(os.environ.get("LENTO_FUZZ_COMPILE", "60"))
REGISTERS = 5


class State:
    """What a function reaches without being given it."""

    def __init__(self) -> None:
        self.a = tensor(1)
        self.b = tensor(2)
        self.list = [tensor(3), tensor(4)]
        self.scale = 0.5
        self.negated = False
        self.generator = lento.Generator(7)


def tensor(seed: int) -> lento.Tensor:
    return lento.asarray(np.random.default_rng(seed).normal(size=(4, 4)).astype(np.float32))


Operation = Callable[[list[Any], State, int, int, float], None]


def _put(registers: list[Any], i: int, value: lento.Tensor) -> None:
    registers[i] = value


def _in_place(registers: list[Any], i: int, j: int) -> None:
    registers[i] += registers[j] * 0.5


def _set_row(registers: list[Any], i: int, j: int) -> None:
    registers[i][1] = registers[j][2]


def _set_number(registers: list[Any], i: int, number: float) -> None:
    registers[i][1:3, 0] = number


def _swap(state: State) -> None:
    state.a, state.b = state.b, state.a


def _store(state: State, name: str, value: lento.Tensor) -> None:
    if name == "list":
        state.list[1] = value
    else:
        setattr(state, name, value)


def _scaled(r: list[Any], s: State, i: int, j: int) -> None:
    r[i] = -r[j] * s.scale if s.negated else r[j] * s.scale


OPERATIONS: list[Operation] = [
    lambda r, s, i, j, c: _put(r, i, lento.tanh(r[j])),
    lambda r, s, i, j, c: _put(r, i, r[i] + r[j]),
    lambda r, s, i, j, c: _put(r, i, r[i] * r[j] * 0.25),
    lambda r, s, i, j, c: _put(r, i, c - r[j]),
    lambda r, s, i, j, c: _put(r, i, lento.tanh(r[i] @ r[j])),
    lambda r, s, i, j, c: _put(r, i, r[j].T),
    lambda r, s, i, j, c: _put(r, i, r[j] - r[j].mean()),
    lambda r, s, i, j, c: _put(r, i, lento.where(r[i] > r[j], r[i], c)),
    lambda r, s, i, j, c: _put(r, i, r[j].__copy__()),
    lambda r, s, i, j, c: _put(r, i, r[j]),
    lambda r, s, i, j, c: _put(r, i, s.a),
    lambda r, s, i, j, c: _put(r, i, s.list[j % 2]),
    lambda r, s, i, j, c: _put(r, i, r[j] + lento.random.normal((4, 4))),
    lambda r, s, i, j, c: _put(r, i, lento.random.uniform((4, 4), generator=s.generator)),
    lambda r, s, i, j, c: _put(r, i, lento.grad(lambda x: (lento.tanh(x) * s.b).sum())(r[j])),
    lambda r, s, i, j, c: _put(r, i, lento.vmap(lambda x: x * c + x.sum())(r[j])),
    lambda r, s, i, j, c: _scaled(r, s, i, j),
    lambda r, s, i, j, c: _in_place(r, i, j),
    lambda r, s, i, j, c: _in_place([s.a, s.b, r[i]], j % 2, 2),
    lambda r, s, i, j, c: _set_row(r, i, j),
    lambda r, s, i, j, c: _set_number(r, i, c),
    lambda r, s, i, j, c: _store(s, ("a", "b", "list")[j % 3], r[i]),
    lambda r, s, i, j, c: _store(s, "b", lento.tanh(s.b + r[i])),
    lambda r, s, i, j, c: _swap(s),
]


class Program:
    """A function and what happens between its calls, drawn from a seed."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.lines = [
            (draw.randrange(len(OPERATIONS)), draw.randrange(REGISTERS), draw.randrange(REGISTERS), draw.uniform(-1, 1))
            for _ in range(draw.randint(2, 14))
        ]
        self.results = [draw.randrange(REGISTERS) for _ in range(draw.randint(1, 3))]
        self.same_argument = draw.random() < 0.15
        self.calls = [draw.randrange(12) for _ in range(9)]

    def function(self, state: State) -> Callable[..., Any]:
        def f(x: lento.Tensor, y: lento.Tensor) -> Any:
            registers: list[Any] = [x, y, state.a, x * 0.5, y + 1]
            for operation, i, j, constant in self.lines:
                OPERATIONS[operation](registers, state, i, j, constant)
            return {"all": [registers[i] for i in self.results]}

        return f

    def run(self, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> list[Any]:
        """What can be seen of all calls."""
        lento.random.seed(11)
        state = State()
        g = wrap(self.function(state))
        seen: list[Any] = []
        kept = []
        for number, event in enumerate(self.calls):
            x = tensor(100 + number)
            y = x if self.same_argument else tensor(200 + number)
            _happens(event, state, x)
            result = g(x, y)
            kept.append(x.__copy__())  # a handle on what may be written over
            things = [*result["all"], x, y, state.a, state.b, *state.list]
            seen.append([thing.numpy().tobytes() for thing in things] if number % 2 else None)
            seen.append([[one is other for other in things] for one in things])
        seen.append([one.numpy().tobytes() for one in kept])
        seen.append((lento.random.default_generator().state, state.generator.state))
        return seen


def _happens(event: int, state: State, x: lento.Tensor) -> None:
    """Between two calls; most often nothing."""
    if event == 0:
        state.a[...] = x * 2
    elif event == 1:
        state.b = x - 1  # pending
    elif event == 2:
        state.scale += 0.25
    elif event == 3:
        lento.step()
    elif event == 4:
        state.negated = not state.negated
    elif event == 5:
        state.list[0] = state.b


def test_f1_f3_random_functions_do_the_same_frozen_and_plain() -> None:
    counts = Counts()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of them cannot be frozen
        for seed in range(PROGRAMS):
            program = Program(seed)
            plain = program.run(lambda f: f)
            compiled = program.run(lento.compile)
            assert plain == compiled, f"the program of seed {seed}"
    assert counts["freeze.hit"] > 2 * PROGRAMS
    assert counts["freeze.fallback"] < 2 * PROGRAMS


@pytest.mark.parametrize("seed", range(4))
def test_f1_random_functions_are_verified(seed: int) -> None:
    """verify finds no difference either."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = Program(1000 + seed)
        assert program.run(lambda f: lento.compile(f, verify=2)) == program.run(lambda f: f)
