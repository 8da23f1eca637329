"""Random programs of what is made of positions and draws: every bit is the reference backend's, however it is run."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest

Tensor = lento.Tensor
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
SIZES = [0, 1, 2, 5, 7, 16, 30, 64, 65, 130, 1000, 4096]  # with blocks of random bits that end anywhere
WAYS: list[dict[str, Any]] = [
    {},
    {"fusion": False},
    {"tier": 0},
    {"tier": 1},
    {"force_fallback": "iota"},
    {"force_fallback": "random_bits"},
]


def kind(x: Tensor) -> str:
    name = str(x.dtype)
    return "integer" if "int" in name else "float" if "float" in name else name


class Program:
    """Values that are made, taken apart, put together and reduced; what is kept is computed now and then."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.values = [self.make() for _ in range(self.random.randint(1, 3))]
        for _ in range(self.random.randint(1, 8)):
            if self.random.random() < 0.1:
                self.values.append(self.make())
            elif self.random.random() < 0.7:
                self.values.append(self.use(self.pick()))
            else:
                self.values.append(self.join(self.pick(), self.pick()))
            if self.random.random() < 0.1:
                lento.eval(self.values[-1])
        # What nobody holds any more is not stored.
        self.values = [x for x in self.values if self.random.random() < 0.5] or self.values[-1:]
        lento.step()

    def results(self) -> list[np.ndarray]:
        wide = [x.astype("float32") if str(x.dtype) == "bfloat16" else x for x in self.values]
        return [x.numpy() for x in wide]

    def pick(self) -> Tensor:
        return self.random.choice(self.values)

    def shape(self, size: int) -> tuple[int, ...]:
        shape = []
        while size > 1 and self.random.random() < 0.7:
            shape.append(self.random.choice([d for d in range(2, size + 1) if size % d == 0][:6]))
            size //= shape[-1]
        shape += [size] + [1] * self.random.randint(0, 1)
        self.random.shuffle(shape)
        return tuple(shape)

    def make(self) -> Tensor:
        size, rows, columns = self.random.choice(SIZES), self.random.randint(0, 20), self.random.randint(1, 20)
        integer, floating = self.random.choice(INTEGERS), self.random.choice(FLOATS)
        shape, k = self.shape(size), self.random.randint(-5, 5)
        makers: list[Callable[[], Tensor]] = [
            lambda: lento.arange(min(size, 100), dtype=integer),
            lambda: lento.reshape(lento.arange(k, k + 3 * size, 3), shape),
            lambda: lento.reshape(lento.linspace(k, k + size, size, dtype=floating), shape),
            lambda: lento.eye(rows, columns, k=k, dtype=integer),
            lambda: lento.tri(rows, columns, k=k, dtype=floating),
            lambda: lento.nn.one_hot(lento.arange(rows) % columns, columns),
            lambda: lento.random.uniform(shape, dtype=floating),
            lambda: lento.random.randint(shape, 0, self.random.choice([2, 10, 2**31, 2**40])),
            lambda: lento.random.bernoulli(shape, 0.3),
            lambda: lento.nn.dropout(lento.ones(shape), 0.4, training=True),
        ]
        return self.random.choice(makers)()

    def slices(self, x: Tensor) -> tuple[slice, ...]:
        def part(extent: int) -> slice:
            step = self.random.choice([1, 1, 2, 3, -1, -2])
            if self.random.random() < 0.5:
                return slice(None, None, step)
            return slice(self.random.randint(0, extent), self.random.randint(0, extent), step)

        return tuple(part(extent) for extent in x.shape)

    def use(self, x: Tensor) -> Tensor:
        axes = list(range(x.ndim))
        self.random.shuffle(axes)
        axis, keeps = (axes or [0])[0], self.random.random() < 0.5
        ways: list[Callable[[], Tensor]] = [
            lambda: lento.permute_dims(x, tuple(axes)),
            lambda: x[self.slices(x)],
            lambda: lento.reshape(x, self.shape(math.prod(x.shape))),
            lambda: lento.broadcast_to(x, (self.random.randint(0, 3), *x.shape)),
            lambda: lento.astype(x, self.random.choice(FLOATS + (INTEGERS if kind(x) != "float" else []))),
        ]
        if x.ndim > 0 and x.shape[axis] > 0:
            positions = lento.arange(x.shape[axis])[::-1]
            ways += [
                lambda: lento.roll(x, self.random.randint(0, 4), axis=axis),
                lambda: lento.take(x, positions, axis=axis),
                lambda: changed(x),
            ]
            ways += [lambda: lento.max(x, axis=axis, keepdims=keeps)] if kind(x) != "bool" else []
            if kind(x) == "integer":
                ways += [
                    lambda: lento.sum(x, axis=axis, keepdims=keeps),
                    lambda: lento.cumulative_sum(x, axis=axis),
                ]
        if x.ndim >= 2:
            ways.append(lambda: lento.tril(x, k=self.random.randint(-3, 3)))
        return self.random.choice(ways)()

    def join(self, x: Tensor, y: Tensor) -> Tensor:
        ways: list[Callable[[], Tensor]] = [lambda: x == y, lambda: lento.where(x == y, x, y)]
        if "bool" not in (kind(x), kind(y)):
            ways += [lambda: x + y, lambda: x * y, lambda: (x - y) * y]
        try:
            return self.random.choice(ways)()
        except (lento.ShapeError, lento.DTypeError):
            return x


def changed(x: Tensor) -> Tensor:
    y = lento.where(x == x, x, x)  # a value of its own
    y[:1] = x[-1:]
    return y


@pytest.mark.parametrize("seed", range(150))
def test_t5_random_programs_have_the_bits_of_the_reference(seed: int) -> None:
    lento.random.seed(seed)
    with lento.device("reference"):
        expected = Program(seed).results()
    threads = lento.get_num_threads()
    try:
        for number, way in enumerate(({}, WAYS[seed % len(WAYS)])):
            lento.random.seed(seed)
            lento.set_num_threads([1, 2, 7][(seed + number) % 3])
            with lento.options(**way):
                results = Program(seed).results()
            for mine, right in zip(results, expected, strict=True):
                np.testing.assert_array_equal(mine, right, strict=True)
    finally:
        lento.set_num_threads(threads)
