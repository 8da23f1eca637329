"""lento.save and lento.load with NumPy's files: what NumPy and zipfile write is read, and the other way round."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
from pathlib import Path
from typing import Any

import lento
import numpy as np
import pytest

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip
SHAPES: list[tuple[int, ...]] = [(), (0,), (5,), (2, 3), (3, 0, 2), (2, 3, 4), (1, 2, 1, 3)]


def array_of(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    return (np.arange(np.prod(shape)) * 7 % 5).reshape(shape).astype(dtype)


def npy(header: str, content: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    length = struct.pack("<H" if version[0] == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes(version) + length + header.encode() + content


def described(descr: str = "'<f4'", order: str = "False", shape: str = "(2,)") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


# --- what is written is what others write ---


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_npy_file_has_the_bytes_that_numpy_writes(dtype: str, tmp_path: Path) -> None:
    for shape in SHAPES:
        array = array_of(shape, dtype)
        lento.save(tmp_path / "x.npy", lento.asarray(array))
        np.save(tmp_path / "theirs.npy", array)
        assert (tmp_path / "x.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()


def written_by_zipfile(tensors: dict[str, lento.Tensor], folder: Path) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, tensor in tensors.items():
            lento.save(folder / "one.npy", tensor)
            with archive.open(name + ".npy", "w", force_zip64=True) as entry:
                entry.write((folder / "one.npy").read_bytes())
    return out.getvalue()


def test_a_npz_file_has_the_bytes_that_zipfile_writes(tmp_path: Path) -> None:
    names = ["", "a", "a.npy", "ä", "漢字", "x/../y", "a\nb", "z" * 300]
    tensors = {name: lento.full((i, 2), i) for i, name in enumerate(names)}
    for saved in (tensors, {}):
        lento.save(tmp_path / "x.npz", saved)
        assert (tmp_path / "x.npz").read_bytes() == written_by_zipfile(saved, tmp_path)


def test_more_entries_than_an_old_archive_can_count(tmp_path: Path) -> None:
    x = lento.asarray(1, dtype=lento.int8)
    lento.save(tmp_path / "x.npz", {str(i): x for i in range(65_537)})
    with zipfile.ZipFile(tmp_path / "x.npz") as archive:
        assert len(archive.infolist()) == 65_537
    assert list(lento.load(tmp_path / "x.npz", "6553")) == ["", *"0123456"]


def test_numpys_files(tmp_path: Path) -> None:
    x = lento.asarray([[1.5, 2.5]])
    lento.save(tmp_path / "x.npy", x)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), [[1.5, 2.5]])
    assert lento.load(tmp_path / "x.npy").tolist() == [[1.5, 2.5]]
    lento.save(tmp_path / "x.npz", {"a": {"b": x}, "n": lento.arange(2)})
    assert {name: t.tolist() for name, t in lento.load(tmp_path / "x.npz").items()} == {
        "a.b": [[1.5, 2.5]],
        "n": [0, 1],
    }
    assert list(lento.load(tmp_path / "x.npz", "a.")) == ["b"]


def test_any_name_goes_into_a_npz_file(tmp_path: Path) -> None:
    names = ["file", "allow_pickle", "args", "kwds", "a", "a.npy", "", "x/../y", "ä"]
    lento.save(tmp_path / "x.npz", {name: i for i, name in enumerate(names)})
    assert {name: int(x) for name, x in lento.load(tmp_path / "x.npz").items()} == {n: i for i, n in enumerate(names)}
    with np.load(tmp_path / "x.npz") as theirs:
        assert (int(theirs["file"]), int(theirs["allow_pickle"])) == (0, 1)
    with pytest.raises(lento.errors.ValueError, match="has a character 0"):
        lento.save(tmp_path / "x.npz", {"a\0b": lento.ones(1)})


def test_every_dtype_and_shape_comes_back_from_numpys_files(tmp_path: Path) -> None:
    tensors = {name: lento.asarray([[0, 1, 1], [1, 0, 1]]).astype(name) for name in DTYPES}
    tensors |= {"complex": lento.asarray([1 + 2j], dtype=lento.complex128), "scalar": lento.asarray(2.5)}
    tensors["empty"] = lento.zeros((3, 0, 2))
    lento.save(tmp_path / "x.npz", tensors)
    loaded = lento.load(tmp_path / "x.npz")
    assert set(loaded) == set(tensors)
    for name, tensor in tensors.items():
        lento.save(tmp_path / "x.npy", tensor)
        for found in (loaded[name], lento.load(tmp_path / "x.npy")):
            assert (found.dtype, found.shape, found.tobytes()) == (tensor.dtype, tensor.shape, tensor.tobytes()), name


def test_arrays_of_others_in_a_npz_file_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "x")
    with pytest.raises(lento.FileError, match=r"'a\.txt' is no \.npy file"):
        lento.load(path)
    lento.save(tmp_path / "x.npy", lento.ones(1))
    with zipfile.ZipFile(path, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the name that is there twice
        for _ in range(2):
            archive.write(tmp_path / "x.npy", "x.npy")
    with pytest.raises(lento.FileError, match="'x' is there twice"):
        lento.load(path)
    np.savez_compressed(path, a=np.asfortranarray(np.arange(6.0).reshape(2, 3)), b=np.arange(3, dtype=">i4"))
    assert lento.load(path)["a"].tolist() == [[0, 1, 2], [3, 4, 5]]


# --- what others write is read ---


@pytest.mark.parametrize("dtype", DTYPES)
def test_either_order_of_bytes_and_of_axes_is_read(dtype: str, tmp_path: Path) -> None:
    for shape in SHAPES:
        expected = array_of(shape, dtype)
        for array in (expected, expected.copy(order="F"), expected.astype(expected.dtype.newbyteorder(">"))):
            np.save(tmp_path / "x.npy", array)
            np.savez_compressed(tmp_path / "x.npz", a=array, b=array)
            for found in (lento.load(tmp_path / "x.npy"), *lento.load(tmp_path / "x.npz").values()):
                assert (found.shape, str(found.dtype)) == (shape, dtype)
                assert found.tobytes() == expected.tobytes()


def test_a_large_compressed_array(tmp_path: Path) -> None:
    random = np.random.default_rng(0).integers(0, 3, (700, 1000)).astype(np.float32)
    np.savez_compressed(tmp_path / "x.npz", random=random, zeros=np.zeros(3_000_000))
    loaded = lento.load(tmp_path / "x.npz")
    np.testing.assert_array_equal(loaded["random"].numpy(), random)
    assert not loaded["zeros"].numpy().any()


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_the_format_is_read(version: tuple[int, int], tmp_path: Path) -> None:
    with open(tmp_path / "x.npy", "wb") as file:
        np.lib.format.write_array(file, np.arange(3), version=version)
    assert lento.load(tmp_path / "x.npy").tolist() == [0, 1, 2]


def test_headers_as_others_write_them(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    for header in (
        "{'descr':'<f4','fortran_order':False,'shape':(2,)}",
        '{"shape": (2L,), "fortran_order": False, "descr": "<f4"}  \n',
        " { 'descr' : 'f4' , 'fortran_order' : True , 'shape' : ( 2 , ) , } \n",
    ):
        path.write_bytes(npy(header, np.ones(2, np.float32).tobytes()))
        assert lento.load(path).tolist() == [1, 1]


def test_every_byte_but_zero_is_true_as_for_numpy(tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(npy(described("'|b1'", shape="(3,)"), b"\0\2\xff"))
    assert lento.load(tmp_path / "x.npy").tolist() == [False, True, True]


def test_the_first_of_several_arrays_in_a_file_is_read(tmp_path: Path) -> None:
    with open(tmp_path / "x.npy", "wb") as file:
        np.save(file, np.arange(2))
        np.save(file, np.arange(3))
    assert lento.load(tmp_path / "x.npy").tolist() == [0, 1]


def test_an_archive_behind_something_else_and_with_a_comment(tmp_path: Path) -> None:
    lento.save(tmp_path / "x.npz", {"a": lento.arange(3)})
    content = b"#!/bin/sh\n" + (tmp_path / "x.npz").read_bytes()
    (tmp_path / "x.npz").write_bytes(content[:-2] + struct.pack("<H", 5) + b"hello")
    assert lento.load(tmp_path / "x.npz")["a"].tolist() == [0, 1, 2]


def test_names_of_archives_without_utf8(tmp_path: Path) -> None:
    lento.save(tmp_path / "x.npz", {"aa": lento.ones(1)})
    content = (tmp_path / "x.npz").read_bytes().replace(b"aa.npy", b"\x84\xe3.npy")
    (tmp_path / "x.npz").write_bytes(content)
    with np.load(tmp_path / "x.npz") as theirs:
        assert list(lento.load(tmp_path / "x.npz")) == list(theirs) == ["äπ"]


# --- what is refused ---

HOSTILE: dict[str, tuple[bytes, str]] = {
    # name: (the file, what the error says)
    "nothing": (b"", "the file ended too early"),
    "something else": (b"PK\3\4    ", "it does not begin as a .npy file"),
    "version": (npy(described(), version=(4, 0)), "version 4.0 of .npy files is not known"),
    "long header": (b"\x93NUMPY\2\0\xff\xff\xff\xff", "a header of 4294967295 bytes is longer than the 65535 allowed"),
    "no header": (npy(""), "the header is no dict of descr, fortran_order and shape, at byte 0"),
    "code": (npy("__import__('os').abort()"), "the header is no dict"),
    "end missing": (npy(described()[:-3]), "the header is no dict"),
    "behind the end": (npy(described() + "}"), "the header is no dict"),
    "twice": (npy("{'shape': (), 'shape': (), 'descr': '<f4', 'fortran_order': False}"), "the header is no dict"),
    "one missing": (npy("{'shape': (), 'descr': '<f4'}"), "the header is no dict"),
    "one more": (npy("{'shape': (), 'descr': '<f4', 'fortran_order': False, 'x': 1}"), "the header is no dict"),
    "no tuple": (npy(described(shape="(2)")), "the header is no dict"),
    "list": (npy(described(shape="[2]")), "the header is no dict"),
    "negative": (npy(described(shape="(-2,)")), "the header is no dict"),
    "fraction": (npy(described(shape="(2.0,)")), "the header is no dict"),
    "no comma": (npy(described(shape="(2 3)")), "the header is no dict"),
    "wide": (npy(described(shape=f"({2**64},)")), "the header is no dict"),
    "huge": (npy(described(shape=f"({2**40}, {2**40})")), "is larger than any tensor can be"),
    "huge and empty": (npy(described(shape=f"(0, {2**40}, {2**40})")), "is larger than any tensor can be"),
    "too large": (npy(described(shape=f"({2**40},)"), bytes(8)), "need 4398046511104 bytes, but 8 are there"),
    "short": (npy(described(), bytes(7)), "the elements need 8 bytes, but 7 are there"),
    "objects": (npy(described("'|O'"), bytes(16)), "it holds Python objects, which would run code"),
    "records": (npy(described("[('a', '<i4')]"), bytes(8)), "it holds records, and Lento has no structured dtypes"),
    "text": (npy(described("'<U3'"), bytes(24)), "Lento has no dtype for NumPy's '<U3'"),
    "dates": (npy(described("'<M8[s]'"), bytes(16)), "Lento has no dtype for NumPy's '<M8[s]'"),
    "long double": (npy(described("'<f16'"), bytes(32)), "Lento has no dtype for NumPy's '<f16'"),
    "bytes": (npy(described("'|V2'"), bytes(4)), "Lento has no dtype for NumPy's '|V2'"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_malformed_array_is_an_error_that_says_what_is_wrong(name: str, tmp_path: Path) -> None:
    content, message = HOSTILE[name]
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(lento.FileError) as raised:
        lento.load(tmp_path / "x.npy")
    assert str(raised.value).startswith(f"load(): {tmp_path / 'x.npy'}: ")
    assert message in str(raised.value)
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", content)
    with pytest.raises(lento.FileError, match=r"x\.npz: 'x': "):
        lento.load(tmp_path / "x.npz")


def archive_of(content: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("x.npy", content)
    return out.getvalue()


def patched(content: bytes, offset: int, value: bytes) -> bytes:
    """An archive of one entry with other bytes in its list, at this place of the entry."""
    at = content.rindex(b"PK\1\2") + offset
    return content[:at] + value + content[at + len(value) :]


WHOLE = npy(described(), bytes(8))
STORED = archive_of(WHOLE, zipfile.ZIP_STORED)
ARCHIVES: dict[str, tuple[bytes, str]] = {
    "checksum": (STORED.replace(bytes(8) + b"PK", bytes(7) + b"\1PK"), "its checksum is wrong"),
    "encrypted": (patched(STORED, 8, b"\1\0"), "'x': it is encrypted"),
    "bzip2": (archive_of(WHOLE, zipfile.ZIP_BZIP2), "'x': it is compressed by the unknown method 12"),
    "another name": (STORED.replace(b"x.npy", b"y.npy", 1), "the archive's list names it, but it is not there"),
    "far away": (patched(STORED, 42, b"\xff\xff\xff\x7f"), "'x.npy' is beyond the end of the file"),
    "bomb": (
        patched(archive_of(npy(described(shape="(1000000000,)"))), 24, struct.pack("<I", 2**32 - 2)),
        "bytes cannot be made of",
    ),
    "more behind the elements": (archive_of(WHOLE + b"more"), "the elements need 8 bytes, but 12 are there"),
    "count": (STORED[:-12] + b"\2\0" + STORED[-10:], "should have 2 entries, but 1 are there"),
    "half a list": (STORED[: STORED.rindex(b"PK\1\2")] + STORED[STORED.rindex(b"PK\5\6") :], "the archive's list"),
    "no end": (STORED[:-22], "it is no zip archive, or its end is missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_malformed_archive_is_an_error_that_says_what_is_wrong(name: str, tmp_path: Path) -> None:
    content, message = ARCHIVES[name]
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(lento.FileError) as raised:
        lento.load(tmp_path / "x.npz")
    assert message in str(raised.value)


def test_entries_that_share_bytes_are_refused(tmp_path: Path) -> None:
    """As in archives that are small and become large."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("x.npy", WHOLE)
        archive.writestr("y.npy", WHOLE)
    content = patched(out.getvalue(), 42, struct.pack("<I", 10))
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(lento.FileError, match=r"'x\.npy' overlaps 'y\.npy'"):
        lento.load(tmp_path / "x.npz")


def test_malformed_files_of_numpy_are_errors_of_the_same_kind(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(b"PK\3\4 and no more")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "empty.npy").write_bytes(b"")
    for name in ("x.npz", "objects.npy", "empty.npy"):
        with pytest.raises(lento.FileError):
            lento.load(tmp_path / name)
