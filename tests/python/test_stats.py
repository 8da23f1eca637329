"""lento.stats beyond the samples of the catalogue: names, support, derivatives at its ends, vmap, one plan."""

from __future__ import annotations

from typing import Any

import lento
import numpy as np
import pytest
import scipy.stats
from lento import _stats, stats
from lento._attribute_hints import Hint

FAMILIES = {name: family for name, family in vars(stats).items() if isinstance(family, type) and name[0] != "_"}


def test_every_function_has_a_family_and_a_flat_name() -> None:
    inside = {
        f"{name}_{f}": getattr(family, f)
        for name, family in FAMILIES.items()
        for f, value in vars(family).items()
        if f[0] != "_" and not isinstance(value, Hint)
    }
    assert inside == {name: getattr(_stats, name) for name in _stats.__all__}
    assert all(family.__doc__ for family in FAMILIES.values())


@pytest.mark.parametrize("name", FAMILIES)
def test_what_a_distribution_of_others_has_says_what_to_write(name: str) -> None:
    family: Any = FAMILIES[name]
    with pytest.raises(TypeError, match=rf"{name}\(\): there are no objects .* write lento.stats.{name}.log"):
        family(0, 1)
    for method in ("rvs", "sf", "logsf", "cdf", "ppf", "log_prob"):
        if not hasattr(family, method):
            with pytest.raises(AttributeError, match=f"'{name}' has no attribute '{method}'; use "):
                getattr(family, method)


def test_the_hints_of_distributions_are_right() -> None:
    x, df, shape = np.linspace(-3, 3, 7), 7.0, (20_000,)
    np.testing.assert_allclose(stats.norm.cdf(-x, -0.5, 2.0), scipy.stats.norm.sf(x, 0.5, 2.0))
    np.testing.assert_allclose(stats.norm.logcdf(-x, -0.5, 2.0), scipy.stats.norm.logsf(x, 0.5, 2.0))
    lento.random.seed(0)
    drawn = lento.random.normal(shape) / lento.sqrt(2 * lento.random.gamma(shape, df / 2) / df)
    assert scipy.stats.kstest(drawn.numpy(), scipy.stats.t(df).cdf).pvalue > 0.01


@pytest.mark.parametrize("name", sorted(set(FAMILIES) - {"categorical"}))
def test_parameters_are_called_as_in_scipy(name: str) -> None:
    theirs = getattr(scipy.stats, name)
    one = getattr(FAMILIES[name], "logpdf", None) or FAMILIES[name].logpmf  # type: ignore[attr-defined]
    mine = [word.split(":")[0].strip() for word in one.__text_signature__.strip("()").split(",")]
    shapes = theirs.shapes.split(", ") if getattr(theirs, "shapes", None) else []
    if name in ("multivariate_normal", "dirichlet"):
        shapes = {"multivariate_normal": ["mean", "cov"], "dirichlet": ["alpha"]}[name]
    assert [word.split("=")[0] for word in mine if word not in ("/", "$module")][1 : 1 + len(shapes)] == shapes


def test_a_density_integrates_to_its_cdf() -> None:
    x = lento.linspace(-30, 3, 20_001, dtype=lento.float64)
    for name in ("norm", "laplace", "logistic"):
        family: Any = FAMILIES[name]
        area = lento.trapezoid(family.pdf(x, 0.5, 1.5), x)
        np.testing.assert_allclose(area, family.cdf(x[-1], 0.5, 1.5) - family.cdf(x[0], 0.5, 1.5), rtol=1e-6)


