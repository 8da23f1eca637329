"""``lento.scope`` and ``lento.device``: what holds for the length of a ``with`` block."""

from __future__ import annotations

from contextlib import ContextDecorator
from types import TracebackType

from . import _core
from ._fail import fail


class scope(ContextDecorator):
    """Names everything recorded inside; scopes nest: ``model/layer1``.

    The names show in dumps and errors. Works as a context manager and as a decorator::

        with lento.scope("attention"):
            y = lento.nn.softmax(x @ k.mT)
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise fail(TypeError, f"scope(): argument 'name' must be str, not {type(name).__name__}")
        self.name = name
        self._open: list[_core._Scope] = []  # a decorated function may be recursive

    def __enter__(self) -> scope:
        self._open.append(_core._Scope(self.name))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.pop().close()


class device(ContextDecorator):
    """Makes a device the default one of the calling thread for the length of a ``with`` block.

    Works as a context manager and as a decorator::

        with lento.device("reference:0"):
            x = lento.ones((3,))  # on reference:0
    """

    def __init__(self, device: _core.Device | str) -> None:
        self.device = device if isinstance(device, _core.Device) else _core.Device(device)
        self._open: list[_core._DeviceScope] = []  # a decorated function may be recursive

    def __enter__(self) -> device:
        self._open.append(_core._DeviceScope(self.device))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.pop().close()
