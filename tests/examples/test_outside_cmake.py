"""The C++ examples need nothing but Lento's headers: they compile without the definitions of the build."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("LENTO_BUILD", ROOT / "build" / "release")).resolve()
EXAMPLES = sorted((ROOT / "examples").glob("*.cpp"))


@pytest.mark.skipif(not shutil.which("c++"), reason="needs a compiler")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_an_example_compiles_by_hand(example: Path) -> None:
    includes = [f"-I{folder}" for folder in (ROOT / "include", BUILD / "generated", BUILD / "config")]
    subprocess.run(["c++", "-std=c++20", "-Wall", "-fsyntax-only", *includes, str(example)], check=True)
