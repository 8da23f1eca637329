"""scipy.stats with tensors: statistics, tests, quantiles."""

from __future__ import annotations

from typing import Any

import lento
import numpy as np
import pytest
import scipy.stats as stats
from friend_calls import FLOAT_ERROR, Call, call_with_tensors, check, check_types, syncs_of

pytestmark = pytest.mark.peers


def make_data(count: int) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    return {
        "x": rng.standard_normal(count),
        "y": rng.standard_normal(count),
        "p": rng.random(count),
        "counts": rng.integers(1, 20, count),
        "expected": np.full(count, 10.0),
        "observed": rng.permuted(np.tile([9.0, 11.0], count // 2)),
    }


DATA = make_data(1000)

STATISTICS: dict[str, Call] = {
    "skew": lambda x: stats.skew(x),
    "kurtosis": lambda x: stats.kurtosis(x),
    "gmean": lambda p: stats.gmean(p),
    "hmean": lambda p: stats.hmean(p),
    "pmean": lambda p: stats.pmean(p, 2),
    "zscore": lambda x: stats.zscore(x),
    "zmap": lambda x, y: stats.zmap(x, y),
    "sem": lambda x: stats.sem(x),
    "variation": lambda p: stats.variation(p),
    "moment": lambda x: stats.moment(x, 3),
    "iqr": lambda x: stats.iqr(x),
    "median_abs_deviation": lambda x: stats.median_abs_deviation(x),
    "trim_mean": lambda x: stats.trim_mean(x, 0.1),
    "tmean": lambda x: stats.tmean(x),
    "tstd": lambda x: stats.tstd(x),
    "gstd": lambda p: stats.gstd(p),
    "entropy": lambda p: stats.entropy(p),
    "differential_entropy": lambda x: stats.differential_entropy(x),
    "kstat": lambda x: stats.kstat(x),
    "quantile": lambda x: stats.quantile(x, 0.25),
    "mode": lambda counts: stats.mode(counts),
    "circmean": lambda x: stats.circmean(x),
    "circvar": lambda x: stats.circvar(x),
    "describe": lambda x: stats.describe(x)[2:],
}

TESTS: dict[str, Call] = {
    "normaltest": lambda x: tuple(stats.normaltest(x)),
    "skewtest": lambda x: tuple(stats.skewtest(x)),
    "kurtosistest": lambda x: tuple(stats.kurtosistest(x)),
    "jarque_bera": lambda x: tuple(stats.jarque_bera(x)),
    "ttest_1samp": lambda x: tuple(stats.ttest_1samp(x, 0)),
    "ttest_ind": lambda x, y: tuple(stats.ttest_ind(x, y)),
    "ttest_rel": lambda x, y: tuple(stats.ttest_rel(x, y)),
    "pearsonr": lambda x, y: tuple(stats.pearsonr(x, y)),
    "chisquare": lambda expected, observed: tuple(stats.chisquare(observed, expected)),
    "mannwhitneyu": lambda x, y: tuple(stats.mannwhitneyu(x, y)),
    "wilcoxon": lambda x, y: tuple(stats.wilcoxon(x, y)),
    "f_oneway": lambda x, y: tuple(stats.f_oneway(x, y)),
    "bartlett": lambda x, y: tuple(stats.bartlett(x, y)),
    "levene": lambda x, y: tuple(stats.levene(x, y)),
    "kruskal": lambda x, y: tuple(stats.kruskal(x, y)),
}


@pytest.mark.parametrize("name", [*STATISTICS, *TESTS])
def test_calls_that_give_tensors(name: str) -> None:
    check_types(check({**STATISTICS, **TESTS}[name], DATA, error=FLOAT_ERROR), lento.Tensor)


# SciPy asks whether there is a nan, whether all are positive, and (array-api-compat) whether bool(x) can be answered.
@pytest.mark.parametrize("name", [*STATISTICS, *TESTS])
def test_syncs_do_not_grow_with_the_number_of_elements(name: str) -> None:
    few, many = (syncs_of({**STATISTICS, **TESTS}[name], make_data(count)) for count in (200, 1000))
    assert many == few <= 20


# SciPy has not moved these to the standard: it gives numbers of NumPy.
NUMBERS: dict[str, Call] = {
    "spearmanr": lambda x, y: tuple(stats.spearmanr(x, y)),
    "kendalltau": lambda x, y: tuple(stats.kendalltau(x, y)),
    "linregress": lambda x, y: tuple(stats.linregress(x, y)),
    "ks_2samp": lambda x, y: tuple(stats.ks_2samp(x, y)),
    "shapiro": lambda x: tuple(stats.shapiro(x)),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_calls_that_give_numbers(name: str) -> None:
    check_types(check(NUMBERS[name], DATA), np.floating)
    assert syncs_of(NUMBERS[name], DATA) <= 4


def test_ranks_have_the_default_dtype() -> None:
    """SciPy gives ranks the dtype of xp.asarray(1.0), which is float32 here as in torch; halves are exact in it."""
    ranks = check(lambda counts: stats.rankdata(counts), DATA, dtypes=False)
    assert ranks.dtype is lento.float32


def test_nan_policies() -> None:
    data = {"x": np.where(DATA["x"] > 2, np.nan, DATA["x"])}
    check(lambda x: stats.skew(x), data)
    check(lambda x: stats.skew(x, nan_policy="omit"), data, error=FLOAT_ERROR)
    with pytest.raises(ValueError, match="contains nan"):
        call_with_tensors(lambda x: stats.skew(x, nan_policy="raise"), data)


def test_axes() -> None:
    data = {"table": DATA["x"].reshape(50, 20)}
    for axis in (0, 1, None):
        check(lambda table, axis=axis: stats.skew(table, axis=axis), {**data, "axis": axis}, error=FLOAT_ERROR)
        check(lambda table, axis=axis: stats.quantile(table, 0.3, axis=axis), {**data, "axis": axis}, error=FLOAT_ERROR)
