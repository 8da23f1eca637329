"""Every example runs as a program, with small settings, and prints what it found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

# What its output must contain when it is run with these arguments.
PROGRAMS: dict[str, tuple[list[str], list[str]]] = {
    "tour": ([], ["matmul: inner dimensions differ", "IndexError", "step 200: loss 0.0", "plan.hit"]),
    "digits": (["--steps", "10", "--batch", "8"], ["new pictures correctly", "implicit syncs 0"]),
    "char_gpt": (
        ["--steps", "3", "--length", "8", "--write", "9"],
        ["gpt step 3/3", "implicit syncs 0"],
    ),
    "nbody": (["--bodies", "12", "--steps", "100"], ["step 100: energy", "momentum ["]),
    "gaussian_process": (["--points", "20", "--steps", "10"], ["negative log likelihood", "(truth 0.7)", "f(10.0) ="]),
    "image_filters": (["--size", "32"], ["filters.png: a picture, box blur"]),
    "ltc_loop": (["--steps", "100"], ["step 100: loss 0.", "compiled 2 of 100 steps"]),
    "numpy_script": (["--size", "24", "--steps", "5"], ["mean square 0."]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_runs(name: str, tmp_path: Path) -> None:
    arguments, expected = PROGRAMS[name]
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    printed = " ".join(done.stdout.split())  # without the columns
    assert [text for text in expected if text not in printed] == []


def test_every_program_is_listed_and_run() -> None:
    # The demo has tests of its own (test_training_examples.py); progress and pictures are no programs.
    programs = {path.stem for path in EXAMPLES.glob("*.py")} - {"demo", "progress", "pictures"}
    assert programs == set(PROGRAMS)
    table = (EXAMPLES / "README.md").read_text()
    files = [*EXAMPLES.glob("*.py"), *EXAMPLES.glob("*.cpp")]
    assert [path.name for path in files if f"`{path.name}`" not in table] == []
