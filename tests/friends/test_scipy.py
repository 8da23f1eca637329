"""SciPy with SCIPY_ARRAY_API=1: tensors go in, tensors come out."""

from __future__ import annotations

from typing import Any

import lento
import numpy as np
import pytest
import scipy.cluster.hierarchy as hierarchy
import scipy.cluster.vq as vq
import scipy.differentiate as differentiate
import scipy.fft
import scipy.integrate as integrate
import scipy.interpolate as interpolate
import scipy.linalg
import scipy.ndimage as ndimage
import scipy.optimize as optimize
import scipy.optimize.elementwise as elementwise
import scipy.signal as signal
import scipy.spatial.distance as distance
import scipy.special as special
from friend_calls import FLOAT_ERROR, Call, call_with_tensors, check, check_types, syncs_of
from scipy.spatial.transform import Rotation

pytestmark = pytest.mark.peers


def make_data(count: int = 1000) -> dict[str, Any]:
    rng = np.random.default_rng(6)
    square = rng.standard_normal((5, 5))
    numerator, denominator = signal.butter(3, 0.2)
    return {
        "x": rng.standard_normal(count),
        "y": rng.standard_normal(count),
        "p": rng.random(count),
        "q": rng.random(count),
        "matrix": rng.standard_normal((40, 5)),
        "positive": square @ square.T + np.eye(5),
        "image": rng.standard_normal((20, 30)),
        "kernel": rng.standard_normal((3, 3)),
        "places": rng.random((2, 10)) * 15,
        "numerator": numerator,
        "denominator": denominator,
        "sections": signal.butter(3, 0.2, output="sos"),
        "grid": np.linspace(0, 1, 20),
        "quaternions": rng.standard_normal((6, 4)),
        "vectors": rng.standard_normal((6, 3)),
        "low": np.zeros(3),
        "high": np.arange(1.0, 4),
    }


DATA = make_data()

# These record, and nothing waits: Lento has the function, or SciPy builds it from functions of the standard.
LAZY: dict[str, Call] = {
    "erf": lambda x: special.erf(x),
    "erfc": lambda x: special.erfc(x),
    "gammaln": lambda p: special.gammaln(p),
    "digamma": lambda p: special.digamma(p),
    "expit": lambda x: special.expit(x),
    "logit": lambda p: special.logit(p),
    "ndtr": lambda x: special.ndtr(x),
    "ndtri": lambda p: special.ndtri(p),
    "log_ndtr": lambda x: special.log_ndtr(x),
    "i0": lambda p: special.i0(p),
    "i1": lambda p: special.i1(p),
    "sinc": lambda x: special.sinc(x),
    "entr": lambda p: special.entr(p),
    "xlogy": lambda p, q: special.xlogy(p, q),
    "logsumexp": lambda matrix: special.logsumexp(matrix, axis=1),
    "softmax": lambda matrix: special.softmax(matrix, axis=1),
    "log_softmax": lambda matrix: special.log_softmax(matrix, axis=1),
    "fft": lambda x: scipy.fft.fft(x),
    "rfft and back": lambda x: scipy.fft.irfft(scipy.fft.rfft(x)),
    "fft2": lambda image: scipy.fft.fft2(image),
    "fftshift": lambda x: scipy.fft.fftshift(x),
    "fht": lambda x: scipy.fft.fht(x, 0.1, 0),
    "hilbert": lambda x: signal.hilbert(x),
    "fftconvolve": lambda x, y: signal.fftconvolve(x, y),
    "oaconvolve": lambda x, y: signal.oaconvolve(x, y),
    "resample": lambda x: signal.resample(x, 500),
    "hann": lambda x: x * signal.windows.hann(x.shape[0], xp=x.__array_namespace__()),
    "freqz": lambda numerator, denominator: signal.freqz(numerator, denominator),
    "trapezoid": lambda x: integrate.trapezoid(x),
    "cumulative_trapezoid": lambda x: integrate.cumulative_trapezoid(x),
    "rosen": lambda p: optimize.rosen(p),
    "rosen_der": lambda p: optimize.rosen_der(p),
    "rotation": lambda vectors: Rotation.from_euler("xyz", vectors).as_rotvec(),
}


