"""Runs the generator on catalogues made up by the tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from workplace import GOOD, Workplace


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    place = Workplace(tmp_path)
    place.write("a_good.yaml", GOOD)
    return place
