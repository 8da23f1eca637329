"""Variational inference: a normal distribution is fitted to a density of which only the logarithm is known.

The normal numbers that make samples are given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import lento
from lento import optim

Density = Callable[[lento.Tensor], lento.Tensor]


def log_normal(x: lento.Tensor, mean: lento.Tensor | float, deviation: lento.Tensor | float) -> lento.Tensor:
    """The logarithm of the density of a normal distribution."""
    return (
        -0.5 * ((x - mean) / deviation) ** 2
        - lento.log(lento.asarray(deviation, dtype=x.dtype))
        - math.log(math.sqrt(2 * math.pi))
    )


def funnel(point: lento.Tensor) -> lento.Tensor:
    """A density whose width depends on its second axis."""
    return log_normal(point[0], 0.0, lento.exp(point[1])) + log_normal(point[1], 0.0, 1.35)


def bound(density: Density, mean: lento.Tensor, log_deviation: lento.Tensor, normals: lento.Tensor) -> lento.Tensor:
    """The lower bound of the evidence, as seen by samples made of the rows of ``normals``."""

    def of_one(normal: lento.Tensor) -> lento.Tensor:
        sample = mean + lento.exp(log_deviation) * normal
        return density(sample) - log_normal(sample, mean, lento.exp(log_deviation)).sum()

    return lento.vmap(of_one)(normals).mean()


def fit(density: Density, normals: Iterable[lento.Tensor], lr: float = 0.1) -> tuple[lento.Tensor, lento.Tensor]:
    """One step of gradient descent with momentum for each set of normal numbers; mean and log deviation."""
    mean, log_deviation = lento.zeros(2, dtype=lento.float64), lento.zeros(2, dtype=lento.float64)
    optimizer = optim.SGD([mean, log_deviation], lr=lr, momentum=0.9)
    for normal in normals:

        def loss(parameters: list[lento.Tensor], normal: lento.Tensor = normal) -> lento.Tensor:
            return -bound(density, *parameters, normal)

        optimizer.step(lento.grad(loss)([mean, log_deviation]))
        lento.step()
    return mean, log_deviation
