"""The Lorenz attractor by Euler's method."""

from __future__ import annotations

import lento


def slope(point: lento.Tensor, s: float = 10, r: float = 28, b: float = 2.667) -> lento.Tensor:
    x, y, z = point
    return lento.stack([s * (y - x), r * x - y - x * z, x * y - b * z])


def run(start: lento.Tensor, dt: float, steps: int) -> lento.Tensor:
    """The path, with the start: (steps + 1, 3)."""
    path = [start]
    for _ in range(steps):
        path.append(path[-1] + slope(path[-1]) * dt)
        lento.step()
    return lento.stack(path)
