"""The functions of the op catalogue's main namespace; their types are in the generated ``_ops.pyi``."""

from . import _core

_names = [
    name
    for name, value in vars(_core).items()
    if not name.startswith("_") and getattr(value, "__module__", None) == "lento"
    and type(value).__name__ == "builtin_function_or_method"
]
globals().update({name: getattr(_core, name) for name in _names})
__all__ = _names
