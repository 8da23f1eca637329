"""Waves on a square drum. A NumPy script whose only change is the import; `import numpy as np` still runs it.

    python examples/numpy_script.py --steps 400

Without lento.step() nothing is computed before the numbers are printed (or 100,000 ops are pending).
"""

import argparse

import lento as np  # was: import numpy as np


def simulate(size, steps):
    """The drum's height after so many steps, and its greatest height over time at each place."""
    x = np.linspace(-1, 1, size, dtype=np.float32)
    bump = np.exp(-60 * ((x[:, None] + 0.3) ** 2 + (x[None, :] - 0.2) ** 2))
    edge = np.zeros((size, size), dtype=np.float32)
    edge[1:-1, 1:-1] = 1
    now = bump * edge
    before = now
    highest = now
    for _ in range(steps):
        bend = np.zeros((size, size), dtype=np.float32)
        bend[1:-1, 1:-1] = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1]
        now, before = (2 * now - before + 0.25 * bend) * edge, now
        highest = np.maximum(highest, now)
    return now, highest


def show(height):
    """The drum in characters, a dozen rows high."""
    stride = max(1, height.shape[0] // 12)
    marks = "@#*+-. .-+*#@"
    level = np.clip(np.rint(height[::stride, ::stride] * 40) + 6, 0, 12)
    for row in level.tolist():
        print("".join(2 * marks[int(value)] for value in row))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--steps", type=int, default=400)
    options = parser.parse_args()
    now, highest = simulate(options.size, options.steps)
    show(now)
    middle = highest[options.size // 2, options.size // 2]
    print(f"mean square {float(np.mean(now**2)):.6f}, highest in the middle {float(middle):.4f}")


if __name__ == "__main__":
    main()
