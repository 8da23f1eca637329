"""Counters and timings that are always on: what was recorded, computed, waited for and moved.

Counters: ``step``, ``op.<name>``, ``tensor.created``, ``tensor.destroyed``, ``tensor.evaluated``, ``plan.hit``,
``plan.miss``, ``graph.nodes``, ``graph.trimmed``, ``sync.implicit``, ``sync.wait``, ``sync.room``, ``transfer.h2d``,
``donation``, ``closure.run`` and others. Timings: ``step``, ``plan.compile``, ``run``, ``sync``, ``sync.room``,
``transfer.h2d``, ``closure``.

    >>> before = lento.metrics.counter("op.add")
    >>> x = lento.ones((3,)) + 1
    >>> lento.metrics.counter("op.add") - before
    1
    >>> lento.step(wait=True)
    >>> lento.metrics.timing("step")["count"] > 0
    True

``add`` and ``record`` keep counters and timings of your own beside them; ``timed`` records what a block takes.
"""

from __future__ import annotations

import time
from contextlib import ContextDecorator
from types import TracebackType

from ._core import add_to_counter as add
from ._core import counter, counters, report, timing, timings
from ._core import record_timing as record
from ._core import reset_metrics as reset
from ._fail import fail

__all__ = ["add", "counter", "counters", "record", "report", "reset", "timed", "timing", "timings"]


class timed(ContextDecorator):
    """Records how long a ``with`` block, or each call of a decorated function, takes, under a name of your own.

    >>> with lento.metrics.timed("read"):
    ...     text = "file".upper()
    >>> lento.metrics.timing("read")["count"]
    1
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise fail(TypeError, f"timed(): argument 'name' must be str, not {type(name).__name__}")
        self.name = name
        self._starts: list[float] = []  # one may be entered again inside

    def _recreate_cm(self) -> timed:
        return timed(self.name)  # each call of a decorated function has its own: several threads may be inside

    def __enter__(self) -> timed:
        self._starts.append(time.perf_counter())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        record(self.name, time.perf_counter() - self._starts.pop())
