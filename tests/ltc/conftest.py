"""The helpers of this folder and of tests/python, and the built package."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from locations import BUILD

if "LENTO_INSTALLED" not in os.environ:
    sys.path.insert(0, str(BUILD / "python"))

from on_device import pytest_configure  # noqa: F401
