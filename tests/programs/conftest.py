"""Makes the ports importable, with the package of the build."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("LENTO_BUILD", HERE.parents[1] / "build" / "release")).resolve()

for folder in (HERE, BUILD / "python"):
    sys.path.insert(0, str(folder))
