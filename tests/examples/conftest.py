"""Makes the examples importable, with the package of the build."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("LENTO_BUILD", ROOT / "build" / "release")).resolve()

for folder in (ROOT / "examples", BUILD / "python"):
    sys.path.insert(0, str(folder))
