"""Makes the examples importable, with the package of the build."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("LENTO_BUILD", ROOT / "build" / "release")).resolve()

for folder in (ROOT / "examples", BUILD / "python"):
    sys.path.insert(0, str(folder))


def failures_left() -> list[Exception]:
    """The failures that nobody has waited for yet; afterwards there are none."""
    import lento  # found only now

    found: list[Exception] = []
    while True:
        try:
            lento.wait()
        except lento.Error as error:
            found.append(error)
            assert len(found) < 1000, "wait() never stops raising"
        else:
            return found


@pytest.fixture(autouse=True)
def leaves_no_failures() -> Iterator[None]:
    """An example that leaves a failure behind fails. What another folder's test left in this process is not its own."""
    failures_left()
    yield
    for failure in failures_left():
        raise failure
