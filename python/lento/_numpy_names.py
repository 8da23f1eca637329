"""NumPy's functions and methods that are not here by their own name: what to write instead, or why there is none.

The end of an AttributeError of a module or a tensor, and the rows of ``docs/numpy-coverage.md``.
"""

from __future__ import annotations

_POLYNOMIALS = "write it with lento.polyval and lento.convolve, or use numpy.polynomial on the few coefficients"
_TEXT_FILES = "read and write text with NumPy; lento.load and lento.save are for .npy, .npz and .safetensors"
_NO_MEMORY_LAYOUT = "tensors are always row-major; use lento.asarray"
_NO_VIEWS = "tensors are values and share no memory that one could write"
_TO_TEXT = "write str(x) or repr(x); lento.set_printoptions says how"
_NO_WARNINGS = "it is not needed: no operation warns; look with lento.isfinite"
_DATES = "there are no dates; keep them as integers"
_SHAPE_FIRST = "with the shape first"
_TRANSFORM = "draw it from lento.random.uniform, normal or gamma, or with NumPy"

_DISTRIBUTIONS = [
    "chisquare", "f", "geometric", "hypergeometric", "logseries", "negative_binomial", "noncentral_chisquare",
    "noncentral_f", "pareto", "power", "rayleigh", "standard_t", "triangular", "vonmises", "wald", "weibull", "zipf",
]  # fmt: skip

# What to write instead.
ELSEWHERE: dict[str, dict[str, str]] = {
    "": {
        "apply_along_axis": "use lento.vmap",
        "apply_over_axes": "use axis=, as in lento.sum(x, axis=(0, 1))",
        "array2string": _TO_TEXT,
        "array_equiv": "use lento.array_equal with lento.broadcast_to",
        "array_repr": _TO_TEXT,
        "array_str": _TO_TEXT,
        "asanyarray": "use lento.asarray",
        "asarray_chkfinite": "use lento.asarray and lento.isfinite",
        "ascontiguousarray": _NO_MEMORY_LAYOUT,
        "asfortranarray": _NO_MEMORY_LAYOUT,
        "asmatrix": "use lento.asarray; @ is the matrix product",
        "base_repr": "write it with Python's format",
        "binary_repr": "write it with Python's bin",
        "block": "use lento.concat of rows that lento.concat made, or lento.block_diag",
        "bmat": "use lento.concat of rows that lento.concat made, or lento.block_diag",
        "c_": "use lento.column_stack",
        "common_type": "use lento.result_type",
        "copyto": "write x[...] = y, or x[mask] = y",
        "diag_indices": "write i = lento.arange(n); x[i, i]",
        "diag_indices_from": "write i = lento.arange(n); x[i, i]",
        "dsplit": "use lento.split(x, parts, axis=2)",
        "ediff1d": "use lento.diff(x.ravel())",
        "fabs": "use lento.abs",
        "format_float_positional": "write it with Python's format",
        "format_float_scientific": "write it with Python's format",
        "frombuffer": "use lento.asarray, which takes what has the buffer protocol",
        "fromfile": "use numpy.fromfile or numpy.memmap, then lento.asarray",
        "fromfunction": "call the function with *lento.indices(shape)",
        "fromiter": "use lento.asarray(list(…))",
        "frompyfunc": "use lento.vmap of a function of tensors",
        "histogram_bin_edges": "use lento.histogram, which gives the edges too",
        "histogramdd": "use lento.histogram or lento.histogram2d",
        "hsplit": "use lento.split(x, parts, axis=1)",
        "index_exp": "write a tuple of slices",
        "info": "use Python's help",
        "iscomplexobj": "write x.dtype.kind == 'c'",
        "isrealobj": "write x.dtype.kind != 'c'",
        "isscalar": "write x.ndim == 0, or isinstance(x, int | float)",
        "issubdtype": "use lento.isdtype(dtype, 'real floating')",
        "iterable": "use Python's iter",
        "mask_indices": "use lento.triu_indices or lento.tril_indices",
        "matvec": "write (x @ y[..., None])[..., 0]",
        "min_scalar_type": "use lento.result_type",
        "mintypecode": "use lento.result_type",
        "nancumprod": "use lento.cumprod(lento.where(lento.isnan(x), 1, x))",
        "nanpercentile": "use lento.nanquantile(x, q / 100)",
        "ndim": "write x.ndim",
        "piecewise": "use lento.where, nested",
        "place": "write x[mask] = values",
        "poly": _POLYNOMIALS,
        "polyadd": _POLYNOMIALS,
        "polyder": "write p[:-1] * lento.arange(p.size - 1, 0, -1)",
        "polydiv": _POLYNOMIALS,
        "polyint": _POLYNOMIALS,
        "polymul": "use lento.convolve",
        "polysub": _POLYNOMIALS,
        "printoptions": "use lento.set_printoptions",
        "put": "write x[lento.unravel_index(i, x.shape)] = v",
        "putmask": "write x = lento.where(mask, values, x)",
        "r_": "use lento.concat, lento.arange or lento.linspace",
        "real_if_close": "use lento.real, which drops the imaginary part, once lento.imag(x) was seen to be small",
        "require": _NO_MEMORY_LAYOUT,
        "roots": "use lento.linalg.eigvals of the companion matrix",
        "s_": "write slice(…)",
        "savez": "use lento.save('file.npz', {'name': x})",
        "savez_compressed": "use lento.save('file.npz', {'name': x})",
        "setxor1d": "use lento.union1d of both lento.setdiff1d",
        "shape": "write x.shape",
        "show_config": "use lento.show_versions",
        "show_runtime": "use lento.show_versions",
        "size": "write x.size, or x.shape",
        "sort_complex": "use lento.sort(x + 0j)",
        "spacing": "write lento.copysign(lento.nextafter(lento.abs(x), lento.inf) - lento.abs(x), x)",
        "tril_indices_from": "use lento.tril_indices(*x.shape)",
        "trim_zeros": "write i = lento.flatnonzero(x); x[int(i[0]) : int(i[-1]) + 1]",
        "triu_indices_from": "use lento.triu_indices(*x.shape)",
        "typename": "write x.dtype.name",
        "unique": "use lento.unique_values, unique_counts, unique_inverse or unique_all",
        "unwrap": "subtract 2 pi times the running sum of the jumps from x[1:]: "
        "lento.cumsum(lento.round(lento.diff(x) / (2 * pi)))",
        "vecmat": "write (x[..., None, :] @ y)[..., 0, :], with x.conj() for a complex x",
        "vectorize": "use lento.vmap",
        "vsplit": "use lento.split(x, parts, axis=0)",
    },
    "linalg": {
        "tensorinv": "use lento.linalg.inv of the reshaped tensor",
        "tensorsolve": "use lento.linalg.solve of the reshaped tensors",
    },
    "random": {
        "default_rng": "use lento.Generator(seed), given as generator=",
        "get_state": "use lento.random.state_dict",
        "rand": "use lento.random.uniform(shape)",
        "randn": "use lento.random.normal(shape)",
        "random": "use lento.random.uniform(shape)",
        "random_integers": f"use lento.random.randint(shape, low, high), {_SHAPE_FIRST}",
        "random_sample": "use lento.random.uniform(shape)",
        "ranf": "use lento.random.uniform(shape)",
        "sample": "use lento.random.uniform(shape)",
        "set_state": "use lento.random.load_state_dict",
        "standard_cauchy": "use lento.random.cauchy(shape)",
        "standard_exponential": "use lento.random.exponential(shape)",
        "standard_gamma": "use lento.random.gamma, with a scale of 1",
        "standard_normal": "use lento.random.normal(shape)",
    },
    "Tensor": {
        "argpartition": "use lento.argpartition(x, k)",
        "choose": "use lento.choose(x, choices)",
        "compress": "use lento.compress(condition, x)",
        "ctypes": "write x.numpy().ctypes, of a copy",
        "data": "use x itself, x.detach(), or memoryview(x), which may be read only; x[...] = v changes the values",
        "dump": "use pickle, or lento.save",
        "dumps": "use pickle, or lento.save",
        "flat": "write x.ravel()",
        "partition": "use lento.partition(x, k), which gives a new tensor",
        "put": "write x[lento.unravel_index(i, x.shape)] = v",
        "resize": "use lento.resize(x, shape), which gives a new tensor",
        "tofile": "write x.numpy().tofile(file), or use lento.save",
        "view": "use lento.bitcast for another dtype, x.reshape for another shape",
    },
}

