"""Things whose missing names are answered by a hint, and what every hint must say."""

from __future__ import annotations

import re
from typing import Any

import lento
from lento import _numpy_names

X = lento.ones((2, 3))
MODEL = lento.nn.Linear(2, 3)
OPTIMIZER = lento.optim.SGD(MODEL, lr=0.1)
RNG = lento.Generator(7)
REASONS = {why for reasons in _numpy_names.ABSENT.values() for why in reasons.values()}


def resolve(path: str) -> Any:
    roots = {"lento": lento, "nn": lento.nn, "x": X, "w": X, "model": MODEL, "rng": RNG, "dtype": X.dtype}
    found: Any = roots[path.split(".")[0]]
    for part in path.split(".")[1:]:
        found = getattr(found, part)
    return found


def check_hint(message: str) -> None:
    """What follows the semicolon says what to write, with names that are there, or that nothing has to be written."""
    _, _, hint = message.partition("; ")
    assert hint, message
    names = re.findall(r"\b(?:lento|nn|x|model|rng|dtype)(?:\.[A-Za-z_]\w*)+", hint)
    for name in names:
        if not name.startswith("x.numpy."):
            resolve(name)
    assert names or hint.startswith(("use ", "write ")) or "not needed" in hint or hint in REASONS, message
