"""The errors that Lento raises on purpose.

Each is also one of Python's own: ``except ValueError`` catches a :class:`ShapeError`. :class:`SyncWarning` is no error:
``lento.options(sync="warn")`` asks for it.
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
    SyncWarning,
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
    "SyncWarning",
    "ValueError",
]
