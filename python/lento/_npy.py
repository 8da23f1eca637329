"""NumPy's files: .npy and .npz are written without NumPy, and read by it.

A .npz file is a zip archive of .npy files, each named after its array.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Mapping
from typing import IO, Any

from . import _core, errors
from ._fail import fail

_ORDER = "<" if sys.byteorder == "little" else ">"
_END = ".npy"


def header(name: str, x: _core.Tensor) -> bytes:
    """What stands before the elements; raises for what such a file cannot hold."""
    named = f" {name}:" if name else ""
    if x.dtype is _core.bfloat16:
        raise fail(
            errors.DTypeError, f"save():{named} .npy files cannot hold bfloat16; use .safetensors, or astype(float32)"
        )
    order = "|" if x.itemsize == 1 else _ORDER
    text = f"{{'descr': '{order}{x.dtype.kind}{x.itemsize}', 'fortran_order': False, 'shape': {x.shape}, }}"
    # Version 1.0: what comes before the elements is a multiple of 64 bytes and ends with a line feed.
    padding = -(len(text) + 11) % 64
    if len(text) + padding + 1 > 65535:
        raise fail(errors.ValueError, f"save():{named} {x.ndim} axes are too many for a .npy file")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + padding + 1) + text.encode() + b" " * padding + b"\n"


def write(out: IO[bytes], x: _core.Tensor, name: str = "") -> None:
    out.write(header(name, x))
    exporter: Any = x  # type checkers know the buffer protocol from Python 3.12 on
    # memoryview casts neither complex numbers nor shapes without elements.
    out.write(memoryview(exporter).cast("B") if x.size and x.dtype.kind != "c" and x.ndim else x.tobytes())


def check(tensors: Mapping[str, _core.Tensor]) -> None:
    """Raises for what a .npz file cannot hold, before a file is touched."""
    for name, x in tensors.items():
        if "\0" in name:
            raise fail(errors.ValueError, f"save(): {name!r} has a character 0, which no name in a .npz file may have")
        header(name, x)


def write_all(out: IO[bytes], tensors: Mapping[str, _core.Tensor]) -> None:
    import zipfile  # costs more than the rest, and few need it

    with zipfile.ZipFile(out, "w") as archive:
        for name, x in tensors.items():
            with archive.open(name + _END, "w", force_zip64=True) as entry:
                write(entry, x, name)


def read(file: IO[bytes]) -> _core.Tensor:
    import numpy

    return _core.asarray(numpy.lib.format.read_array(file, allow_pickle=False))


def read_all(file: IO[bytes], prefix: str) -> tuple[dict[str, _core.Tensor], list[str]]:
    """The arrays whose names begin with the prefix, without it, and all names.

    Not by numpy.load, for which an array "a.npy" is the array "a" where there are both.
    """
    import zipfile

    found = {}
    names: dict[str, None] = {}
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            if not info.filename.endswith(_END):
                raise fail(ValueError, f"{info.filename!r} is no {_END} file")
            name = info.filename[: -len(_END)]
            if name in names:
                raise fail(ValueError, f"{name!r} is there twice")
            names[name] = None
            if name.startswith(prefix):
                with archive.open(info) as entry:
                    found[name[len(prefix) :]] = read(entry)
    return found, list(names)
