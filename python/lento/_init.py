"""Initial values of weights: functions that make a tensor of a shape, with PyTorch's names without the underscore; in
float32 where no dtype is given. With the underscore they fill a tensor that is there."""

from . import _init_in_place
from ._init_in_place import *  # noqa: F403
from ._namespace import functions as _functions_of

_functions = _functions_of("nn.init", "lento.nn.init")
globals().update(_functions)
__all__ = [*_functions, *_init_in_place.__all__]
