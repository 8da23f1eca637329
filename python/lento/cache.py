"""The plan cache: a step that was seen before is found here and compiles nothing."""

from ._core import cache_clear as clear
from ._core import cache_info as info
from ._core import cache_remove as remove
from ._core import cache_set_limit as set_limit

__all__ = ["clear", "info", "remove", "set_limit"]
