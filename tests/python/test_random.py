"""Random ops: their distribution, their dependence on the seed alone, their shapes and dtypes."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest
from scipy import special, stats

N = 20_000
random = lento.random

# name, how to draw N numbers, the distribution they must follow
CONTINUOUS: list[tuple[str, Callable[..., Any], Any]] = [
    ("uniform", lambda **k: random.uniform((N,), -1.0, 3.0, **k), stats.uniform(-1, 4)),
    ("normal", lambda **k: random.normal((N,), 1.0, 2.0, **k), stats.norm(1, 2)),
    ("exponential", lambda **k: random.exponential((N,), 2.0, **k), stats.expon(scale=2)),
    ("laplace", lambda **k: random.laplace((N,), 1.0, 2.0, **k), stats.laplace(1, 2)),
    ("logistic", lambda **k: random.logistic((N,), 1.0, 2.0, **k), stats.logistic(1, 2)),
    ("gumbel", lambda **k: random.gumbel((N,), 1.0, 2.0, **k), stats.gumbel_r(1, 2)),
    ("cauchy", lambda **k: random.cauchy((N,), 1.0, 2.0, **k), stats.cauchy(1, 2)),
    ("lognormal", lambda **k: random.lognormal((N,), 0.5, 0.25, **k), stats.lognorm(0.25, scale=math.exp(0.5))),
    ("truncated_normal", lambda **k: random.truncated_normal((N,), -1.0, 2.0, **k), stats.truncnorm(-1, 2)),
    ("gamma", lambda **k: random.gamma((N,), 2.5, 2.0, **k), stats.gamma(2.5, scale=2)),
    ("gamma-small", lambda **k: random.gamma((N,), 0.3, 1.0, **k), stats.gamma(0.3)),
    ("beta", lambda **k: random.beta((N,), 2.5, 1.5, **k), stats.beta(2.5, 1.5)),
    ("beta-small", lambda **k: random.beta((N,), 0.3, 0.6, dtype=lento.float64, **k), stats.beta(0.3, 0.6)),
    ("beta-large", lambda **k: random.beta((N,), 300.0, 200.0, **k), stats.beta(300, 200)),
    ("dirichlet", lambda **k: random.dirichlet(lento.asarray([1.5, 2, 3]), (N,), **k)[:, 0], stats.beta(1.5, 5)),
    ("uniform_like", lambda **k: random.uniform_like(lento.zeros((N,)), 0.0, 2.0, **k), stats.uniform(0, 2)),
    ("normal_like", lambda **k: random.normal_like(lento.zeros((N,)), 0.0, 2.0, **k), stats.norm(0, 2)),
]
IDS = [c[0] for c in CONTINUOUS]


@pytest.mark.parametrize(("draw", "distribution"), [c[1:] for c in CONTINUOUS], ids=IDS)
def test_continuous_distributions(draw: Callable[..., Any], distribution: Any) -> None:
    values = draw(generator=random.Generator(7)).numpy().astype(np.float64)
    assert stats.kstest(values, distribution.cdf).pvalue > 1e-4


@pytest.mark.parametrize("draw", [c[1] for c in CONTINUOUS], ids=IDS)
def test_the_seed_decides(draw: Callable[..., Any]) -> None:
    a, b, c = (draw(generator=random.Generator(seed)).numpy() for seed in (3, 3, 4))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)
    generator = random.Generator(3)
    first, second = draw(generator=generator).numpy(), draw(generator=generator).numpy()
    np.testing.assert_array_equal(first, a)
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_stays_in_its_interval(dtype: str) -> None:
    x = random.uniform((N,), dtype=dtype)
    assert x.dtype.name == dtype
    values = x.numpy().astype(np.float64)
    assert values.min() >= 0
    assert values.max() < 1
    assert random.uniform().shape == ()
    assert random.normal((0, 3)).shape == (0, 3)


# name, how to draw N counts, the distribution they must follow
COUNTS: list[tuple[str, Callable[..., Any], Any]] = [
    ("poisson-0.1", lambda **k: random.poisson((N,), 0.1, **k), stats.poisson(0.1)),
    ("poisson-4", lambda **k: random.poisson((N,), 4.0, **k), stats.poisson(4)),
    ("poisson-9.9", lambda **k: random.poisson((N,), 9.9, **k), stats.poisson(9.9)),
    ("poisson-10", lambda **k: random.poisson((N,), 10, **k), stats.poisson(10)),
    ("poisson-35", lambda **k: random.poisson((N,), lento.full((), 35.0), **k), stats.poisson(35)),
    ("poisson-1e6", lambda **k: random.poisson((N,), 1e6, **k), stats.poisson(1e6)),
    ("binomial-1", lambda **k: random.binomial((N,), 1, 0.3, **k), stats.binom(1, 0.3)),
    ("binomial-12", lambda **k: random.binomial((N,), 12, 0.8, **k), stats.binom(12, 0.8)),
    ("binomial-20", lambda **k: random.binomial((N,), 20, 0.5, **k), stats.binom(20, 0.5)),
    ("binomial-100", lambda **k: random.binomial((N,), lento.asarray(100), 0.02, **k), stats.binom(100, 0.02)),
    ("binomial-1000", lambda **k: random.binomial((N,), 1000, lento.full((), 0.7), **k), stats.binom(1000, 0.7)),
    ("binomial-1e7", lambda **k: random.binomial((N,), 10_000_000, 0.25, **k), stats.binom(10_000_000, 0.25)),
]


@pytest.mark.parametrize(("draw", "distribution"), [c[1:] for c in COUNTS], ids=[c[0] for c in COUNTS])
def test_counts(draw: Callable[..., Any], distribution: Any) -> None:
    x = draw(generator=random.Generator(7))
    assert x.dtype is lento.int64
    values = x.numpy()
    np.testing.assert_array_equal(values, draw(generator=random.Generator(7)).numpy())
    assert not np.array_equal(values, draw(generator=random.Generator(8)).numpy())
    deviation = distribution.std() / np.sqrt(N)
    assert abs(values.mean() - distribution.mean()) < 4 * deviation
    # Some twenty classes, each of which is likely.
    edges = np.unique(distribution.ppf(np.linspace(0, 1, 22)[1:-1]))
    expected = np.diff(np.concatenate([[0], distribution.cdf(edges), [1]])) * N
    found = np.bincount(np.searchsorted(edges, values), minlength=len(edges) + 1)
    kept = expected > 5
    both = [np.append(a[kept], a[~kept].sum()) for a in (found, expected)]
    kept = both[1] > 0
    assert stats.chisquare(both[0][kept], both[1][kept]).pvalue > 1e-4


@pytest.mark.parametrize("seed", range(2))
def test_counts_have_no_outliers_and_the_right_spread(seed: int) -> None:
    means = np.array([0, 0.01, 1, 5, 9.999, 10, 11, 30, 1e4, 1e9])
    n_draws = 4000
    generator = random.Generator(seed)
    x = random.poisson((n_draws, 10), lento.asarray(means), generator=generator).numpy()
    assert (x[:, 0] == 0).all()
    assert (x.max(0) <= stats.poisson.isf(1e-9, means)).all()
    assert (x.min(0) >= stats.poisson.ppf(1e-9, means)).all()
    ratio = x[:, 2:].var(0) / means[2:]
    np.testing.assert_allclose(ratio, 1, atol=0.1)
    p = np.array([0, 0.001, 0.3, 0.5, 0.7, 1])
    n = np.array([[7], [40], [10**6]])
    y = random.binomial((n_draws, 3, 6), lento.asarray(n), lento.asarray(p), generator=generator).numpy()
    assert (y[..., 0] == 0).all()
    assert (y[..., -1] == n[:, 0]).all()
    assert (y.max(0) <= stats.binom.isf(1e-9, n, p)).all()
    assert (y.min(0) >= stats.binom.ppf(1e-9, n, p)).all()
    np.testing.assert_allclose((y.var(0) / np.maximum(n * p * (1 - p), 1e-9))[1:, 2:5], 1, atol=0.1)


def test_counts_refuse_what_is_no_probability() -> None:
    for call in (
        lambda: random.poisson((2,), -1.0),
        lambda: random.binomial((2,), -1, 0.5),
        lambda: random.binomial((2,), 2.5, 0.5),
        lambda: random.binomial((2,), 2, 1.5),
    ):
        with pytest.raises(ValueError, match=r"(poisson|binomial): (lam|n|p) must"):
            call()
    assert random.poisson((2,), 3.0, dtype=lento.float32).dtype is lento.float32
    assert random.binomial(n=lento.asarray([3, 4]), p=0.5).shape == (2,)
    with pytest.raises(TypeError, match="cannot hold counts"):
        random.poisson((2,), 3.0, dtype=lento.complex64)


def test_counts_of_senseless_elements_can_be_told_from_counts() -> None:
    rate = lento.asarray([1.0, -1.0, -5.0, np.nan, np.inf, 30.0])
    counts = random.poisson((50, 6), rate).numpy()
    assert (counts[:, 1:5] == -1).all()
    assert (counts[:, [0, 5]] >= 0).all()
    n, p = lento.asarray([10.0, 10, 10, -3, 2.5, 100]), lento.asarray([0.5, 1.5, np.nan, 0.5, 0.5, 0.4])
    counts = random.binomial((50, 6), n, p).numpy()
    assert (counts[:, 1:5] == -1).all()
    assert ((counts[:, [0, 5]] >= 0) & (counts[:, [0, 5]] <= [10, 100])).all()
    floats = random.binomial((6,), n, p, dtype=lento.float32).numpy()
    assert (np.isnan(floats) == [False, True, True, True, True, False]).all()
    assert np.isnan(random.poisson((), lento.asarray(-1.0), dtype=lento.float64).item())


def test_a_call_in_numpys_order_is_warned_of_where_it_gives_nothing() -> None:
    for draw in (random.uniform, random.normal, random.laplace, random.logistic, random.gumbel, random.lognormal):
        with pytest.warns(RuntimeWarning, match=rf"the shape comes first.*lento\.random\.{draw.__name__}\(5, 0, 1\)"):
            assert draw(0, 1, 5).shape == (0,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert random.uniform(0).shape == random.uniform((0,), -1, 1).shape == (0,)
        assert random.normal(5, 0, 1).shape == (5,)
    with warnings.catch_warnings(), pytest.raises(RuntimeWarning, match="empty"):
        warnings.simplefilter("error")
        random.uniform(0, 1, 5)


def test_a_call_in_numpys_order_is_warned_of_where_it_gives_few_numbers() -> None:
    for call, says in (
        (lambda: random.normal(5, 2, 100), "lento.random.normal(5, 2, 100) draws 5 numbers: the shape comes first"),
        (lambda: random.uniform(1, 6, 1000), "is lento.random.uniform(1000, 1, 6)"),
        (lambda: random.randint(1, 7, 10), "also written lento.random.randint((1,), 7, 10)"),
        (lambda: random.gamma(2, 0.5, 50), "is lento.random.gamma(50, 2, 0.5)"),
        (lambda: random.beta(2, 3, 50), "is lento.random.beta(50, 2, 3)"),
    ):
        with pytest.warns(RuntimeWarning, match=re.escape(says)):
            call()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert random.normal((5,), 2, 100).shape == random.normal(5, 2, 1).shape == random.normal(5, 0, 9).shape == (5,)
        assert random.uniform(1000, 1, 6).shape == random.randint(1000, 1, 6).shape == (1000,)
        assert random.randint(3, 5, 10).shape == random.gamma(3, 3, 4).shape == random.beta(3, 2, 3).shape == (3,)
        assert random.uniform(0, 0, 1).shape == (0,)
        assert random.randint(10, 0, 5).shape == random.randint(10, 0, 100).shape == (10,)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda n: random.normal(3, 0, n), "scale"),
        (lambda n: random.laplace(3, 0, n), "scale"),
        (lambda n: random.logistic(3, 0, n), "scale"),
        (lambda n: random.gumbel(3, 0, n), "scale"),
        (lambda n: random.cauchy(3, 0, n), "scale"),
        (lambda n: random.exponential(3, n), "scale"),
        (lambda n: random.lognormal(3, 0, n), "sigma"),
        (lambda n: random.gamma(3, n), "alpha"),
        (lambda n: random.gamma(3, 1, n), "scale"),
        (lambda n: random.beta(3, n, 1), "a"),
        (lambda n: random.beta(3, 1, n), "b"),
    ],
)
def test_negative_scales_are_refused(call: Any, name: str) -> None:
    for number in (-1, -0.5):
        with pytest.raises(ValueError, match=rf": {name} must not be negative, got {number}, at test_random"):
            call(number)
    assert call(0.25).shape == (3,)


def test_dirichlet_sums_to_one_for_tiny_weights() -> None:
    p = random.dirichlet(lento.full((2, 5), 1e-3), (N // 10,), generator=random.Generator(1)).numpy()
    assert p.shape == (N // 10, 2, 5)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(-1), 1, rtol=1e-6)
    np.testing.assert_allclose(p.mean((0, 1)), 0.2, atol=0.03)


def test_multivariate_normal() -> None:
    mean = np.array([1.0, -2.0, 3.0])
    cov = np.array([[2.0, 0.5, -0.3], [0.5, 1.0, 0.2], [-0.3, 0.2, 0.7]])
    draw = lambda seed: random.multivariate_normal(  # noqa: E731
        lento.asarray(mean), lento.asarray(cov), (N,), generator=random.Generator(seed)
    ).numpy()
    x = draw(3)
    np.testing.assert_array_equal(x, draw(3))
    np.testing.assert_allclose(x.mean(0), mean, atol=0.04)
    np.testing.assert_allclose(np.cov(x.T), cov, atol=0.06)
    # The squared distance from the mean, in the metric of the covariance.
    distance = np.einsum("ni,ij,nj->n", x - mean, np.linalg.inv(cov), x - mean)
    assert stats.kstest(distance, stats.chi2(3).cdf).pvalue > 1e-4
    assert random.multivariate_normal(lento.zeros(3), lento.eye(3)).shape == (3,)
    many = random.multivariate_normal(lento.zeros((4, 2)), lento.eye(2)[None] * lento.ones((4, 1, 1)), (5,))
    assert many.shape == (5, 4, 2)
    with pytest.raises(lento.ShapeError, match=r"multivariate_normal: cov must be 3 by 3 .* got shape \(2, 2\)"):
        random.multivariate_normal(lento.zeros(3), lento.eye(2))
    with pytest.raises(lento.LinAlgError):
        random.multivariate_normal(lento.zeros(2), -lento.eye(2)).numpy()


@pytest.mark.parametrize("alpha", [1.0, 1.5, 4.0, 30.0, 1000.0])
def test_gamma_numbers_move_with_alpha_along_their_quantile(alpha: float) -> None:
    x = lento.full((200,), alpha, dtype=lento.float64)
    draw = lambda a: random.gamma((200,), a, generator=random.Generator(2))  # noqa: E731
    z, slope = draw(x).numpy(), lento.grad(lambda a: draw(a).sum())(x).numpy()
    h = 1e-4 * alpha
    # From the nearer end, so that nothing cancels.
    probability = lambda a: np.where(z < alpha, special.gammainc(a, z), -special.gammaincc(a, z))  # noqa: E731
    expected = -(probability(alpha + h) - probability(alpha - h)) / (2 * h) / stats.gamma.pdf(z, alpha)
    np.testing.assert_allclose(slope, expected, rtol=1e-4)


@pytest.mark.parametrize("alpha", [0.4, 1.0, 3.0])
def test_derivatives_through_draws_have_the_right_mean(alpha: float) -> None:
    n = 40_000

    def mean_of(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda a: f(random.gamma((n,), a, dtype=lento.float64, generator=random.Generator(1))).mean()

    a = lento.asarray(alpha, dtype=lento.float64)
    assert float(lento.grad(mean_of(lambda z: z))(a)) == pytest.approx(1, abs=0.03)
    assert float(lento.grad(mean_of(lento.log))(a)) == pytest.approx(special.polygamma(1, alpha), rel=0.03)
    if alpha == 3:
        assert float(lento.grad(lento.grad(mean_of(lambda z: z * z)))(a)) == pytest.approx(2, abs=0.1)
    beta = lambda a: random.beta((n,), a, 2.0, dtype=lento.float64, generator=random.Generator(1)).mean()  # noqa: E731
    assert float(lento.grad(beta)(a)) == pytest.approx(2 / (alpha + 2) ** 2, rel=0.03)


PARAMETERS = {
    "gamma": lambda a, **k: random.gamma((3,), a, **k),
    "beta": lambda a, **k: random.beta((3,), a, 2.0, **k),
    "dirichlet": lambda a, **k: random.dirichlet(lento.stack([a, a, a]), **k),
    "poisson": lambda a, **k: random.poisson((3,), 5 * a, **k),
    "binomial": lambda a, **k: random.binomial((3,), 40, 0.1 * a, **k),
    "multivariate_normal": lambda a, **k: random.multivariate_normal(
        lento.stack([a, a, a]), lento.diag(lento.stack([a, a, a])), **k
    ),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_draw_for_each_of_many_parameters(name: str) -> None:
    a = lento.asarray([0.5, 1.5, 3.0, 3.0])
    random.seed(1)
    different = lento.vmap(PARAMETERS[name], randomness="different")(a).numpy()
    assert different.shape == (4, 3)
    assert not np.array_equal(different[2], different[3])
    same = lento.vmap(PARAMETERS[name], randomness="same")(a).numpy()
    np.testing.assert_array_equal(same[2], same[3])


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_same_numbers_on_both_backends(name: str) -> None:
    a = lento.asarray(1.5)
    cpu = PARAMETERS[name](a, generator=random.Generator(5)).numpy()
    reference = PARAMETERS[name](a.to_device("reference"), generator=random.Generator(5))
    assert reference.device == "reference"
    np.testing.assert_allclose(cpu, reference, rtol=1e-5)


def test_bernoulli() -> None:
    for x in (random.bernoulli((N,), 0.3), random.bernoulli_like(lento.zeros((N,)), 0.3)):
        mean = float(x.numpy().astype(np.float64).mean())
        assert abs(mean - 0.3) < 0.02
    assert not random.bernoulli((100,), 0.0).numpy().any()
    assert random.bernoulli((100,), 1.0).numpy().all()


def test_randint() -> None:
    for x in (random.randint((N,), -2, 5), random.randint_like(lento.zeros((N,), dtype=lento.int64), -2, 5)):
        values, counts = np.unique(x.numpy(), return_counts=True)
        assert values.tolist() == list(range(-2, 5))
        assert stats.chisquare(counts).pvalue > 1e-4
    assert random.randint((3,), 0, 10, dtype=lento.int8).dtype is lento.int8


def test_permutation_and_shuffle() -> None:
    x = random.permutation(50)
    assert sorted(x.tolist()) == list(range(50))
    assert x.tolist() != list(range(50))
    data = np.arange(40).reshape(20, 2)
    shuffled = random.shuffle(lento.asarray(data)).numpy()
    assert sorted(map(tuple, shuffled)) == sorted(map(tuple, data))
    assert not np.array_equal(shuffled, data)


def test_choice() -> None:
    x = lento.asarray(np.arange(10, 20))
    drawn = random.choice(x, (N,)).numpy()
    assert set(drawn.tolist()) == set(range(10, 20))
    alone = random.choice(x, (10,), replace=False).numpy()
    assert sorted(alone.tolist()) == list(range(10, 20))
    p = np.zeros(10, np.float32)
    p[3] = 1
    assert set(random.choice(x, (100,), p=lento.asarray(p)).tolist()) == {13}


def test_categorical_and_multinomial() -> None:
    p = np.array([0.1, 0.2, 0.7])
    drawn = random.categorical(lento.asarray(np.log(p).astype(np.float32)), shape=(N,)).numpy()
    counts = np.bincount(drawn.ravel(), minlength=3)
    assert stats.chisquare(counts, p * counts.sum()).pvalue > 1e-4
    both = random.multinomial(lento.asarray(p.astype(np.float32)), N, replacement=True).numpy()
    counts = np.bincount(both.ravel(), minlength=3)
    assert stats.chisquare(counts, p * counts.sum()).pvalue > 1e-4
    assert sorted(random.multinomial(lento.asarray(p.astype(np.float32)), 3).tolist()) == [0, 1, 2]


def test_dropout_keeps_the_mean() -> None:
    y = lento.nn.dropout(lento.ones((N,)), 0.25, training=True).numpy()
    assert set(np.unique(y).astype(np.float64).round(5).tolist()) == {0.0, round(1 / 0.75, 5)}
    assert abs(float(y.mean()) - 1) < 0.03
    assert lento.nn.dropout(lento.ones((3,)), 0.25, training=False).tolist() == [1, 1, 1]


def test_gumbel_softmax() -> None:
    logits = lento.asarray(np.log(np.array([[0.1, 0.2, 0.7]], np.float32)).repeat(N // 10, 0))
    soft = lento.nn.gumbel_softmax(logits, 0.5).numpy()
    np.testing.assert_allclose(soft.sum(-1), 1, rtol=1e-5)
    hard = lento.nn.gumbel_softmax(logits, 0.5, True).numpy()
    assert set(np.unique(hard).round(6).tolist()) <= {0.0, 1.0}
    assert stats.chisquare(hard.sum(0), np.array([0.1, 0.2, 0.7]) * len(hard)).pvalue > 1e-4


def test_seeding_restarts_the_default_sequence_and_state_can_be_saved() -> None:
    random.seed(5)
    a = random.normal((4,)).tolist()
    state = random.default_generator().state
    b = random.normal((4,)).tolist()
    random.default_generator().state = state
    assert random.normal((4,)).tolist() == b
    random.seed(5)
    assert random.normal((4,)).tolist() == a


def test_normal_has_tails() -> None:
    values = random.normal((200_000,), generator=random.Generator(1)).numpy()
    assert np.abs(values).max() > 4
    assert np.isfinite(values).all()
    assert special.ndtr(np.abs(values).max()) < 1


IMAGINARY = lento.asarray([1j, 2j])
REFUSED: dict[str, Callable[..., Any]] = {
    "uniform": lambda **k: random.uniform((2,), IMAGINARY, 2.0, **k),
    "normal": lambda **k: random.normal((2,), 0.0, IMAGINARY, **k),
    "exponential": lambda **k: random.exponential((2,), IMAGINARY, **k),
    "truncated_normal": lambda **k: random.truncated_normal((2,), 1.0, 2.0, 1j, **k),
    "gamma": lambda **k: random.gamma((2,), 1.0, IMAGINARY, **k),  # draws three times
    "gumbel_softmax": lambda **k: lento.nn.gumbel_softmax(lento.zeros(3), axis=4, **k),
    "randint": lambda **k: random.randint((2,), 5, 3, **k),
    "device": lambda **k: random.uniform((2,), device="nowhere", **k),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_draws_nothing(name: str) -> None:
    own = random.Generator(3)
    random.uniform((5,), generator=own)
    for generator in (own, random.default_generator()):
        before = generator.state
        with pytest.raises(lento.Error):
            REFUSED[name](generator=generator)
        assert generator.state == before


def test_parameters_are_lists_where_they_cannot_be_meant_as_the_shape() -> None:
    named = lento.random.normal(3, loc=[100, 200, 300], scale=[0, 0, 0])
    np.testing.assert_array_equal(named, [100, 200, 300])
    np.testing.assert_array_equal(lento.random.normal(3, [0.5, 1.5, 2.5], 0), [0.5, 1.5, 2.5])
    np.testing.assert_array_equal(lento.random.normal((2, 2), [1, 2], 0), [[1, 2], [1, 2]])
