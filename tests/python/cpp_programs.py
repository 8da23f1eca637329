"""C++ programs that tests compile and run beside the package of the same build."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from locations import BUILD, ROOT


def compiled(source: str, folder: Path) -> Path:
    """The program of tests/<source>, linked with the library of this build. Skips where there is none to link with."""
    if not shutil.which("c++"):
        pytest.skip("needs a compiler")
    if not (BUILD / "lib" / "liblento.so").exists():
        pytest.skip("this build has only the Python package, no liblento.so to link with")
    made = folder / Path(source).stem
    includes = [f"-I{each}" for each in (ROOT / "include", BUILD / "generated", BUILD / "config")]
    library = [f"-L{BUILD / 'lib'}", "-llento", f"-Wl,-rpath,{BUILD / 'lib'}"]
    command = ["c++", "-std=c++20", *includes, str(ROOT / "tests" / source), *library, "-o", str(made)]
    subprocess.run(command, check=True)
    return made
