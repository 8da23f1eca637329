"""Draws digits.bin: handwriting made up by a program, so that nothing has to be downloaded.

Every digit is a few pen strokes (lines and arcs). Each picture bends, turns, shears, scales and shifts them a bit
differently, draws them with a pen of its own width on 12 x 12 pixels, and adds noise.

    python examples/data/make_digits.py            # writes examples/data/digits.bin again
    python examples/data/make_digits.py --show 3   # prints three pictures of each digit

The file: one picture after the other, 72 bytes each, rows from the top, two pixels a byte (the left one in the high
four bits, 0 is paper and 15 is ink). Picture number i shows the digit i % 10.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

SIZE = 12
COUNT = 2400


def arc(x: float, y: float, width: float, height: float, start: float, end: float) -> list[tuple[float, float]]:
    """Points of an ellipse around (x, y); angles in degrees, clockwise from the right (y points down)."""
    angles = np.radians(np.linspace(start, end, 13))
    return [(x + width * np.cos(a), y + height * np.sin(a)) for a in angles]


# In a box from (-1, -1), top left, to (1, 1).
STROKES: list[list[list[tuple[float, float]]]] = [
    [arc(0, 0, 0.6, 0.95, 0, 360)],
    [[(-0.35, -0.6), (0.1, -0.95), (0.1, 0.95)]],
    [[*arc(0, -0.45, 0.55, 0.5, 190, 380), (-0.55, 0.9), (0.6, 0.9)]],
    [[*arc(-0.05, -0.48, 0.5, 0.45, 210, 450), *arc(-0.05, 0.45, 0.55, 0.48, -90, 150)]],
    [[(0.25, -0.95), (-0.6, 0.35), (0.65, 0.35)], [(0.25, -0.3), (0.25, 0.95)]],
    [[(0.5, -0.9), (-0.4, -0.9), (-0.45, -0.1), *arc(-0.05, 0.35, 0.55, 0.55, 235, 500)]],
    [[(0.4, -0.9), *arc(0.25, 0.3, 0.8, 1.0, 240, 180), *arc(0, 0.42, 0.55, 0.5, 180, -180)]],
    [[(-0.55, -0.9), (0.55, -0.9), (-0.1, 0.95)]],
    [arc(0, -0.47, 0.45, 0.43, 90, 450), arc(0, 0.45, 0.55, 0.48, -90, 270)],
    [arc(0, -0.42, 0.52, 0.5, 0, 360), [(0.52, -0.42), (0.45, 0.3), (0.1, 0.95)]],
]


def draw(digit: int, random: np.random.Generator) -> np.ndarray:
    """One picture, ink from 0 to 1."""
    turn, shear = random.normal(0, 0.14), random.normal(0.1, 0.18)
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]) @ [[1, -shear], [0, 1]]
    matrix = matrix @ np.diag(random.uniform(0.7, 1.1, 2))
    shift = random.uniform(-0.16, 0.16, 2)
    bend, phase = random.normal(0, 0.09, (2, 2)), random.uniform(0, 2 * np.pi, (2, 2))
    grid = (np.arange(SIZE) + 0.5) / SIZE * 2.6 - 1.3
    pixels = np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 1, 2)
    nearest = np.full(SIZE * SIZE, np.inf)
    for stroke in STROKES[digit]:
        points = np.array(stroke)
        points = points + sum(bend[k] * np.sin((k + 2) * points[:, ::-1] + phase[k]) for k in range(2))
        points = points @ matrix.T + shift
        start, along = points[:-1], np.diff(points, axis=0)
        # The distance of every pixel to every straight piece of the stroke.
        where = ((pixels - start) * along).sum(-1) / np.maximum((along**2).sum(-1), 1e-9)
        gap = pixels - start - np.clip(where, 0, 1)[..., None] * along
        nearest = np.minimum(nearest, np.sqrt((gap**2).sum(-1)).min(-1))
    pen, softness = random.uniform(0.06, 0.16), 0.16
    ink = np.clip(1 - (nearest - pen) / softness, 0, 1) * random.uniform(0.7, 1.0)
    return np.clip(ink + random.normal(0, 0.07, ink.shape), 0, 1).reshape(SIZE, SIZE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=0, help="print this many pictures of each digit, write nothing")
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    count = options.show * 10 or COUNT
    pictures = np.stack([draw(i % 10, random) for i in range(count)])
    levels = np.rint(pictures * 15).astype(np.uint8)
    if options.show:
        for row in levels.reshape(options.show, 10, SIZE, SIZE).transpose(0, 2, 1, 3).reshape(-1, 10 * SIZE):
            print("".join(" .:-=+*#%@"[level * 9 // 15] for level in row))
        return
    flat = levels.reshape(-1, 2)
    (Path(__file__).parent / "digits.bin").write_bytes((flat[:, 0] << 4 | flat[:, 1]).tobytes())


if __name__ == "__main__":
    main()
