"""Schedules: functions from the number of a step, from 0, to a learning rate. C++ has the same, operation by operation
(src/optim/schedules.cpp): the same steps have the same rates, to the bit."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence

from .._fail import fail, names_errors
from ._optimizer import Schedule


def check_steps(name: str, steps: int) -> None:
    if steps < 0:
        raise fail(ValueError, f"{name}(): steps is {steps}, which is less than 0")


def constant(value: float) -> Schedule:
    """Always the same."""
    return lambda step: value


def linear(start: float, end: float, steps: int) -> Schedule:
    """From ``start`` to ``end`` in ``steps`` steps, then ``end``.

    >>> [lento.optim.linear(1.0, 0.0, 4)(i) for i in range(6)]
    [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    """
    check_steps("linear", steps)
    return lambda step: end if step >= steps else start + (end - start) * (step / steps)


def cosine(peak: float, steps: int, floor: float = 0.0) -> Schedule:
    """From ``peak`` to ``floor`` along half a cosine of ``steps`` steps, then ``floor``."""
    check_steps("cosine", steps)
    return lambda step: floor if step >= steps else floor + (peak - floor) * (1 + math.cos(math.pi * step / steps)) / 2


def steps(value: float, every: int, factor: float = 0.1) -> Schedule:
    """``value``, times ``factor`` after every ``every`` steps.

    >>> [lento.optim.steps(1.0, 2, 0.5)(i) for i in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """
    if every < 1:
        raise fail(ValueError, f"steps(): every is {every}, which is less than 1")
    return lambda step: value * factor ** (step // every)


def warmup(schedule: float | Schedule, steps: int) -> Schedule:
    """Rises in ``steps`` equal parts to where ``schedule`` begins and then follows it, or to a number and stays there.

    >>> [lento.optim.warmup(lento.optim.constant(1.0), 4)(i) for i in range(6)]
    [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    """
    check_steps("warmup", steps)
    then = schedule if callable(schedule) else constant(schedule)
    return lambda step: then(0) * ((step + 1) / steps) if step < steps else then(step - steps)


# --- optax's names and arguments ---


def constant_schedule(value: float) -> Schedule:
    """Always the same."""
    return constant(value)


def linear_schedule(init_value: float, end_value: float, transition_steps: int, transition_begin: int = 0) -> Schedule:
    """From ``init_value`` to ``end_value`` in ``transition_steps`` steps, from step ``transition_begin`` on; with no
    steps it stays at ``init_value``, as optax's."""
    return polynomial_schedule(init_value, end_value, 1.0, transition_steps, transition_begin)


@names_errors
def polynomial_schedule(
    init_value: float, end_value: float, power: float, transition_steps: int, transition_begin: int = 0
) -> Schedule:
    """From ``init_value`` to ``end_value`` in ``transition_steps`` steps, from step ``transition_begin`` on; what is
    left to go falls as a power of the time that is left. With no steps it stays at ``init_value``, as optax's.

    >>> [lento.optim.polynomial_schedule(4.0, 0.0, 2.0, 2)(i) for i in range(4)]
    [4.0, 1.0, 0.0, 0.0]
    """
    if transition_steps == 0:
        return constant(init_value)
    _check_positive("transition_steps", transition_steps)

    def rate(step: int) -> float:
        done = min(max(step - transition_begin, 0), transition_steps)
        return (init_value - end_value) * math.pow(1 - done / transition_steps, power) + end_value

    return rate


@names_errors
def exponential_decay(
    init_value: float,
    transition_steps: int,
    decay_rate: float,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: float | None = None,
) -> Schedule:
    """``init_value``, times ``decay_rate`` in ``transition_steps`` steps, from step ``transition_begin`` on: little by
    little, or all at once at their end (``staircase``). ``end_value`` is where it stops.

    >>> [lento.optim.exponential_decay(1.0, 2, 0.25)(i) for i in range(4)]
    [1.0, 0.5, 0.25, 0.125]
    """
    _check_positive("transition_steps", transition_steps)

    def rate(step: int) -> float:
        done = step - transition_begin
        if done <= 0:
            return init_value
        times = float(done // transition_steps) if staircase else done / transition_steps
        value = init_value * math.pow(decay_rate, times)
        if end_value is None:
            return value
        return max(value, end_value) if decay_rate < 1 else min(value, end_value)

    return rate


@names_errors
def cosine_decay_schedule(init_value: float, decay_steps: int, alpha: float = 0.0, exponent: float = 1.0) -> Schedule:
    """From ``init_value`` to ``alpha`` times that along half a cosine of ``decay_steps`` steps, to a power."""
    _check_positive("decay_steps", decay_steps)

    def rate(step: int) -> float:
        done = min(step, decay_steps)
        cosine = 0.5 * (1 + math.cos(math.pi * done / decay_steps))
        return init_value * ((1 - alpha) * math.pow(cosine, exponent) + alpha)

    return rate


def piecewise_constant_schedule(
    init_value: float, boundaries_and_scales: Mapping[int, float] | None = None
) -> Schedule:
    """``init_value``, times each scale from its boundary on.

    >>> [lento.optim.piecewise_constant_schedule(8.0, {2: 0.5, 3: 0.25})(i) for i in range(5)]
    [8.0, 8.0, 4.0, 1.0, 1.0]
    """
    scales = sorted((boundaries_and_scales or {}).items())

    def rate(step: int) -> float:
        value = init_value
        for boundary, scale in scales:
            if step >= boundary:
                value *= scale
        return value

    return rate


def warmup_constant_schedule(init_value: float, peak_value: float, warmup_steps: int) -> Schedule:
    """From ``init_value`` to ``peak_value`` in ``warmup_steps`` steps, then that; with no steps it stays at
    ``init_value``, as optax's."""
    return linear_schedule(init_value, peak_value, warmup_steps)


@names_errors
def warmup_cosine_decay_schedule(
    init_value: float,
    peak_value: float,
    warmup_steps: int,
    decay_steps: int,
    end_value: float = 0.0,
    exponent: float = 1.0,
) -> Schedule:
    """From ``init_value`` to ``peak_value`` in ``warmup_steps`` steps, then to ``end_value`` along half a cosine, which
    ends at step ``decay_steps``.

    >>> rate = lento.optim.warmup_cosine_decay_schedule(0.0, 1.0, 2, 4)
    >>> [round(rate(i), 3) for i in range(5)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    alpha = 0.0 if peak_value == 0 else end_value / peak_value
    rise = linear_schedule(init_value, peak_value, warmup_steps)
    fall = cosine_decay_schedule(peak_value, decay_steps - warmup_steps, alpha, exponent)
    return join_schedules([rise, fall], [warmup_steps])


@names_errors
def warmup_exponential_decay_schedule(
    init_value: float,
    peak_value: float,
    warmup_steps: int,
    transition_steps: int,
    decay_rate: float,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: float | None = None,
) -> Schedule:
    """From ``init_value`` to ``peak_value`` in ``warmup_steps`` steps, then as :func:`exponential_decay`."""
    rise = linear_schedule(init_value, peak_value, warmup_steps)
    fall = exponential_decay(peak_value, transition_steps, decay_rate, transition_begin, staircase, end_value)
    return join_schedules([rise, fall], [warmup_steps])


@names_errors
def cosine_onecycle_schedule(
    transition_steps: int,
    peak_value: float,
    pct_start: float = 0.3,
    div_factor: float = 25.0,
    final_div_factor: float = 1e4,
) -> Schedule:
    """One cycle of ``transition_steps`` steps along cosines: from ``peak_value / div_factor`` up to ``peak_value`` in
    the part ``pct_start`` of them, then down to the first value divided by ``final_div_factor``."""
    _check_positive("transition_steps", transition_steps)
    first = peak_value / div_factor
    return _between(
        [0, int(pct_start * transition_steps), transition_steps],
        [first, peak_value, first / final_div_factor],
        lambda part: 0.5 * (1 - math.cos(math.pi * part)),
    )


@names_errors
def linear_onecycle_schedule(
    transition_steps: int,
    peak_value: float,
    pct_start: float = 0.3,
    pct_final: float = 0.85,
    div_factor: float = 25.0,
    final_div_factor: float = 1e4,
) -> Schedule:
    """One cycle of ``transition_steps`` steps along lines: from ``peak_value / div_factor`` to ``peak_value``, back at
    the part ``pct_final`` of the steps, then down to the first value divided by ``final_div_factor``."""
    _check_positive("transition_steps", transition_steps)
    first = peak_value / div_factor
    return _between(
        [0, int(pct_start * transition_steps), int(pct_final * transition_steps), transition_steps],
        [first, peak_value, first, first / final_div_factor],
        lambda part: part,
    )


@names_errors
def join_schedules(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """One schedule after the other: each begins anew at its boundary.

    >>> rate = lento.optim.join_schedules([lento.optim.constant(1.0), lento.optim.linear(4.0, 2.0, 2)], [2])
    >>> [rate(i) for i in range(5)]
    [1.0, 1.0, 4.0, 3.0, 2.0]
    """
    if len(schedules) != len(boundaries) + 1:
        raise fail(
            ValueError,
            f"join_schedules(): there are {len(schedules)} schedules and {len(boundaries)} boundaries; one less is "
            "needed",
        )
    _check_rising("boundaries", boundaries)

    def rate(step: int) -> float:
        i = bisect_right(boundaries, step)
        return schedules[i](step - boundaries[i - 1] if i else step)

    return rate


def _between(boundaries: list[int], values: list[float], eased: Callable[[float], float]) -> Schedule:
    """From value to value, each at its boundary; ``eased`` says how far it is at a part of the way."""

    def rate(step: int) -> float:
        i = bisect_right(boundaries, step)
        if i == 0:
            return values[0]
        if i == len(boundaries):
            return values[-1]
        part = (step - boundaries[i - 1]) / (boundaries[i] - boundaries[i - 1])
        return values[i - 1] + (values[i] - values[i - 1]) * eased(part)

    return rate


def _check_positive(name: str, value: int) -> None:
    if value < 1:
        raise fail(ValueError, f"{name} is {value}, which is less than 1")


def _check_rising(name: str, values: Sequence[int]) -> None:
    if any(a > b for a, b in itertools.pairwise(values)):
        raise fail(ValueError, f"{name} have to rise, and are {list(values)}")
