"""``lento.options``: settings of the engine, set for good or for the length of a ``with`` block."""

from __future__ import annotations

from types import TracebackType

from . import _core


class options:
    """Sets options at once; as a context manager it puts the old values back at the end.

    ``max_pending_nodes`` (default 100,000): a trace longer than this has its oldest part evaluated.
    """

    def __init__(self, *, max_pending_nodes: int | None = None) -> None:
        self._old_max_pending_nodes: int | None = None
        if max_pending_nodes is not None:
            self._old_max_pending_nodes = _core.set_max_pending_nodes(max_pending_nodes)

    def __enter__(self) -> options:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._old_max_pending_nodes is not None:
            _core.set_max_pending_nodes(self._old_max_pending_nodes)
