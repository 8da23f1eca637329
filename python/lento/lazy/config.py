"""LTC's settings.

>>> from lento.lazy import config
>>> config.set_force_fallback("exp,log")
>>> config.get_force_fallback()
'exp,log'
>>> config.set_force_fallback("")
"""

from __future__ import annotations

from .. import _core
from .._fail import fail

__all__ = ["get_force_fallback", "set_force_fallback", "set_reuse_ir"]


def get_force_fallback() -> str:
    """The primitives that are sent to the reference backend, separated by commas."""
    return _core._force_fallback()


def set_force_fallback(configval: str) -> None:
    """``lento.options(force_fallback=...)`` for good: these primitives run on the reference backend.

    The names are Lento's; ``aten::`` before a name is left out.
    """
    if not isinstance(configval, str):
        raise fail(TypeError, f"set_force_fallback(): argument 'configval' must be str, not {type(configval).__name__}")
    names = (name.strip().removeprefix("aten::") for name in configval.split(","))
    _core.set_options(force_fallback=",".join(name for name in names if name))


def set_reuse_ir(val: bool) -> None:
    """Does nothing: Lento appends to a tape when it records, so that there are no nodes to make or to reuse."""
    if not isinstance(val, bool):
        raise fail(TypeError, f"set_reuse_ir(): argument 'val' must be bool, not {type(val).__name__}")
