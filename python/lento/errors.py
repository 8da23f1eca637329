"""The errors that Lento raises on purpose.

Each is also one of Python's own: ``except ValueError`` catches a :class:`ShapeError`; where NumPy is imported,
``numpy.linalg.LinAlgError`` catches a :class:`LinAlgError`. :class:`SyncWarning` is no error:
``lento.options(sync="warn")`` asks for it. :class:`AssignmentWarning` says that ``x[0][1] = v`` changes nothing.

>>> try:
...     lento.zeros((2, 3)) + lento.zeros((4,))
... except ValueError as error:
...     type(error).__name__
'ShapeError'
"""

from ._core import (
    AssignmentWarning,
    BackendError,
    DeviceError,
    DeviceLostError,
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
    "AssignmentWarning",
    "BackendError",
    "DTypeError",
    "DeviceError",
    "DeviceLostError",
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
