"""Questions about dtypes and shapes, and the constants of the Array API."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import _core
from ._core import DType, as_dtype
from ._fail import names_errors, names_its_errors

e = math.e
pi = math.pi
inf = math.inf
nan = math.nan
newaxis = None


@names_its_errors
class finfo:
    """What a floating-point dtype can hold. For a complex dtype: of its parts.

    >>> lento.finfo(lento.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: Any) -> None:
        self.dtype, self.bits, self.eps, self.max, self.min, self.smallest_normal = _core._finfo(type)
        self.tiny = self.smallest_normal

    def __repr__(self) -> str:
        return f"finfo(min={self.min}, max={self.max}, eps={self.eps}, dtype={self.dtype})"


@names_its_errors
class iinfo:
    """What an integer dtype can hold.

    >>> lento.iinfo("int8")
    iinfo(min=-128, max=127, dtype=int8)
    """

    def __init__(self, type: Any) -> None:
        self.dtype, self.bits, self.min, self.max = _core._iinfo(type)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


@names_errors
def promote_types(type1: Any, type2: Any) -> DType:
    """The dtype that operands of these two dtypes are converted to.

    >>> lento.promote_types(lento.int32, lento.float16)
    lento.float16
    """
    return _core.promote_types(as_dtype(type1), as_dtype(type2))


@names_errors
def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype of an operation on these tensors, dtypes and numbers. Numbers are weak.

    >>> lento.result_type(lento.zeros(2, dtype=lento.float16), 1.5)
    lento.float16
    """
    return _core._result_type(*arrays_and_dtypes)


@names_errors
def can_cast(from_: Any, to: Any) -> bool:
    """Whether every value of one dtype survives as the other: promotion of both gives ``to``.

    >>> lento.can_cast(lento.int8, lento.int16), lento.can_cast(lento.float32, lento.int32)
    (True, False)
    """
    return _core._can_cast(from_, as_dtype(to))


@names_errors
def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind: a kind's name ("integral"), a dtype, or a tuple of these.

    >>> lento.isdtype(lento.uint8, ("signed integer", "unsigned integer"))
    True
    """
    found = as_dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(found, each) for each in kind)
    return _core._isdtype(found, kind) if isinstance(kind, str) else found is as_dtype(kind)


@names_errors
def broadcast_shapes(*shapes: int | Sequence[int]) -> tuple[int, ...]:
    """The shape that tensors of these shapes broadcast to.

    >>> lento.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return _core._broadcast_shapes(*shapes)
