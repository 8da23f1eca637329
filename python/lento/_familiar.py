"""What tensors have only because people of PyTorch type it: other names of what is there, with the same meaning.

Names whose meaning would differ are not here; _attribute_hints.py has what is said of them.
"""

from __future__ import annotations

import builtins
from typing import Any

from . import _core
from ._core import Tensor
from ._fail import fail


class Size(builtins.int):
    """What ``x.size`` is: the number of elements. Called as PyTorch's ``x.size()`` it gives the shape."""

    _shape: tuple[builtins.int, ...]

    def __call__(self, axis: builtins.int | None = None) -> Any:
        """The shape, or the extent of one axis."""
        if axis is None:
            return self._shape
        try:
            return self._shape[axis]
        except IndexError:
            raise fail(IndexError, f"size(): axis {axis} is out of range for {len(self._shape)} axes") from None

    def __reduce__(self) -> tuple[Any, ...]:
        return builtins.int, (builtins.int(self),)


def numel(self: Tensor) -> builtins.int:
    """PyTorch's name for x.size."""
    return builtins.int(self.size)


def dim(self: Tensor) -> builtins.int:
    """PyTorch's name for x.ndim."""
    return self.ndim


def t(self: Tensor) -> Tensor:
    """PyTorch's name for x.T, of a tensor with at most two axes."""
    if self.ndim > 2:
        raise fail(_core.ShapeError, f"t(): a tensor of shape {self.shape} has more than two axes; use x.mT or x.T")
    return self.T


def to(self: Tensor, *target: Any, dtype: Any = None, device: Any = None, **others: Any) -> Tensor:
    """PyTorch's name for x.astype(dtype) and x.to_device(device); of a tensor it takes both."""
    if unknown := others.keys() - {"copy", "non_blocking"}:
        raise fail(TypeError, f"to() got an unexpected keyword argument {min(unknown)!r}")
    for given in target:
        if isinstance(given, Tensor):
            dtype, device = given.dtype, given.device
        elif isinstance(given, _core.Device) or (isinstance(given, str) and not is_dtype(given)):
            device = given
        elif not isinstance(given, builtins.bool):  # non_blocking, copy
            dtype = given
    moved = self if device is None else self.to_device(device)
    return moved if dtype is None else moved.astype(dtype)


def is_dtype(name: str) -> builtins.bool:
    try:
        _core.as_dtype(name)
    except (TypeError, ValueError):
        return False
    return True


def cpu(self: Tensor) -> Tensor:
    """PyTorch's name for x.to_device("cpu")."""
    return self.to_device("cpu")


def float(self: Tensor) -> Tensor:
    """PyTorch's name for x.astype(lento.float32)."""
    return self.astype(_core.float32)


def double(self: Tensor) -> Tensor:
    """PyTorch's name for x.astype(lento.float64)."""
    return self.astype(_core.float64)


def half(self: Tensor) -> Tensor:
    """PyTorch's name for x.astype(lento.float16)."""
    return self.astype(_core.float16)


def bfloat16(self: Tensor) -> Tensor:
    """PyTorch's name for x.astype(lento.bfloat16)."""
    return self.astype(_core.bfloat16)


def int(self: Tensor) -> Tensor:
    """PyTorch's name for x.astype(lento.int32)."""
    return self.astype(_core.int32)


def long(self: Tensor) -> Tensor:
    """PyTorch's name for x.astype(lento.int64)."""
    return self.astype(_core.int64)


def bool(self: Tensor) -> Tensor:
    """PyTorch's name for x.astype(lento.bool)."""
    return self.astype(_core.bool)


METHODS = (numel, dim, t, to, cpu, float, double, half, bfloat16, int, long, bool)


def install() -> None:
    """Gives tensors these methods."""
    for method in METHODS:
        method.__module__, method.__qualname__ = "lento", f"Tensor.{method.__name__}"
        setattr(Tensor, method.__name__, method)
    _core._set_size_class(Size)
