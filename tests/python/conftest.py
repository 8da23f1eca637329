"""Finds the built package and registers the marks of this suite."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("LENTO_BUILD", ROOT / "build" / "release"))

# An installed lento is tested when LENTO_INSTALLED is set; otherwise the one in the build folder.
if "LENTO_INSTALLED" not in os.environ:
    sys.path.insert(0, str(BUILD / "python"))
sys.path.insert(0, str(Path(__file__).resolve().parent))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "peers: compares with torch; run by `make test-peers`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "peers" in (config.option.markexpr or ""):
        return
    skip = pytest.mark.skip(reason="needs torch: make test-peers")
    for item in items:
        if "peers" in item.keywords:
            item.add_marker(skip)
