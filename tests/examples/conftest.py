"""Makes the examples importable, with the package of the build."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("LENTO_BUILD", ROOT / "build" / "release")).resolve()

for folder in (ROOT / "examples", BUILD / "python"):
    sys.path.insert(0, str(folder))


@pytest.fixture(autouse=True)
def no_older_failures() -> None:
    """A failure that another folder's test provoked in this process and nobody waited for is not this test's."""
    import lento  # found only now

    for _ in range(1000):
        with contextlib.suppress(lento.Error):
            lento.wait()
            return
    raise AssertionError("wait() never stops raising")
