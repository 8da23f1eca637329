"""Helpers for tests of `compile`: frozen functions, and what is told of those that are not frozen."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts


def t(*values: float) -> lento.Tensor:
    return lento.asarray(np.array(values, np.float32))


def bits(value: Any) -> list[Any]:
    """The leaves of a result, tensors as bytes."""
    return [
        (leaf.dtype, leaf.shape, leaf.numpy().tobytes()) if isinstance(leaf, lento.Tensor) else leaf
        for leaf in lento.tree.leaves(value)
    ]


@pytest.fixture(autouse=True)
def warnings_are_errors() -> Iterator[None]:
    """What is not frozen is told, so that no test passes by recording."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def frozen(f: Callable[..., Any], *args: Any, calls: int = 2, **kwargs: Any) -> Callable[..., Any]:
    """`f` compiled, after calls with these arguments; the next one is frozen."""
    g = lento.compile(f)
    for _ in range(calls):
        g(*args, **kwargs)
    return g


def told(f: Callable[..., Any], calls: Callable[[Callable[..., Any]], Any], match: str) -> None:
    """It is told once, with the line, and every call does what the function does."""
    g = lento.compile(f)
    counts = Counts()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(5):
            calls(g)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == 1, messages
    assert "is not frozen" in messages[0]
    assert match in messages[0]
    assert counts["freeze.hit"] == 0
    assert "is not frozen" in lento.explain()


def told_as_plain(f: Callable[..., Any], calls: Callable[[Callable[..., Any], int], Any], match: str) -> None:
    """The same, where each call gives something else: what the function gives, called as often without `compile`."""
    expected = [calls(f, i) for i in range(5)]
    g = lento.compile(f)
    counts = Counts()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        given = [calls(g, i) for i in range(5)]
    messages = [str(warning.message) for warning in caught]
    assert given == expected
    assert len(messages) == 1, messages
    assert match in messages[0]
    assert counts["freeze.hit"] == 0
