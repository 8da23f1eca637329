"""Tensors in files: .safetensors (written and checked here), .npy and .npz (_npy.py).

A safetensors file is the length of a header (eight bytes, little-endian), the header (JSON: name → dtype, shape and
where its bytes begin and end), and the bytes.
"""

from __future__ import annotations

import contextlib
import math
import os
import stat
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, TypeAlias, TypeVar

from . import _core, _npy, errors
from ._fail import fail, names_errors

__all__ = ["load", "load_metadata", "save"]

_NAMES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "float16": "F16",
    "bfloat16": "BF16",
    "uint32": "U32",
    "int32": "I32",
    "float32": "F32",
    "uint64": "U64",
    "int64": "I64",
    "float64": "F64",
    "complex64": "C64",
}
_DTYPES = {short: name for name, short in _NAMES.items()}
_METADATA = "__metadata__"
# What other readers accept; a file that claims more is not worth the memory.
_LONGEST_HEADER = 100_000_000
# Far more than dtype, shape and offsets of any tensor need.
_LONGEST_ENTRY = 4096


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
    name = _name_of(path)
    end = os.path.splitext(name)[1]
    if end == ".npy":
        if isinstance(tensors, Mapping):
            raise fail(TypeError, "save(): a .npy file holds one tensor; use .npz or .safetensors for a dict")
        if metadata:
            raise fail(errors.ValueError, "save(): only .safetensors files hold metadata")
        tensor = _core.asarray(tensors)
        _npy.header("", tensor)
        with _replacing(name) as file:
            _npy.write(file, tensor)
        return
    if end not in (".safetensors", ".npz"):
        raise fail(errors.ValueError, f"save(): the path must end with .safetensors, .npz or .npy, not {name!r}")
    if not isinstance(tensors, Mapping):
        raise fail(TypeError, f"save(): a {end} file holds a dict of tensors, not {type(tensors).__name__}")
    flat = dict(_flat("", tensors))
    if end == ".npz":
        if metadata:
            raise fail(errors.ValueError, "save(): only .safetensors files hold metadata")
        _npy.check(flat)
        _core.eval(list(flat.values()))
        with _replacing(name) as file:
            _npy.write_all(file, flat)
        return
    _save_safetensors(name, flat, metadata)


@names_errors
def load(path: str | bytes | os.PathLike[str], prefix: str = "") -> Any:
    """The tensors of a file that :func:`save` or another program wrote, by name; of a ``.npy`` file the tensor.

    With a prefix only the names that begin with it, without it; there has to be one. Raises FileError for what is
    missing or malformed.
    """
    name = _name_of(path)
    end = os.path.splitext(name)[1]
    if end not in (".safetensors", ".npz", ".npy"):
        raise fail(errors.ValueError, f"load(): the path must end with .safetensors, .npz or .npy, not {name!r}")
    if end == ".npy":
        if prefix:
            raise fail(
                errors.ValueError, f"load(): the tensor of a .npy file has no name that could begin with {prefix!r}"
            )
        return _load_numpy(name, _npy.read)
    if end == ".safetensors":
        found, names = _load_safetensors(name, prefix)
    else:
        found, names = _load_numpy(name, lambda file: _npy.read_all(file, prefix))
    if prefix and not found:
        some = ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
        raise fail(errors.ValueError, f"load(): {name}: no name begins with {prefix!r}; there are {some or 'none'}")
    return found


_Read = TypeVar("_Read")


def _load_numpy(name: str, read: Callable[[IO[bytes]], _Read]) -> _Read:
    try:
        with open(name, "rb") as file:
            return read(file)
    except (ImportError, MemoryError):
        raise
    except OSError as error:
        raise fail(errors.FileError, f"load(): {name}: {error.strerror or error}") from error
    except Exception as error:  # NumPy, zipfile and zlib each have their own
        raise fail(errors.FileError, f"load(): {name}: {error}") from error


@names_errors
def load_metadata(path: str | bytes | os.PathLike[str]) -> dict[str, str]:
    """The metadata of a ``.safetensors`` file: texts by name, as :func:`save` was given them. No tensor is read.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "w.safetensors")
    >>> lento.save(path, {"w": lento.ones(2)}, metadata={"step": "12"})
    >>> lento.load_metadata(path)
    {'step': '12'}
    """
    name = _name_of(path)
    if os.path.splitext(name)[1] != ".safetensors":
        raise fail(errors.ValueError, f"load_metadata(): only .safetensors files hold metadata, not {name!r}")
    with _opened("load_metadata()", name) as file:
        return _read_header(file)[1]


def _name_of(path: str | bytes | os.PathLike[str]) -> str:
    if not isinstance(path, str | bytes | os.PathLike):
        raise fail(TypeError, f"the path must be str, bytes or os.PathLike, not {type(path).__name__}")
    return os.fsdecode(path)


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


