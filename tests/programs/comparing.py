"""What a comparison of a port with its original is, and the list of all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from originals import Original

Results = Mapping[str, Any]


@dataclass(frozen=True)
class Pair:
    """Both programs from the same start: each gives its results by name, as often as it is called.

    ``moved`` runs the original's own definitions after the changes of rules.py, and gives some of the results.
    """

    ours: Callable[[], Results]
    theirs: Callable[[], Results]
    steps: int
    moved: Callable[[Original], Results] | None = None


@dataclass(frozen=True)
class Program:
    name: str
    path: str  # below the folder of originals
    needs: str  # the library that the original is written for
    tolerance: float  # of the largest difference, relative to the largest value of each result
    pair: Callable[[Original], Pair]
    limit: int | None = None  # of changed lines


PROGRAMS: dict[str, Program] = {}


def program(
    name: str, path: str, *, needs: str, tolerance: float, limit: int | None = None
) -> Callable[[Callable[[Original], Pair]], Callable[[Original], Pair]]:
    def add(pair: Callable[[Original], Pair]) -> Callable[[Original], Pair]:
        PROGRAMS[name] = Program(name, path, needs, tolerance, pair, limit)
        return pair

    return add


def difference(ours: Results, theirs: Results) -> float:
    """The largest difference of any result of ours, relative to the largest value in theirs."""
    assert ours and ours.keys() <= theirs.keys(), f"other results: {sorted(ours)} and {sorted(theirs)}"
    return max(relative(np.asarray(ours[name]), np.asarray(theirs[name])) for name in ours)


def relative(ours: np.ndarray, theirs: np.ndarray) -> float:
    assert ours.shape == theirs.shape, f"other shapes: {ours.shape} and {theirs.shape}"
    ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
    apart = np.abs(ours - theirs).max(initial=0)
    return float(apart if np.isnan(apart) else apart / max(np.abs(theirs).max(initial=0), 1e-30))


def milliseconds(call: Callable[[], Results]) -> float:
    """The time of the CPU that a call takes, the less of two: what there is to compile is compiled before."""
    taken = []
    for _ in range(2):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return 1000 * min(taken)
