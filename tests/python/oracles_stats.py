"""Densities that SciPy has not, or has for one distribution at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special, stats

Array = Any


def categorical_pmf(k: Array, logits: Array) -> Array:
    p = special.softmax(np.asarray(logits, np.float64), axis=-1)
    shape = np.broadcast_shapes(np.shape(k), p.shape[:-1])
    positions, rows = np.broadcast_to(k, shape), np.broadcast_to(p, (*shape, p.shape[-1]))
    result = np.zeros(shape)
    for where in np.ndindex(shape):
        if 0 <= positions[where] < p.shape[-1]:
            result[where] = rows[where][positions[where]]
    return result


def categorical_logpmf(k: Array, logits: Array) -> Array:
    return np.log(categorical_pmf(k, logits))


def multivariate_normal_logpdf(x: Array, mean: Array, cov: Array) -> Array:
    shape = np.broadcast_shapes(x.shape[:-1], mean.shape[:-1], cov.shape[:-2])
    size = x.shape[-1]
    xs, means = np.broadcast_to(x, (*shape, size)), np.broadcast_to(mean, (*shape, size))
    covs = np.broadcast_to(cov, (*shape, size, size))
    result = np.zeros(shape)
    for where in np.ndindex(shape):
        result[where] = stats.multivariate_normal.logpdf(xs[where], means[where], covs[where])
    return result


def dirichlet_logpdf(x: Array, alpha: Array) -> Array:
    x, alpha = np.asarray(x, np.float64), np.asarray(alpha, np.float64)
    constant = special.gammaln(alpha.sum(-1)) - special.gammaln(alpha).sum(-1)
    return constant + special.xlogy(alpha - 1, x).sum(-1)
