"""``lento.options``: settings of the engine, set for good or for the length of a ``with`` block."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Literal

from . import _core


class options:
    """Sets options at once, all of them or none; as a context manager it puts the old values back at the end.

    ``sync`` (default ``"allow"``): what a read does that has to compute something first. ``"warn"`` issues a
    ``lento.SyncWarning``, once per line; ``"error"`` raises, and ``repr`` shows ``<pending>``.
    ``sync_wait`` (default ``False``): ``sync="warn"`` also tells of reads that compute nothing but wait for work that
    was started. Whether one waits depends on how fast the work was, so ``"error"`` leaves them alone.
    ``max_pending_nodes`` (default 100,000): a trace longer than this has its oldest part evaluated.
    ``max_inflight_steps`` (default 16): with more steps than this under way, ``step`` waits.
    ``fallback`` (default ``"allow"``): ops that a device has no code for run on the CPU device, with copies around
    them; ``"error"`` makes a step that has some raise, and name them.
    ``disk_cache`` (default ``True`` unless ``LENTO_DISK_CACHE=off``): compiled code is kept on disk and found there.

    To find a wrong result, take something away; what was compiled with other settings is kept and found again later:
    ``fusion`` (default ``True``): ops run together where that is faster.
    ``tier`` (default ``"auto"``): 0 runs only the code that is compiled at once, 1 only code compiled with more care.
    ``force_fallback`` (default ``""``): primitives, as in ``"exp,reduce_sum"``, that run on the reference backend's
    kernels.

        >>> x = lento.ones((3,)) + 1
        >>> with lento.options(sync="error"):
        ...     print(x)
        <pending>
        >>> print(x)
        [2. 2. 2.]
    """

    def __init__(
        self,
        *,
        sync: Literal["allow", "warn", "error"] | None = None,
        sync_wait: bool | None = None,
        max_pending_nodes: int | None = None,
        max_inflight_steps: int | None = None,
        fallback: Literal["allow", "error"] | None = None,
        disk_cache: bool | None = None,
        fusion: bool | None = None,
        tier: Literal[0, 1, "auto"] | None = None,
        force_fallback: str | None = None,
    ) -> None:
        self._new: dict[str, Any] = {
            "sync": sync,
            "sync_wait": sync_wait,
            "max_pending_nodes": max_pending_nodes,
            "max_inflight_steps": max_inflight_steps,
            "fallback": fallback,
            "disk_cache": disk_cache,
            "fusion": fusion,
            "tier": tier,
            "force_fallback": force_fallback,
        }
        self._old = [_core.set_options(**self._new)]
        self._entered = False

    def __enter__(self) -> options:
        if self._entered:  # once more, or inside itself
            self._old.append(_core.set_options(**self._new))
        self._entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _core.set_options(**self._old.pop())
