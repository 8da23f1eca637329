"""Oracles for losses, attention and embeddings: the defining formulas, one element at a time where that is plainest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

Array = Any


def _precise(x: Array) -> Array:
    """In float64, so that the oracle's own rounding does not count."""
    return np.asarray(x).astype(np.float64)


def reduce(loss: Array, reduction: str) -> Array:
    loss = _precise(loss)
    if reduction == "none":
        return loss
    return loss.sum() if reduction == "sum" else loss.mean()


# --- differences ---


def smooth_l1_loss(x: Array, target: Array, reduction: str, beta: float) -> Array:
    d = np.abs(_precise(x) - _precise(target))
    return reduce(d if beta == 0 else np.where(d < beta, d * d / (2 * beta), d - beta / 2), reduction)


def huber_loss(x: Array, target: Array, reduction: str, delta: float) -> Array:
    d = np.abs(_precise(x) - _precise(target))
    return reduce(np.where(d <= delta, d * d / 2, delta * (d - delta / 2)), reduction)


def gaussian_nll_loss(x: Array, target: Array, var: Array, full: bool, eps: float, reduction: str) -> Array:
    variance = np.maximum(_precise(var), eps)
    if variance.ndim == x.ndim - 1:
        variance = variance[..., None]
    loss = 0.5 * (np.log(variance) + (_precise(x) - _precise(target)) ** 2 / variance)
    return reduce(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def poisson_nll_loss(x: Array, target: Array, log_input: bool, full: bool, eps: float, reduction: str) -> Array:
    x, target = _precise(x), _precise(target)
    loss = np.exp(x) - target * x if log_input else x - target * np.log(x + eps)
    if full:
        safe = np.where(target > 1, target, 1.0)
        stirling = safe * np.log(safe) - safe + 0.5 * np.log(2 * math.pi * safe)
        loss = loss + np.where(target > 1, stirling, 0.0)
    return reduce(loss, reduction)


# --- probabilities ---


def binary_cross_entropy(x: Array, target: Array, weight: Array | None, reduction: str) -> Array:
    x, target = _precise(x), _precise(target)
    loss = -(target * np.maximum(np.log(x), -100) + (1 - target) * np.maximum(np.log1p(-x), -100))
    return reduce(loss if weight is None else loss * _precise(weight), reduction)


def binary_cross_entropy_with_logits(
    x: Array, target: Array, weight: Array | None, reduction: str, pos_weight: Array | None
) -> Array:
    x, target = _precise(x), _precise(target)
    positive = 1.0 if pos_weight is None else _precise(pos_weight)
    loss = positive * target * np.logaddexp(0, -x) + (1 - target) * np.logaddexp(0, x)
    return reduce(loss if weight is None else loss * _precise(weight), reduction)


def multilabel_soft_margin_loss(x: Array, target: Array, weight: Array | None, reduction: str) -> Array:
    return reduce(binary_cross_entropy_with_logits(x, target, weight, "none", None).mean(axis=-1), reduction)


def kl_div(x: Array, target: Array, reduction: str, log_target: bool) -> Array:
    x, target = _precise(x), _precise(target)
    loss = np.exp(target) * (target - x) if log_target else special.xlogy(target, target) - target * x
    if reduction == "batchmean":
        return loss.sum() / x.shape[0]
    return reduce(loss, reduction)


# --- classes ---


def nll_loss(x: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str) -> Array:
    if x.ndim == 1:
        loss = nll_loss(x[None], np.asarray(target)[None], weight, ignore_index, reduction)
        return loss[0] if reduction == "none" else loss
    x = _precise(x)
    losses = np.zeros(target.shape)
    weights = np.zeros(target.shape)
    for place in np.ndindex(target.shape):
        label = int(target[place])
        if label == ignore_index:
            continue
        weights[place] = 1.0 if weight is None else float(weight[label])
        losses[place] = -x[(place[0], label, *place[1:])] * weights[place]
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / weights.sum()


def cross_entropy(
    x: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str, label_smoothing: float
) -> Array:
    if x.ndim == 1:
        loss = cross_entropy(x[None], np.asarray(target)[None], weight, ignore_index, reduction, label_smoothing)
        return loss[0] if reduction == "none" else loss
    logs = special.log_softmax(_precise(x), axis=1)
    classes = x.shape[1]
    per_class = np.ones(classes) if weight is None else _precise(weight)
    shaped = per_class.reshape((-1,) + (1,) * (x.ndim - 2))
    if np.asarray(target).dtype.kind == "f":
        mixed = _precise(target) * (1 - label_smoothing) + label_smoothing / classes
        return reduce(-(mixed * logs * shaped).sum(axis=1), reduction)
    kept = target != ignore_index
    hard = nll_loss(logs, target, weight, ignore_index, "none")
    smooth = np.where(kept, -(logs * shaped).sum(axis=1), 0.0)
    loss = (1 - label_smoothing) * hard + label_smoothing / classes * smooth
    if reduction == "mean":
        return loss.sum() / np.where(kept, per_class[np.where(kept, target, 0)], 0.0).sum()
    return loss if reduction == "none" else loss.sum()


def multi_margin_loss(x: Array, target: Array, p: int, margin: float, weight: Array | None, reduction: str) -> Array:
    x = _precise(x)
    losses = np.zeros(x.shape[0])
    for n, label in enumerate(target):
        for other in range(x.shape[1]):
            if other != label:
                scale = 1.0 if weight is None else float(weight[label])
                losses[n] += scale * max(0.0, margin - x[n, label] + x[n, other]) ** p / x.shape[1]
    return reduce(losses, reduction)


# --- vectors ---


def cosine_embedding_loss(x1: Array, x2: Array, target: Array, margin: float, reduction: str) -> Array:
    a, b = _precise(x1), _precise(x2)
    norms = np.sqrt(((a * a).sum(-1) + 1e-12) * ((b * b).sum(-1) + 1e-12))
    cosine = (a * b).sum(-1) / norms
    return reduce(np.where(target == 1, 1 - cosine, np.maximum(cosine - margin, 0)), reduction)


def triplet_margin_loss(
    anchor: Array, positive: Array, negative: Array, margin: float, p: float, eps: float, swap: bool, reduction: str
) -> Array:
    def distance(a: Array, b: Array) -> Array:
        return np.linalg.norm(_precise(a) - _precise(b) + eps, ord=p, axis=-1)

    far = distance(anchor, negative)
    if swap:
        far = np.minimum(far, distance(positive, negative))
    return reduce(np.maximum(distance(anchor, positive) - far + margin, 0), reduction)


# --- attention and embeddings ---


def _scores(query: Array, key: Array, scale: float, mask: Array | None, causal: bool) -> Array:
    """Of each query and key; -inf where the key is not seen."""
    scores = query @ np.swapaxes(key, -1, -2) * scale
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], dtype=bool)), scores, -np.inf)
    if mask is None:
        return scores
    return np.where(mask, scores, -np.inf) if mask.dtype.kind == "b" else scores + _precise(mask)


