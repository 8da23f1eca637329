"""lento.save and lento.load: what is written is read, and a hostile file is an error and nothing else."""

from __future__ import annotations

import json
import os
import resource
import struct
from pathlib import Path
from typing import Any

import lento
import numpy as np
import pytest
from engine import check_program

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "complex64",
]  # fmt: skip


def entry(shape: Any = (2,), begin: Any = 0, end: Any = 8, dtype: Any = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


def written(path: Path, header: Any, content: bytes = bytes(8), length: int | None = None) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + content)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.safetensors"


# --- what is written is read ---


def test_every_dtype_comes_back_bit_for_bit(path: Path) -> None:
    tensors = {name: lento.asarray([[0, 1, 1], [1, 0, 1]]).astype(name) for name in DTYPES}
    tensors["scalar"] = lento.asarray(2.5)
    tensors["empty"] = lento.zeros((3, 0, 2))
    tensors["nan"] = lento.asarray(np.array([0x7FC00123, 0x80000000], np.uint32).view(np.float32))
    lento.save(path, tensors)
    loaded = lento.load(path)
    assert set(loaded) == set(tensors)
    for name, tensor in tensors.items():
        found = loaded[name]
        assert (found.dtype, found.shape, found.tobytes()) == (tensor.dtype, tensor.shape, tensor.tobytes()), name


def test_the_file_is_as_the_format_says(path: Path) -> None:
    lento.save(path, {"b": lento.asarray([1, 2], dtype=lento.int8), "ä": lento.asarray([1.0])}, {"format": "pt"})
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    assert length % 8 == 0
    assert json.loads(content[8 : 8 + length]) == {
        "__metadata__": {"format": "pt"},
        "ä": entry([1], 0, 4),
        "b": entry([2], 4, 6, "I8"),
    }
    assert content[8 + length :] == struct.pack("<f", 1.0) + b"\1\2"


def test_dicts_inside_have_dotted_names_and_prefixes_pick_them(path: Path) -> None:
    lento.save(path, {"model": {"a.b": lento.ones(1), "c": 2}, "other": np.zeros(1)})
    assert set(lento.load(path)) == {"model.a.b", "model.c", "other"}
    assert set(lento.load(path, "model.")) == {"a.b", "c"}


@pytest.mark.parametrize("end", [".safetensors", ".npz"])
def test_a_prefix_that_no_name_has_is_an_error_that_names_some(end: str, tmp_path: Path) -> None:
    path = tmp_path / f"w{end}"
    lento.save(path, {"model": {str(i): lento.ones(1) for i in range(6)}})
    with pytest.raises(lento.errors.ValueError, match=r"no name begins with 'modle\.'; there are 'model\.0', .*, …"):
        lento.load(path, "modle.")
    lento.save(path, {})
    assert lento.load(path) == {}
    with pytest.raises(lento.errors.ValueError, match=r"no name begins with 'model\.'; there are none"):
        lento.load(path, "model.")


def test_a_npy_file_has_neither_names_nor_metadata(tmp_path: Path) -> None:
    path = tmp_path / "w.npy"
    with pytest.raises(lento.errors.ValueError, match=r"save\(\): only .safetensors files hold metadata"):
        lento.save(path, lento.ones(2), metadata={"step": "1"})
    assert not path.exists()
    lento.save(path, lento.ones(2))
    with pytest.raises(lento.errors.ValueError, match=r"load\(\): the tensor of a .npy file has no name"):
        lento.load(path, prefix="model.")
    assert lento.load(path).tolist() == [1, 1]


def test_a_file_without_tensors(path: Path) -> None:
    lento.save(path, {})
    assert lento.load(path) == {}


def test_files_need_no_numpy(tmp_path: Path) -> None:
    check_program(
        f"""
        import os, sys
        sys.modules["numpy"] = None  # as if it were not installed
        import lento
        os.chdir({str(tmp_path)!r})
        for path in ("x.safetensors", "x.npz"):
            lento.save(path, {{"x": lento.asarray([1.0, 2.0])}})
            print(lento.load(path)["x"].tolist())
        lento.save("x.npy", lento.asarray([1.0, 2.0]))
        print(lento.load("x.npy").tolist())
        """,
        "[1.0, 2.0]\n" * 3,
    )


def test_metadata_comes_back(path: Path) -> None:
    metadata = {"format": "pt", "ä}": '{"step": 3}\n'}
    lento.save(path, {"x": lento.ones(1)}, metadata)
    assert lento.load_metadata(path) == metadata
    assert list(lento.load(path)) == ["x"]
    lento.save(path, {"x": lento.ones(1)})
    assert lento.load_metadata(path) == {}
    with pytest.raises(lento.errors.ValueError, match=r"only \.safetensors files hold metadata"):
        lento.load_metadata(path.with_suffix(".npz"))
    with pytest.raises(lento.FileError, match=r"load_metadata\(\): .*: No such file"):
        lento.load_metadata(path.with_name("none.safetensors"))


