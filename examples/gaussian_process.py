"""A Gaussian process finds out how smooth, how large and how noisy its data are.

    python examples/gaussian_process.py --points 150 --steps 300

Data are drawn from a process with known parameters; the likelihood of the data (a Cholesky factor and a triangular
solve) is then climbed by its gradient, which Lento takes through both. The fit is as good as 150 points allow.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import lento
from lento import optim

TRUTH = {"length": 0.7, "amplitude": 1.5, "noise": 0.2}


def kernel(
    x: lento.Tensor, y: lento.Tensor, length: lento.Tensor | float, amplitude: lento.Tensor | float
) -> lento.Tensor:
    """How values at x and y go together: fully where they are near, not at all where they are far."""
    return amplitude**2 * lento.exp(-0.5 * ((x[:, None] - y[None, :]) / length) ** 2)


def covariance(x: lento.Tensor, p: Mapping[str, lento.Tensor | float]) -> lento.Tensor:
    return kernel(x, x, p["length"], p["amplitude"]) + (p["noise"] ** 2) * lento.eye(x.size, dtype=x.dtype)


def draw(points: int) -> tuple[lento.Tensor, lento.Tensor]:
    """Places from 0 to 10, and the values of a process there."""
    x = lento.sort(10 * lento.random.uniform(points, dtype=lento.float64))
    factor = lento.linalg.cholesky(covariance(x, TRUTH))
    return x, factor @ lento.random.normal(points, dtype=lento.float64)


def negative_log_likelihood(logs: dict[str, lento.Tensor], x: lento.Tensor, y: lento.Tensor) -> lento.Tensor:
    """Of the parameters' logarithms, so that every number is allowed."""
    factor = lento.linalg.cholesky(covariance(x, {name: lento.exp(value) for name, value in logs.items()}))
    white = lento.linalg.solve_triangular(factor, y[:, None], upper=False)
    return 0.5 * (white**2).sum() + lento.log(factor.diagonal()).sum() + 0.5 * x.size * 1.8378770664093453


def fit(x: lento.Tensor, y: lento.Tensor, steps: int = 300) -> tuple[dict[str, lento.Tensor], list[float]]:
    """The most likely parameters, and the negative log likelihood on the way there."""
    logs = {name: lento.asarray(0.0, dtype=lento.float64) for name in TRUTH}
    optimizer = optim.Adam(logs, lr=optim.cosine(0.1, steps))
    values: list[float] = []

    def fit_step() -> lento.Tensor:
        value, gradients = lento.value_and_grad(negative_log_likelihood)(logs, x, y)
        optimizer.step(gradients)
        return value

    for _ in range(steps):
        value = fit_step()
        lento.add_step_closure(lambda value: values.append(float(value)), args=(value,), run_async=True)
        lento.step()
    lento.wait_closures()
    return {name: lento.exp(value) for name, value in logs.items()}, values


def predict(
    p: dict[str, lento.Tensor], x: lento.Tensor, y: lento.Tensor, where: lento.Tensor
) -> tuple[lento.Tensor, lento.Tensor]:
    """What the process expects elsewhere, and the standard deviation of that."""
    factor = lento.linalg.cholesky(covariance(x, p))
    across = lento.linalg.solve_triangular(factor, kernel(x, where, p["length"], p["amplitude"]), upper=False)
    white = lento.linalg.solve_triangular(factor, y[:, None], upper=False)
    return (across.T @ white)[:, 0], lento.sqrt(p["amplitude"] ** 2 - (across**2).sum(axis=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=150)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    lento.random.seed(options.seed)
    x, y = draw(options.points)
    found, values = fit(x, y, options.steps)
    print(f"negative log likelihood {values[0]:.2f} -> {values[-1]:.2f}")
    for name, truth in TRUTH.items():
        print(f"{name:9} {found[name]:.3f} (truth {truth})")
    where = lento.linspace(0, 10, 6, dtype=lento.float64)
    mean, deviation = predict(found, x, y, where)
    for place, value, error in zip(where.tolist(), mean.tolist(), deviation.tolist(), strict=True):
        print(f"f({place:4.1f}) = {value:+.2f} +- {error:.2f}")


if __name__ == "__main__":
    main()
