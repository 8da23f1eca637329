"""What a user's type checker knows: programs with the types that they rely on, under `mypy --strict`."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from locations import BUILD, ROOT

PROGRAMS = {"typed_program.py": "True\n", "typed_numpy_program.py": "[-1.5, -0.5, 0.5, 1.5]\n"}


def check(program: str, folder: Path, *options: str) -> None:
    pytest.importorskip("mypy", reason="the environments of `make test-wheel SUITE=1` have no mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "--cache-dir", str(folder / "c")]
    done = subprocess.run(
        [*command, *options, str(ROOT / "tests" / "python" / program)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "MYPYPATH": "", "PYTHONPATH": ""},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def install(environment: Path) -> Path:
    """An environment that has the package as a wheel would install it: as far as type checkers look, nothing else."""
    venv.create(environment, with_pip=False)
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "lento").symlink_to(BUILD / "python" / "lento")
    return site


def test_strict_checks_know_what_modules_and_derivatives_give(tmp_path: Path) -> None:
    install(tmp_path / "environment")
    # Without NumPy: the types of everything else must not depend on it.
    check("typed_program.py", tmp_path, "--python-executable", str(tmp_path / "environment" / "bin" / "python"))


def test_strict_checks_know_the_arrays_of_numpy(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    site = install(tmp_path / "environment")
    (site / "numpy").symlink_to(Path(numpy.__file__).parent)
    check("typed_numpy_program.py", tmp_path, "--python-executable", str(tmp_path / "environment" / "bin" / "python"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_typed_programs_run(program: str) -> None:
    """Or their types would be worth nothing."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "python" / program)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(BUILD / "python")},
    )
    assert (done.stdout, done.stderr) == (PROGRAMS[program], "")
