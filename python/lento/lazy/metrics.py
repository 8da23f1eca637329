"""LTC's counters by LTC's names: ``lazy::add`` for ops that were recorded, ``aten::add`` for ops that fell back to the
reference backend, ``MarkStep``, ``CachedCompile``, ``UncachedCompile``, ``SyncedTensorsWithIR``, ``TensorsGraphSize``,
``TrimIrGraph`` and others. What LTC does not count has Lento's own name.

    >>> from lento.lazy import metrics
    >>> metrics.reset()
    >>> x = lento.zeros((3,)) + 1
    >>> metrics.counter_value("lazy::add")
    1
"""

from __future__ import annotations

from .. import _core

__all__ = ["counter_names", "counter_value", "metrics_report", "reset"]

_NAMES = {
    "CreateLtcTensor": "tensor.created",
    "DestroyLtcTensor": "tensor.destroyed",
    "DeviceDataCacheMiss": "transfer.h2d",  # data that was uploaded; LTC looks for the same data first
    "DeviceLockWait": "sync.room",  # a step that waited for earlier ones
    "MarkStep": "step",
    "SyncedTensorsWithIR": "tensor.evaluated",
    "TensorsGraphSize": "graph.nodes",  # of all graphs together
    "TrimIrGraph": "graph.trimmed",
    "CachedCompile": "plan.hit",
    "UncachedCompile": "plan.miss",
}
_PREFIXES = {"lazy::": "op.", "aten::": "fallback."}
_LTC_NAMES = {own: name for name, own in _NAMES.items()}


def _own_name(name: str) -> str:
    for prefix, own in _PREFIXES.items():
        if name.startswith(prefix):
            return own + name.removeprefix(prefix)
    return _NAMES.get(name, name)


def _ltc_name(own: str) -> str:
    for prefix, start in _PREFIXES.items():
        if own.startswith(start):
            return prefix + own.removeprefix(start)
    return _LTC_NAMES.get(own, own)


def reset() -> None:
    """All counters and timings start again at nothing."""
    _core.reset_metrics()


def counter_names() -> list[str]:
    """The counters that have counted something since the last reset."""
    return [_ltc_name(name) for name, value in _core.counters().items() if value]


def counter_value(name: str) -> int | None:
    """The value of a counter, by LTC's or by Lento's name; None when it has counted nothing."""
    return _core.counter(_own_name(name)) or None


def metrics_report() -> str:
    """``lento.metrics.report()``: counters and timings as a table, with Lento's names."""
    return _core.report()
