"""array-api-compat and array-api-extra, which libraries use to write code for any array library."""

from __future__ import annotations

from typing import Any

import array_api_compat as compat
import array_api_extra as extra
import array_api_extra.testing
import lento
import numpy as np
import pytest
from friend_calls import FLOAT_ERROR, Call, call_with_tensors, check, check_types, counted_syncs, pending, syncs_of

pytestmark = pytest.mark.peers

DATA: dict[str, Any] = {
    "x": np.random.default_rng(10).standard_normal((20, 6)),
    "line": np.linspace(-3, 3, 20).round(1),
    "holes": np.asarray([1.0, np.nan, np.inf, -np.inf]),
    "classes": np.arange(20) % 4,
}


def test_the_namespace_is_the_package() -> None:
    x = pending(DATA["x"])
    with counted_syncs() as syncs:
        assert compat.array_namespace(x) is lento
        assert compat.array_namespace(x, 1.0, None, x.T) is lento
        assert compat.array_namespace(x, api_version="2024.12") is lento
    assert syncs.count == 0
    with pytest.raises(TypeError, match="Multiple namespaces"):
        compat.array_namespace(x, DATA["x"])


def test_what_a_tensor_is() -> None:
    x = pending(DATA["x"])
    assert compat.is_array_api_obj(x)
    assert compat.is_writeable_array(x)
    for other in (compat.is_numpy_array, compat.is_torch_array, compat.is_jax_array, compat.is_dask_array):
        assert not other(x)
    assert not compat.is_numpy_namespace(lento)


def test_asking_whether_a_tensor_is_lazy_computes_it() -> None:
    """array-api-compat calls bool(x) of types it does not know; what can be asked is not lazy in its sense."""
    x = pending(DATA["x"])
    with counted_syncs() as syncs:
        assert not compat.is_lazy_array(x)
    assert syncs.count == 1


def test_devices() -> None:
    x = pending(DATA["x"])
    with counted_syncs() as syncs:
        assert compat.device(x) == x.device == "cpu"
        assert compat.to_device(x, "cpu").device == x.device
        assert compat.to_device(x, compat.device(x)).shape == x.shape
        assert compat.size(x) == 120
    assert syncs.count == 0
    moved = compat.to_device(x, "reference")
    assert moved.device == "reference"
    np.testing.assert_array_equal(moved.numpy(), DATA["x"])


LAZY: dict[str, Call] = {
    "set an element": lambda x: extra.at(x)[0, 1].set(5.0, copy=True),
    "add to a column": lambda x: extra.at(x, (slice(None), 2)).add(1.0, copy=True),
    "maximum of a row": lambda x: extra.at(x)[1].max(0.5, copy=True),
    "multiply a slice": lambda x: extra.at(x)[2:5].multiply(2.0, copy=True),
    "atleast_nd": lambda x: extra.atleast_nd(x, ndim=4),
    "create_diagonal": lambda line: extra.create_diagonal(line, offset=1),
    "kron": lambda x: extra.kron(x, x[:2, :2]),
    "pad": lambda x: extra.pad(x, ((1, 2), (0, 3)), constant_values=1.5),
    "sinc": lambda x: extra.sinc(x),
    "nan_to_num": lambda holes: extra.nan_to_num(holes),
    "isin": lambda line: extra.isin(line, line[:4]),
    "searchsorted": lambda line: extra.searchsorted(line, line[3:5]),
    "partition": lambda line: extra.partition(line, 5),
    "cov": lambda x: extra.cov(x.T),
    "deg2rad": lambda x: extra.deg2rad(x),
}


@pytest.mark.parametrize("name", LAZY)
def test_functions_that_record(name: str) -> None:
    check_types(check(LAZY[name], DATA, error=FLOAT_ERROR), lento.Tensor)
    assert syncs_of(LAZY[name], DATA) == 0


# The number of elements of a result, or which function is needed at all, depends on values.
LOOKING: dict[str, tuple[Call, int]] = {
    "set where": (lambda x: extra.at(x)[x > 0].set(0.0, copy=True), 1),
    "nunique": (lambda line: extra.nunique(line), 1),
    "union1d": (lambda line: extra.union1d(line, line[:4] + 0.5), 1),
    "setdiff1d": (lambda line: extra.setdiff1d(line, line[:4]), 3),
    "isclose": (lambda x: extra.isclose(x, x + 1e-9), 4),
    "apply_where": (lambda x: extra.apply_where(x > 0, x, lambda a: a * 2, fill_value=0.0), 2),
    "apply_where, else": (lambda x: extra.apply_where(x > 0, x, lambda a: a * 2, lambda a: -a), 3),
}


@pytest.mark.parametrize("name", LOOKING)
def test_functions_that_look_at_values(name: str) -> None:
    call, most = LOOKING[name]
    check_types(check(call, DATA), lento.Tensor)
    assert syncs_of(call, DATA) <= most


def test_one_hot_has_the_default_dtype() -> None:
    hot = check(lambda classes: extra.one_hot(classes, 4), DATA, dtypes=False)
    assert hot.dtype is extra.default_dtype(lento) is lento.float32


def test_numpy_code_in_the_middle() -> None:
    def through_numpy(x: Any) -> Any:
        return extra.lazy_apply(np.sort, x, as_numpy=True)

    result, syncs = call_with_tensors(through_numpy, DATA)
    assert isinstance(result, lento.Tensor)
    np.testing.assert_array_equal(result.numpy(), np.sort(DATA["x"]))
    assert syncs <= 2  # one to ask whether it is lazy, one to compute it


def test_assertions_of_array_api_extra() -> None:
    x = pending(DATA["x"])
    array_api_extra.testing.assert_equal(x, lento.asarray(DATA["x"]))
    array_api_extra.testing.assert_close(x, x + 1e-12, rtol=1e-9)
    with pytest.raises(AssertionError):
        array_api_extra.testing.assert_close(x, x + 1)
