"""Generated functions of lento.stats; their types are in the generated stub beside this file."""

from ._namespace import functions

_functions = functions("stats", "lento.stats")
globals().update(_functions)
__all__ = list(_functions)
