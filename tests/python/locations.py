"""Where the build and the project are."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("LENTO_BUILD", ROOT / "build" / "release")).resolve()
