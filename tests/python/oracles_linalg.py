"""Oracles of linear algebra; see oracles.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

Array = Any


def norm_ord(order: Any) -> Any:
    """Norms take their order as text: a number, 'fro' or 'nuc'."""
    if order is None or order in ("fro", "nuc"):
        return order
    return float(order)


def tensordot_axes(axes: Any) -> Any:
    """A list names axes of the first tensor in its first half, of the second one in its second half."""
    if isinstance(axes, int):
        return axes
    half = len(axes) // 2
    return list(axes[:half]), list(axes[half:])


def cholesky_solve(x: Array, factor: Array, upper: bool) -> Array:
    triangle = np.triu(factor) if upper else np.tril(factor)
    product = triangle.T @ triangle if upper else triangle @ triangle.T
    return scipy.linalg.solve(product, x)


def lstsq(x1: Array, x2: Array, rcond: float | None) -> Any:
    return np.linalg.lstsq(x1, x2, rcond=rcond)
