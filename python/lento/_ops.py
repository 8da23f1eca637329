"""Generated functions of lento; their types are in the generated stub beside this file."""

from ._namespace import functions

_functions = functions("", "lento")
globals().update(_functions)
__all__ = list(_functions)
