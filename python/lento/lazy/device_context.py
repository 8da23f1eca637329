"""What belongs to a device: the handlers of its step closures.

>>> from lento.lazy.device_context import get_device_context
>>> get_device_context() is get_device_context("lazy")
True
"""

from __future__ import annotations

import threading
from typing import Any, ClassVar

from .. import _core

__all__ = ["DeviceContext", "get_device_context"]


class DeviceContext:
    """The context of one device. ``closure_handler`` and ``async_closure_handler`` may be set on it.

    A handler is called with a list of functions without arguments: those that a step has to call. Without one, Lento
    calls synchronous closures itself and hands asynchronous ones to its own worker.
    """

    _CONTEXTS: ClassVar[dict[str, DeviceContext]] = {}
    _CONTEXTS_LOCK = threading.Lock()

    closure_handler: Any
    async_closure_handler: Any

    def __init__(self, device: str) -> None:
        self.device = device


def get_device_context(device: Any = None) -> DeviceContext:
    """The one context of this device; of the default device for None, ``""`` and ``"lazy"``."""
    word = "" if device is None else str(device)
    name = str(_core.Device("cpu") if word in ("", "lazy", "lazy:0") else _core.Device(word))
    with DeviceContext._CONTEXTS_LOCK:
        context = DeviceContext._CONTEXTS.get(name)
        if context is None:
            context = DeviceContext._CONTEXTS[name] = DeviceContext(name)
        return context
