"""What the built libraries show to others in the process: their own interface, and nothing of what they are made of."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from lento import _core
from locations import BUILD

# Programs may replace these; they belong to the C++ library that everybody shares.
SHARED_NAMESPACES = ("std::", "__gnu_cxx::", "__cxxabiv1::")


def exported(library: Path) -> list[str]:
    """The names that a library defines for others. Weak ones are instances of templates and inline functions."""
    lines = subprocess.run(
        ["nm", "--dynamic", "--defined-only", "--demangle", str(library)], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return [line.split(maxsplit=2)[2] for line in lines]


needs_nm = pytest.mark.skipif(shutil.which("nm") is None, reason="binutils are not installed")


@needs_nm
def test_the_library_exports_its_own_names_alone() -> None:
    names = exported(BUILD / "lib" / "liblento.so")
    foreign = [name for name in names if "lento::" not in name and not any(s in name for s in SHARED_NAMESPACES)]
    assert foreign == []
    assert any(name.startswith("lento::Tensor::") for name in names)


@needs_nm
@pytest.mark.parametrize("library", ["llvm::", "dnnl", "LLVM", "cblas_", "LAPACKE_", "openblas_", "fmt::", "XXH"])
def test_nothing_of_a_library_inside_shows(library: str) -> None:
    for file in (BUILD / "lib" / "liblento.so", Path(_core.__file__)):
        assert [name for name in exported(file) if name.startswith(library)] == []


@needs_nm
def test_the_extension_exports_its_entry() -> None:
    names = [name for name in exported(Path(_core.__file__)) if "::" not in name]
    assert [name for name in names if not name.startswith(("typeinfo", "vtable", "nb_"))] == ["PyInit__core"]
