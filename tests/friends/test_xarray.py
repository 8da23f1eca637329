"""xarray: a DataArray of a tensor stays lazy; labels are NumPy's."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest
import xarray as xr
from friend_calls import FLOAT_ERROR, assert_same, counted_syncs, pending

pytestmark = pytest.mark.peers

X = np.random.default_rng(15).standard_normal((20, 6))
WEIGHTS = np.arange(6.0)


def labelled(data: Any) -> xr.DataArray:
    return xr.DataArray(data, dims=("time", "place"), coords={"time": np.arange(20)})


# These record; where elements are only moved, picked or compared the bits are the same.
EXACT: dict[str, Callable[[xr.DataArray], Any]] = {
    "arithmetic": lambda d: d * 2 + 1,
    "labels differ": lambda d: d + d.isel(time=slice(0, 5)),
    "row of an array": lambda d: d * xr.DataArray(WEIGHTS, dims="place"),
    "sel": lambda d: d.sel(time=3),
    "isel": lambda d: d.isel(place=[0, 2]),
    "transpose": lambda d: d.T,
    "stack": lambda d: d.stack(both=("time", "place")),
    "concat": lambda d: xr.concat([d, d], "time"),
    "sortby": lambda d: d.sortby("time", ascending=False),
    "expand_dims": lambda d: d.expand_dims("new"),
    "broadcast_like": lambda d: d.isel(time=0).broadcast_like(d),
    "astype": lambda d: d.astype("float32"),
    "max": lambda d: d.max("time"),
    "argmax": lambda d: d.argmax("time"),
    "any": lambda d: (d > 2).any("place"),
    "clip": lambda d: d.clip(0, 1),
    "round": lambda d: d.round(),
    "diff": lambda d: d.diff("time"),
    "isnull": lambda d: d.isnull(),
    "fillna": lambda d: d.fillna(0.0),
    "where, else": lambda d: d.where(d > 0, 0.0),
    "xr.where": lambda d: xr.where(d > 0, d, 0.0),
    "shift, filled": lambda d: d.shift(time=1, fill_value=0.0),
    "pad, filled": lambda d: d.pad(time=1, constant_values=0.0),
    "apply_ufunc": lambda d: xr.apply_ufunc(lambda v: v * 2, d),
    "maximum": lambda d: xr.ufuncs.maximum(d, 0.0),
    "copy": lambda d: d.copy(deep=True),
}

SUMS: dict[str, Callable[[xr.DataArray], Any]] = {
    "sum": lambda d: d.sum(),
    "mean": lambda d: d.mean("time"),
    "mean with nan": lambda d: d.mean("time", skipna=False),
    "std": lambda d: d.std("place"),
    "var": lambda d: d.var("time", ddof=1),
    "cumsum": lambda d: d.cumsum("time"),
    "dot": lambda d: xr.dot(d, d, dim="place"),
    "matmul": lambda d: d @ d,
    "groupby": lambda d: d.groupby(d.time % 2).mean(),
    "coarsen": lambda d: d.coarsen(time=2).mean(),
    "integrate": lambda d: d.integrate("time"),
    "median": lambda d: d.median("time"),
    "quantile": lambda d: d.quantile(0.3, "time"),
    "dataset": lambda d: xr.Dataset({"a": d, "b": d * 2}).mean("time").b,
    "exp": lambda d: xr.ufuncs.exp(d),
    "np.mean": lambda d: np.mean(d),
}


@pytest.mark.parametrize("name", [*EXACT, *SUMS])
def test_calls_that_record(name: str) -> None:
    call = {**EXACT, **SUMS}[name]
    expected = call(labelled(X.copy()))
    given = labelled(pending(X))
    with counted_syncs() as syncs:
        result = call(given)
    assert syncs.count == 0
    assert result.dims == expected.dims
    assert set(result.coords) == set(expected.coords)
    assert isinstance(result.data, lento.Tensor)
    assert_same(result.data, expected.data, error=0 if name in EXACT else FLOAT_ERROR)


def test_assignment() -> None:
    theirs, ours = labelled(X.copy()), labelled(pending(X))
    for d in (theirs, ours):
        d[{"time": 0}] = 0.0
        d.loc[{"time": 3}] = 1.5
    assert isinstance(ours.data, lento.Tensor)
    assert_same(ours.data, theirs.data)


# What makes an array of it reads it once.
READS: dict[str, Callable[[xr.DataArray], Any]] = {
    "values": lambda d: d.values,
    "to_numpy": lambda d: d.to_numpy(),
    "as_numpy": lambda d: d.as_numpy().data,
    "to_series": lambda d: d.to_series().to_numpy(),
    "to_pandas": lambda d: d.to_pandas().to_numpy(),
    "to_dataframe": lambda d: d.to_dataframe(name="v").to_numpy(),
    "to_dict": lambda d: np.asarray(d.to_dict()["data"]),
    "rolling": lambda d: d.as_numpy().rolling(time=3).mean().data,
    "np.sort": lambda d: np.sort(d),
}


@pytest.mark.parametrize("name", READS)
def test_calls_that_read(name: str) -> None:
    expected = READS[name](labelled(X))
    with counted_syncs() as syncs:
        result = READS[name](labelled(pending(X)))
    assert isinstance(result, np.ndarray)
    np.testing.assert_array_equal(result, expected)
    assert syncs.count == 1


def test_numbers_text_and_pickles() -> None:
    d = labelled(pending(X))
    assert float(d.max()) == X.max()
    assert d.max().item() == X.max()
    assert "xarray.DataArray (time: 20, place: 6)" in repr(d)
    assert "tensor" in repr(d)
    assert d.identical(labelled(pending(X)))
    assert not d.identical(labelled(pending(X + 1)))
    xr.testing.assert_allclose(d, labelled(pending(X + 1e-12)))
    back = pickle.loads(pickle.dumps(d))
    assert isinstance(back.data, lento.Tensor)
    assert back.identical(d)


def test_text_reads_no_more_than_it_shows() -> None:
    d = labelled(pending(X))
    with counted_syncs() as syncs:
        repr(d)
    assert syncs.count <= 1


def test_numpys_ufuncs_give_arrays() -> None:
    """As they do with a tensor alone; xr.ufuncs takes the function of the tensor's namespace."""
    d = labelled(pending(X))
    assert isinstance(np.exp(d).data, np.ndarray)
    assert_same(np.exp(d).data, np.exp(X))


