"""The names of the Array API standard 2025.12 with the signatures it gives them, as data."""

from __future__ import annotations


def _words(text: str) -> list[str]:
    return text.split()


CONSTANTS = ("e", "inf", "nan", "newaxis", "pi")

DTYPES = _words("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128")

ATTRIBUTES = ("dtype", "device", "mT", "ndim", "shape", "size", "T")

_UNARY = _words("""
    abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan log
    log1p log2 log10 logical_not negative positive real reciprocal round sign signbit sin sinh square sqrt tan tanh
    trunc
""")

_BINARY = _words("""
    add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal
    floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum
    minimum multiply nextafter not_equal pow remainder subtract
""")

_REDUCTION = "x, /, *, axis=None, keepdims=False"

# As in a `def`: what stands before "/" is positional, what stands behind "*" is a keyword.
FUNCTIONS: dict[str, str] = {
    **dict.fromkeys(_UNARY, "x, /"),
    **dict.fromkeys(_BINARY, "x1, x2, /"),
    **dict.fromkeys(("all", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min"), _REDUCTION),
    **dict.fromkeys(("prod", "sum"), "x, /, *, axis=None, dtype=None, keepdims=False"),
    **dict.fromkeys(("std", "var"), "x, /, *, axis=None, correction=0.0, keepdims=False"),
    **dict.fromkeys(("cumulative_prod", "cumulative_sum"), "x, /, *, axis=None, dtype=None, include_initial=False"),
    **dict.fromkeys(("empty", "ones", "zeros"), "shape, *, dtype=None, device=None"),
    **dict.fromkeys(("empty_like", "ones_like", "zeros_like"), "x, /, *, dtype=None, device=None"),
    **dict.fromkeys(("tril", "triu"), "x, /, *, k=0"),
    **dict.fromkeys(("argsort", "sort"), "x, /, *, axis=-1, descending=False, stable=True"),
    **dict.fromkeys(("unique_all", "unique_counts", "unique_inverse", "unique_values"), "x, /"),
    "__array_namespace_info__": "",
    "arange": "start, /, stop=None, step=1, *, dtype=None, device=None",
    "asarray": "obj, /, *, dtype=None, device=None, copy=None",
    "astype": "x, dtype, /, *, copy=True, device=None",
    "broadcast_arrays": "*arrays",
    "broadcast_shapes": "*shapes",
    "broadcast_to": "x, /, shape",
    "can_cast": "from_, to, /",
    "clip": "x, /, min=None, max=None",
    "concat": "arrays, /, *, axis=0",
    "diff": "x, /, *, axis=-1, n=1, prepend=None, append=None",
    "expand_dims": "x, /, axis",
    "eye": "n_rows, n_cols=None, /, *, k=0, dtype=None, device=None",
    "finfo": "type, /",
    "flip": "x, /, *, axis=None",
    "from_dlpack": "x, /, *, device=None, copy=None",
    "full": "shape, fill_value, *, dtype=None, device=None",
    "full_like": "x, /, fill_value, *, dtype=None, device=None",
    "iinfo": "type, /",
    "isdtype": "dtype, kind",
    "isin": "x1, x2, /, *, invert=False",
    "linspace": "start, stop, /, num, *, dtype=None, device=None, endpoint=True",
    "matmul": "x1, x2, /",
    "matrix_transpose": "x, /",
    "meshgrid": "*arrays, indexing='xy'",
    "moveaxis": "x, source, destination, /",
    "nonzero": "x, /",
    "permute_dims": "x, /, axes",
    "repeat": "x, repeats, /, *, axis=None",
    "reshape": "x, /, shape, *, copy=None",
    "result_type": "*arrays_and_dtypes",
    "roll": "x, /, shift, *, axis=None",
    "searchsorted": "x1, x2, /, *, side='left', sorter=None",
    "squeeze": "x, /, axis",
    "stack": "arrays, /, *, axis=0",
    "take": "x, indices, /, *, axis=None",
    "take_along_axis": "x, indices, /, *, axis=-1",
    "tensordot": "x1, x2, /, *, axes=2",
    "tile": "x, repetitions, /",
    "unstack": "x, /, *, axis=0",
    "vecdot": "x1, x2, /, *, axis=-1",
    "where": "condition, x1, x2, /",
}

LINALG: dict[str, str] = {
    **dict.fromkeys(_words("det eig eigh eigvals eigvalsh inv matrix_transpose slogdet svdvals"), "x, /"),
    **dict.fromkeys(("matmul", "outer", "solve"), "x1, x2, /"),
    **dict.fromkeys(("matrix_rank", "pinv"), "x, /, *, rtol=None"),
    **dict.fromkeys(("cross", "vecdot"), "x1, x2, /, *, axis=-1"),
    "cholesky": "x, /, *, upper=False",
    "diagonal": "x, /, *, offset=0",
    "matrix_norm": "x, /, *, keepdims=False, ord='fro'",
    "matrix_power": "x, n, /",
    "qr": "x, /, *, mode='reduced'",
    "svd": "x, /, *, full_matrices=True",
    "tensordot": "x1, x2, /, *, axes=2",
    "trace": "x, /, *, offset=0, dtype=None",
    "vector_norm": "x, /, *, axis=None, keepdims=False, ord=2",
}

FFT: dict[str, str] = {
    **dict.fromkeys(_words("fft hfft ifft ihfft irfft rfft"), "x, /, *, n=None, axis=-1, norm='backward'"),
    **dict.fromkeys(_words("fftn ifftn irfftn rfftn"), "x, /, *, s=None, axes=None, norm='backward'"),
    **dict.fromkeys(("fftfreq", "rfftfreq"), "n, /, *, d=1.0, dtype=None, device=None"),
    **dict.fromkeys(("fftshift", "ifftshift"), "x, /, *, axes=None"),
}

INFO: dict[str, str] = {
    "capabilities": "",
    "default_device": "",
    "default_dtypes": "*, device=None",
    "devices": "",
    "dtypes": "*, device=None, kind=None",
}

_ARITHMETIC = _words("add and floordiv lshift matmul mod mul or pow rshift sub truediv xor")

# Of the array object; the reflected and in-place forms have the signature of the operator.
METHODS: dict[str, str] = {
    **{f"__{kind}{name}__": "other, /" for name in _ARITHMETIC for kind in ("", "r", "i")},
    **dict.fromkeys([f"__{name}__" for name in _words("eq ge gt le lt ne")], "other, /"),
    **dict.fromkeys([f"__{name}__" for name in _words("abs bool complex float index int invert neg pos")], "/"),
    "__array_namespace__": "/, *, api_version=None",
    "__dlpack__": "/, *, stream=None, max_version=None, dl_device=None, copy=None",
    "__dlpack_device__": "/",
    "__getitem__": "key, /",
    "__setitem__": "key, value, /",
    "to_device": "device, /, *, stream=None",
}
