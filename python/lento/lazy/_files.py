"""Tensors as .npy and .npz files, without NumPy."""

from __future__ import annotations

import contextlib
import os
import struct
import sys
from typing import IO, Any

from .. import _core

_ORDER = "<" if sys.byteorder == "little" else ">"


def _header(x: _core.Tensor) -> bytes:
    if x.dtype is _core.bfloat16:
        raise TypeError("save(): .npy files have no bfloat16; use astype(lento.float32) first")
    order = "|" if x.itemsize == 1 else _ORDER
    text = f"{{'descr': '{order}{x.dtype.kind}{x.itemsize}', 'fortran_order': False, 'shape': {x.shape}, }}"
    # Version 1.0: what comes before the elements is a multiple of 64 bytes and ends with a line feed.
    padding = -(len(text) + 11) % 64
    if len(text) + padding + 1 > 65535:
        raise ValueError(f"save(): {x.ndim} axes are too many for a .npy file")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + padding + 1) + text.encode() + b" " * padding + b"\n"


def _write(x: _core.Tensor, out: IO[bytes]) -> None:
    out.write(_header(x))
    exporter: Any = x  # type checkers know the buffer protocol from Python 3.12 on
    # memoryview casts neither complex numbers nor shapes without elements.
    out.write(memoryview(exporter).cast("B") if x.size and x.dtype.kind != "c" and x.ndim else x.tobytes())


def _named(tree: Any, way: str, found: dict[str, _core.Tensor]) -> None:
    if isinstance(tree, _core.Tensor):
        if way in found:
            raise ValueError(f"save(): two tensors would be called {way!r}")
        found[way] = tree
        return
    if not isinstance(tree, dict | tuple | list):
        raise TypeError(f"save(): {way or 'the argument'} is no tensor but {type(tree).__name__}")
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in entries:
        _named(value, f"{way}.{key}" if way else str(key), found)


def save_arrays(tree: Any, f: Any) -> None:
    found: dict[str, _core.Tensor] = {}
    if not isinstance(tree, _core.Tensor):
        _named(tree, "", found)
    for x in [tree] if isinstance(tree, _core.Tensor) else found.values():
        _header(x)  # what cannot be written is refused before a file is touched
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(open(f, "wb")) if isinstance(f, str | os.PathLike) else f
        if isinstance(tree, _core.Tensor):
            _write(tree, out)
            return
        import zipfile  # costs more than all of lento.lazy, and few need it

        archive = stack.enter_context(zipfile.ZipFile(out, "w"))
        for name, x in found.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                _write(x, entry)