# Why there is none.
ABSENT: dict[str, dict[str, str]] = {
    "": {
        "bitwise_count": "there is none; count with lento.bitwise_and and shifts",
        "busday_count": _DATES,
        "busday_offset": _DATES,
        "datetime_as_string": _DATES,
        "datetime_data": _DATES,
        "einsum_path": "operands are contracted from left to right; order them yourself",
        "frexp": "there is none; take lento.log2 and lento.floor",
        "fromregex": _TEXT_FILES,
        "fromstring": _TEXT_FILES,
        "gcd": "there is none; use NumPy's and lento.asarray",
        "genfromtxt": _TEXT_FILES,
        "get_include": "C++ programs use find_package(lento)",
        "getbufsize": "nothing is buffered",
        "geterr": _NO_WARNINGS,
        "geterrcall": _NO_WARNINGS,
        "is_busday": _DATES,
        "isfortran": _NO_MEMORY_LAYOUT,
        "isnat": _DATES,
        "kaiser": "there is none; use NumPy's and lento.asarray",
        "lcm": "there is none; use NumPy's and lento.asarray",
        "loadtxt": _TEXT_FILES,
        "may_share_memory": _NO_VIEWS,
        "nested_iters": "a loop over elements waits for each; use functions of whole tensors",
        "packbits": "there is none; use NumPy's and lento.asarray",
        "savetxt": _TEXT_FILES,
        "setbufsize": "nothing is buffered",
        "seterr": _NO_WARNINGS,
        "seterrcall": _NO_WARNINGS,
        "shares_memory": _NO_VIEWS,
        "test": "make test runs Lento's tests",
        "unpackbits": "there is none; use NumPy's and lento.asarray",
    },
    "linalg": {},
    "Tensor": {
        "base": _NO_VIEWS,
        "byteswap": "numbers are in the machine's order; lento.asarray converts others",
        "flags": _NO_MEMORY_LAYOUT,
        "getfield": "a tensor has one dtype and no fields",
        "setfield": "a tensor has one dtype and no fields",
        "setflags": "tensors are values: nobody can write into one that you hold",
        "strides": _NO_MEMORY_LAYOUT,
    },
    "random": {
        "bytes": "use Python's random.randbytes",
        **dict.fromkeys(_DISTRIBUTIONS, _TRANSFORM),
    },
}


def tensor_hints() -> dict[str, str]:
    """What a tensor's error says of attributes of NumPy's arrays."""
    return {**ELSEWHERE["Tensor"], **ABSENT["Tensor"]}


def hint(module: str, name: str) -> str | None:
    """What the module's error says of one of NumPy's names."""
    space = module.removeprefix("lento").removeprefix(".")
    return ELSEWHERE.get(space, {}).get(name) or ABSENT.get(space, {}).get(name)
