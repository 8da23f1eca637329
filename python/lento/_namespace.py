"""Fills the modules whose functions are generated from the op catalogue, and lets everything say where it is public."""

from __future__ import annotations

import sys
from types import BuiltinFunctionType, FunctionType
from typing import Any

from . import _core


def functions(space: str, module: str) -> dict[str, Any]:
    """The functions that the extension exports for one namespace of the catalogue."""
    source = getattr(_core, space) if space else _core
    return {
        name: value
        for name, value in vars(source).items()
        if isinstance(value, BuiltinFunctionType | _core.BinaryFunction) and value.__module__ == module
    }


_PUBLIC = ("errors", "cache", "fft", "linalg", "metrics", "nn", "optim", "random", "special", "stats", "tree")


def publish() -> None:
    """Gives classes and functions the name of the public module they are in: lento.nn.Linear is of lento.nn."""
    for private, public in (("lento._init", "lento.nn.init"), ("lento._nn", "lento.nn.functional")):
        module_here = sys.modules[private]
        module_here.__name__ = public
        sys.modules[public] = module_here
    for module in ("lento", *(f"lento.{name}" for name in _PUBLIC), "lento.optim.lr_scheduler"):
        names = vars(sys.modules[module])
        for name in names.get("__all__", list(names)):
            value = names[name]
            home = getattr(value, "__module__", None) or ""
            if (
                isinstance(value, type | FunctionType)
                and value.__name__ == name
                and home.startswith("lento")
                and "._" in home
            ):
                value.__module__ = module
