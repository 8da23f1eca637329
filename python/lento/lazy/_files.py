"""Tensors as .npy and .npz files, without NumPy."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from .. import _core
from .._fail import fail


def _named(tree: Any, way: str, found: dict[str, _core.Tensor]) -> None:
    if isinstance(tree, _core.Tensor):
        if way in found:
            raise fail(ValueError, f"save(): two tensors would be called {way!r}")
        found[way] = tree
        return
    if not isinstance(tree, dict | tuple | list):
        raise fail(TypeError, f"save(): {way or 'the argument'} is no tensor but {type(tree).__name__}")
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in entries:
        _named(value, f"{way}.{key}" if way else str(key), found)


def save_arrays(tree: Any, f: Any) -> None:
    with contextlib.ExitStack() as stack:
        out = f

        def write(content: bytes) -> None:
            # Opened for the first bytes: what cannot be written is refused before a file is touched.
            nonlocal out
            if isinstance(out, str | os.PathLike):
                out = stack.enter_context(open(out, "wb"))
            out.write(content)

        if isinstance(tree, _core.Tensor):
            _core._write_npy(write, tree)
        else:
            found: dict[str, _core.Tensor] = {}
            _named(tree, "", found)
            _core._write_npz(write, found)
