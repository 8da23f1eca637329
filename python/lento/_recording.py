"""The call that this thread records for lento.compile, and the numbers that the host gives anew at each frozen call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from . import _core
from ._fail import fail

_N = TypeVar("_N", int, float)

#: What asks for numbers, and what then moves on by a number of calls, if anything does.
Action = tuple[Callable[[], tuple[Any, ...] | None], Callable[[int], None] | None]


class Recording:
    """One call: the engine's recorder, and what Python is asked for."""

    def __init__(self) -> None:
        self.actions: list[Action] = []
        self.functions: list[Callable[[], Any]] = []  # those of host_number
        self.recorder = _core._CallRecorder()

    def ask(self, ask: Callable[[], tuple[Any, ...] | None], advance: Callable[[int], None] | None) -> None:
        """Lets a frozen call ask here too. The recorder has to be given the numbers, in the same order."""
        self.actions.append((ask, advance))

    def refuse(self, why: str) -> None:
        self.recorder.refuse(why)

    def host_number(self, function: Callable[[], Any]) -> Any:
        """The number, as one that knows where it came from."""
        number = function()
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise fail(TypeError, f"host_number(): the function gives a number, not {type(number).__name__}")
        node = self.recorder.give(number)
        self.functions.append(function)
        self.ask(lambda: (function(),), None)
        made: Any = _HostInteger(number) if isinstance(number, int) else _HostFloat(number)
        made._node = node
        return made


class _HostFloat(float):
    _node: int


class _HostInteger(int):
    _node: int


_core._set_host_classes(_HostFloat, _HostInteger)


class _Current(threading.local):
    recording: Recording | None = None


current = _Current()


def host_number(function: Callable[[], _N]) -> _N:
    """What ``function()`` gives, a number; in a function of :func:`lento.compile` it is asked for anew at each call.

    Use it as the operand of an operation, as it is: arithmetic of Python would make a number of it that is the same at
    each call, and such a function is not frozen.

        >>> rate = {"now": 0.5}
        >>> f = lento.compile(lambda x: x * lento.host_number(lambda: rate["now"]))
        >>> x = lento.ones(2)
        >>> _ = f(x), f(x)
        >>> rate["now"] = 0.25
        >>> f(x)
        tensor([0.25, 0.25], dtype=float32)
    """
    if not callable(function):
        raise fail(TypeError, f"host_number(): a function is expected, not {type(function).__name__}")
    recording = current.recording
    return function() if recording is None else recording.host_number(function)
