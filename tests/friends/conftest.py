"""Tests of libraries that users combine with an array library. Only .venv-peers has them (make test-peers)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Without the libraries these files cannot be imported. Where they are asked for, a missing one is an error."""
    if config.getoption("markexpr") == "not peers":
        return True
    # SciPy reads it when it is first imported, scikit-learn wants it for dispatch. `make test-peers` sets it for the
    # files that are collected before these.
    os.environ["SCIPY_ARRAY_API"] = "1"
    return None
