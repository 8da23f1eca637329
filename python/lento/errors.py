"""The errors that Lento raises on purpose.

Each is also one of Python's own: ``except ValueError`` catches a :class:`ShapeError`.
"""

from ._core import (
    BackendError,
    DeviceError,
    DTypeError,
    Error,
    FileError,
    IndexError,
    LinAlgError,
    MemoryError,
    OverflowError,
    ShapeError,
    ValueError,
)

__all__ = [
    "BackendError",
    "DTypeError",
    "DeviceError",
    "Error",
    "FileError",
    "IndexError",
    "LinAlgError",
    "MemoryError",
    "OverflowError",
    "ShapeError",
    "ValueError",
]
