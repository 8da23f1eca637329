"""Generated functions of lento.linalg; their types are in the generated stub beside this file."""

from ._namespace import functions

_functions = functions("linalg", "lento.linalg")
globals().update(_functions)
__all__ = list(_functions)
