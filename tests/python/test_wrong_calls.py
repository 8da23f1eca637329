"""T2 over the whole catalogue: whatever a function is given, it works, or raises an error that says which it was."""

from __future__ import annotations

import random
from typing import Any

import harness
import lento
import numpy as np
import pytest
from samples import Arg, load_catalogue

CATALOGUE = load_catalogue()
SHAPES = [(), (0,), (3,), (2, 3), (3, 3), (1, 2, 3), (2, 0, 3), (2, 3, 4, 4)]
DTYPES = ["float32", "int64", "bool", "complex64", "uint8", "float64"]
TENSORS = [lento.asarray(np.zeros(shape, dtype)) for shape in SHAPES for dtype in DTYPES]
INTS = [0, 1, -1, 2, 3, 5, -7, 10**6, 2**40, -(2**63), 2**63 - 1, 2**64 - 1, 2**70]
ODD: list[Any] = [
    None,
    True,
    "a",
    "",
    "none",
    "reflect",
    lento.float32,
    np.float64(2),
    1.5,
    float("nan"),
    float("inf"),
    1j,
]
FOREIGN: list[Any] = [object(), {}, b"x", np.arange(3), len, lento.devices()[0], (1, 2), (-1,), [[1, 2], [3, 4]]]


def anything(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.random()
    if kind < 0.45:
        return rng.choice(TENSORS)
    if kind < 0.6:
        return rng.choice(INTS)
    if kind < 0.7:
        return rng.choice(ODD)
    if kind < 0.95 and depth < 2:
        return [anything(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    return rng.choice(FOREIGN)


def argument(rng: random.Random, arg: Arg) -> Any:
    """Mostly of the right type, so that calls get past the first check."""
    if rng.random() < 0.6:
        if arg.is_tensor:
            return rng.choice(TENSORS)
        if arg.is_tensor_list:
            return [rng.choice(TENSORS) for _ in range(rng.randint(0, 3))]
        if arg.type.startswith("int"):
            small = [0, 1, 2, -1, 3, -2, 5]
            return rng.choice(small) if rng.random() < 0.5 else [rng.choice(small) for _ in range(rng.randint(0, 3))]
    return anything(rng)


def message_names(op: Any, message: str) -> bool:
    # delete is a keyword of C++: there, and in messages of the engine, it is delete_.
    names = ("delete", "delete_") if op.name == "delete_" else (op.name,)
    return any(message.startswith((f"{name}: ", f"{name}(): ", f"{name}() ")) for name in names)


@pytest.mark.parametrize("seed", range(12))
def test_t2_wrong_calls_raise_and_say_where(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(600):
        op = rng.choice(CATALOGUE)
        arguments = {a.name: argument(rng, a) for a in op.args if not a.has_default or rng.random() < 0.5}
        try:
            result = harness.find_function(op)(**arguments)
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            assert message_names(op, str(error)), f"{op.qualified}: {error}"
            continue
        parts = result if isinstance(result, tuple) else (result,)
        try:
            lento.eval([t for t in parts if isinstance(t, lento.Tensor) and t.size <= 100_000])
        except lento.Error as error:
            assert ": " in str(error)
