"""Special functions."""

from . import _core

_names = [name for name in vars(getattr(_core, "special", None) or object()) if not name.startswith("_")]
globals().update({name: getattr(_core.special, name) for name in _names})
__all__ = _names
