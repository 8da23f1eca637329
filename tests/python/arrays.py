"""Arrays that tests of layers share."""

from __future__ import annotations

from typing import Any

import numpy as np


def array(*shape: int, seed: int = 0) -> Any:
    """Normal numbers in float32."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
