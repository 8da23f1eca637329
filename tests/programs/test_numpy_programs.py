"""Ports of NumPy scripts, beside the same in NumPy or what is known of the result."""

from __future__ import annotations

import lento
import numpy as np
from ports import boids, gray_scott, life, lorenz, mandelbrot


def test_a_glider_of_life_moves_by_one_cell_in_four_generations() -> None:
    board = np.zeros((12, 12), dtype=np.int64)
    board[2:5, 2:5] = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
    after, trail = life.run(lento.asarray(board), 4)
    np.testing.assert_array_equal(after.numpy(), np.roll(board, (1, 1), axis=(0, 1)))
    assert (trail.numpy()[after.numpy() == 0] <= 0.25).all()


def test_life_beside_numpy() -> None:
    board = np.random.default_rng(0).integers(0, 2, (20, 30))
    expected = board
    for _ in range(10):
        inner = np.pad(expected, 1)  # what is around the board is empty, and so is its border
        count = sum(np.roll(inner, (y, x), (0, 1)) for y in (-1, 0, 1) for x in (-1, 0, 1)) - inner
        alive = ((count == 3) | ((count == 2) & (inner == 1)))[2:-2, 2:-2]
        expected = np.pad(alive.astype(board.dtype), 1)
    after, trail = life.run(lento.asarray(board), 10)
    np.testing.assert_array_equal(after.numpy(), expected)
    np.testing.assert_array_equal(trail.numpy() == 1, expected == 1)


def test_gray_scott_beside_numpy() -> None:
    random = np.random.default_rng(0)
    u, v = random.uniform(0, 1, (2, 14, 18))
    expected_u, expected_v = u.copy(), v.copy()
    for _ in range(20):
        new_u, new_v = expected_u.copy(), expected_v.copy()
        for y in range(1, 13):
            for x in range(1, 17):

                def around(grid: np.ndarray, y: int = y, x: int = x) -> float:
                    return grid[y - 1, x] + grid[y + 1, x] + grid[y, x - 1] + grid[y, x + 1] - 4 * grid[y, x]

                a, b = expected_u[y, x], expected_v[y, x]
                new_u[y, x] = a + 0.16 * around(expected_u) - a * b * b + 0.035 * (1 - a)
                new_v[y, x] = b + 0.08 * around(expected_v) + a * b * b - (0.035 + 0.065) * b
        expected_u, expected_v = new_u, new_v
    after_u, after_v = gray_scott.run(lento.asarray(u), lento.asarray(v), 20)
    np.testing.assert_allclose(after_u.numpy(), expected_u, rtol=1e-12)
    np.testing.assert_allclose(after_v.numpy(), expected_v, rtol=1e-12)


def test_mandelbrot_counts_beside_python_numbers() -> None:
    width, height, rounds = 24, 16, 20
    counts = mandelbrot.mandelbrot((-2.25, 0.75), (-1.25, 1.25), (width, height), rounds).tolist()
    xs, ys = np.linspace(-2.25, 0.75, width, dtype=np.float32), np.linspace(-1.25, 1.25, height, dtype=np.float32)
    for row, y in enumerate(ys):
        for column, x in enumerate(xs):
            z, count = 0j, 0
            for i in range(rounds):
                if abs(z) < 2:
                    count, z = i, z * z + complex(x, y)
            assert counts[row][column] == (0 if count == rounds - 1 else count), (x, y)


def test_boids_keep_their_speeds_and_stay_in_the_box() -> None:
    random = np.random.default_rng(0)
    position = lento.asarray(random.uniform(0, 200, (40, 2)).astype(np.float32))
    velocity = lento.asarray(random.standard_normal((40, 2)).astype(np.float32))
    position, velocity = boids.run(position, velocity, (200.0, 100.0), 10)
    speed = np.linalg.norm(velocity.numpy(), axis=1)
    assert speed.min() >= boids.MIN_SPEED * (1 - 1e-6) and speed.max() <= boids.MAX_SPEED * (1 + 1e-6)
    assert (position.numpy() >= 0).all() and (position.numpy() <= [200, 100]).all()


def test_boids_know_no_place_and_no_order() -> None:
    """Moving all of them changes no acceleration, numbering them anew gives the same ones in that order."""
    random = np.random.default_rng(1)
    position, velocity = random.uniform(0, 100, (15, 2)), random.standard_normal((15, 2))
    plain = boids.acceleration(lento.asarray(position), lento.asarray(velocity)).numpy()
    moved = boids.acceleration(lento.asarray(position + 7), lento.asarray(velocity)).numpy()
    order = random.permutation(15)
    ordered = boids.acceleration(lento.asarray(position[order]), lento.asarray(velocity[order])).numpy()
    np.testing.assert_allclose(moved, plain, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ordered, plain[order], rtol=1e-9, atol=1e-12)


def test_lorenz_beside_numpy() -> None:
    point = np.array([0.0, 1.0, 1.05])
    expected = [point]
    for _ in range(200):
        x, y, z = point
        point = point + 0.01 * np.array([10 * (y - x), 28 * x - y - x * z, x * y - 2.667 * z])
        expected.append(point)
    path = lorenz.run(lento.asarray([0.0, 1.0, 1.05], dtype=lento.float64), 0.01, 200)
    np.testing.assert_allclose(path.numpy(), expected, rtol=1e-9, atol=1e-9)
