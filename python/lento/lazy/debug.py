"""Pending graphs as text.

>>> from lento.lazy import debug
>>> debug.render_ir_graph([lento.ones((2,)) + 1]).splitlines()[0]
'digraph lento {'
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import _core
from .._fail import fail

__all__ = ["dump_ir", "render_ir_graph"]


def render_ir_graph(tensors: Sequence[_core.Tensor]) -> str:
    """The pending graph of the tensors in the DOT language: ``lento.dump(tensors, "dot")``."""
    return _core.dump(tensors, "dot")


def dump_ir(tensors: Sequence[_core.Tensor], ir_format: str) -> str:
    """The pending graph of the tensors as ``"text"``, or what the backend makes of it (``"backend"``)."""
    if ir_format == "text":
        return _core.dump(tensors, "text")
    if ir_format == "backend":
        return _core.dump(tensors, "backend")
    raise fail(RuntimeError, f"dump_ir(): unrecognized IR format {ir_format!r}; there are 'text' and 'backend'")
