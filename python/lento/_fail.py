"""Errors that the package raises itself: like those of the engine, they end with the line of the user's code."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from . import _core
from ._keyword_hints import with_hint

_E = TypeVar("_E", bound=Exception)
_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C", bound=type)


def fail(kind: Callable[[str], _E], message: str) -> _E:
    """An error to raise: ``raise fail(ValueError, "grad(): …")`` says ``grad(): …, at train.py:41``."""
    return kind(_placed(message))


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warns of the line of the user's code."""
    import warnings

    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_FOLDER):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _placed(message: str) -> str:
    place = _core._place()
    return f"{message}, at {place}" if place and not message.endswith(f", at {place}") else message


def names_errors(function: _F) -> _F:
    """Whatever error of the package leaves the function names it and the user's line."""

    @functools.wraps(function)
    def named(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except _WRONG_ARGUMENTS as error:
            _name(error, function.__name__)
            raise

    return named  # type: ignore[return-value]


def names_its_errors(cls: _C) -> _C:
    """The same for making objects of a class, and of those below it."""
    make = cls.__init__  # type: ignore[misc]

    @functools.wraps(make)
    def named(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            make(self, *args, **kwargs)
        except _WRONG_ARGUMENTS as error:
            _name(error, type(self).__name__)
            raise

    cls.__init__ = named  # type: ignore[misc]
    return cls


_WRONG_ARGUMENTS = (TypeError, ValueError, IndexError, OverflowError, MemoryError)


_FOLDER = os.path.join(os.path.dirname(__file__), "")


def _name(error: Exception, caller: str) -> None:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not trace.tb_frame.f_code.co_filename.startswith(_FOLDER):
        return  # raised by the user's own code, which an argument called
    message = str(error) or "out of memory"
    # Python names the class that has the constructor, which may be a private one above this.
    message = with_hint(re.sub(r"^\w+\.__init__\(\) ", f"{caller}() ", message))
    error.args = (_placed(message if message.startswith((f"{caller}(", f"{caller}:")) else f"{caller}(): {message}"),)
