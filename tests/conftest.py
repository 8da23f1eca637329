"""What holds for all tests: what earlier runs compiled must not decide what a test counts or how long it takes."""

from __future__ import annotations

import os

# Read when Lento first needs it; a test that wants a cache makes a process of its own.
os.environ["LENTO_DISK_CACHE"] = "off"