# --- what xarray does not do with tensors, and what to do instead ---

# For the value that says "missing" it wants the dtype to be one of NumPy's; a value that is given is fine (above).
MISSING: dict[str, Callable[[xr.DataArray], Any]] = {
    "where": lambda d: d.where(d > 0),
    "shift": lambda d: d.shift(time=1),
    "pad": lambda d: d.pad(time=1),
    "reindex": lambda d: d.reindex(time=[1, 2, 50]),
    "weighted": lambda d: d.weighted(xr.DataArray(WEIGHTS, dims="place")).mean("place"),
    "cov": lambda d: xr.cov(d, d, dim="time"),
}


@pytest.mark.parametrize("name", MISSING)
def test_missing_values_need_a_dtype_of_numpy(name: str) -> None:
    with pytest.raises(TypeError, match="must be one of an extension array dtype or numpy dtype"):
        MISSING[name](labelled(pending(X)))
    np.testing.assert_array_equal(MISSING[name](labelled(pending(X)).as_numpy()), MISSING[name](labelled(X)))


# These look for parts of NumPy in a tensor's namespace: np.lib, dtype.type.
NUMPY_ONLY: dict[str, tuple[Callable[[xr.DataArray], Any], type[Exception], str]] = {
    "rolling": (lambda d: d.rolling(time=3).mean(), AttributeError, "lib"),
    "interp": (lambda d: d.interp(time=1.5), AttributeError, "type"),
}


def test_lists_and_edges_are_taken_as_numpy_takes_them() -> None:
    for call in (lambda d: d.isin(X[0].tolist()), lambda d: d.differentiate("time", edge_order=2)):
        here = call(labelled(pending(X)))
        np.testing.assert_allclose(np.asarray(here.data), np.asarray(call(labelled(X)).data), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", NUMPY_ONLY)
def test_calls_that_want_numpy_itself(name: str) -> None:
    call, error, words = NUMPY_ONLY[name]
    with pytest.raises(error, match=words):
        call(labelled(pending(X)))
    np.testing.assert_array_equal(call(labelled(pending(X)).as_numpy()), call(labelled(X)))
