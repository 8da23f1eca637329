"""Conway's Life on a board with an empty border, and a trail of where there was life."""

from __future__ import annotations

import lento


def neighbours(board: lento.Tensor) -> lento.Tensor:
    """How many of the eight cells around each inner cell are alive."""
    height, width = board.shape
    shifts = [(y, x) for y in range(3) for x in range(3) if (y, x) != (1, 1)]
    return lento.stack([board[y : height - 2 + y, x : width - 2 + x] for y, x in shifts]).sum(axis=0)


def generation(board: lento.Tensor, trail: lento.Tensor) -> tuple[lento.Tensor, lento.Tensor]:
    """The next board, and the trail: 1 where there is life, fading from 0.25 where there was."""
    count = neighbours(board)
    alive = (count == 3) | ((count == 2) & (board[1:-1, 1:-1] == 1))
    board = lento.pad(alive.astype(board.dtype), 1)
    trail = lento.where(board == 1, 1.0, lento.minimum(trail, 0.25) * 0.995)
    return board, trail


def run(board: lento.Tensor, steps: int) -> tuple[lento.Tensor, lento.Tensor]:
    trail = lento.zeros(board.shape, dtype=lento.float64)
    for _ in range(steps):
        board, trail = generation(board, trail)
        lento.step()
    return board, trail
