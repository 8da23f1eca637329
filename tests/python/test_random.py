"""Random ops: their distribution, their dependence on the seed alone, their shapes and dtypes."""

from __future__ import annotations

import math
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