@pytest.mark.parametrize("name", LAZY)
def test_calls_that_record(name: str) -> None:
    check_types(check(LAZY[name], DATA, error=FLOAT_ERROR), lento.Tensor)
    assert syncs_of(LAZY[name], DATA) == 0


# SciPy computes these from a copy in NumPy, with its own compiled code, so that the bits are its own.
OWN_CODE: dict[str, Call] = {
    "gamma": lambda p: special.gamma(p),
    "betainc": lambda p, q: special.betainc(p, q, p),
    "stdtrit": lambda p, q: special.stdtrit(p + 1, q),
    "chdtr": lambda p, q: special.chdtr(p + 1, q),
    "dct": lambda x: scipy.fft.dct(x),
    "lfilter": lambda numerator, denominator, x: signal.lfilter(numerator, denominator, x),
    "filtfilt": lambda numerator, denominator, x: signal.filtfilt(numerator, denominator, x),
    "detrend": lambda x: signal.detrend(x),
    "medfilt": lambda x: signal.medfilt(x, 5),
    "gaussian_filter": lambda image: ndimage.gaussian_filter(image, 1.0),
    "sobel": lambda image: ndimage.sobel(image),
    "convolve": lambda image, kernel: ndimage.convolve(image, kernel),
    "median_filter": lambda image: ndimage.median_filter(image, 3),
    "zoom": lambda image: ndimage.zoom(image, 2),
    "rotate": lambda image: ndimage.rotate(image, 30),
    "map_coordinates": lambda image, places: ndimage.map_coordinates(image, places),
    "binary_dilation": lambda image: ndimage.binary_dilation(image > 1),
    "center_of_mass": lambda image: ndimage.center_of_mass(image),
    "linkage": lambda matrix: hierarchy.linkage(matrix),
    "fcluster": lambda matrix: hierarchy.fcluster(hierarchy.linkage(matrix), 2, "maxclust"),
    "vq": lambda matrix: vq.vq(matrix, matrix[:4, :]),
    "pdist": lambda matrix: distance.pdist(matrix),
    "spline": lambda grid, p: interpolate.make_interp_spline(grid, grid**2)(p),
    "RegularGridInterpolator": lambda grid, p: interpolate.RegularGridInterpolator((grid,), grid**2)(p),
}


@pytest.mark.parametrize("name", OWN_CODE)
def test_calls_that_scipy_computes_itself(name: str) -> None:
    # An argument such as p + 1 is computed by Lento and exact; so is everything after it.
    check_types(check(OWN_CODE[name], DATA), lento.Tensor)


# These look at values on the way: they choose a method, wait until a loop has converged, look for nan.
LOOKING: dict[str, Call] = {
    "rel_entr": lambda p, q: special.rel_entr(p, q),
    "convolve": lambda x, y: signal.convolve(x, y),
    "correlate": lambda x, y: signal.correlate(x, y),
    "savgol_filter": lambda x: signal.savgol_filter(x, 5, 2),
    "label": lambda image: ndimage.label(image > 0)[0],
    "whiten": lambda matrix: vq.whiten(matrix),
    "kmeans2": lambda matrix: vq.kmeans2(matrix, 3, seed=0),
    "CubicSpline": lambda grid, p: interpolate.CubicSpline(grid, grid**2)(p),
    "rotate vectors": lambda quaternions, vectors: Rotation.from_quat(quaternions).apply(vectors),
    "rotation to matrix": lambda quaternions: Rotation.from_quat(quaternions).as_matrix(),
    "tanhsinh": lambda low, high: integrate.tanhsinh(lambda z: z**2, low, high).integral,
    "cubature": lambda low, high: integrate.cubature(lambda z: z[..., 0] ** 2, low[:1], high[:1]).estimate,
    "find_root": lambda low, high: elementwise.find_root(lambda z: z**2 - 0.5, (low, high)).x,
    "find_minimum": lambda low: elementwise.find_minimum(lambda z: (z - 1) ** 2, (low - 1, low, low + 3)).x,
    "derivative": lambda high: differentiate.derivative(lambda z: z**3, high).df,
    "jacobian": lambda high: differentiate.jacobian(lambda z: z**3, high).df,
}


