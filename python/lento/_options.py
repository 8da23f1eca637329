"""``lento.options``: settings of the engine, set for good or for the length of a ``with`` block."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from . import _core


class options:
    """Sets options at once; as a context manager it puts the old values back at the end.

    ``max_pending_nodes`` (default 100,000): a trace longer than this has its oldest part evaluated.
    ``max_inflight_steps`` (default 16): with more steps than this under way, ``step`` waits.
    """

    def __init__(self, *, max_pending_nodes: int | None = None, max_inflight_steps: int | None = None) -> None:
        self._undo: list[tuple[Callable[[int], int], int]] = []
        if max_pending_nodes is not None:
            self._undo.append((_core.set_max_pending_nodes, _core.set_max_pending_nodes(max_pending_nodes)))
        if max_inflight_steps is not None:
            self._undo.append((_core.set_max_inflight_steps, _core.set_max_inflight_steps(max_inflight_steps)))

    def __enter__(self) -> options:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for put_back, old in self._undo:
            put_back(old)
