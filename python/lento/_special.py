"""Generated functions of lento.special; their types are in the generated stub beside this file."""

from ._namespace import functions

_functions = functions("special", "lento.special")
globals().update(_functions)
__all__ = list(_functions)
