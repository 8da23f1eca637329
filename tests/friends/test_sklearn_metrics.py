"""Metrics and kernels of scikit-learn with array_api_dispatch=True."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import lento
import numpy as np
import pytest
import sklearn
from friend_calls import FLOAT_ERROR, Call, call_with_tensors, check, check_types, syncs_of
from sklearn import metrics
from sklearn.metrics import pairwise

pytestmark = pytest.mark.peers


@pytest.fixture(autouse=True)
def dispatch() -> Iterator[None]:
    with sklearn.config_context(array_api_dispatch=True):
        yield


def make_data(count: int = 120) -> dict[str, Any]:
    rng = np.random.default_rng(9)
    truth = rng.random(count)
    return {
        "truth": truth,
        "guess": np.abs(truth + 0.1 * rng.standard_normal(count)),
        "labels": rng.integers(0, 2, count),
        "predicted": rng.integers(0, 2, count),
        "scores": truth,
        "a": rng.random((count, 6)),
        "b": rng.random((count, 6)),
    }


DATA = make_data()

REGRESSION: dict[str, Call] = {
    "r2": lambda truth, guess: metrics.r2_score(truth, guess),
    "mse": lambda truth, guess: metrics.mean_squared_error(truth, guess),
    "rmse": lambda truth, guess: metrics.root_mean_squared_error(truth, guess),
    "mae": lambda truth, guess: metrics.mean_absolute_error(truth, guess),
    "msle": lambda truth, guess: metrics.mean_squared_log_error(truth, guess),
    "mape": lambda truth, guess: metrics.mean_absolute_percentage_error(truth, guess),
    "median": lambda truth, guess: metrics.median_absolute_error(truth, guess),
    "largest": lambda truth, guess: metrics.max_error(truth, guess),
    "variance": lambda truth, guess: metrics.explained_variance_score(truth, guess),
    "pinball": lambda truth, guess: metrics.mean_pinball_loss(truth, guess),
    "tweedie": lambda truth, guess: metrics.mean_tweedie_deviance(truth, guess),
    "d2": lambda truth, guess: metrics.d2_absolute_error_score(truth, guess),
}

PROBABILITIES: dict[str, Call] = {
    "log_loss": lambda labels, scores: metrics.log_loss(labels, scores),
    "brier": lambda labels, scores: metrics.brier_score_loss(labels, scores),
    "average precision": lambda labels, scores: metrics.average_precision_score(labels, scores),
}


@pytest.mark.parametrize("name", [*REGRESSION, *PROBABILITIES])
def test_losses_are_floats(name: str) -> None:
    call = {**REGRESSION, **PROBABILITIES}[name]
    check_types(check(call, DATA, error=FLOAT_ERROR), float)
    few, many = (syncs_of(call, make_data(count)) for count in (120, 1200))
    assert many == few <= 20


COUNTING: dict[str, Call] = {
    "accuracy": lambda labels, predicted: metrics.accuracy_score(labels, predicted),
    "balanced accuracy": lambda labels, predicted: metrics.balanced_accuracy_score(labels, predicted),
    "precision": lambda labels, predicted: metrics.precision_score(labels, predicted),
    "recall": lambda labels, predicted: metrics.recall_score(labels, predicted),
    "f1": lambda labels, predicted: metrics.f1_score(labels, predicted),
    "jaccard": lambda labels, predicted: metrics.jaccard_score(labels, predicted),
    "hamming": lambda labels, predicted: metrics.hamming_loss(labels, predicted),
    "zero-one": lambda labels, predicted: metrics.zero_one_loss(labels, predicted),
    "kappa": lambda labels, predicted: metrics.cohen_kappa_score(labels, predicted),
    "rand": lambda labels, predicted: metrics.adjusted_rand_score(labels, predicted),
}


# A quotient of integers and a mean of zeros and ones are float32 here and float64 in NumPy.
@pytest.mark.parametrize("name", COUNTING)
def test_scores_of_labels(name: str) -> None:
    check_types(check(COUNTING[name], DATA, error=float(np.finfo(np.float32).eps)), float)
    few, many = (syncs_of(COUNTING[name], make_data(count)) for count in (120, 1200))
    assert many == few <= 40


# The curves divide counts that are kept in the dtype of the scores.
MATRICES: dict[str, Call] = {
    "confusion": lambda labels, predicted: metrics.confusion_matrix(labels, predicted),
    "multilabel": lambda labels, predicted: metrics.multilabel_confusion_matrix(labels, predicted),
    "precision and recall": lambda labels, scores: metrics.precision_recall_curve(labels, scores),
    "detection": lambda labels, scores: metrics.det_curve(labels, scores),
    "roc, every threshold": lambda labels, scores: metrics.roc_curve(labels, scores, drop_intermediate=False),
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_and_curves_are_exact(name: str) -> None:
    check_types(check(MATRICES[name], DATA), lento.Tensor)


KERNELS: dict[str, Call] = {
    "cosine": lambda a, b: pairwise.cosine_similarity(a, b),
    "rbf": lambda a, b: pairwise.rbf_kernel(a, b),
    "linear": lambda a, b: pairwise.linear_kernel(a, b),
    "polynomial": lambda a, b: pairwise.polynomial_kernel(a, b),
    "sigmoid": lambda a, b: pairwise.sigmoid_kernel(a, b),
    "laplacian": lambda a, b: pairwise.laplacian_kernel(a, b),
    "chi2": lambda a, b: pairwise.chi2_kernel(a, b),
    "manhattan": lambda a, b: pairwise.manhattan_distances(a, b),
    "euclidean": lambda a, b: pairwise.euclidean_distances(a, b),
    "paired": lambda a, b: pairwise.paired_euclidean_distances(a, b),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_and_distances(name: str) -> None:
    check_types(check(KERNELS[name], DATA, error=FLOAT_ERROR), lento.Tensor)
    few, many = (syncs_of(KERNELS[name], make_data(count)) for count in (60, 120))
    assert many == few <= 4


# --- what scikit-learn does not do with tensors ---


def test_correlation_of_labels_is_not_made_for_dispatch() -> None:
    """It stacks the labels with NumPy before it looks for their namespace."""
    with pytest.raises(TypeError, match="Multiple namespaces"):
        call_with_tensors(lambda labels, predicted: metrics.matthews_corrcoef(labels, predicted), DATA)


def test_roc_uses_where_of_a_condition_alone() -> None:
    """Which is NumPy's nonzero under another name, and not in the standard."""
    check(lambda labels, scores: metrics.roc_auc_score(labels, scores), DATA, error=FLOAT_ERROR)
