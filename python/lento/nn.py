"""Neural network functions: activations, normalisations, convolutions, losses."""

from . import _core

_names = [name for name in vars(getattr(_core, "nn", None) or object()) if not name.startswith("_")]
globals().update({name: getattr(_core.nn, name) for name in _names})
__all__ = _names
