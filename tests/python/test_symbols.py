"""What the built libraries show to others in the process: their own interface, and nothing of what they are made of."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from lento import _core
from locations import BUILD

# What programs in C++ link to. A wheel has none: the extension holds all of it.
LIBRARY = BUILD / "lib" / "liblento.so"
BOTH = [path for path in (LIBRARY, Path(_core.__file__)) if path.exists()]


def exported(library: Path) -> list[str]:
    """The names that a library defines for others."""
    lines = subprocess.run(
        ["nm", "--dynamic", "--defined-only", "--demangle", str(library)], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return [line.split(maxsplit=2)[2] for line in lines]


needs_nm = pytest.mark.skipif(shutil.which("nm") is None, reason="binutils are not installed")


@needs_nm
@pytest.mark.skipif(not LIBRARY.exists(), reason="the package is a wheel, without a library for C++")
def test_the_library_exports_its_own_names_alone() -> None:
    names = exported(LIBRARY)
    assert [name for name in names if "lento::" not in name and not name.startswith("LENTO_")] == []
    assert any(name.startswith("lento::Tensor::") for name in names)
    # Those that no public header declares are looked for by tests/install/contents.py.
    assert [name for name in names if name.startswith(("lento::testing::", "lento::infer_", "lento::decode_"))] == []


@needs_nm
@pytest.mark.parametrize("library", ["llvm::", "dnnl", "LLVM", "cblas_", "LAPACKE_", "openblas_", "fmt::", "XXH"])
def test_nothing_of_a_library_inside_shows(library: str) -> None:
    for file in BOTH:
        assert [name for name in exported(file) if name.startswith(library)] == []


@needs_nm
def test_the_extension_exports_its_entry() -> None:
    assert exported(Path(_core.__file__)) == ["PyInit__core"]


# The newest versions that manylinux_2_34 allows: the systems of Ubuntu 22.04 and RHEL 9.
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)}


def asked_of_the_system(library: Path) -> list[tuple[str, str, tuple[int, ...]]]:
    """The functions that a library takes from the C and C++ runtimes, each with the version that it asks for."""
    lines = subprocess.run(
        ["nm", "--dynamic", "--undefined-only", str(library)], check=True, capture_output=True, text=True
    )
    found = re.findall(r" [Uw] (\w+)@(\w+?)_([\d.]+)$", lines.stdout, flags=re.M)
    return [(name, part, tuple(map(int, version.split(".")))) for name, part, version in found if part in NEWEST]


def builds_for_older_systems() -> bool:
    name, version = platform.libc_ver()
    return platform.machine() == "x86_64" and name == "glibc" and tuple(map(int, version.split("."))) <= (2, 36)


@needs_nm
@pytest.mark.skipif(
    not builds_for_older_systems(),
    reason="wheels are built on Debian 12; newer systems have new versions of other functions, too",
)
@pytest.mark.parametrize("library", BOTH, ids=lambda path: path.name)
def test_nothing_newer_than_ubuntu_2204_and_rhel_9_is_asked_for(library: Path) -> None:
    asked = asked_of_the_system(library)
    assert ("malloc", "GLIBC", (2, 2, 5)) in asked or ("free", "GLIBC", (2, 2, 5)) in asked
    assert [each for each in asked if each[2] > NEWEST[each[1]]] == []
