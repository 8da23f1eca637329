"""``lento.array``, as NumPy programs call it."""

from __future__ import annotations

from typing import Any

from ._core import Device, Tensor, asarray
from ._fail import names_errors


@names_errors
def array(
    object: Any, dtype: Any = None, *, copy: bool | None = True, ndmin: int = 0, device: Device | str | None = None
) -> Tensor:
    """A tensor of a number, a list or an array, with at least ``ndmin`` axes. As :func:`asarray`, but memory of others
    is copied unless ``copy`` is None (where it must be) or False (never).

    >>> lento.array([1.0, 2.0], ndmin=2)
    tensor([[1., 2.]], dtype=float32)
    """
    x = asarray(object, dtype=dtype, device=device, copy=copy)
    return x if x.ndim >= ndmin else x.reshape((1,) * (ndmin - x.ndim) + x.shape)
