"""Inspection of the namespace, as the Array API standard asks for it: ``lento.__array_namespace_info__()``."""

from __future__ import annotations

import builtins
from typing import Any

from . import _core
from ._core import Device, DType
from ._dtypes import isdtype
from ._fail import fail

__array_api_version__ = "2025.12"

# float16 and bfloat16 are there as well, but no dtypes of the standard.
_STANDARD = (
    _core.bool,
    _core.int8,
    _core.int16,
    _core.int32,
    _core.int64,
    _core.uint8,
    _core.uint16,
    _core.uint32,
    _core.uint64,
    _core.float32,
    _core.float64,
    _core.complex64,
    _core.complex128,
)


class NamespaceInfo:
    """What this implementation of the Array API offers."""

    def capabilities(self) -> dict[str, Any]:
        """What the standard leaves open: indexing by bool tensors, shapes that depend on data, the most axes."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": None,
        }

    def default_device(self) -> Device:
        """The device of tensors that are made without naming one."""
        return _core.default_device()

    def default_dtypes(self, *, device: Device | str | None = None) -> dict[str, DType]:
        """The dtypes of Python numbers and of indices; the same on all devices."""
        _known(device)
        return {
            "real floating": _core.float32,
            "complex floating": _core.complex64,
            "integral": _core.int64,
            "indexing": _core.int64,
        }

    def dtypes(
        self, *, device: Device | str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """The dtypes of the standard that are of this kind, by name; they are the same on all devices."""
        _known(device)
        if kind is not None and not isinstance(kind, str | tuple):
            raise fail(TypeError, f"dtypes(): kind must be str, a tuple of str or None, not {type(kind).__name__}")
        return {dtype.name: dtype for dtype in _STANDARD if kind is None or isdtype(dtype, kind)}

    def devices(self) -> tuple[Device, ...]:
        """All devices there are."""
        return builtins.tuple(_core.devices())


def _known(device: Device | str | None) -> None:
    if isinstance(device, str):
        Device(device)  # raises when there is no such device


_INFO = NamespaceInfo()


def __array_namespace_info__() -> NamespaceInfo:
    """What this namespace offers: capabilities, devices, dtypes."""
    return _INFO
