"""Oracles for neural network ops: windows cut out of a padded array, then plain NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

Array = Any


def _each(value: Any, count: int) -> list[int]:
    """One entry for each spatial axis."""
    values = [value] if isinstance(value, int | np.integer) else list(value)
    return values * count if len(values) == 1 else values


def _precise(x: Array) -> Array:
    """Sums in float64, so that the oracle's own rounding does not count."""
    return x.astype(np.float64) if x.dtype.kind == "f" else x.astype(np.complex128) if x.dtype.kind == "c" else x


# --- activations ---


def prelu(x: Array, weight: Array) -> Array:
    slope = weight if weight.size == 1 else weight.reshape((-1,) + (1,) * (x.ndim - 2))
    return np.where(x > 0, x, slope * x)


def gelu(x: Array, approximate: str) -> Array:
    x = _precise(x)
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * special.erfc(-x / math.sqrt(2))


# --- windows ---


def windows(
    x: Array, kernel: list[int], stride: list[int], low: list[int], high: list[int], dilation: list[int], fill: Any
) -> Array:
    """(N, C, *S) → (N, C, *positions, *kernel)."""
    rank = len(kernel)
    padded = np.pad(
        x, [(0, 0), (0, 0), *[(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)]], constant_values=fill
    )
    span = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    view = np.lib.stride_tricks.sliding_window_view(padded, span, axis=tuple(range(2, 2 + rank)))
    pick: list[Any] = [slice(None), slice(None)]
    pick += [slice(None, None, s) for s in stride]
    pick += [slice(None, None, d) for d in dilation]
    return view[tuple(pick)]


def convolution(x: Array, weight: Array, stride: Any, low: Any, high: Any, dilation: Any, groups: int) -> Array:
    rank = weight.ndim - 2
    stride, low, high, dilation = (_each(v, rank) for v in (stride, low, high, dilation))
    dtype = np.result_type(x, weight)
    cut = windows(_precise(x), list(weight.shape[2:]), stride, low, high, dilation, 0)
    outs = weight.shape[0] // groups
    channels = weight.shape[1]
    parts = []
    for g in range(groups):
        block = cut[:, g * channels : (g + 1) * channels]
        kernel = _precise(weight)[g * outs : (g + 1) * outs]
        summed = [1, *range(2 + rank, 2 + 2 * rank)]
        parts.append(np.moveaxis(np.tensordot(block, kernel, axes=(summed, list(range(1, 2 + rank)))), -1, 1))
    with np.errstate(all="ignore"):
        return np.concatenate(parts, axis=1).astype(dtype)


def convolution_input_grad(
    grad: Array, weight: Array, input_size: Any, stride: Any, low: Any, high: Any, dilation: Any, groups: int
) -> Array:
    rank = weight.ndim - 2
    stride, low, high, dilation = (_each(v, rank) for v in (stride, low, high, dilation))
    channels, outs = weight.shape[1], weight.shape[0] // groups
    dtype = np.result_type(grad, weight)
    result = np.zeros((grad.shape[0], channels * groups, *input_size), _precise(np.zeros(0, dtype)).dtype)
    for place in np.ndindex(*grad.shape[2:]):
        for k in np.ndindex(*weight.shape[2:]):
            target = [r * s - p + i * d for r, s, p, i, d in zip(place, stride, low, k, dilation, strict=True)]
            if any(t < 0 or t >= n for t, n in zip(target, input_size, strict=True)):
                continue
            for g in range(groups):
                got = grad[(slice(None), slice(g * outs, (g + 1) * outs), *place)]
                kernel = weight[(slice(g * outs, (g + 1) * outs), slice(None), *k)]
                result[(slice(None), slice(g * channels, (g + 1) * channels), *target)] += _precise(got) @ _precise(
                    kernel
                )
    with np.errstate(all="ignore"):
        return result.astype(dtype)


