"""Oracles for ops that NumPy and SciPy do not have, as plain as possible. The catalogue calls them `o`."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from oracles_linalg import *  # noqa: F403
from oracles_losses import *  # noqa: F403
from oracles_nn import *  # noqa: F403
from oracles_sequence import *  # noqa: F403
from oracles_stats import *  # noqa: F403
from scipy import special

Array = Any


def axes(axis: Any) -> Any:
    """An `axis` argument the way NumPy wants it: None, an int or a tuple."""
    return tuple(axis) if isinstance(axis, list | tuple) else axis


def sum_dtype(x: Array) -> Any:
    """What sums and products are computed in: small integers and bools become 64 bits wide."""
    if x.dtype.kind in "bi":
        return np.int64
    return np.uint64 if x.dtype.kind == "u" else x.dtype


def mean_dtype(x: Array) -> Any:
    """What means have: NumPy's, but float32 for integers and bools."""
    return np.float32 if x.dtype.kind in "biu" else None


def fft_axes(x: Array, s: Any, axis: Any) -> Any:
    """NumPy wants axes whenever it is given sizes."""
    if axis is not None:
        return tuple(axis) if isinstance(axis, list | tuple) else (axis,)
    return None if s is None else tuple(range(x.ndim - len(s), x.ndim))


# --- elementwise ---


def floor_divide(x1: Array, x2: Array) -> Array:
    x1, x2 = np.broadcast_arrays(x1, x2)
    with np.errstate(all="ignore"):
        if x1.dtype.kind in "iub":
            safe = np.where(x2 == 0, np.ones_like(x2), x2)
            return np.where(x2 == 0, np.zeros_like(x1), np.floor_divide(x1, safe))
        quotient = x1 / x2
        plain = ~np.isfinite(x1) | ~np.isfinite(x2) | (x2 == 0)
        return np.where(
            plain,
            quotient,
            np.copysign(
                np.floor_divide(x1, x2), np.where(np.floor_divide(x1, x2) == 0, quotient, np.floor_divide(x1, x2))
            ),
        )


def maximum(x1: Array, x2: Array) -> Array:
    """NumPy's, with +0 above -0: of two zeros NumPy takes either."""
    larger = np.maximum(x1, x2)
    if larger.dtype.kind != "f":
        return larger
    positive = (larger == 0) & ~(np.signbit(x1) & np.signbit(x2))
    return np.where(positive, np.zeros_like(larger), larger)


def minimum(x1: Array, x2: Array) -> Array:
    smaller = np.minimum(x1, x2)
    if smaller.dtype.kind != "f":
        return smaller
    negative = (smaller == 0) & (np.signbit(x1) | np.signbit(x2))
    return np.where(negative, -np.zeros_like(smaller), smaller)


def lgamma(x: Array) -> Array:
    """SciPy's, which overflows for subnormal numbers: log|gamma(x)| is -log|x| there."""
    with np.errstate(all="ignore"):
        return np.where((x != 0) & (np.abs(x) < 1e-30), -np.log(np.abs(x)), special.gammaln(x))


def power(x1: Array, x2: Array) -> Array:
    strong = [v.dtype for v in (x1, x2) if isinstance(v, np.ndarray)]
    weak = [v for v in (x1, x2) if not isinstance(v, np.ndarray)]
    dtype = np.result_type(*strong, *weak)
    x1, x2 = np.broadcast_arrays(np.asarray(x1, dtype), np.asarray(x2, dtype))
    with np.errstate(all="ignore"):
        if x1.dtype.kind not in "iu":
            return np.power(x1, x2)
        bits = 8 * x1.dtype.itemsize
        result = np.zeros(x1.shape, dtype=object)
        for place in np.ndindex(x1.shape):
            base, exponent = int(x1[place]), int(x2[place])
            if exponent >= 0:
                value = pow(base, exponent, 1 << bits)
            elif base in (1, -1):
                value = base if exponent % 2 else 1
            else:
                value = 0
            value %= 1 << bits
            if x1.dtype.kind == "i" and value >= 1 << (bits - 1):
                value -= 1 << bits
            result[place] = value
        return result.astype(x1.dtype)


def make_complex(real: Array, imag: Array) -> Array:
    real, imag = np.broadcast_arrays(real, imag)
    result = np.empty(real.shape, np.complex128 if real.dtype == np.float64 else np.complex64)
    result.real, result.imag = real, imag
    return result


def clip(x: Array, low: Any, high: Any) -> Array:
    if low is not None:
        x = np.maximum(x, np.asarray(low, dtype=x.dtype))
    if high is not None:
        x = np.minimum(x, np.asarray(high, dtype=x.dtype))
    return x


