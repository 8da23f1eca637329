"""Generated functions of lento.nn; their types are in the generated stub beside this file."""

from ._namespace import functions

_functions = functions("nn", "lento.nn")
globals().update(_functions)
__all__ = list(_functions)
