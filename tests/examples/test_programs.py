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
    assert "\033" not in done.stdout  # no terminal, no colours
    printed = " ".join(done.stdout.split())  # without the columns
    assert [text for text in expected if text not in printed] == []


CPP_PROGRAMS = Path(os.environ.get("LENTO_BUILD", EXAMPLES.parent / "build" / "release")).resolve() / "examples"


def run_cpp(name: str, *arguments: str) -> str:
    if not (CPP_PROGRAMS / name).exists():
        pytest.skip("built without LENTO_BUILD_EXAMPLES")
    done = subprocess.run([CPP_PROGRAMS / name, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_nbody_in_cpp_prints_what_python_prints() -> None:
    in_cpp = run_cpp("nbody", "12", "100", "3")
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "nbody.py"), "--bodies", "12", "--steps", "100", "--seed", "3"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert in_cpp == done.stdout


def test_custom_gradient_in_cpp_finds_the_whole_numbers() -> None:
    printed = run_cpp("custom_gradient")
    assert "whole weights [ 3. -2.  1.]" in printed
    assert "its slope [1.9287499e-22 5.0000000e-01 1.0000000e+00]" in printed


def test_every_program_is_listed_and_run() -> None:
    # The demo has tests of its own (test_training_examples.py); progress is no program.
    programs = {path.stem for path in EXAMPLES.glob("*.py")} - {"demo", "progress"}
    assert programs == set(PROGRAMS)
    table = (EXAMPLES / "README.md").read_text()
    files = [*EXAMPLES.glob("*.py"), *EXAMPLES.glob("*.cpp")]
    assert [path.name for path in files if f"`{path.name}`" not in table] == []


LEAVES_A_FAILURE = """
import lento

def test_it():
    kept.append(lento.arange(5)[lento.asarray([9])])
    lento.step()

def test_next():
    assert lento.ones(2).tolist() == [1, 1]

kept = []
"""


def test_an_example_that_leaves_a_failure_behind_fails_itself(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "examples"
    folder.mkdir(parents=True)
    (folder / "test_left.py").write_text(LEAVES_A_FAILURE)
    (folder / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed, 1 error" in done.stdout
    assert "ERROR tests/examples/test_left.py::test_it" in done.stdout
