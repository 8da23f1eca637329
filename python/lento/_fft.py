"""Generated functions of lento.fft; their types are in the generated stub beside this file."""

from ._namespace import functions

_functions = functions("fft", "lento.fft")
globals().update(_functions)
__all__ = list(_functions)
