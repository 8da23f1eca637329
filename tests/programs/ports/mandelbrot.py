"""How many rounds each point of a part of the plane stays near, squared and moved by itself; 0 for those that do."""

from __future__ import annotations

import lento


def mandelbrot(
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    size: tuple[int, int],
    rounds: int,
    horizon: float = 2.0,
) -> lento.Tensor:
    """The counts, as an array of (height, width) for a size of (width, height)."""
    x = lento.linspace(*x_range, size[0], dtype=lento.float32)
    y = lento.linspace(*y_range, size[1], dtype=lento.float32)
    c = x + y[:, None] * 1j
    z = lento.zeros_like(c)
    count = lento.zeros(c.shape, dtype=lento.int64)
    for i in range(rounds):
        near = abs(z) < horizon
        count = lento.where(near, i, count)
        z = lento.where(near, z * z + c, z)
        lento.step()
    return lento.where(count == rounds - 1, 0, count)
