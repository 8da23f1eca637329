"""What holds for all tests: what earlier runs compiled must not decide what a test counts or how long it takes."""

from __future__ import annotations

import os

os.environ["LENTO_DISK_CACHE"] = (
    "off"  # read when Lento first needs it; a test that wants one makes a process of its own
)
