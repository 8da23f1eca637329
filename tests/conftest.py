"""What holds for all tests: what earlier runs compiled must not decide what a test counts or how long it takes."""

from __future__ import annotations

import os

import pytest

# Read when Lento first needs it; a test that wants a cache makes a process of its own.
os.environ["LENTO_DISK_CACHE"] = "off"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="try many more drawn examples: hours instead of seconds")