def test_spaces_and_the_order_of_fields_are_free(path: Path) -> None:
    fields = b'\t"data_offsets" : [ 0 , 8 ] ,\n "shape" : [ 2 ], "dtype" : "\\u004632" '
    written(path, b'{ "a" : {' + fields + b'} , "\\u0062" :{"dtype":"I8","shape":[0],"data_offsets":[8,8]}\r\n} ')
    loaded = lento.load(path)
    assert (loaded["a"].tolist(), loaded["b"].shape) == ([0, 0], (0,))


# --- saving ---


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("w" * (255 - len(".safetensors")) + ".safetensors")
    lento.save(path, {"w": lento.ones(2)})
    lento.save(path, {"w": lento.zeros(2)})
    assert lento.load(path)["w"].tolist() == [0, 0]
    assert os.listdir(tmp_path) == [path.name]  # nothing else stays


def test_a_link_stays_a_link_and_permissions_stay(tmp_path: Path) -> None:
    file, link = tmp_path / "file.safetensors", tmp_path / "link.safetensors"
    lento.save(file, {"x": lento.zeros(1)})
    file.chmod(0o640)
    link.symlink_to(file.name)
    lento.save(link, {"x": lento.ones(1)})
    assert link.is_symlink()
    assert lento.load(file)["x"].tolist() == [1]
    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == [file.name, link.name]
    (tmp_path / "to-nothing.npz").symlink_to("new.npz")
    lento.save(tmp_path / "to-nothing.npz", {"x": lento.ones(1)})
    assert (tmp_path / "to-nothing.npz").is_symlink()
    assert list(lento.load(tmp_path / "new.npz")) == ["x"]


def test_names_that_are_no_text_are_refused(path: Path) -> None:
    with pytest.raises(lento.errors.ValueError, match="no valid text"):
        lento.save(path, {"\ud800": lento.ones(1)})
    assert os.listdir(path.parent) == []