def convolution_weight_grad(
    grad: Array, x: Array, kernel_size: Any, stride: Any, low: Any, high: Any, dilation: Any, groups: int
) -> Array:
    rank = x.ndim - 2
    stride, low, high, dilation = (_each(v, rank) for v in (stride, low, high, dilation))
    channels, outs = x.shape[1] // groups, grad.shape[1] // groups
    dtype = np.result_type(grad, x)
    result = np.zeros((grad.shape[1], channels, *kernel_size), _precise(np.zeros(0, dtype)).dtype)
    for place in np.ndindex(*grad.shape[2:]):
        for k in np.ndindex(*kernel_size):
            source = [r * s - p + i * d for r, s, p, i, d in zip(place, stride, low, k, dilation, strict=True)]
            if any(t < 0 or t >= n for t, n in zip(source, x.shape[2:], strict=True)):
                continue
            for g in range(groups):
                got = _precise(grad[(slice(None), slice(g * outs, (g + 1) * outs), *place)])
                part = _precise(x[(slice(None), slice(g * channels, (g + 1) * channels), *source)])
                result[(slice(g * outs, (g + 1) * outs), slice(None), *k)] += got.T @ part
    with np.errstate(all="ignore"):
        return result.astype(dtype)


def _add_bias(y: Array, bias: Array | None) -> Array:
    return y if bias is None else y + bias.reshape((-1,) + (1,) * (y.ndim - 2))


