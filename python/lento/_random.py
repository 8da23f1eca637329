"""Generated functions of lento.random; their types are in the generated stub beside this file."""

from ._namespace import functions

_functions = functions("random", "lento.random")
globals().update(_functions)
__all__ = list(_functions)
