"""Fills the modules whose functions are generated from the op catalogue."""

from __future__ import annotations

from types import BuiltinFunctionType
from typing import Any

from . import _core


def functions(space: str, module: str) -> dict[str, Any]:
    """The functions that the extension exports for one namespace of the catalogue."""
    source = getattr(_core, space) if space else _core
    return {
        name: value
        for name, value in vars(source).items()
        if isinstance(value, BuiltinFunctionType) and value.__module__ == module
    }
