"""Lento's errors where NumPy has one of its own. Imported once NumPy is there and something is to be raised."""

from __future__ import annotations

from typing import Any

import numpy.linalg

from . import _core


class LinAlgError(_core.LinAlgError, numpy.linalg.LinAlgError):
    """A matrix has no such decomposition or solution. Also caught as ``numpy.linalg.LinAlgError``."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _core.LinAlgError, self.args  # where it is loaded there may be no NumPy


LinAlgError.__module__ = "lento.errors"
