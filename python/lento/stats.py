"""Densities and probabilities, under SciPy's names. ``logpdf`` and ``logpmf`` are logarithms, -inf where nothing lies;
``cdf`` is the probability of at most that number. Random numbers are in :mod:`lento.random`.

Each function has a flat name too, which is that of C++: ``stats.norm.logpdf`` is ``stats.norm_logpdf``.

    >>> lento.stats.norm.logpdf(lento.asarray([0.0, 1.0]), 0.0, 2.0)
    tensor([-1.6120857, -1.7370857], dtype=float32)
    >>> lento.grad(lambda p: lento.stats.bernoulli.logpmf(lento.asarray([1, 0, 1]), p).sum())(lento.asarray(0.5))
    tensor(2., dtype=float32)
"""

from . import _stats
from ._distribution import Distribution as _Distribution
from ._stats import *  # noqa: F403


class norm(_Distribution):
    """Normal numbers with mean ``loc`` and standard deviation ``scale``."""

    logpdf = staticmethod(_stats.norm_logpdf)
    pdf = staticmethod(_stats.norm_pdf)
    cdf = staticmethod(_stats.norm_cdf)
    logcdf = staticmethod(_stats.norm_logcdf)
    ppf = staticmethod(_stats.norm_ppf)


class uniform(_Distribution):
    """Uniform numbers from ``loc`` to ``loc + scale``."""

    logpdf = staticmethod(_stats.uniform_logpdf)
    pdf = staticmethod(_stats.uniform_pdf)
    cdf = staticmethod(_stats.uniform_cdf)


class expon(_Distribution):
    """Exponential numbers from ``loc`` on, with mean ``loc + scale``."""

    logpdf = staticmethod(_stats.expon_logpdf)
    pdf = staticmethod(_stats.expon_pdf)
    cdf = staticmethod(_stats.expon_cdf)


class laplace(_Distribution):
    """Laplace (double exponential) numbers around ``loc`` with diversity ``scale``."""

    logpdf = staticmethod(_stats.laplace_logpdf)
    pdf = staticmethod(_stats.laplace_pdf)
    cdf = staticmethod(_stats.laplace_cdf)


class logistic(_Distribution):
    """Logistic numbers around ``loc`` with scale ``scale``."""

    logpdf = staticmethod(_stats.logistic_logpdf)
    pdf = staticmethod(_stats.logistic_pdf)
    cdf = staticmethod(_stats.logistic_cdf)


class cauchy(_Distribution):
    """Cauchy numbers around ``loc`` with scale ``scale``."""

    logpdf = staticmethod(_stats.cauchy_logpdf)
    pdf = staticmethod(_stats.cauchy_pdf)
    cdf = staticmethod(_stats.cauchy_cdf)


class gamma(_Distribution):
    """Gamma numbers with shape parameter ``a``."""

    logpdf = staticmethod(_stats.gamma_logpdf)
    pdf = staticmethod(_stats.gamma_pdf)


class beta(_Distribution):
    """Beta numbers with parameters ``a`` and ``b``."""

    logpdf = staticmethod(_stats.beta_logpdf)
    pdf = staticmethod(_stats.beta_pdf)


class t(_Distribution):
    """Student's numbers with ``df`` degrees of freedom."""

    logpdf = staticmethod(_stats.t_logpdf)
    pdf = staticmethod(_stats.t_pdf)


class multivariate_normal(_Distribution):
    """Normal vectors with mean ``mean`` and covariance ``cov``."""

    logpdf = staticmethod(_stats.multivariate_normal_logpdf)
    pdf = staticmethod(_stats.multivariate_normal_pdf)


class dirichlet(_Distribution):
    """Probabilities that sum to 1 along the last axis, with weights ``alpha``."""

    logpdf = staticmethod(_stats.dirichlet_logpdf)
    pdf = staticmethod(_stats.dirichlet_pdf)


class bernoulli(_Distribution):
    """1 with probability ``p``, else 0."""

    logpmf = staticmethod(_stats.bernoulli_logpmf)
    pmf = staticmethod(_stats.bernoulli_pmf)
    cdf = staticmethod(_stats.bernoulli_cdf)


class binom(_Distribution):
    """How many of ``n`` trials succeed, each with probability ``p``."""

    logpmf = staticmethod(_stats.binom_logpmf)
    pmf = staticmethod(_stats.binom_pmf)


class poisson(_Distribution):
    """Counts with mean ``mu``."""

    logpmf = staticmethod(_stats.poisson_logpmf)
    pmf = staticmethod(_stats.poisson_pmf)


class categorical(_Distribution):
    """A class, with probability proportional to ``exp(logits)``."""

    logpmf = staticmethod(_stats.categorical_logpmf)
    pmf = staticmethod(_stats.categorical_pmf)
