"""The call that this thread records for lento.compile, and the numbers that the host gives anew at each frozen call."""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from . import _core
from ._fail import fail

_N = TypeVar("_N", int, float)

_DEEPEST = 50

#: What asks for numbers, and what then moves on by a number of calls, if anything does.
Action = tuple[Callable[[], tuple[Any, ...] | None], Callable[[int], None] | None]


class Recording:
    """One call: the engine's recorder, and what Python is asked for."""

    def __init__(self) -> None:
        self.actions: list[Action] = []
        self.functions: list[Callable[[], Any]] = []  # those of host_number
        self.numbers: list[_HostNumber] = []
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
            self.refuse(f"a function of lento.host_number gives no int or float, but {type(number).__name__}")
            return number
        made = (_HostInteger if isinstance(number, int) else _HostFloat)(number, self.recorder.give(number))
        self.functions.append(function)
        self.numbers.append(made)
        self.ask(lambda: (function(),), None)
        return made

    def stop(self) -> None:
        """Ends the call; its numbers are no operands of later ones."""
        self.recorder.stop()
        for number in self.numbers:
            number._node = -1


def _refuse() -> None:
    if current.recording is not None:
        current.recording.refuse(
            "a number from lento.host_number is used on the host; what depends on it belongs into its function"
        )


def _plain(value: Any) -> Any:
    return value._value if is_host_number(value) else value


class _HostNumber:
    """Behaves as the number, but Python cannot look at it without being noticed."""

    __slots__ = ("_node", "_value")

    def __init__(self, value: Any, node: int) -> None:
        self._value = value
        self._node = node

    @property
    def __class__(self) -> Any:
        return type(self._value)

    @__class__.setter
    def __class__(self, kind: Any) -> None:
        raise fail(TypeError, "the class of a number stays what it is")

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._value, name)
        _refuse()
        return found

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        import numpy

        _refuse()
        return numpy.asarray(self._value, *args)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(isinstance(one, _core.Tensor) for one in inputs):
            return NotImplemented
        _refuse()
        return getattr(function, method)(*map(_plain, inputs), **kwargs)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce__(self) -> Any:
        _refuse()
        return type(self._value), (self._value,)


class _HostFloat(_HostNumber):
    __slots__ = ()


class _HostInteger(_HostNumber):
    __slots__ = ()

    def __index__(self) -> int:
        _refuse()
        return operator.index(self._value)


def _add_operators() -> None:
    def unary(function: Callable[..., Any]) -> Any:
        def method(self: _HostNumber, *args: Any) -> Any:
            _refuse()
            return function(self._value, *args)

        return method

    def binary(function: Callable[..., Any], is_reflected: bool) -> Any:
        def method(self: _HostNumber, other: Any, *args: Any) -> Any:
            if isinstance(other, _core.Tensor):
                return NotImplemented
            _refuse()
            pair = (_plain(other), self._value) if is_reflected else (self._value, _plain(other))
            return function(*pair, *args)

        return method

    for function in (bool, int, float, complex, round, hash, str, repr, format, divmod, pow):
        if function not in (divmod, pow):
            setattr(_HostNumber, f"__{function.__name__}__", unary(function))
    for name in ("neg", "pos", "abs", "invert"):
        setattr(_HostNumber, f"__{name}__", unary(getattr(operator, name)))
    for name in ("trunc", "floor", "ceil"):
        setattr(_HostNumber, f"__{name}__", unary(getattr(math, name)))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(_HostNumber, f"__{name}__", binary(getattr(operator, name), False))
    arithmetic = {name: getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "floordiv", "mod")}
    bitwise = {name.strip("_"): getattr(operator, name) for name in ("and_", "or_", "xor", "lshift", "rshift")}
    for name, function in {**arithmetic, **bitwise, "divmod": divmod, "pow": pow}.items():
        setattr(_HostNumber, f"__{name}__", binary(function, False))
        setattr(_HostNumber, f"__r{name}__", binary(function, True))


_add_operators()
_core._set_host_classes(_HostFloat, _HostInteger)


def is_host_number(value: Any) -> bool:
    """Whether it is what lento.host_number gives to a call that is recorded."""
    return type(value) is _HostFloat or type(value) is _HostInteger


def without_host_numbers(value: Any, depth: int = 0) -> Any:
    """A result with plain numbers; the same object where there are no others."""
    if is_host_number(value):
        return value._value
    if type(value) not in (tuple, list, dict) or depth > _DEEPEST:
        return value
    items = list(value.values() if isinstance(value, dict) else value)
    plain = [without_host_numbers(item, depth + 1) for item in items]
    if all(a is b for a, b in zip(items, plain, strict=True)):
        return value
    if isinstance(value, dict):
        return dict(zip(value, plain, strict=True))
    return type(value)(plain)


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
