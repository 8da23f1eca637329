"""Finds the built package; an installed one is tested when LENTO_INSTALLED is set."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from locations import BUILD

if "LENTO_INSTALLED" not in os.environ:
    sys.path.insert(0, str(BUILD / "python"))


from on_device import pytest_configure  # noqa: F401


@pytest.fixture(autouse=True)
def no_older_failures() -> None:
    """A failure that another test provoked and nobody waited for is not this test's."""
    import lento  # found only now

    for _ in range(1000):
        with contextlib.suppress(lento.Error):
            lento.wait()
            return
    raise AssertionError("wait() never stops raising")


@pytest.fixture
def no_closures_left() -> Iterator[None]:
    """What a test of closures leaves behind is not the next one's."""
    yield
    import lento

    lento.wait_closures()
    for device in lento.devices():
        lento.run_step_closures(device)
