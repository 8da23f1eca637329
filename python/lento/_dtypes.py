"""Questions about dtypes and shapes, and the constants of the Array API."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from . import _core
from ._core import DType, Tensor, as_dtype
from ._fail import fail, names_errors, names_its_errors

e = math.e
pi = math.pi
inf = math.inf
nan = math.nan
newaxis = None

_ORDER = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
_BITS = {
    # name: (bits, eps, max, smallest normal)
    "float16": (16, 2.0**-10, 65504.0, 2.0**-14),
    "bfloat16": (16, 2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-126),
    "float32": (32, 2.0**-23, (2 - 2.0**-23) * 2.0**127, 2.0**-126),
    "float64": (64, 2.0**-52, (2 - 2.0**-52) * 2.0**1023, 2.0**-1022),
}


def _dtype_of(argument: Any) -> DType:
    return argument.dtype if isinstance(argument, Tensor) else as_dtype(argument)


@names_its_errors
class finfo:
    """What a floating-point dtype can hold. For a complex dtype: of its parts.

    >>> lento.finfo(lento.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: Any) -> None:
        dtype = _dtype_of(type)
        if dtype.kind == "c":
            dtype = _core.float32 if dtype is _core.complex64 else _core.float64
        if dtype.kind != "f":
            raise fail(TypeError, f"finfo(): {dtype} is not a floating-point dtype")
        self.dtype = dtype
        self.bits, self.eps, self.max, self.smallest_normal = _BITS[dtype.name]
        self.min = -self.max
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
        dtype = _dtype_of(type)
        if dtype.kind not in "iu":
            raise fail(TypeError, f"iinfo(): {dtype} is not an integer dtype")
        self.dtype = dtype
        self.bits = 8 * dtype.itemsize
        self.min = -(2 ** (self.bits - 1)) if dtype.kind == "i" else 0
        self.max = 2 ** (self.bits - (1 if dtype.kind == "i" else 0)) - 1

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


@names_errors
def promote_types(type1: Any, type2: Any) -> DType:
    """The dtype that operands of these two dtypes are converted to.

    >>> lento.promote_types(lento.int32, lento.float16)
    lento.float16
    """
    return _core.promote_types(as_dtype(type1), as_dtype(type2))


def _weak_kind(number: Any) -> str:
    if isinstance(number, builtins.bool):
        return "b"
    if isinstance(number, int):
        return "i"
    return "f" if isinstance(number, float) else "c"


@names_errors
def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype of an operation on these tensors, dtypes and numbers. Numbers are weak.

    >>> lento.result_type(lento.zeros(2, dtype=lento.float16), 1.5)
    lento.float16
    """
    if not arrays_and_dtypes:
        raise fail(ValueError, "result_type(): at least one argument is needed")
    strong: DType | None = None
    weak = ""
    for argument in arrays_and_dtypes:
        if isinstance(argument, builtins.bool | int | float | complex):
            kind = _weak_kind(argument)
            weak = kind if not weak or _ORDER[kind] > _ORDER[weak] else weak
            continue
        dtype = _dtype_of(argument)
        strong = dtype if strong is None else _core.promote_types(strong, dtype)
    if strong is None:
        return {"b": _core.bool, "i": _core.int64, "f": _core.float32, "c": _core.complex64}[weak]
    if not weak or _ORDER[weak] <= _ORDER[strong.kind]:
        return strong
    if weak == "i":
        return _core.int64
    if weak == "f":
        return _core.float32
    return _core.complex128 if strong is _core.float64 else _core.complex64


@names_errors
def can_cast(from_: Any, to: Any) -> bool:
    """Whether every value of one dtype survives as the other: promotion of both gives ``to``.

    >>> lento.can_cast(lento.int8, lento.int16), lento.can_cast(lento.float32, lento.int32)
    (True, False)
    """
    target = as_dtype(to)
    return _core.promote_types(_dtype_of(from_), target) is target


_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


@names_errors
def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind: a kind's name ("integral"), a dtype, or a tuple of these.

    >>> lento.isdtype(lento.uint8, ("signed integer", "unsigned integer"))
    True
    """
    found = as_dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(found, each) for each in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return found.kind in _KINDS[kind]
    if isinstance(kind, str):
        raise fail(ValueError, f"isdtype(): unknown kind {kind!r}; there are {', '.join(map(repr, _KINDS))}")
    return found is as_dtype(kind)


@names_errors
def broadcast_shapes(*shapes: int | Sequence[int]) -> tuple[int, ...]:
    """The shape that tensors of these shapes broadcast to.

    >>> lento.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    rows = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    result: list[int] = [1] * max((len(row) for row in rows), default=0)
    for row in rows:
        for axis, extent in enumerate(row, start=len(result) - len(row)):
            if extent != 1 and result[axis] not in (1, extent):
                raise fail(ValueError, "broadcast_shapes(): shapes do not broadcast: " + ", ".join(map(str, rows)))
            result[axis] = extent if extent != 1 else result[axis]
    _core.check_shape(result)
    return tuple(result)
