"""Random numbers: counter-based, the same for one seed whatever runs them."""

from . import _core

_names = [name for name in vars(getattr(_core, "random", None) or object()) if not name.startswith("_")]
globals().update({name: getattr(_core.random, name) for name in _names})
__all__ = _names
