"""Finds the built package; an installed one is tested when LENTO_INSTALLED is set."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from locations import BUILD

if "LENTO_INSTALLED" not in os.environ:
    sys.path.insert(0, str(BUILD / "python"))
