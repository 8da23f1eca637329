"""Discrete Fourier transforms."""

from . import _core

_names = [name for name in vars(getattr(_core, "fft", None) or object()) if not name.startswith("_")]
globals().update({name: getattr(_core.fft, name) for name in _names})
__all__ = _names
