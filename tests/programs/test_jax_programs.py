"""Ports of JAX's examples by themselves: beside NumPy and SciPy, or by what must hold of them."""

from __future__ import annotations

import lento
import numpy as np
import pytest
from ports import advi, dp_sgd, gp_regression
from scipy import stats


def gp_data() -> tuple[dict[str, lento.Tensor], np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    values = {"amplitude": 0.3, "noise": -2.0, "lengthscale": 0.2}
    parameters = {name: lento.full((1, 1), value, dtype=lento.float64) for name, value in values.items()}
    x = random.uniform(1, 5, (9, 1))
    return parameters, x, np.sin(x) + 0.1 * random.standard_normal((9, 1))


def kernel(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """With the parameters of gp_data."""
    return np.logaddexp(0.3, 0) * np.exp(-((x - y.T) ** 2) / np.logaddexp(0.2, 0) ** 2)


def test_the_prediction_of_a_gaussian_process_beside_numpy() -> None:
    parameters, x, y = gp_data()
    places = np.linspace(0, 6, 11)[:, None]
    mean, variance = gp_regression.predict(parameters, lento.asarray(x), lento.asarray(y), lento.asarray(places))
    inverse = np.linalg.inv(kernel(x, x) + (np.logaddexp(-2, 0) + 1e-6) * np.eye(9))
    cross = kernel(places, x)
    np.testing.assert_allclose(mean.numpy(), cross @ inverse @ (y - y.mean()) + y.mean(), rtol=1e-9)
    np.testing.assert_allclose(
        variance.numpy(), kernel(places, places) - cross @ inverse @ cross.T, rtol=1e-9, atol=1e-12
    )


def test_the_likelihood_of_a_gaussian_process_beside_scipy() -> None:
    parameters, x, y = gp_data()
    value = float(gp_regression.negative_log_likelihood(parameters, lento.asarray(x), lento.asarray(y)))
    matrix = kernel(x, x) + (np.logaddexp(-2, 0) + 1e-6) * np.eye(9)
    likelihood = stats.multivariate_normal.logpdf((y - y.mean())[:, 0], cov=matrix)
    log_amplitude = np.log(np.logaddexp(0.3, 0))
    # The prior is taken away from the likelihood, not added: so it is in the original.
    prior = stats.norm.logpdf(log_amplitude) - log_amplitude
    assert value == pytest.approx(prior - likelihood, rel=1e-9)


def test_fitting_makes_the_data_more_likely() -> None:
    parameters, x, y = gp_data()
    data = lento.asarray(x), lento.asarray(y)
    fitted = gp_regression.fit(parameters, *data, steps=30)
    before, after = (float(gp_regression.negative_log_likelihood(p, *data)) for p in (parameters, fitted))
    assert after < before
    assert float(parameters["noise"][0, 0]) == -2  # what was given is as it was


def batch() -> tuple[dp_sgd.Net, lento.Tensor, lento.Tensor]:
    lento.random.seed(0)
    return dp_sgd.Net(), lento.random.uniform((3, 1, 28, 28)), lento.asarray([1, 7, 3])


def test_without_noise_and_limit_the_private_gradient_is_the_gradient() -> None:
    model, pictures, digits = batch()
    none = lento.tree.map(lento.zeros_like, model)
    private = dp_sgd.private_gradient(model, pictures, digits, none, clip=1e6, multiplier=0.0)
    plain = lento.grad(dp_sgd.loss)(model, pictures, digits)
    for name, value in plain.parameters().items():
        np.testing.assert_allclose(private.parameters()[name].numpy(), value.numpy(), rtol=1e-4, atol=1e-6)


def test_no_example_has_more_than_its_share() -> None:
    model, pictures, digits = batch()
    clipped = lento.vmap(dp_sgd.clipped_gradient, in_axes=(None, 0, 0, None))(model, pictures, digits, 0.01)
    squares = sum((value**2).reshape(3, -1).sum(axis=1) for value in clipped.parameters().values())
    np.testing.assert_allclose(lento.sqrt(squares).numpy(), 0.01, rtol=1e-4)


def test_private_training_adds_the_noise_that_is_given() -> None:
    model, pictures, digits = batch()
    start = {name: value.numpy() for name, value in model.state_dict().items()}
    ones = lento.tree.map(lento.ones_like, model)
    dp_sgd.train(model, [(pictures, digits, ones)], lr=3.0, clip=1e-6, multiplier=1e6)
    for name, value in model.state_dict().items():  # one over three examples, times the rate
        np.testing.assert_allclose(value.numpy(), start[name] - 1, rtol=1e-4, atol=1e-4)


def test_log_densities_beside_scipy() -> None:
    x = np.linspace(-3, 3, 7)
    np.testing.assert_allclose(advi.log_normal(lento.asarray(x), 0.5, 2.0).numpy(), stats.norm.logpdf(x, 0.5, 2.0))
    point = lento.asarray([0.7, -0.2], dtype=lento.float64)
    expected = stats.norm.logpdf(0.7, 0, np.exp(-0.2)) + stats.norm.logpdf(-0.2, 0, 1.35)
    assert float(advi.funnel(point)) == pytest.approx(expected, rel=1e-12)


def test_inference_finds_a_density_that_it_can_be() -> None:
    """With samples of mean 0 and deviation 1 the gradient vanishes at the truth, so that it is found to all digits."""

    def density(point: lento.Tensor) -> lento.Tensor:
        return advi.log_normal(point, lento.asarray([1.0, -2.0]), lento.asarray([0.5, 2.0])).sum()

    drawn = np.random.default_rng(0).standard_normal((300, 20, 2))
    normals = (drawn - drawn.mean(axis=1, keepdims=True)) / drawn.std(axis=1, keepdims=True)
    mean, log_deviation = advi.fit(density, map(lento.asarray, normals), lr=0.02)
    np.testing.assert_allclose(mean.numpy(), [1, -2], rtol=1e-4)
    np.testing.assert_allclose(np.exp(log_deviation.numpy()), [0.5, 2], rtol=1e-4)
    assert float(advi.bound(density, mean, log_deviation, lento.asarray(normals[0]))) == pytest.approx(0, abs=1e-4)