def test_gradients_are_numbers_outside_of_the_support_and_at_its_ends() -> None:
    cases = [
        (stats.gamma.logpdf, ([-1.0, 0.0, 2.0], 1.0)),
        (stats.beta.logpdf, ([-1.0, 0.0, 1.0, 2.0], 1.0, 1.0)),
        (stats.expon.logpdf, ([-1.0, 0.0, 2.0],)),
        (stats.uniform.logpdf, ([-1.0, 0.0, 2.0],)),
        (stats.poisson.logpmf, ([-1.0, 0.0, 2.0], 3.0)),
        (stats.bernoulli.logpmf, ([0.0, 1.0, 2.0], 0.25)),
        (stats.binom.logpmf, ([-1.0, 0.0, 3.0, 4.0], 3.0, 0.25)),
    ]
    for function, (x, *parameters) in cases:
        tensors = [lento.asarray(p, dtype=lento.float64) for p in (x, *parameters)]

        def total(*given: Any, function: Any = function) -> Any:
            values = function(*given)
            return lento.where(lento.isfinite(values), values, 0).sum()

        for gradient in lento.grad(total, tuple(range(len(tensors))))(*tensors):
            assert np.isfinite(gradient.numpy()).all(), function


def test_what_has_probability_one_or_zero_has_a_slope() -> None:
    outcomes = lento.asarray([1, 0, 1])
    slope = lento.grad(lambda p: stats.bernoulli.logpmf(outcomes, p).sum())(lento.asarray([0.5, 0.0, 1.0]))
    np.testing.assert_allclose(slope, [2, -1, 1])
    logits = lento.asarray([0.0, 1.0, -lento.inf])
    value, slope = lento.value_and_grad(lambda z: stats.categorical.logpmf(lento.asarray(1), z))(logits)
    np.testing.assert_allclose(float(value), -np.log1p(np.exp(-1)), rtol=1e-6)
    np.testing.assert_allclose(slope, [-0.26894143, 0.26894143, 0], rtol=1e-5)


def test_half_types_are_rounded_once() -> None:
    x = lento.asarray([6.0, -7.0], dtype=lento.bfloat16)
    exact = scipy.stats.norm.pdf([6.0, -7.0])
    np.testing.assert_allclose(stats.norm.pdf(x).numpy().astype(np.float64), exact, rtol=2**-8)


def test_vmap_and_many_matrices_agree() -> None:
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(4, 3, 3))
    covs = lento.asarray(factors @ factors.transpose(0, 2, 1) + np.eye(3))
    x, means = (lento.asarray(rng.normal(size=(4, 3))) for _ in range(2))
    many = stats.multivariate_normal.logpdf(x, means, covs)
    np.testing.assert_allclose(lento.vmap(stats.multivariate_normal.logpdf)(x, means, covs), many, rtol=1e-12)
    one = [stats.multivariate_normal.logpdf(x, means[0], covs[i]).numpy()[i] for i in range(1)]
    np.testing.assert_allclose(many.numpy()[:1], one, rtol=1e-12)


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(lento.ShapeError, match=r"multivariate_normal_logpdf: cov must be 3 by 3 .* got shape \(2, 2\)"):
        stats.multivariate_normal.logpdf(lento.zeros(3), lento.zeros(3), lento.eye(2))
    with pytest.raises(TypeError, match="categorical_logpmf: k must be integers, got float32"):
        stats.categorical.logpmf(lento.zeros(3), lento.zeros(2))
    with pytest.raises(lento.LinAlgError):
        stats.multivariate_normal.logpdf(lento.zeros(2), lento.zeros(2), -lento.eye(2)).numpy()


def test_a_likelihood_in_a_loop_compiles_once() -> None:
    x = lento.asarray(np.random.default_rng(1).normal(2.0, 0.5, size=200))
    parameters = {"loc": lento.asarray(0.0, dtype=lento.float64), "log_scale": lento.asarray(0.0, dtype=lento.float64)}
    loss = lambda p: -stats.norm.logpdf(x, p["loc"], lento.exp(p["log_scale"])).mean()  # noqa: E731
    optimizer = lento.optim.Adam(parameters, lr=0.05)
    optimizer.step(lento.grad(loss)(parameters))
    lento.step()
    before = lento.metrics.counter("plan.miss")
    for _ in range(300):
        optimizer.step(lento.grad(loss)(parameters))
        lento.step()
    assert lento.metrics.counter("plan.miss") - before <= 1
    np.testing.assert_allclose(float(parameters["loc"]), x.numpy().mean(), atol=0.01)
    np.testing.assert_allclose(np.exp(float(parameters["log_scale"])), x.numpy().std(), atol=0.01)
