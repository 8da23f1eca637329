"""docs/numpy-coverage.md accounts for every public function of NumPy, and is current."""

from __future__ import annotations

import operator
import re
import subprocess
import sys
from pathlib import Path

import lento
import numpy as np
import pytest
from lento import _numpy_names
from script_modules import load_script

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "numpy-coverage"


coverage = load_script("numpy-coverage")


def test_every_function_is_accounted_for_and_the_page_is_current() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--check"], text=True, capture_output=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0


def test_the_names_are_those_of_numpy() -> None:
    listed = coverage.listed()
    if not np.__version__.startswith(listed["version"] + "."):
        pytest.skip(f"the page is about NumPy {listed['version']}")
    for space, module in coverage.SPACES.items():
        assert listed[module].split() == coverage.public_names(space)


def test_names_that_are_not_here_say_what_to_write() -> None:
    for module, space in ((lento, ""), (lento.random, "random"), (lento.linalg, "linalg")):
        for name in {**_numpy_names.ELSEWHERE[space], **_numpy_names.ABSENT[space]}:
            if name in vars(module):
                continue
            with pytest.raises(AttributeError, match=rf"has no attribute '{name}'; \w") as caught:
                getattr(module, name)
            for path in re.findall(r"\blento((?:\.\w+)+)", str(caught.value).partition("; ")[2]):
                operator.attrgetter(path[1:])(lento)  # what it names is there


def test_what_is_listed_as_here_is_there() -> None:
    for space, module in coverage.SPACES.items():
        owner = getattr(lento, space) if space else lento
        for name in coverage.listed()[module].split():
            assert (coverage.row(space, name)[0] == "here") == hasattr(owner, name), f"{module}.{name}"


def test_the_advice_on_unwrap_is_right() -> None:
    x = np.array([0.0, 2.0, -2.5, -0.5, 3.0, -3.0, 1.0])
    jumps = lento.cumsum(lento.round(lento.diff(lento.asarray(x)) / (2 * np.pi)))
    np.testing.assert_allclose(lento.asarray(x)[1:] - 2 * np.pi * jumps, np.unwrap(x)[1:])