def test_a_save_that_fails_leaves_the_old_file(path: Path) -> None:
    lento.save(path, {"x": lento.ones(1)})
    before = path.read_bytes()
    with pytest.raises(lento.DTypeError, match=r"y: a \.safetensors file cannot hold complex128"):
        lento.save(path, {"y": lento.ones(1, dtype=lento.complex128)})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_save_that_fails_while_writing_leaves_no_part(path: Path) -> None:
    lento.save(path, {"x": lento.ones(1)})
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(lento.FileError, match="File too large"):
            lento.save(path, {"x": lento.zeros(100_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_what_cannot_be_saved(tmp_path: Path, path: Path) -> None:
    x = lento.ones(1)
    with pytest.raises(lento.errors.ValueError, match=r"must end with \.safetensors, \.npz or \.npy"):
        lento.save(tmp_path / "x.pickle", {"x": x})
    with pytest.raises(lento.errors.ValueError, match=r"must end with \.safetensors, \.npz or \.npy"):
        lento.load(tmp_path / "x.pickle")
    with pytest.raises(TypeError, match="holds a dict of tensors"):
        lento.save(path, x)
    with pytest.raises(TypeError, match="holds one tensor"):
        lento.save(tmp_path / "x.npy", {"x": x})
    with pytest.raises(TypeError, match="names are text"):
        lento.save(path, {1: x})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="metadata is text"):
        lento.save(path, {"x": x}, {"a": 1})  # type: ignore[dict-item]
    with pytest.raises(lento.errors.ValueError, match=r"two tensors would be named 'a\.b'"):
        lento.save(path, {"a": {"b": x}, "a.b": x})
    with pytest.raises(lento.errors.ValueError, match="no tensor may be named __metadata__"):
        lento.save(path, {"__metadata__": x})
    with pytest.raises(lento.DTypeError, match="cannot hold bfloat16"):
        lento.save(tmp_path / "x.npz", {"x": x.astype(lento.bfloat16)})
    with pytest.raises(lento.FileError, match="No such file or directory"):
        lento.save(tmp_path / "none" / "x.safetensors", {"x": x})
    assert os.listdir(tmp_path) == []


# --- hostile files ---

HOSTILE: dict[str, tuple[Any, bytes, str]] = {
    # name: (header, bytes behind it, what the error says)
    "no dict": (b"[1]", b"", "the header does not begin with {"),
    "spaces first": (b' {"a":1}', b"", "the header does not begin with {"),
    "no json": (b'{"a":', b"", "'a' is not described by dtype, shape and data_offsets"),
    "no comma": (b'{"__metadata__":{} "a":1}', b"", "the header is no JSON: , is missing at character 19"),
    "no colon": (b'{"a"}', b"", "the header is no JSON: : is missing at character 4"),
    "no name": (b'{3:1}', b"", "the header is no JSON: a text is missing at character 1"),
    "no end": (b'{"a', b"", "the header is no JSON: the end is missing of the text at character 1"),
    "control character": (b'{"\n":1}', b"", "the header is no JSON: there is a control character at character 2"),
    "entry no json": (b'{"a": {"dtype"}}', b"", "'a' is described by no JSON: "),
    "half a character": (b'{"\\ud800": {}}', b"", "no JSON: '\\ud800' is half a character, at character 2"),
    "behind json": (b"{}{}", b"", "the header is no JSON"),
    "no utf-8": (b'{"\xff":1}', b"", "the header is no UTF-8: "),
    "deep": (b'{"a":' + b"[" * 200_000, b"", "'a' is not described by"),
    "deep objects": (b'{"a":' + b'{"a":' * 200_000, b"", "'a' is not described by"),
    "deep inside": (b'{"a":{"shape":' + b"[" * 2000 + b"}", b"", "'a' is described by no JSON: "),
    "deep metadata": (b'{"__metadata__":' + b"[" * 200_000, b"", "__metadata__ is no dict of texts"),
    "wide": (b'{"a":[' + b"[]," * 200_000 + b"[]]}", b"", "'a' is not described by"),
    "spaces": (b"{" + b" " * 1_000_000, b"", "the header is no JSON: a text is missing at character 1000001"),
    "digits": (b'{"a":' + b"9" * 10_000 + b"}", b"", "'a' is not described by"),
    "many digits": (b'{"a":{"shape":[' + b"9" * 10_000 + b"]}}", b"", "'a' is not described by"),

    "twice": (
        f'{{"a": {json.dumps(entry())}, "a": {json.dumps(entry())}}}'.encode(), bytes(8), "'a' is in the header twice",
    ),
    "field twice": (
        b'{"a": {"dtype": "F32", "dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}', bytes(8),
        "'a' has a field twice",
    ),
    "no entry": ({"a": 3}, b"", "'a' is not described by dtype, shape and data_offsets"),
    "missing field": ({"a": {"dtype": "F32", "shape": [2]}}, bytes(8), "'a' is not described by"),
    "further field": ({"a": {**entry(), "x": 1}}, bytes(8), "'a' is not described by"),
    "dtype": ({"a": entry(dtype="F8_E4M3")}, bytes(8), "'a' has the dtype 'F8_E4M3', which Lento does not have"),
    "no dtype": ({"a": entry(dtype=["F32"])}, bytes(8), '\'a\' has the dtype ["F32"]'),
    "negative shape": ({"a": entry([-2])}, bytes(8), "'a' has shape [-2], which is no list of whole numbers"),
    "fraction": ({"a": entry([2.0])}, bytes(8), "'a' has shape [2.0], which is"),
    "truth": ({"a": entry([True, 2])}, bytes(8), "'a' has shape [true, 2], which is"),
    "shape no list": ({"a": {**entry(), "shape": "2"}}, bytes(8), '\'a\' has shape "2", which is'),
    "huge shape": ({"a": entry([2**62, 2**62])}, bytes(8), "'a' of shape (4611686018427387904, 4611686018427387904)"),
    "huge shape of nothing": ({"a": entry([2**62, 2**62, 0], 0, 0)}, b"", "is larger than any tensor can be"),
    "nothing of a huge shape": ({"a": entry([0, 2**61, 4], 0, 0)}, b"", "is larger than any tensor can be"),
    "wide shape": ({"a": entry([2**64])}, bytes(8), "which is no list of whole numbers"),
    "wrong size": ({"a": entry([3])}, bytes(8), "'a' of shape (3,) needs 12 bytes, but has 8"),
    "backwards": ({"a": entry([2], 8, 0)}, bytes(8), "'a' has data_offsets [8, 0], which is no begin and end"),
    "one offset": ({"a": {**entry(), "data_offsets": [0]}}, bytes(8), "'a' has data_offsets [0], which is no begin"),
    "negative offset": ({"a": entry([2], -8, 0)}, bytes(8), "'a' has data_offsets [-8, 0], which is no list"),
    "beyond the end": ({"a": entry([4], 0, 16)}, bytes(8), "the tensors need 16 bytes, but 8 are there"),
    "behind the end": ({"a": entry([2], 8, 16)}, bytes(8), "'a' leaves a gap behind the header"),
    "gap": ({"a": entry(), "b": entry([2], 12, 20)}, bytes(20), "'b' leaves a gap behind 'a'"),
    "overlap": ({"a": entry(), "b": entry([2], 4, 12)}, bytes(12), "'b' overlaps 'a'"),
    "the same": ({"a": entry(), "b": entry()}, bytes(8), "'b' overlaps 'a'"),
    "more at the end": ({"a": entry()}, bytes(9), "the tensors need 8 bytes, but 9 are there"),
    "less at the end": ({"a": entry()}, bytes(7), "the tensors need 8 bytes, but 7 are there"),
    "metadata": ({"__metadata__": {"a": 1}}, b"", "__metadata__ is no dict of texts"),
    "metadata twice": (
        b'{"__metadata__": {}, "__metadata__": {}}', b"", "'__metadata__' is in the header twice",
    ),
    "metadata name twice": (b'{"__metadata__": {"a": "", "a": ""}}', b"", "'a' is in __metadata__ twice"),
    "metadata list": ({"__metadata__": []}, b"", "__metadata__ is no dict of texts"),
    "truth values": ({"a": entry([2], 0, 2, "BOOL")}, b"\1\2", "'a' has bytes that are neither false nor true"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_malformed_file_is_an_error_that_says_what_is_wrong(name: str, path: Path) -> None:
    header, content, message = HOSTILE[name]
    with pytest.raises(lento.FileError) as raised:
        lento.load(written(path, header, content))
    assert str(raised.value).startswith(f"load(): {path}: ")
    assert message in str(raised.value)


def test_what_is_not_the_files_fault_is_no_file_error(path: Path) -> None:
    lento.save(path, {"b": lento.zeros(2**20, dtype=lento.bool)})
    lento.set_memory_limit(lento.memory()["live"] + 1000)
    try:
        with pytest.raises(lento.errors.MemoryError, match=r"^load\(\): "):
            lento.load(path)
    finally:
        lento.set_memory_limit(0)


@pytest.mark.parametrize(
    "length, message",
    [
        (2**64 - 1, "a header of 18446744073709551615 bytes is longer than the 100000000 allowed"),
        (100_000_001, "is longer than the 100000000 allowed"),
        (1000, "the header of 1000 bytes goes beyond the end of the file"),
        (0, "the header does not begin with {"),
    ],
)
def test_the_length_of_the_header_is_checked(length: int, message: str, path: Path) -> None:
    with pytest.raises(lento.FileError) as raised:
        lento.load(written(path, {"a": entry()}, length=length))
    assert message in str(raised.value)


def test_a_huge_shape_without_elements_allocates_nothing(path: Path) -> None:
    """What is refused or accepted is up to shapes in general; nothing may overflow or allocate."""
    written(path, {"a": entry([0, 2**40], 0, 0)}, b"")
    assert lento.load(path)["a"].shape == (0, 2**40)


def test_every_truncation_is_refused(path: Path) -> None:
    lento.save(path, {"w": lento.ones((2, 3)), "b": lento.zeros(2, dtype=lento.int8)})
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(lento.FileError):
            lento.load(path)


def test_a_flipped_byte_is_read_or_refused(path: Path) -> None:
    lento.save(path, {"w": lento.ones((2, 3)), "b": lento.zeros(2, dtype=lento.bool)})
    whole = path.read_bytes()
    refused = 0
    for i in range(len(whole)):
        for bit in (1, 0x20, 0x80):
            path.write_bytes(whole[:i] + bytes([whole[i] ^ bit]) + whole[i + 1 :])
            try:
                lento.load(path)
            except lento.FileError:
                refused += 1
    assert refused > len(whole)


def test_what_is_no_file(tmp_path: Path) -> None:
    for name, message in [("none.safetensors", "No such file or directory"), ("none.npz", "No such file")]:
        with pytest.raises(lento.FileError, match=message):
            lento.load(tmp_path / name)
    (tmp_path / "folder.safetensors").mkdir()
    with pytest.raises(lento.FileError, match="Is a directory"):
        lento.load(tmp_path / "folder.safetensors")


# --- beside torch ---


@pytest.mark.peers
def test_a_torch_state_dict_comes_through_the_file(path: Path) -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    state = {name: tensor.numpy() for name, tensor in theirs.state_dict().items()}
    try:
        from safetensors.torch import save_file
    except ImportError:  # not in every environment: the same tensors, written here
        lento.save(path, state)
    else:
        save_file(theirs.state_dict(), str(path))
    ours = lento.nn.TransformerEncoderLayer(8, 2, 16).eval()
    ours.load_state_dict(lento.load(path))
    x = np.random.default_rng(0).standard_normal((2, 3, 8)).astype(np.float32)
    np.testing.assert_allclose(
        ours(lento.asarray(x)).numpy(), theirs(torch.tensor(x)).detach().numpy(), rtol=1e-4, atol=1e-5
    )
