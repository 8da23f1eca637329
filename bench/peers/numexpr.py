"""numexpr: the expression as a text, which is made by running the case on names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numexpr
import numpy as np

from . import MissingError, Peer


class Text:
    """A part of an expression."""

    def __init__(self, text: str, numbers: dict[str, np.float32]) -> None:
        self.text = text
        self.numbers = numbers

    def operate(self, sign: str, other: Any) -> Text:
        if not isinstance(other, Text):
            # A variable: with a number in its text, numexpr would compute in float64.
            name = f"number{len(self.numbers)}"
            self.numbers[name] = np.float32(other)
            other = Text(name, self.numbers)
        return Text(f"({self.text} {sign} {other.text})", self.numbers)

    def __add__(self, other: Any) -> Text:
        return self.operate("+", other)

    def __sub__(self, other: Any) -> Text:
        return self.operate("-", other)

    def __mul__(self, other: Any) -> Text:
        return self.operate("*", other)

    def __truediv__(self, other: Any) -> Text:
        return self.operate("/", other)

    def call(self, function: str) -> Text:
        return Text(f"{function}({self.text})", self.numbers)


class NumExpr(Peer):
    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        numexpr.set_num_threads(threads)

    def version(self) -> str:
        return numexpr.__version__

    def array(self, values: np.ndarray) -> Any:
        return np.array(values)

    def compile(self, function: Callable[..., Any]) -> Callable[..., Any]:
        numbers: dict[str, np.float32] = {}
        names = "abcdefgh"
        text = ""

        def run(*inputs: Any) -> Any:
            nonlocal text
            if not text:
                made = function(self, *(Text(name, numbers) for name in names[: len(inputs)]))
                text = made.text
            return numexpr.evaluate(text, {**numbers, **dict(zip(names, inputs, strict=False))}, {})

        return run

    def exp(self, x: Any) -> Any:
        return x.call("exp")

    def tanh(self, x: Any) -> Any:
        return x.call("tanh")

    def sum(self, x: Any, axis: int | None = None) -> Any:
        return self.reduce(x, "sum", axis)

    def max(self, x: Any, axis: int | None = None) -> Any:
        return self.reduce(x, "max", axis)

    def reduce(self, x: Any, name: str, axis: int | None) -> Any:
        return x.call(name) if axis is None else Text(f"{name}({x.text}, axis={axis})", x.numbers)

    def softmax(self, x: Any) -> Any:
        raise MissingError("no softmax: a reduction must come last")

    def layer_norm(self, x: Any, weight: Any, bias: Any) -> Any:
        raise MissingError("no layer_norm: a reduction must come last")

    def matmul(self, x: Any, y: Any) -> Any:
        raise MissingError("no matmul")
