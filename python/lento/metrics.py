"""Counters and timings that are always on: what was recorded, computed, waited for and moved.

Counters: ``step``, ``op.<name>``, ``tensor.created``, ``tensor.destroyed``, ``plan.hit``, ``plan.miss``,
``sync.implicit``, ``sync.wait``, ``transfer.h2d``, ``donation``, ``graph.trimmed``, ``closure.run`` and others.
Timings: ``step``, ``plan.compile``, ``run``, ``sync``, ``transfer.h2d``, ``closure``.

    >>> before = lento.metrics.counter("op.add")
    >>> x = lento.ones((3,)) + 1
    >>> lento.metrics.counter("op.add") - before
    1
    >>> lento.step(wait=True)
    >>> lento.metrics.timing("step")["count"] > 0
    True
"""

from ._core import counter, counters, report, timing, timings
from ._core import reset_metrics as reset

__all__ = ["counter", "counters", "report", "reset", "timing", "timings"]
