"""Counters that are always on: what was recorded, computed and moved."""

from ._core import counter, counters
from ._core import reset_counters as reset

__all__ = ["counter", "counters", "reset"]
