"""Reaction and diffusion of two substances after Gray and Scott, on a grid with a fixed border."""

from __future__ import annotations

import lento

DIFFUSION_U, DIFFUSION_V, FEED, KILL = 0.16, 0.08, 0.035, 0.065


def laplacian(grid: lento.Tensor) -> lento.Tensor:
    return grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:] - 4 * grid[1:-1, 1:-1]


def step(u: lento.Tensor, v: lento.Tensor) -> None:
    """Moves both on, in place."""
    flow_u, flow_v = DIFFUSION_U * laplacian(u), DIFFUSION_V * laplacian(v)
    inner_u, inner_v = u[1:-1, 1:-1], v[1:-1, 1:-1]
    reaction = inner_u * inner_v**2
    u[1:-1, 1:-1] += flow_u - reaction + FEED * (1 - inner_u)
    v[1:-1, 1:-1] += flow_v + reaction - (FEED + KILL) * inner_v


def run(u: lento.Tensor, v: lento.Tensor, steps: int) -> tuple[lento.Tensor, lento.Tensor]:
    u, v = u.copy(), v.copy()
    for _ in range(steps):
        step(u, v)
        lento.step()
    return u, v