def conv(
    x: Array, weight: Array, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, auto_padding: str
) -> Array:
    rank = weight.ndim - 2
    batched = x.ndim == rank + 2
    low = high = _each(padding, rank)
    spread = _each(dilation, rank)
    if auto_padding == "same":
        total = [d * (k - 1) for d, k in zip(spread, weight.shape[2:], strict=True)]
        low, high = [t // 2 for t in total], [t - t // 2 for t in total]
    y = convolution(x if batched else x[None], weight, _each(stride, rank), low, high, spread, groups)
    y = _add_bias(y, bias)
    return y if batched else y[0]


def conv_transpose(
    x: Array, weight: Array, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any
) -> Array:
    rank = weight.ndim - 2
    batched = x.ndim == rank + 2
    x = x if batched else x[None]
    steps, pads, extra, spread = (_each(v, rank) for v in (stride, padding, output_padding, dilation))
    size = [
        (n - 1) * s - 2 * p + d * (k - 1) + e + 1
        for n, s, p, d, k, e in zip(x.shape[2:], steps, pads, spread, weight.shape[2:], extra, strict=True)
    ]
    y = _add_bias(convolution_input_grad(x, weight, size, steps, pads, pads, spread, groups), bias)
    return y if batched else y[0]


# --- pooling ---


def _lowest(dtype: Any) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def max_window(x: Array, kernel: Any, stride: Any, low: Any, high: Any, dilation: Any) -> tuple[Array, Array]:
    rank = x.ndim - 2
    flat = np.arange(int(np.prod(x.shape[2:]))).reshape((1, 1, *x.shape[2:]))
    cut = windows(x, kernel, stride, low, high, dilation, _lowest(x.dtype))
    where = windows(np.broadcast_to(flat, x.shape), kernel, stride, low, high, dilation, -1)
    shape = cut.shape[: 2 + rank]
    cut, where = cut.reshape((*shape, -1)), where.reshape((*shape, -1))
    # Padding is never chosen, nan wins, then the first of the largest.
    real = np.where(where >= 0, cut.astype(np.float64 if x.dtype.kind == "f" else object), -np.inf)
    first_nan = np.where(cut != cut, np.inf, real) if x.dtype.kind == "f" else real
    best = np.argmax(first_nan.astype(np.float64) if x.dtype.kind == "f" else first_nan, axis=-1)
    return np.take_along_axis(cut, best[..., None], -1)[..., 0], np.take_along_axis(where, best[..., None], -1)[..., 0]


def sum_window(x: Array, kernel: Any, stride: Any, low: Any, high: Any, dilation: Any) -> Array:
    cut = windows(_precise(x), kernel, stride, low, high, dilation, 0)
    return np.sum(cut, axis=tuple(range(x.ndim, cut.ndim)), dtype=cut.dtype)


def _pool_geometry(x: Array, rank: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
    kernel = _each(kernel, rank)
    stride = kernel if not stride else _each(stride, rank)
    padding, dilation = _each(padding, rank), _each(dilation, rank)
    high = []
    for n, k, s, p, d in zip(x.shape[-rank:], kernel, stride, padding, dilation, strict=True):
        span = d * (k - 1) + 1
        count = (n + 2 * p - span) // s + 1
        if ceil_mode:
            count = -(-(n + 2 * p - span) // s) + 1
            if (count - 1) * s >= n + p:  # a window must start inside the input or the left padding
                count -= 1
        high.append((count - 1) * s + span - n - p)
    return kernel, stride, padding, high, dilation


def _crop(x: Array, padding: list[int], high: list[int], rank: int) -> tuple[Array, list[int]]:
    """Drops elements at the end that no window reaches (negative padding)."""
    pick = [slice(None)] * (x.ndim - rank) + [
        slice(0, n + min(h, 0)) for n, h in zip(x.shape[-rank:], high, strict=True)
    ]
    return x[tuple(pick)], [max(h, 0) for h in high]


def max_pool(
    x: Array, rank: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Array, Array]:
    batched = x.ndim == rank + 2
    full = x if batched else x[None]
    kernel, stride, padding, high, dilation = _pool_geometry(x, rank, kernel, stride, padding, dilation, ceil_mode)
    cropped, high = _crop(full, padding, high, rank)
    values, where = max_window(cropped, kernel, stride, padding, high, dilation)
    # Positions count in the whole input, not in the cropped one.
    coordinates = np.unravel_index(np.maximum(where, 0), cropped.shape[2:])
    where = np.where(where < 0, where, np.ravel_multi_index(coordinates, full.shape[2:]))
    return (values, where) if batched else (values[0], where[0])


def avg_pool(
    x: Array, rank: int, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, include_pad: bool, divisor: Any = None
) -> Array:
    batched = x.ndim == rank + 2
    full = x if batched else x[None]
    kernel, stride, padding, high, dilation = _pool_geometry(x, rank, kernel, stride, padding, 1, ceil_mode)
    cropped, grown = _crop(full, padding, high, rank)
    total = sum_window(cropped, kernel, stride, padding, grown, dilation)
    # What counts: the input, and with include_pad the padding that was asked for (not what ceil_mode adds).
    inside = np.pad(
        np.ones((1, 1, *full.shape[2:])),
        [(0, 0), (0, 0), *[(p, p) for p in padding]],
        constant_values=float(include_pad),
    )
    extra = [max(h - p, 0) for h, p in zip(high, padding, strict=True)]
    reach = [slice(None), slice(None)] + [
        slice(0, n + p + h) for n, p, h in zip(full.shape[2:], padding, high, strict=True)
    ]
    count = sum_window(inside[tuple(reach)], kernel, stride, [0] * rank, extra, dilation)
    y = total / (count if divisor is None else divisor)
    return y if batched else y[0]


def lp_pool(x: Array, rank: int, norm_type: float, kernel: Any, stride: Any, ceil_mode: bool) -> Array:
    kernel, stride, padding, high, dilation = _pool_geometry(x, rank, kernel, stride, 0, 1, ceil_mode)
    cropped, high = _crop(_precise(x), padding, high, rank)
    return sum_window(cropped**norm_type, kernel, stride, padding, high, dilation) ** (1 / norm_type)


def _adaptive(x: Array, rank: int, output_size: Any) -> Any:
    size = _each(output_size, rank)
    spatial = x.shape[-rank:]
    for place in np.ndindex(*size):
        bounds = [(i * m // n, -(-(i + 1) * m // n)) for i, m, n in zip(place, spatial, size, strict=True)]
        yield place, bounds, x[(..., *[slice(a, b) for a, b in bounds])]


def adaptive_avg_pool(x: Array, rank: int, output_size: Any) -> Array:
    result = np.empty((*x.shape[:-rank], *_each(output_size, rank)))
    for place, _, block in _adaptive(_precise(x), rank, output_size):
        result[(..., *place)] = block.mean(axis=tuple(range(-rank, 0)))
    return result


def adaptive_max_pool(x: Array, rank: int, output_size: Any) -> tuple[Array, Array]:
    shape = (*x.shape[:-rank], *_each(output_size, rank))
    values, where = np.empty(shape, x.dtype), np.empty(shape, np.int64)
    for place, bounds, block in _adaptive(x, rank, output_size):
        flat = block.reshape((*block.shape[:-rank], -1))
        best = np.argmax(flat, axis=-1)  # the first nan, else the first of the largest
        values[(..., *place)] = np.take_along_axis(flat, best[..., None], -1)[..., 0]
        inner = np.unravel_index(best, block.shape[-rank:])
        where[(..., *place)] = np.ravel_multi_index(
            tuple(i + a for i, (a, _) in zip(inner, bounds, strict=True)), x.shape[-rank:]
        )
    return values, where


def max_unpool(x: Array, rank: int, indices: Array, kernel: Any, stride: Any, padding: Any, output_size: Any) -> Array:
    kernel = _each(kernel, rank)
    stride, padding = (kernel if not stride else _each(stride, rank)), _each(padding, rank)
    size = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(x.shape[-rank:], stride, padding, kernel, strict=True)]
    size = size if not output_size else list(output_size)[-rank:]
    lead = x.shape[:-rank]
    result = np.zeros((*lead, int(np.prod(size))), x.dtype)
    flat, where = x.reshape((*lead, -1)), indices.reshape((*lead, -1))
    for place in np.ndindex(*lead):
        for i, value in zip(where[place], flat[place], strict=True):
            result[(*place, int(i))] = value
    return result.reshape((*lead, *size))


# --- normalisation ---


def _affine(y: Array, weight: Array | None, bias: Array | None, shape: tuple[int, ...]) -> Array:
    if weight is not None:
        y = y * weight.reshape(shape)
    return y if bias is None else y + bias.reshape(shape)


def _standardise(x: Array, axis: tuple[int, ...], eps: float) -> Array:
    x = _precise(x)
    return (x - x.mean(axis=axis, keepdims=True)) / np.sqrt(x.var(axis=axis, keepdims=True) + eps)


def layer_norm(x: Array, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Array:
    shape = tuple(_each(normalized_shape, 1))
    return _affine(_standardise(x, tuple(range(x.ndim - len(shape), x.ndim)), eps), weight, bias, shape)


def rms_norm(x: Array, normalized_shape: Any, weight: Any, eps: float | None) -> Array:
    shape = tuple(_each(normalized_shape, 1))
    axis = tuple(range(x.ndim - len(shape), x.ndim))
    eps = float(np.finfo(x.dtype).eps) if eps is None else eps
    wide = _precise(x)
    return _affine(wide / np.sqrt(np.mean(wide**2, axis=axis, keepdims=True) + eps), weight, None, shape)


def _channels(x: Array) -> tuple[int, ...]:
    return (1, x.shape[1]) + (1,) * (x.ndim - 2)


def batch_norm(x: Array, mean: Any, var: Any, weight: Any, bias: Any, training: bool, eps: float) -> Array:
    shape = _channels(x)
    if training:
        y = _standardise(x, (0, *range(2, x.ndim)), eps)
    else:
        y = (_precise(x) - mean.reshape(shape)) / np.sqrt(_precise(var).reshape(shape) + eps)
    return _affine(y, weight, bias, shape)


def batch_norm_train(
    x: Array, mean: Array, var: Array, weight: Any, bias: Any, momentum: float, eps: float
) -> tuple[Array, ...]:
    axis = (0, *range(2, x.ndim))
    wide = _precise(x)
    new_mean = (1 - momentum) * mean + momentum * wide.mean(axis=axis)
    new_var = (1 - momentum) * var + momentum * wide.var(axis=axis, ddof=1)
    return batch_norm(x, None, None, weight, bias, True, eps), new_mean, new_var


def group_norm(x: Array, num_groups: int, weight: Any, bias: Any, eps: float) -> Array:
    grouped = x.reshape((x.shape[0], num_groups, -1))
    return _affine(_standardise(grouped, (2,), eps).reshape(x.shape), weight, bias, _channels(x))


def instance_norm(x: Array, mean: Any, var: Any, weight: Any, bias: Any, use_input_stats: bool, eps: float) -> Array:
    if not use_input_stats:
        return batch_norm(x, mean, var, weight, bias, False, eps)
    return _affine(_standardise(x, tuple(range(2, x.ndim)), eps), weight, bias, _channels(x))


def instance_norm_train(
    x: Array, mean: Array, var: Array, weight: Any, bias: Any, momentum: float, eps: float
) -> tuple[Array, ...]:
    axis = tuple(range(2, x.ndim))
    wide = _precise(x)
    new_mean = (1 - momentum) * mean + momentum * wide.mean(axis=axis).mean(axis=0)
    new_var = (1 - momentum) * var + momentum * wide.var(axis=axis, ddof=1).mean(axis=0)
    return instance_norm(x, None, None, weight, bias, True, eps), new_mean, new_var


def local_response_norm(x: Array, size: int, alpha: float, beta: float, k: float) -> Array:
    wide = _precise(x)
    padded = np.pad(wide**2, [(0, 0), (size // 2, (size - 1) // 2)] + [(0, 0)] * (x.ndim - 2))
    total = sum(padded[:, i : i + x.shape[1]] for i in range(size))
    return wide / (k + alpha * total / size) ** beta


def _norm(x: Array, p: float, axis: Any, keepdims: bool = False) -> Array:
    length = np.abs(_precise(x))
    if p == math.inf:
        return length.max(axis=axis, keepdims=keepdims)
    if p == 0:
        return (length != 0).sum(axis=axis, keepdims=keepdims).astype(np.float64)
    return (length**p).sum(axis=axis, keepdims=keepdims) ** (1 / p)


def normalize(x: Array, p: float, axis: Any, eps: float) -> Array:
    axis = tuple(axis) if isinstance(axis, list | tuple) else axis
    return _precise(x) / np.maximum(_norm(x, p, axis, True), eps)


def cosine_similarity(x1: Array, x2: Array, axis: int, eps: float) -> Array:
    x1, x2 = np.broadcast_arrays(_precise(x1), _precise(x2))
    return (x1 * x2).sum(axis) / (np.maximum(_norm(x1, 2, axis), eps) * np.maximum(_norm(x2, 2, axis), eps))


def pairwise_distance(x1: Array, x2: Array, p: float, eps: float, keepdims: bool) -> Array:
    return _norm(_precise(x1) - _precise(x2) + eps, p, -1, keepdims)


def cdist(x1: Array, x2: Array, p: float) -> Array:
    return _norm(_precise(x1)[..., :, None, :] - _precise(x2)[..., None, :, :], p, -1)


# --- resizing and rearranging ---


def _positions(old: int, new: int, factor: float | None, align_corners: bool) -> Array:
    place = np.arange(new, dtype=np.float64)
    if align_corners:
        return place * ((old - 1) / (new - 1) if new > 1 else 0.0)
    scale = old / new if factor is None else 1 / factor
    return (place + 0.5) * scale - 0.5


def _take(x: Array, axis: int, place: Array) -> Array:
    return np.take(x, np.clip(place.astype(np.int64), 0, x.shape[axis] - 1), axis=axis)


def _resize_axis(x: Array, axis: int, new: int, factor: float | None, mode: str, align_corners: bool) -> Array:
    old = x.shape[axis]
    if mode in ("nearest", "nearest-exact"):
        scale = old / new if factor is None else 1 / factor
        offset = 0.5 if mode == "nearest-exact" else 0.0
        return _take(x, axis, np.floor(np.float32((np.arange(new) + offset) * scale)))
    place = _positions(old, new, factor, align_corners)
    shape = [1] * x.ndim
    shape[axis] = new
    if mode == "cubic":
        base = np.floor(place)
        t = place - base
        result = 0.0
        for step in (-1, 0, 1, 2):
            d = np.abs(t - step)
            a = -0.75
            near = ((a + 2) * d - (a + 3)) * d * d + 1
            far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
            result = result + _take(x, axis, base + step) * np.where(d <= 1, near, far).reshape(shape)
        return result
    place = np.maximum(place, 0)
    base = np.floor(place)
    t = (place - base).reshape(shape)
    return _take(x, axis, base) * (1 - t) + _take(x, axis, base + 1) * t


def interpolate(
    x: Array, size: Any, scale_factor: Any, mode: str, align_corners: bool = False, recompute: bool = False
) -> Array:
    rank = x.ndim - 2
    if size is not None and size != []:
        new, factors = _each(size, rank), [None] * rank
    else:
        factors = _each(scale_factor, rank) if not isinstance(scale_factor, float) else [scale_factor] * rank
        new = [math.floor(n * f) for n, f in zip(x.shape[2:], factors, strict=True)]
        if recompute:
            factors = [None] * rank
    if mode == "area":
        return adaptive_avg_pool(x, rank, new)
    kind = {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    y = x if kind.startswith("nearest") else _precise(x)
    for axis in range(rank):
        y = _resize_axis(y, axis + 2, new[axis], factors[axis], kind, align_corners)
    return y


def pixel_shuffle(x: Array, r: int) -> Array:
    *lead, c, h, w = x.shape
    y = x.reshape((*lead, c // r**2, r, r, h, w))
    n = len(lead)
    return y.transpose((*range(n), n, n + 3, n + 1, n + 4, n + 2)).reshape((*lead, c // r**2, h * r, w * r))


def pixel_unshuffle(x: Array, r: int) -> Array:
    *lead, c, h, w = x.shape
    y = x.reshape((*lead, c, h // r, r, w // r, r))
    n = len(lead)
    return y.transpose((*range(n), n, n + 2, n + 4, n + 1, n + 3)).reshape((*lead, c * r * r, h // r, w // r))


def im2col(x: Array, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Array:
    batched = x.ndim == 4
    full = x if batched else x[None]
    kernel, dilation, padding, stride = (_each(v, 2) for v in (kernel_size, dilation, padding, stride))
    cut = windows(full, kernel, stride, padding, padding, dilation, 0)
    n, c, h, w = cut.shape[:4]
    y = cut.transpose(0, 1, 4, 5, 2, 3).reshape(n, c * kernel[0] * kernel[1], h * w)
    return y if batched else y[0]


def fold(x: Array, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Array:
    batched = x.ndim == 3
    full = x if batched else x[None]
    size, kernel, dilation, padding, stride = (
        _each(v, 2) for v in (output_size, kernel_size, dilation, padding, stride)
    )
    channels = full.shape[1] // (kernel[0] * kernel[1])
    counts = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, p, d, k, s in zip(size, padding, dilation, kernel, stride, strict=True)
    ]
    blocks = full.reshape((full.shape[0], channels, *kernel, *counts))
    result = np.zeros((full.shape[0], channels, *[n + 2 * p for n, p in zip(size, padding, strict=True)]), full.dtype)
    with np.errstate(all="ignore"):
        for i, j in np.ndindex(*kernel):
            rows = slice(i * dilation[0], i * dilation[0] + counts[0] * stride[0], stride[0])
            columns = slice(j * dilation[1], j * dilation[1] + counts[1] * stride[1], stride[1])
            result[:, :, rows, columns] += blocks[:, :, i, j]
    y = result[:, :, padding[0] : padding[0] + size[0], padding[1] : padding[1] + size[1]]
    return y if batched else y[0]