def nan_to_num(x: Array, nan: float, posinf: float | None, neginf: float | None) -> Array:
    return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


def angle(x: Array) -> Array:
    if x.dtype.kind == "c":
        return np.angle(x)
    return np.where(np.isnan(x), x, np.where(np.signbit(x) & (x != 0), np.pi, 0.0))


def divide_rounded(x1: Array, x2: Array, rounding_mode: str) -> Array:
    if rounding_mode == "floor":
        return floor_divide(x1, x2)
    if rounding_mode == "trunc":
        quotient = np.trunc(np.true_divide(x1, x2))
        return quotient.astype(np.result_type(x1, x2))
    return np.true_divide(x1, x2)


def signbit(x: Array) -> Array:
    return np.signbit(x) if x.dtype.kind == "f" else x < 0


# --- indexing ---


def _places(index: Array, axis: int) -> Any:
    for place in np.ndindex(index.shape):
        target = list(place)
        target[axis] = int(index[place])
        yield place, tuple(target)


def put_along_axis(x: Array, indices: Array, values: Array, axis: int) -> Array:
    result = x.copy()
    np.put_along_axis(result, indices, values, axis)
    return result


def gather(x: Array, axis: int, index: Array) -> Array:
    result = np.empty(index.shape, x.dtype)
    for place, source in _places(index, axis):
        result[place] = x[source]
    return result


_COMBINE = {
    "none": lambda old, new: new,
    "set": lambda old, new: new,
    "add": lambda old, new: old + new,
    "sum": lambda old, new: old + new,
    "multiply": lambda old, new: old * new,
    "prod": lambda old, new: old * new,
    "amin": np.minimum,
    "minimum": np.minimum,
    "amax": np.maximum,
    "maximum": np.maximum,
}


def scatter(x: Array, axis: int, index: Array, src: Any, reduce: str) -> Array:
    result = x.copy()
    with np.errstate(all="ignore"):
        for place, target in _places(index, axis):
            value = src[place] if isinstance(src, np.ndarray) and src.ndim else src
            result[target] = _COMBINE[reduce](result[target], x.dtype.type(value))
    return result


def scatter_reduce(x: Array, axis: int, index: Array, src: Array, reduce: str, include_self: bool) -> Array:
    groups: dict[tuple[int, ...], list[Any]] = {}
    for place, target in _places(index, axis):
        groups.setdefault(target, []).append(src[place])
    result = x.copy()
    with np.errstate(all="ignore"):
        for target, values in groups.items():
            members = ([x[target]] if include_self else []) + values
            if reduce == "mean":
                total = np.sum(np.array(members), dtype=sum_dtype(x))
                result[target] = total // len(members) if x.dtype.kind in "iu" else total / len(members)
                continue
            value = members[0]
            for member in members[1:]:
                value = _COMBINE[reduce](value, member)
            result[target] = value
    return result


def _slices(x: Array, axis: int, index: Array) -> Any:
    for number, position in enumerate(np.atleast_1d(index)):
        target: list[Any] = [slice(None)] * x.ndim
        target[axis] = int(position)
        source: list[Any] = [slice(None)] * x.ndim
        source[axis] = number
        yield tuple(target), tuple(source)


def index_add(x: Array, axis: int, index: Array, source: Array, alpha: Any) -> Array:
    result = x.copy()
    source = source if index.ndim else np.expand_dims(source, axis)
    for target, part in _slices(x, axis, index):
        result[target] += (source[part] * alpha).astype(x.dtype)
    return result


def index_copy(x: Array, axis: int, index: Array, source: Array) -> Array:
    result = x.copy()
    for target, part in _slices(x, axis, index):
        result[target] = source[part]
    return result


def index_fill(x: Array, axis: int, index: Array, value: Any) -> Array:
    result = x.copy()
    for target, _ in _slices(x, axis, index):
        result[target] = value
    return result


def index_put(x: Array, indices: list[Array], values: Any, accumulate: bool) -> Array:
    result = x.copy()
    if accumulate:
        np.add.at(result, tuple(indices), values)
    else:
        result[tuple(indices)] = values
    return result


def scatter_nd(x: Array, value: Array, indices: list[Array], mode: str) -> Array:
    result = x.copy()
    indices = [np.broadcast_to(i, np.broadcast_shapes(*[j.shape for j in indices])) for i in indices]
    with np.errstate(all="ignore"):
        for place in np.ndindex(indices[0].shape):
            target = tuple(int(i[place]) for i in indices)
            result[target] = _COMBINE[mode](
                result[target], np.broadcast_to(value, indices[0].shape + x.shape[len(indices) :])[place]
            )
    return result


