"""The plan cache: a step that was seen before is found here and compiles nothing.

What is compiled is also kept on disk, where other processes find it: `docs/disk-cache.md`.

>>> lento.cache.clear()
>>> x = lento.ones((3,)) * 2
>>> lento.step()
>>> lento.cache.info()["entries"]
1
>>> lento.cache.plans()[0]["nodes"]
2
"""

from ._core import Captured
from ._core import cache_capture as capture
from ._core import cache_clear as clear
from ._core import cache_info as info
from ._core import cache_plans as plans
from ._core import cache_remove as remove
from ._core import cache_run as run
from ._core import cache_set_disk_limit as set_disk_limit
from ._core import cache_set_limit as set_limit

__all__ = ["Captured", "capture", "clear", "info", "plans", "remove", "run", "set_disk_limit", "set_limit"]