@contextlib.contextmanager
def _replacing(name: str) -> Iterator[IO[bytes]]:
    """A new file beside the old one, which it replaces at the end if all went well, with the old one's permissions."""
    name = os.path.realpath(name)  # a link stays a link
    temporary = f"{name}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
    try:
        with open(temporary, "xb") as file:
            with contextlib.suppress(OSError):  # there may be no old one
                os.chmod(temporary, stat.S_IMODE(os.stat(name).st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, name)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and not isinstance(error, errors.FileError):
            raise fail(errors.FileError, f"save(): {name}: {error.strerror or error}") from error
        raise


# --- safetensors ---


def _save_safetensors(name: str, tensors: dict[str, _core.Tensor], metadata: Mapping[str, str] | None) -> None:
    import json

    header: dict[str, Any] = {}
    if metadata is not None:
        for key, value in metadata.items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise fail(TypeError, f"save(): metadata is text by text, not {key!r}: {value!r}")
        header[_METADATA] = dict(metadata)
    # The widest first: everything is then aligned.
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0]))
    begin = 0
    for key, tensor in ordered:
        if key == _METADATA:
            raise fail(errors.ValueError, f"save(): no tensor may be named {_METADATA}")
        if tensor.dtype.name not in _NAMES:
            raise fail(errors.DTypeError, f"save(): {key}: a .safetensors file cannot hold {tensor.dtype}")
        end = begin + tensor.nbytes
        header[key] = {"dtype": _NAMES[tensor.dtype.name], "shape": list(tensor.shape), "data_offsets": [begin, end]}
        begin = end
    try:
        text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise fail(errors.ValueError, f"save(): a name or metadata is no valid text: {error}") from None
    text += b" " * (-len(text) % 8)
    if len(text) > _LONGEST_HEADER:
        raise fail(
            errors.ValueError, f"save(): the names need a header of {len(text)} bytes; {_LONGEST_HEADER} are allowed"
        )
    _core.eval(list(tensors.values()))
    with _replacing(name) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, tensor in ordered:
            file.write(tensor.tobytes())


def _load_safetensors(name: str, prefix: str) -> tuple[dict[str, _core.Tensor], list[str]]:
    """The tensors whose names begin with the prefix, and all names."""
    with _opened("load()", name) as file:
        start, _, entries = _read_header(file)
        found = {}
        for key, (dtype, shape, begin, _) in entries.items():
            if key.startswith(prefix):
                found[key[len(prefix) :]] = _read_tensor(file, key, start + begin, dtype, shape)
        return found, list(entries)


def _read_tensor(file: IO[bytes], key: str, offset: int, dtype: str, shape: tuple[int, ...]) -> _core.Tensor:
    """Straight into the tensor's memory. Not mapped: who shortens a mapped file ends this process."""
    try:
        return _core._read_tensor(file.fileno(), offset, dtype, shape)
    except EOFError:
        raise _Malformed(f"the file ended inside {key!r}") from None
    except BufferError:
        raise _Malformed(f"{key!r} has bytes that are neither false nor true") from None


class _Malformed(Exception):
    """What is wrong with a file."""


@contextlib.contextmanager
def _opened(caller: str, name: str) -> Iterator[IO[bytes]]:
    try:
        with open(name, "rb") as file:
            yield file
    except _Malformed as error:
        raise fail(errors.FileError, f"{caller}: {name}: {error}") from None
    except OSError as error:
        raise fail(errors.FileError, f"{caller}: {name}: {error.strerror or error}") from error


_Entry: TypeAlias = tuple[str, tuple[int, ...], int, int]


def _read_header(file: IO[bytes]) -> tuple[int, dict[str, str], dict[str, _Entry]]:
    """Where the bytes begin, the metadata, and dtype, shape, begin and end of every tensor; all checked."""
    size = os.fstat(file.fileno()).st_size
    if size < 8:
        raise _Malformed(f"{size} bytes are too few for a .safetensors file")
    (length,) = struct.unpack("<Q", file.read(8))
    if length > _LONGEST_HEADER:
        raise _Malformed(f"a header of {length} bytes is longer than the {_LONGEST_HEADER} allowed")
    if length > size - 8:
        raise _Malformed(f"the header of {length} bytes goes beyond the end of the file, of {size} bytes")
    metadata, entries = _Header(file.read(length)).parse()
    # Side by side and nothing between: what is not described could hide something, what overlaps would be shared.
    position, before = 0, ""
    for key, (_, _, begin, end) in sorted(entries.items(), key=lambda item: item[1][2:]):
        if begin != position:
            kind = "overlaps" if begin < position else "leaves a gap behind"
            raise _Malformed(f"{key!r} {kind} {repr(before) if before else 'the header'}")
        position, before = end, key
    if position != size - 8 - length:
        raise _Malformed(f"the tensors need {position} bytes, but {size - 8 - length} are there")
    return 8 + length, metadata, entries