@pytest.mark.parametrize("name", LOOKING)
def test_calls_that_look_at_values(name: str) -> None:
    check_types(check(LOOKING[name], DATA, error=FLOAT_ERROR), lento.Tensor)


@pytest.mark.parametrize("name", ["rel_entr", "convolve", "correlate", "savgol_filter"])
def test_syncs_do_not_grow_with_the_number_of_elements(name: str) -> None:
    few, many = (syncs_of(LOOKING[name], make_data(count)) for count in (100, 1000))
    assert many == few <= 4


# SciPy has not moved these to the standard: it takes a tensor as NumPy does and gives an array.
ARRAYS: dict[str, Call] = {
    "inv": lambda positive: scipy.linalg.inv(positive),
    "expm": lambda positive: scipy.linalg.expm(positive),
    "cholesky": lambda positive: scipy.linalg.cholesky(positive),
    "eigh": lambda positive: scipy.linalg.eigh(positive),
    "svd": lambda matrix: scipy.linalg.svd(matrix),
    "solve": lambda positive: scipy.linalg.solve(positive, positive),
    "periodogram": lambda x: signal.periodogram(x),
    "find_peaks": lambda x: signal.find_peaks(x)[0],
    "simpson": lambda x: integrate.simpson(x),
    "cdist": lambda matrix: distance.cdist(matrix, matrix),
    "minimize": lambda p: optimize.minimize(optimize.rosen, p[:4], jac=optimize.rosen_der).x,
}


@pytest.mark.parametrize("name", ARRAYS)
def test_calls_that_give_arrays(name: str) -> None:
    check_types(check(ARRAYS[name], DATA), np.ndarray | np.floating)


def test_constants_have_the_default_dtype() -> None:
    """SciPy makes dx = 1.0 a tensor of the default dtype, float32, and takes a third of it: so it does with torch."""

    def given(x: Any, dx: Any) -> Any:
        return integrate.cumulative_simpson(x, dx=dx)

    check(lambda x: integrate.cumulative_simpson(x, dx=1.0), DATA, error=float(np.finfo(np.float32).eps))
    check(given, {"x": DATA["x"], "dx": np.ones(1)}, error=FLOAT_ERROR)


# --- what SciPy does not do with tensors, and what to do instead ---


def test_arrays_and_tensors_in_one_call_are_refused() -> None:
    with pytest.raises(TypeError, match="Multiple namespaces"):
        call_with_tensors(lambda x: signal.lfilter(DATA["numerator"], DATA["denominator"], x), DATA)


def test_compiled_code_that_wants_to_write_refuses_the_memory_of_a_tensor() -> None:
    """SciPy gives np.asarray(sos) to code that asks for memory to write; an array of a tensor's memory is read-only."""
    with pytest.raises(ValueError, match="read-only"):
        call_with_tensors(lambda sections, x: signal.sosfilt(sections, x), DATA)
    x = lento.asarray(DATA["x"])
    expected = signal.sosfilt(DATA["sections"], DATA["x"])
    np.testing.assert_array_equal(signal.sosfilt(DATA["sections"], x.numpy()), expected)


def test_rbf_interpolator_needs_a_method_of_numpy() -> None:
    """It calls view(float), which SciPy's own comment says is not in the standard."""
    with pytest.raises(TypeError, match="view"):
        call_with_tensors(lambda matrix: interpolate.RBFInterpolator(matrix, matrix[:, 0]), DATA)

    def with_arrays(matrix: Any) -> Any:
        array = np.asarray(matrix)
        return interpolate.RBFInterpolator(array, array[:, 0])(array)

    check(with_arrays, DATA)
