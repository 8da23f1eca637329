"""``lento.scope``: names the part of the program that records operations."""

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
