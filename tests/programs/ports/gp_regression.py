"""Regression by a Gaussian process whose three parameters follow the gradient of the likelihood."""

from __future__ import annotations

import math

import lento
from lento import nn

Parameters = dict[str, lento.Tensor]


def covariance(xs: lento.Tensor, ys: lento.Tensor) -> lento.Tensor:
    """Of all pairs of places: a function of two of them, over the rows of both."""

    def near(x: lento.Tensor, y: lento.Tensor) -> lento.Tensor:
        return lento.exp(-((x - y) ** 2).sum())

    return lento.vmap(lambda x: lento.vmap(lambda y: near(x, y))(ys))(xs)


def prepare(parameters: Parameters, x: lento.Tensor, y: lento.Tensor) -> tuple[lento.Tensor, ...]:
    """Amplitude, scaled places, the factor of their covariance, and its solution for the values."""
    noise, amplitude, length = (nn.softplus(parameters[name]) for name in ("noise", "amplitude", "lengthscale"))
    x = x / length
    matrix = amplitude * covariance(x, x) + (noise + 1e-6) * lento.eye(x.shape[0], dtype=x.dtype)
    factor = lento.linalg.cholesky(matrix)
    return amplitude, x, factor, lento.linalg.cholesky_solve(y - y.mean(), factor)


def negative_log_likelihood(parameters: Parameters, x: lento.Tensor, y: lento.Tensor) -> lento.Tensor:
    """With a log-normal prior of the amplitude."""
    amplitude, _, factor, solved = prepare(parameters, x, y)
    fit = -0.5 * ((y - y.mean()) * solved).sum() - lento.log(factor.diagonal()).sum()
    log_amplitude = lento.log(amplitude).sum()
    prior = -log_amplitude - 0.5 * log_amplitude**2
    return prior - fit + 0.5 * (x.shape[0] - 1) * math.log(2 * math.pi)


def predict(
    parameters: Parameters, x: lento.Tensor, y: lento.Tensor, places: lento.Tensor
) -> tuple[lento.Tensor, lento.Tensor]:
    """Mean and covariance at other places."""
    amplitude, x, factor, solved = prepare(parameters, x, y)
    places = places / nn.softplus(parameters["lengthscale"])
    cross = amplitude * covariance(x, places)
    white = lento.linalg.solve_triangular(factor, cross, upper=False)
    return cross.T @ solved + y.mean(), amplitude * covariance(places, places) - white.T @ white


def fit(parameters: Parameters, x: lento.Tensor, y: lento.Tensor, steps: int, lr: float = 0.01) -> Parameters:
    """Follows the gradient by its running mean over its running size."""
    parameters = {name: value.copy() for name, value in parameters.items()}
    means = {name: lento.zeros_like(value) for name, value in parameters.items()}
    sizes = {name: lento.ones_like(value) for name, value in parameters.items()}

    def advance() -> None:
        gradients = lento.grad(negative_log_likelihood)(parameters, x, y)
        for name, gradient in gradients.items():
            means[name] = 0.9 * means[name] + 0.1 * gradient
            sizes[name] = 0.9 * sizes[name] + 0.1 * gradient**2
            parameters[name] -= lr * means[name] / lento.sqrt(sizes[name] + 1e-5)

    for _ in range(steps):
        advance()
        lento.step()
    return parameters