class _Header:
    """The header's JSON, read entry by entry: one that nests or goes on for ever costs neither memory nor time."""

    def __init__(self, content: bytes) -> None:
        import json

        self._decode = json.JSONDecoder().raw_decode
        self._loads = json.loads
        if not content.startswith(b"{"):
            raise _Malformed("the header does not begin with {")
        try:
            self._text = content.decode()
        except UnicodeDecodeError as error:
            raise _Malformed(f"the header is no UTF-8: {error}") from None
        self._at = 0

    def parse(self) -> tuple[dict[str, str], dict[str, _Entry]]:
        metadata: dict[str, str] | None = None
        entries: dict[str, _Entry] = {}
        for key in self._keys("the header"):
            if key in entries or (key == _METADATA and metadata is not None):
                raise _Malformed(f"{key!r} is in the header twice")
            if key == _METADATA:
                metadata = self._metadata()
            else:
                entries[key] = _entry(key, self._value(key))
        self._skip_spaces()
        if self._at != len(self._text):
            raise _Malformed(f"the header is no JSON: something follows its end, at character {self._at}")
        return metadata or {}, entries

    def _keys(self, where: str) -> Iterator[str]:
        """The keys of an object that begins here; who takes one reads its value before taking the next."""
        self._expect("{", where)
        if self._follows("}"):
            return
        while True:
            key = self._string(where)
            self._expect(":", where)
            yield key
            if self._follows("}"):
                return
            self._expect(",", where)

    def _metadata(self) -> dict[str, str]:
        found: dict[str, str] = {}
        try:
            for key in self._keys(_METADATA):
                if key in found:
                    raise _Malformed(f"{key!r} is in {_METADATA} twice")
                found[key] = self._string(_METADATA)
        except _NoText:
            raise _Malformed(f"{_METADATA} is no dict of texts") from None
        return found

    def _value(self, key: str) -> dict[str, Any]:
        """An entry, which has no braces inside."""
        self._skip_spaces()
        end = self._text.find("}", self._at, self._at + _LONGEST_ENTRY) + 1
        if not self._text.startswith("{", self._at) or not end:
            raise _Malformed(f"{key!r} is not described by dtype, shape and data_offsets")

        def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            made = dict(pairs)
            if len(made) != len(pairs):
                raise _Malformed(f"{key!r} has a field twice")
            return made

        try:
            value: dict[str, Any] = self._loads(self._text[self._at : end], object_pairs_hook=unique)
        except (ValueError, RecursionError) as error:
            raise _Malformed(f"{key!r} is described by no JSON: {error}") from None
        self._at = end
        return value

    def _string(self, where: str) -> str:
        self._skip_spaces()
        if not self._text.startswith('"', self._at):
            raise _NoText(f"{where} is no JSON: a text is missing at character {self._at}")
        try:
            text, self._at = self._decode(self._text, self._at)
            text.encode()
        except UnicodeEncodeError:
            raise _Malformed(f"{where} has a name that is no valid text, {text!r:.80}") from None
        except ValueError as error:
            raise _Malformed(f"{where} is no JSON: {error}") from None
        return str(text)

    def _expect(self, sign: str, where: str) -> None:
        if not self._follows(sign):
            raise _NoText(f"{where} is no JSON: {sign} is missing at character {self._at}")

    def _follows(self, sign: str) -> bool:
        self._skip_spaces()
        found = self._text.startswith(sign, self._at)
        self._at += found
        return found

    def _skip_spaces(self) -> None:
        # As slices that grow: one character at a time would be slow for a header of spaces.
        size = 16
        while self._text[self._at : self._at + 1] in {" ", "\t", "\n", "\r"}:
            part = self._text[self._at : self._at + size]
            self._at += len(part) - len(part.lstrip(" \t\n\r"))
            size *= 2


class _NoText(_Malformed):
    """Something else stands where a text or a sign of JSON must."""


def _entry(key: str, value: Any) -> _Entry:
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        raise _Malformed(f"{key!r} is not described by dtype, shape and data_offsets")
    dtype = _DTYPES.get(value["dtype"]) if isinstance(value["dtype"], str) else None
    if dtype is None:
        raise _Malformed(f"{key!r} has the dtype {value['dtype']!r}, which Lento does not have")
    shape, offsets = (_whole_numbers(key, what, value[what]) for what in ("shape", "data_offsets"))
    if len(offsets) != 2 or offsets[0] > offsets[1]:
        raise _Malformed(f"{key!r} has data_offsets {list(offsets)}, which is no begin and end")
    itemsize = _core.as_dtype(dtype).itemsize
    # An empty tensor has strides too, so that its other lengths count.
    if itemsize * math.prod(max(extent, 1) for extent in shape) >= 2**63:
        raise _Malformed(f"{key!r} of shape {shape} is larger than any tensor can be")
    needed = math.prod(shape) * itemsize
    if offsets[1] - offsets[0] != needed:
        raise _Malformed(f"{key!r} of shape {shape} needs {needed} bytes, but has {offsets[1] - offsets[0]}")
    return dtype, shape, offsets[0], offsets[1]


def _whole_numbers(key: str, what: str, value: Any) -> tuple[int, ...]:
    # More than 64 bits is refused here, so that nothing below has to.
    if not isinstance(value, list) or not all(type(item) is int and 0 <= item < 2**63 for item in value):
        raise _Malformed(f"{key!r} has {what} {value!r:.80}, which is no list of whole numbers")
    return tuple(value)