def _repeat_heads(x: Array, query: Array) -> Array:
    return np.repeat(_precise(x), query.shape[-3] // x.shape[-3], axis=-3)


def attention(
    query: Array, key: Array, value: Array, scale: float, mask: list[Array], causal: bool
) -> tuple[Array, Array]:
    k, v = _repeat_heads(key, query), _repeat_heads(value, query)
    scores = _scores(_precise(query), k, scale, mask[0] if mask else None, causal)
    largest = np.max(scores, axis=-1, keepdims=True, initial=-np.inf)
    powers = np.exp(scores - np.where(np.isneginf(largest), 0, largest))
    sums = np.sum(powers, axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return powers / np.where(sums == 0, 1, sums) @ v, np.log(sums) + largest


def attention_grad(
    query: Array,
    key: Array,
    value: Array,
    grad_output: Array,
    log_sum_exp: Array,
    shift: Array,
    scale: float,
    mask: list[Array],
    causal: bool,
) -> tuple[Array, Array, Array]:
    q, g = _precise(query), _precise(grad_output)
    k, v = _repeat_heads(key, query), _repeat_heads(value, query)
    scores = _scores(q, k, scale, mask[0] if mask else None, causal)
    weights = np.exp(scores - np.where(np.isneginf(log_sum_exp), 0, _precise(log_sum_exp)))
    by_scores = weights * (g @ np.swapaxes(v, -1, -2) - _precise(shift)) * scale

    def shared(x: Array) -> Array:
        """Summed over the heads that share one."""
        heads = key.shape[-3]
        return x.reshape(*x.shape[:-3], heads, x.shape[-3] // heads, *x.shape[-2:]).sum(axis=-3)

    return by_scores @ k, shared(np.swapaxes(by_scores, -1, -2) @ q), shared(np.swapaxes(weights, -1, -2) @ g)


def scaled_dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Array:
    q, k, v = _precise(query), _precise(key), _precise(value)
    if enable_gqa:
        k, v = _repeat_heads(k, q), _repeat_heads(v, q)
    scores = _scores(q, k, 1 / math.sqrt(q.shape[-1]) if scale is None else scale, attn_mask, is_causal)
    weights = np.zeros(scores.shape)
    for place in np.ndindex(scores.shape[:-1]):
        row = scores[place]
        if np.any(row > -np.inf):
            weights[place] = special.softmax(row)
    return weights @ v


def embedding_bag(
    x: Array, weight: Array, offsets: Any, mode: str, per_sample_weights: Array | None, padding_idx: int | None
) -> Array:
    table = _precise(weight)
    if offsets is None:
        bags = [list(range(row * x.shape[1], (row + 1) * x.shape[1])) for row in range(x.shape[0])]
    else:
        ends = [*[int(o) for o in offsets][1:], x.size]
        bags = [list(range(int(start), end)) for start, end in zip(offsets, ends, strict=True)]
    flat = x.reshape(-1)
    factors = np.ones(x.size) if per_sample_weights is None else _precise(per_sample_weights).reshape(-1)
    result = np.zeros((len(bags), table.shape[1]))
    for bag, positions in enumerate(bags):
        rows = [table[flat[i]] * factors[i] for i in positions if flat[i] != padding_idx]
        if rows:
            result[bag] = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode](rows, axis=0)
    return result


def one_hot(x: Array, num_classes: int) -> Array:
    classes = int(x.max()) + 1 if num_classes == -1 else num_classes
    result = np.zeros((*x.shape, classes), dtype=np.int64)
    for place in np.ndindex(x.shape):
        if 0 <= x[place] < classes:
            result[(*place, int(x[place]))] = 1
    return result
