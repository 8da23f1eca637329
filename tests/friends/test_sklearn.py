"""scikit-learn with array_api_dispatch=True: estimators that are fitted to tensors hold tensors and give tensors."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import lento
import numpy as np
import pytest
import sklearn
from friend_calls import (
    FLOAT_ERROR,
    Call,
    assert_same,
    call_with_tensors,
    check,
    check_types,
    leaves,
    pending,
    syncs_of,
)
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge, RidgeCV
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    LabelBinarizer,
    LabelEncoder,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    StandardScaler,
)

pytestmark = pytest.mark.peers


@pytest.fixture(autouse=True)
def dispatch() -> Iterator[None]:
    with sklearn.config_context(array_api_dispatch=True):
        yield


def make_data(count: int = 120) -> dict[str, Any]:
    rng = np.random.default_rng(8)
    x = rng.standard_normal((count, 6))
    y = x @ rng.standard_normal(6) + 0.1 * rng.standard_normal(count)
    return {"x": x, "y": y, "two": (y > 0).astype(np.int64), "three": np.digitize(y, [-1, 1]), "rates": np.exp(y / 4)}


DATA = make_data()


def fitted(estimator: Any) -> list[Any]:
    """What the estimator has learnt: its public arrays and floats."""
    learnt = [getattr(estimator, name) for name in sorted(vars(estimator)) if name.endswith("_") and name[0] != "_"]
    return [value for value in learnt if hasattr(value, "shape") or isinstance(value, float)]


def transformed(estimator: Any, x: Any) -> list[Any]:
    estimator.fit(x)
    return [estimator.transform(x), *fitted(estimator)]


def there_and_back(estimator: Any, x: Any) -> list[Any]:
    result = transformed(estimator, x)
    return [estimator.inverse_transform(result[0]), *result]


def predicted(estimator: Any, x: Any, y: Any) -> list[Any]:
    estimator.fit(x, y)
    return [estimator.predict(x), *fitted(estimator)]


def classified(estimator: Any, x: Any, y: Any) -> list[Any]:
    return [*predicted(estimator, x, y), estimator.predict_proba(x)]


TRANSFORMERS: dict[str, Call] = {
    "StandardScaler": lambda x: there_and_back(StandardScaler(), x),
    "MinMaxScaler": lambda x: there_and_back(MinMaxScaler(), x),
    "MaxAbsScaler": lambda x: there_and_back(MaxAbsScaler(), x),
    "Normalizer": lambda x: transformed(Normalizer(), x),
    "Binarizer": lambda x: transformed(Binarizer(), x),
    "PolynomialFeatures": lambda x: transformed(PolynomialFeatures(2), x),
    "PCA by SVD": lambda x: transformed(PCA(3, svd_solver="full"), x),
    "PCA by covariance": lambda x: transformed(PCA(3, svd_solver="covariance_eigh"), x),
    "PCA whitened": lambda x: transformed(PCA(3, svd_solver="full", whiten=True), x),
    "Nystroem": lambda x: transformed(Nystroem(n_components=10, random_state=0), x),
}

PREDICTORS: dict[str, Call] = {
    "LinearRegression": lambda x, y: predicted(LinearRegression(), x, y)[:-1],  # but singular_, which NumPy computes
    "Ridge": lambda x, y: predicted(Ridge(solver="svd"), x, y),
    "RidgeCV": lambda x, y: predicted(RidgeCV(), x, y),
    "PoissonRegressor": lambda x, rates: predicted(PoissonRegressor(), x, rates),
    "LogisticRegression of two": lambda x, two: classified(LogisticRegression(), x, two),
    "LogisticRegression of three": lambda x, three: classified(LogisticRegression(), x, three),
    "LinearDiscriminantAnalysis": lambda x, three: classified(LinearDiscriminantAnalysis(), x, three),
    "GaussianNB": lambda x, three: classified(GaussianNB(), x, three),
    "pipeline": lambda x, y: predicted(make_pipeline(StandardScaler(), PCA(3), Ridge(solver="svd")), x, y),
}


# Singular vectors and solutions of iterations carry the error of their condition number, here below 100.
@pytest.mark.parametrize("name", [*TRANSFORMERS, *PREDICTORS])
def test_estimators(name: str) -> None:
    result = check({**TRANSFORMERS, **PREDICTORS}[name], DATA, error=100 * FLOAT_ERROR)
    check_types(result, lento.Tensor | float)
    assert isinstance(leaves(result)[0], lento.Tensor)


# The iterative ones (LogisticRegression, PoissonRegressor) wait at each step of SciPy's optimizer.
ONE_PASS = sorted({*TRANSFORMERS, *PREDICTORS} - {name for name in PREDICTORS if name.startswith(("Log", "Poisson"))})


@pytest.mark.parametrize("name", ONE_PASS)
def test_syncs_do_not_grow_with_the_number_of_rows(name: str) -> None:
    few, many = (syncs_of({**TRANSFORMERS, **PREDICTORS}[name], make_data(count)) for count in (120, 1200))
    assert many == few <= 30


def test_float32_stays_float32() -> None:
    data = {"x": DATA["x"].astype(np.float32)}
    scaled = check(lambda x: StandardScaler().fit_transform(x), data, error=1e-6)
    assert scaled.dtype is lento.float32


LABELS: dict[str, Call] = {
    "encoded": lambda three: LabelEncoder().fit_transform(three),
    "classes": lambda three: LabelEncoder().fit(three).classes_,
    "binarized": lambda three: LabelBinarizer().fit_transform(three),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels(name: str) -> None:
    check_types(check(LABELS[name], DATA), lento.Tensor)


# Positions come from NumPy's random numbers and pick rows; the rows are the same bits.
def test_splits_take_rows_without_a_sync() -> None:
    def split(x: Any, three: Any) -> Any:
        return train_test_split(x, three, random_state=0)

    def folds(x: Any) -> Any:
        return [x[train] for train, _ in KFold(3).split(x)]

    for call in (split, folds):
        check_types(check(call, DATA), lento.Tensor)
        assert syncs_of(call, DATA) == 0


VALIDATIONS: dict[str, Call] = {
    "cross_val_score": lambda x, y: cross_val_score(Ridge(solver="svd"), x, y, cv=3),
    "cross_val_predict": lambda x, y: cross_val_predict(Ridge(solver="svd"), x, y, cv=3),
    "GridSearchCV": lambda x, y: (
        GridSearchCV(Ridge(solver="svd"), {"alpha": [0.1, 1.0]}, cv=3).fit(x, y).cv_results_["mean_test_score"]
    ),
}


@pytest.mark.parametrize("name", VALIDATIONS)
def test_cross_validation(name: str) -> None:
    check(VALIDATIONS[name], DATA, error=FLOAT_ERROR)


# An accuracy is a mean of zeros and ones, which the standard leaves to the library: float32 here, float64 in NumPy.
def test_scores() -> None:
    def accuracy(x: Any, three: Any) -> float:
        return GaussianNB().fit(x, three).score(x, three)

    def r2(x: Any, y: Any) -> float:
        return Ridge(solver="svd").fit(x, y).score(x, y)

    check(accuracy, DATA, error=float(np.finfo(np.float32).eps))
    check(r2, DATA, error=FLOAT_ERROR)


@pytest.mark.parametrize("kind", ["tied", "diag", "spherical"])
def test_gaussian_mixture(kind: str) -> None:
    def mixture(x: Any) -> list[Any]:
        model = GaussianMixture(2, covariance_type=kind, init_params="random", random_state=0).fit(x)
        return [model.predict(x), model.predict_proba(x), model.means_, model.covariances_]

    check_types(check(mixture, DATA, error=100 * FLOAT_ERROR), lento.Tensor)


# --- what scikit-learn does not do with tensors, and what to do instead ---


def test_full_gaussian_mixture_lacks_reg_covar() -> None:
    """It adds reg_covar to the diagonal of covariances[k, :, :] by writing into that part, which in Lento is a value
    of its own, as the standard allows: the result is that of reg_covar=0. Other types of covariance are right."""

    def mixture(x: Any, reg_covar: float) -> list[Any]:
        model = GaussianMixture(2, init_params="random", random_state=0, reg_covar=reg_covar).fit(x)
        return [model.means_, model.covariances_]

    assert_same(mixture(pending(DATA["x"]), 1e-3), mixture(DATA["x"], 0.0), error=100 * FLOAT_ERROR)


# KMeans mixes arrays with its input, a forest's compiled code wants arrays; neither is made for dispatch.
REFUSED: dict[str, tuple[Call, type[Exception], str]] = {
    "KMeans": (lambda x: KMeans(3, n_init=1, random_state=0).fit(x), TypeError, "Multiple namespaces"),
    "forest": (lambda x, three: RandomForestClassifier(5).fit(x, three), AttributeError, "flags"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_estimators_without_dispatch_refuse_tensors(name: str) -> None:
    call, error, words = REFUSED[name]
    with pytest.raises(error, match=words), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call_with_tensors(call, DATA)


# With dispatch off, which is scikit-learn's default, everything takes tensors as arrays, and gives arrays.
CONVERTED: dict[str, Call] = {
    "KMeans": lambda x: KMeans(3, n_init=1, random_state=0).fit_predict(x),
    "forest": lambda x, three: RandomForestClassifier(5, random_state=0).fit(x, three).predict_proba(x),
    "StandardScaler": lambda x: StandardScaler().fit_transform(x),
    "LogisticRegression": lambda x, two: LogisticRegression().fit(x, two).predict_proba(x),
}


@pytest.mark.parametrize("name", CONVERTED)
def test_without_dispatch_tensors_are_converted(name: str) -> None:
    with sklearn.config_context(array_api_dispatch=False):
        check_types(check(CONVERTED[name], DATA), np.ndarray)
        few, many = (syncs_of(CONVERTED[name], make_data(count)) for count in (120, 1200))
    assert many == few <= 20