def masked_scatter(x: Array, mask: Array, source: Array) -> Array:
    result = x.copy()
    full = np.broadcast_to(mask, x.shape)
    result[full] = source.ravel()[: int(full.sum())]
    return result


def fill_diagonal(x: Array, value: Any) -> Array:
    result = x.copy()
    for i in range(min(x.shape)):
        result[(i,) * x.ndim] = value
    return result


def diagonal_scatter(x: Array, src: Array, offset: int, axis1: int, axis2: int) -> Array:
    result = np.moveaxis(x.copy(), (axis1, axis2), (-2, -1))
    for i in range(src.shape[-1]):
        result[..., i + max(-offset, 0), i + max(offset, 0)] = src[..., i]
    return np.moveaxis(result, (-2, -1), (axis1, axis2))


def diag_embed(x: Array, offset: int, axis1: int, axis2: int) -> Array:
    size = x.shape[-1] + abs(offset)
    result = np.zeros((*x.shape[:-1], size, size), x.dtype)
    for i in range(x.shape[-1]):
        result[..., i + max(-offset, 0), i + max(offset, 0)] = x[..., i]
    return np.moveaxis(result, (-2, -1), (axis1, axis2))


# --- manipulation ---


def flatten(x: Array, start_axis: int, end_axis: int) -> Array:
    if x.ndim == 0:
        return x.reshape(1)
    start, end = start_axis % x.ndim, end_axis % x.ndim
    return x.reshape((*x.shape[:start], -1, *x.shape[end + 1 :]))


def expand(x: Array, shape: list[int]) -> Array:
    lead = len(shape) - x.ndim
    return np.broadcast_to(x, [x.shape[i - lead] if n == -1 else n for i, n in enumerate(shape)])


def chunk(x: Array, chunks: int, axis: int) -> list[Array]:
    size = -(-x.shape[axis] // chunks)
    return np.split(x, range(size, x.shape[axis], size), axis=axis)


def pad(x: Array, pad_width: Any, mode: str, constant_values: Any) -> Array:
    widths = [pad_width] if isinstance(pad_width, int) else list(pad_width)
    if len(widths) == 1:
        pairs = [(widths[0], widths[0])] * x.ndim
    elif len(widths) == 2:
        pairs = [(widths[0], widths[1])] * x.ndim
    else:
        pairs = list(zip(widths[::2], widths[1::2], strict=True))
    name = {"replicate": "edge", "circular": "wrap"}.get(mode, mode)
    return (
        np.pad(x, pairs, mode=name, constant_values=constant_values)
        if name == "constant"
        else np.pad(x, pairs, mode=name)
    )


def unfold(x: Array, axis: int, size: int, step: int) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=axis)
    place: list[Any] = [slice(None)] * windows.ndim
    place[axis % x.ndim] = slice(None, None, step)
    return windows[tuple(place)]


def as_strided(x: Array, shape: list[int], strides: list[int], offset: int) -> Array:
    result = np.empty(shape, x.dtype)
    flat = x.ravel()
    for place in np.ndindex(*shape):
        result[place] = flat[offset + sum(i * s for i, s in zip(place, strides, strict=True))]
    return result


def sum_to_size(x: Array, shape: list[int]) -> Array:
    lead = x.ndim - len(shape)
    summed = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(shape) if n == 1 and x.shape[lead + i] != 1)
    return np.sum(x, axis=summed, keepdims=True, dtype=x.dtype).reshape(shape)


def diff(x: Array, n: int, axis: int, prepend: Array | None, append: Array | None) -> Array:
    parts = [p for p in (prepend, x, append) if p is not None]
    return np.diff(np.concatenate(parts, axis=axis), n=n, axis=axis)


# --- sorting and sets ---


def strided_positions(offset: int, sizes: list[int], strides: list[int]) -> Array:
    positions = np.full(sizes, offset)
    for axis, stride in enumerate(strides):
        positions += np.arange(sizes[axis]).reshape([-1 if a == axis else 1 for a in range(len(sizes))]) * stride
    return positions


def strided_slice(x: Array, starts: list[int], axes: list[int], sizes: list[int], steps: list[int]) -> Array:
    for start, axis, size, step in zip(starts, axes, sizes, steps, strict=True):
        x = np.take(x, start + step * np.arange(size), axis=axis)
    return x


def strided_update(x: Array, value: Array, starts: list[int], axes: list[int], steps: list[int]) -> Array:
    result = x.copy()
    for place in np.ndindex(value.shape):
        target = list(place)
        for start, axis, step in zip(starts, axes, steps, strict=True):
            target[axis] = start + place[axis] * step
        result[tuple(target)] = value[place]
    return result


