"""Tensors in files: .safetensors, .npz and .npy. What is written and read, and every check, is in C++ (src/files)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from . import _core, errors
from ._fail import fail, names_errors
from ._recording import current

__all__ = ["load", "load_metadata", "save"]


@names_errors
def save(
    path: str | bytes | os.PathLike[str],
    tensors: Mapping[str, Any] | _core.Tensor,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes tensors by name; dicts inside are written with dotted names.

    The end of the path says how: ``.safetensors``, ``.npz``, or ``.npy`` for one tensor. An older file is replaced only
    when the new one is complete; of a symbolic link, the file it points to.

        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "w.safetensors")
        >>> lento.save(path, {"w": lento.ones(2), "inner": {"b": lento.zeros(1)}})
        >>> lento.load(path)
        {'inner.b': tensor([0.], dtype=float32), 'w': tensor([1., 1.], dtype=float32)}
    """
    name, end = _split(path)
    if end == ".npy":
        if isinstance(tensors, Mapping):
            raise fail(TypeError, "save(): a .npy file holds one tensor; use .npz or .safetensors for a dict")
        if metadata:
            raise fail(errors.ValueError, "save(): only .safetensors files hold metadata")
        _core._save_tensor(name, _core.asarray(tensors))
        return
    if end in (".safetensors", ".npz") and not isinstance(tensors, Mapping):
        raise fail(TypeError, f"save(): a {end} file holds a dict of tensors, not {type(tensors).__name__}")
    if metadata is not None:
        for key, value in metadata.items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise fail(TypeError, f"save(): metadata is text by text, not {key!r}: {value!r}")
        metadata = dict(metadata)
    flat = dict(_flat("", tensors)) if isinstance(tensors, Mapping) else {}
    _core._save(name, flat, metadata)


@names_errors
def load(path: str | bytes | os.PathLike[str], prefix: str = "") -> Any:
    """The tensors of a file that :func:`save` or another program wrote, by name; of a ``.npy`` file the tensor.

    With a prefix only the names that begin with it, without it; there has to be one. Raises FileError for what is
    missing or malformed.
    """
    if current.recording is not None:
        current.recording.refuse("lento.load() is called inside; load outside, as the file may change")
    name, end = _split(path)
    if end != ".npy":
        return _core._load(name, prefix)
    if prefix:
        raise fail(errors.ValueError, f"load(): the tensor of a .npy file has no name that could begin with {prefix!r}")
    return _core._load_tensor(name)


@names_errors
def load_metadata(path: str | bytes | os.PathLike[str]) -> dict[str, str]:
    """The metadata of a ``.safetensors`` file: texts by name, as :func:`save` was given them. No tensor is read.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "w.safetensors")
    >>> lento.save(path, {"w": lento.ones(2)}, metadata={"step": "12"})
    >>> lento.load_metadata(path)
    {'step': '12'}
    """
    return _core._load_metadata(_split(path)[0])


def _split(path: str | bytes | os.PathLike[str]) -> tuple[bytes, str]:
    """The path as the system has it, and its end."""
    if not isinstance(path, str | bytes | os.PathLike):
        raise fail(TypeError, f"the path must be str, bytes or os.PathLike, not {type(path).__name__}")
    return os.fsencode(path), os.path.splitext(os.fsdecode(path))[1]


def _flat(prefix: str, tensors: Mapping[str, Any]) -> Iterator[tuple[str, _core.Tensor]]:
    seen = set()
    for key, value in tensors.items():
        if not isinstance(key, str):
            raise fail(TypeError, f"save(): names are text, not {key!r}")
        for name, tensor in (
            _flat(f"{prefix}{key}.", value) if isinstance(value, Mapping) else [(prefix + key, _core.asarray(value))]
        ):
            if name in seen:
                raise fail(errors.ValueError, f"save(): two tensors would be named {name!r}")
            seen.add(name)
            yield name, tensor
