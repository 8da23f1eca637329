"""NumPy scripts beside their ports. Their update functions are run as they are, with the same arrays."""

from __future__ import annotations

from unittest import mock

import lento
import numpy as np
from comparing import Pair, Results, program
from originals import Original, Patched
from ports import boids, gray_scott, life, lorenz, mandelbrot

BOOK = "from-python-to-numpy/code"


@program("life", f"{BOOK}/game_of_life_numpy.py", needs="numpy", tolerance=0)  # whole numbers, and the same products
def compare_life(original: Original) -> Pair:
    steps, board = 20, np.random.default_rng(0).integers(0, 2, (60, 80))

    def theirs() -> Results:
        space = original.run("update", np=np, Z=board.copy(), M=np.zeros(board.shape), im=mock.MagicMock())
        for _ in range(steps):
            space["update"]()
        return {"board": space["Z"], "trail": space["M"]}

    def ours() -> Results:
        after, trail = life.run(lento.asarray(board), steps)
        return {"board": after.numpy(), "trail": trail.numpy()}

    def moved(text: Original) -> Results:
        start = {"Z": lento.asarray(board), "M": lento.zeros(board.shape, dtype=lento.float64)}
        space = text.run("update", np=lento, **start, im=mock.MagicMock())
        for _ in range(steps):
            space["update"]()
        return {"board": space["Z"], "trail": space["M"]}

    return Pair(ours, theirs, steps, moved)


# float64; sums in another order, some 1e-16 each, over 50 steps of a system that does not amplify them.
@program("gray-scott", f"{BOOK}/gray_scott.py", needs="numpy", tolerance=1e-12)
def compare_gray_scott(original: Original) -> Pair:
    steps, size = 50, 64
    random = np.random.default_rng(0)
    u, v = np.zeros((2, size + 2, size + 2))
    u[1:-1, 1:-1], v[24:40, 24:40] = 1, 0.25
    u[1:-1, 1:-1] += 0.05 * random.uniform(-1, 1, (size, size))
    v[1:-1, 1:-1] += 0.05 * random.uniform(-1, 1, (size, size))

    def theirs() -> Results:
        big = [u.copy(), v.copy()]
        inner = [array[1:-1, 1:-1] for array in big]
        names = {"U": big[0], "V": big[1], "u": inner[0], "v": inner[1]}
        space = original.run("update", "Du", np=np, im=mock.MagicMock(), **names)
        for _ in range(steps // 10):  # ten steps a picture
            space["update"](0)
        return {"u": big[0], "v": big[1]}

    def ours() -> Results:
        after = gray_scott.run(lento.asarray(u), lento.asarray(v), steps)
        return {"u": after[0].numpy(), "v": after[1].numpy()}

    def moved(text: Original) -> Results:
        names = {"U": lento.asarray(u), "V": lento.asarray(v), "u": None, "v": None}
        space = text.run("update", "Du", np=lento, im=mock.MagicMock(), **names)
        for _ in range(steps // 10):
            space["update"](0)
        return {"u": space["U"], "v": space["V"]}

    return Pair(ours, theirs, steps, moved)


# Counts of rounds, in complex64. A point at the edge, where each round doubles an error, might leave a round later, but
# none of these does.
@program("mandelbrot", f"{BOOK}/mandelbrot_numpy_1.py", needs="numpy", tolerance=0)
def compare_mandelbrot(original: Original) -> Pair:
    x, y, size, rounds = (-2.25, 0.75), (-1.25, 1.25), (300, 250), 40

    def theirs() -> Results:
        with np.errstate(all="ignore"):
            return {"count": original.run("mandelbrot", np=np)["mandelbrot"](*x, *y, *size, rounds)[1]}

    def ours() -> Results:
        return {"count": mandelbrot.mandelbrot(x, y, size, rounds).numpy()}

    def moved(text: Original) -> Results:
        return {"count": text.run("mandelbrot", np=lento)["mandelbrot"](*x, *y, *size, rounds)[1]}

    return Pair(ours, theirs, rounds, moved)


# In float64, to which the original's float32 is changed: there the direction to a place that is near loses five digits,
# and the two would agree in as few. What is left is rounding, 1e-16 a step, less the digits that directions lose.
@program("boids", f"{BOOK}/boid_numpy.py", needs="numpy", tolerance=1e-11)
def compare_boids(original: Original) -> Pair:
    steps, count, size = 20, 100, (640, 360)

    def start() -> tuple[np.ndarray, np.ndarray, object]:
        np.random.seed(0)
        flock = original.run("Flock", np=Patched(np, float32=np.float64))["Flock"](count, *size)
        return flock.position.copy(), flock.velocity.copy(), flock

    def theirs() -> Results:
        _, _, flock = start()
        with np.errstate(all="ignore"):
            for _ in range(steps):
                flock.run()
        return {"position": flock.position, "velocity": flock.velocity}

    def ours() -> Results:
        position, velocity, _ = start()
        position, velocity = boids.run(lento.asarray(position), lento.asarray(velocity), size, steps)
        return {"position": position.numpy(), "velocity": velocity.numpy()}

    def moved(text: Original) -> Results:
        flock = text.run("Flock", np=Patched(lento, random=np.random, cos=np.cos, sin=np.sin, pi=np.pi))["Flock"](count)
        flock.position, flock.velocity = map(lento.asarray, start()[:2])
        for _ in range(steps):
            flock.run()
        return {"position": flock.position, "velocity": flock.velocity}

    return Pair(ours, theirs, steps, moved)


# float64; over 200 steps of 0.01 a difference grows by e^(0.9 * 2), so only rounding is seen.
@program("lorenz", "matplotlib/galleries/examples/mplot3d/lorenz_attractor.py", needs="numpy", tolerance=1e-12)
def compare_lorenz(original: Original) -> Pair:
    steps, dt, start = 200, 0.01, (0.0, 1.0, 1.05)

    def theirs() -> Results:
        slope = original.run("lorenz", np=np)["lorenz"]
        path = np.empty((steps + 1, 3))
        path[0] = start
        for i in range(steps):
            path[i + 1] = path[i] + slope(path[i]) * dt
        return {"path": path}

    def ours() -> Results:
        return {"path": lorenz.run(lento.asarray(start, dtype=lento.float64), dt, steps).numpy()}

    def moved(text: Original) -> Results:
        slope = text.run("lorenz", np=lento)["lorenz"]
        path = lento.empty((steps + 1, 3), dtype=lento.float64)
        path[0] = start
        for i in range(steps):
            path[i + 1] = path[i] + slope(path[i]) * dt
        return {"path": path}

    return Pair(ours, theirs, steps, moved)