def argsort(x: Array, axis: int, descending: bool) -> Array:
    if x.size == 0:
        return np.zeros(x.shape, np.int64)
    rows = np.moveaxis(x, axis, -1)
    result = np.empty(rows.shape, np.int64)
    for place in np.ndindex(rows.shape[:-1]):
        row = rows[place]
        # Stable in both directions: descending order of ascending ranks.
        ranks = np.unique(row, return_inverse=True)[1].ravel()
        result[place] = np.argsort(-ranks if descending else ranks, kind="stable")
    return np.moveaxis(result, -1, axis)


def topk(x: Array, k: int, axis: int, largest: bool) -> tuple[Array, Array]:
    order = np.take(argsort(x, axis, largest), range(k), axis=axis)
    return np.take_along_axis(x, order, axis), order


def kthvalue(x: Array, k: int, axis: int, keepdims: bool) -> tuple[Array, Array]:
    order = np.take(argsort(x, axis, False), [k - 1], axis=axis)
    value = np.take_along_axis(x, order, axis)
    return (value, order) if keepdims else (np.squeeze(value, axis), np.squeeze(order, axis))


def unique_all(x: Array) -> tuple[Array, Array, Array, Array]:
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    return values, first, inverse.reshape(x.shape), counts


def unique_counts(x: Array) -> tuple[Array, Array]:
    return unique_all(x)[0], unique_all(x)[3]


def unique_inverse(x: Array) -> tuple[Array, Array]:
    return unique_all(x)[0], unique_all(x)[2]


def unique_values(x: Array) -> Array:
    return np.unique(x)


def _running(x: Array, axis: int, better: Any) -> tuple[Array, Array]:
    rows = np.moveaxis(x, axis, -1)
    values, positions = rows.copy(), np.zeros(rows.shape, np.int64)
    for place in np.ndindex(rows.shape[:-1]):
        best = 0
        for i in range(rows.shape[-1]):
            held, new = rows[place][best], rows[place][i]
            if i and (new != new or (held == held and better(new, held))):
                best = i
            values[place][i], positions[place][i] = rows[place][best], best
    return np.moveaxis(values, -1, axis), np.moveaxis(positions, -1, axis)


def cummax(x: Array, axis: int) -> tuple[Array, Array]:
    return _running(x, axis, lambda new, held: new >= held)


def cummin(x: Array, axis: int) -> tuple[Array, Array]:
    return _running(x, axis, lambda new, held: new <= held)


def histogram(x: Array, bins: Any, limits: Any, weights: Array | None, density: bool) -> tuple[Array, Array]:
    return np.histogram(x, bins, range=tuple(limits) if limits else None, weights=weights, density=density)


def histogram2d(
    x: Array, y: Array, bins: Any, limits: Any, density: bool, weights: Array | None, edges: Any
) -> tuple[Array, Array, Array]:
    ends = np.reshape(limits, (2, 2)) if limits else None
    return np.histogram2d(x, y, edges or bins, range=ends, density=density, weights=weights)


# --- linear algebra and random bits ---


def triangular_solve(a: Array, b: Array, upper: bool, transpose: bool, unit_diagonal: bool) -> Array:
    a = np.triu(a) if upper else np.tril(a)
    if unit_diagonal:
        n = a.shape[-1]
        a = np.where(np.eye(n, dtype=bool), np.ones((), a.dtype), a)
    a = np.swapaxes(a, -1, -2) if transpose else a
    return np.linalg.solve(a, b[:, None])[:, 0] if b.ndim == 1 else np.linalg.solve(a, b)


def _philox(counter: list[int], key: list[int]) -> list[int]:
    mask = 0xFFFFFFFF
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * counter[0], 1 << 32)
        high1, low1 = divmod(0xCD9E8D57 * counter[2], 1 << 32)
        counter = [high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0]
        key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
    return counter


def random_bits(shape: list[int], key: int, counter: int, dtype: Any) -> Array:
    """Philox4x32-10 as published: an independent few lines."""
    count = int(np.prod(shape, dtype=np.int64))
    words: list[int] = []
    wide = np.dtype(dtype) == np.uint64
    for block in itertools.count():
        if len(words) >= count * (2 if wide else 1):
            break
        number = (counter + block) % (1 << 64)
        words += _philox([number & 0xFFFFFFFF, number >> 32, 0, 0], [key & 0xFFFFFFFF, key >> 32])
    if wide:
        words = [low | high << 32 for low, high in zip(words[::2], words[1::2], strict=True)]
    return np.array(words[:count], dtype=np.uint64).astype(dtype).reshape(shape)
