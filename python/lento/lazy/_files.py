"""Tensors as .npy and .npz files, without NumPy."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from .. import _core, _npy
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
    found: dict[str, _core.Tensor] = {}
    if not isinstance(tree, _core.Tensor):
        _named(tree, "", found)
    if isinstance(tree, _core.Tensor):
        _npy.header("", tree)  # what cannot be written is refused before a file is touched
    else:
        _npy.check(found)
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(open(f, "wb")) if isinstance(f, str | os.PathLike) else f
        if isinstance(tree, _core.Tensor):
            _npy.write(out, tree)
        else:
            _npy.write_all(out, found)
