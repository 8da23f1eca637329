"""Minimax polynomials by the Remez exchange, with coefficients rounded to a format one after the other.

A fit looks for P(x) = c0 + c1 x + ... + cd x^d that minimises the largest |P(x) - target(x)| * weight(x) there.
Rounding a coefficient disturbs the optimum, so coefficients are rounded from the lowest on, and after each the rest is
fitted again with those held.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from mpmath import mp, mpf

mp.dps = 45

Function = Callable[[mpf], mpf]


def to_float32(value: mpf) -> mpf:
    # Rounding by way of float64 could round twice; a tie in float64 that is none here is too rare to matter for a fit.
    return mpf(struct.unpack("f", struct.pack("f", float(value)))[0])


def to_float64(value: mpf) -> mpf:
    return mpf(float(value))


@dataclass
class Fit:
    coefficients: list[mpf]  # lowest first
    error: mpf  # the largest weighted error, with the rounded coefficients


def _evaluate(coefficients: list[mpf], x: mpf) -> mpf:
    result = mpf(0)
    for c in reversed(coefficients):
        result = result * x + c
    return result


def _alternating_extrema(errors: list[mpf], count: int) -> list[int]:
    """The largest error of each run of one sign; surplus runs are dropped where that costs least."""
    chosen: list[int] = []
    for i, error in enumerate(errors):
        if error == 0:
            continue
        if chosen and (errors[chosen[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[chosen[-1]]):
                chosen[-1] = i
        else:
            chosen.append(i)
    while len(chosen) > count + 1:  # two neighbours at once keep the signs alternating
        pair = min(range(len(chosen) - 1), key=lambda k: max(abs(errors[chosen[k]]), abs(errors[chosen[k + 1]])))
        del chosen[pair : pair + 2]
    if len(chosen) > count:
        chosen.pop(0 if abs(errors[chosen[0]]) < abs(errors[chosen[-1]]) else -1)
    return chosen


def _exchange_one(errors: list[mpf], reference: list[int]) -> list[int]:
    """The reference with its neighbour of the same sign replaced by the point of the largest error."""
    worst = max(range(len(errors)), key=lambda i: abs(errors[i]))
    sign = errors[worst] > 0
    same = [k for k, i in enumerate(reference) if (errors[i] > 0) == sign]
    if not same or worst in reference:
        return reference
    nearest = min(same, key=lambda k: abs(reference[k] - worst))
    return sorted([*reference[:nearest], worst, *reference[nearest + 1 :]])


class _Grid:
    """The target and its weight at points that crowd towards both ends, as the extrema of the error do."""

    def __init__(self, target: Function, weight: Function, low: mpf, high: mpf, points: int) -> None:
        middle, half = (low + high) / 2, (high - low) / 2
        # Half a step inside, so that the removable singularities at the ends of many targets are not met.
        self.x = [middle - half * mp.cos(mp.pi * (i + mpf(1) / 2) / points) for i in range(points)]
        self.target = [target(x) for x in self.x]
        self.weight = [weight(x) for x in self.x]

    def errors(self, coefficients: list[mpf]) -> list[mpf]:
        return [(_evaluate(coefficients, x) - t) * w for x, t, w in zip(self.x, self.target, self.weight, strict=True)]


def _interpolate(grid: _Grid, held: list[mpf], rest: list[mpf], free: int) -> list[mpf]:
    """A polynomial that is nearly best, to fall back on: exact at as many points as there are free coefficients."""
    nodes = [(2 * k + 1) * len(grid.x) // (2 * free) for k in range(free)]
    matrix = mp.matrix(free, free)
    right = mp.matrix(free, 1)
    for row, i in enumerate(nodes):
        for column in range(free):
            matrix[row, column] = grid.x[i] ** (len(held) + column)
        right[row] = rest[i]
    solution = mp.lu_solve(matrix, right)
    return held + [solution[k] for k in range(free)]


def _exchange(grid: _Grid, held: list[mpf], degree: int) -> list[mpf]:
    """The best polynomial whose lowest coefficients are `held`."""
    first = len(held)
    free = degree + 1 - first
    count = free + 1
    points = len(grid.x)
    reference = [(2 * i + 1) * points // (2 * count) for i in range(count)]
    rest = [t - _evaluate(held, x) for x, t in zip(grid.x, grid.target, strict=True)]
    best = _interpolate(grid, held, rest, free)
    best_error = max(abs(e) for e in grid.errors(best))
    for _ in range(30):
        matrix = mp.matrix(count, count)
        right = mp.matrix(count, 1)
        for row, i in enumerate(reference):
            for column in range(free):
                matrix[row, column] = grid.x[i] ** (first + column) * grid.weight[i]
            matrix[row, free] = (-1) ** row
            right[row] = rest[i] * grid.weight[i]
        solution = mp.lu_solve(matrix, right)
        coefficients = held + [solution[k] for k in range(free)]
        errors = grid.errors(coefficients)
        largest = max(abs(e) for e in errors)
        if largest < best_error:
            best, best_error = coefficients, largest
        if largest < abs(solution[free]) * mpf("1.0005"):
            break
        following = _alternating_extrema(errors, count)
        if len(following) < count:  # where the weight vanishes a run may be missing: exchange one point alone
            following = _exchange_one(errors, reference)
        if following == reference:
            break
        reference = following
    return best


def fit(
    target: Function,
    weight: Function,
    interval: tuple[mpf, mpf],
    degree: int,
    rounding: Function,
    held: list[mpf] | None = None,
    points: int = 300,
) -> Fit:
    """`held` are lowest coefficients that are given beforehand, in the format."""
    grid = _Grid(target, weight, mpf(interval[0]), mpf(interval[1]), points)
    done = list(held or [])
    while len(done) <= degree:
        coefficients = _exchange(grid, done, degree)
        done.append(rounding(coefficients[len(done)]))
    return Fit(done, max(abs(e) for e in grid.errors(done)))
