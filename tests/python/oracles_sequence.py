"""Oracles of recurrent networks and of attention with several heads."""

from __future__ import annotations

from typing import Any

import numpy as np
from oracles_losses import scaled_dot_product_attention

Array = Any

__all__ = ["ctc_loss", "gru", "gru_cell", "lstm", "lstm_cell", "multi_head_attention", "rnn", "rnn_cell"]


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _project(x: Array, weight: Array, bias: Any) -> Array:
    return x @ weight.T + (0 if bias is None else bias)


def rnn(
    x: Array, h: Array, weight_ih: Array, weight_hh: Array, bias_ih: Any, bias_hh: Any, nonlinearity: str, reverse: bool
) -> Any:
    outputs = np.zeros((*x.shape[:2], h.shape[1]), x.dtype)
    for i in reversed(range(len(x))) if reverse else range(len(x)):
        total = _project(x[i], weight_ih, bias_ih) + _project(h, weight_hh, bias_hh)
        h = outputs[i] = np.tanh(total) if nonlinearity == "tanh" else np.maximum(total, 0)
    return outputs, h


def _one_step(run: Any, x: Array, states: list[Any], *weights: Any) -> Any:
    """The last states after a sequence of length 1, with zeros for states that are None."""
    batch = np.atleast_2d(x)
    zeros = np.zeros((len(batch), weights[1].shape[1]), x.dtype)
    starts = [zeros if each is None else np.atleast_2d(each) for each in states]
    ends = run(batch[None], *starts, *weights)[1:]
    return [end[0] if x.ndim == 1 else end for end in ends]


def rnn_cell(x: Array, h: Any, weight_ih: Array, weight_hh: Array, bias_ih: Any, bias_hh: Any, kind: str) -> Any:
    return _one_step(rnn, x, [h], weight_ih, weight_hh, bias_ih, bias_hh, kind, False)[0]


def gru_cell(x: Array, h: Any, weight_ih: Array, weight_hh: Array, bias_ih: Any, bias_hh: Any) -> Any:
    return _one_step(gru, x, [h], weight_ih, weight_hh, bias_ih, bias_hh, False)[0]


def lstm_cell(x: Array, h: Any, c: Any, weight_ih: Array, weight_hh: Array, bias_ih: Any, bias_hh: Any) -> Any:
    return tuple(_one_step(lstm, x, [h, c], weight_ih, weight_hh, bias_ih, bias_hh, False))


def gru(x: Array, h: Array, weight_ih: Array, weight_hh: Array, bias_ih: Any, bias_hh: Any, reverse: bool) -> Any:
    outputs = np.zeros((*x.shape[:2], h.shape[1]), x.dtype)
    for i in reversed(range(len(x))) if reverse else range(len(x)):
        ours = np.split(_project(x[i], weight_ih, bias_ih), 3, axis=1)
        back = np.split(_project(h, weight_hh, bias_hh), 3, axis=1)
        reset, update = _sigmoid(ours[0] + back[0]), _sigmoid(ours[1] + back[1])
        new = np.tanh(ours[2] + reset * back[2])
        h = (1 - update) * new + update * h
        outputs[i] = h
    return outputs, h


def lstm(
    x: Array, h: Array, c: Array, weight_ih: Array, weight_hh: Array, bias_ih: Any, bias_hh: Any, reverse: bool
) -> Any:
    outputs = np.zeros((*x.shape[:2], h.shape[1]), x.dtype)
    for i in reversed(range(len(x))) if reverse else range(len(x)):
        total = _project(x[i], weight_ih, bias_ih) + _project(h, weight_hh, bias_hh)
        enter, forget, new, out = np.split(total, 4, axis=1)
        c = _sigmoid(forget) * c + _sigmoid(enter) * np.tanh(new)
        h = _sigmoid(out) * np.tanh(c)
        outputs[i] = h
    return outputs, h, c


def multi_head_attention(
    query: Array, key: Any, value: Any, num_heads: int, weight: Array, bias: Any, attn_mask: Any, is_causal: bool
) -> Array:
    key = query if key is None else key
    value = key if value is None else value
    biases = [None] * 3 if bias is None else np.split(bias, 3)
    projected = [_project(x, w, b) for x, w, b in zip((query, key, value), np.split(weight, 3), biases, strict=True)]
    heads = zip(*(np.split(x, num_heads, axis=2) for x in projected), strict=True)
    return np.concatenate(
        [scaled_dot_product_attention(q, k, v, attn_mask, is_causal, None, False) for q, k, v in heads], axis=2
    )


def ctc_loss(
    log_probs: Array, targets: Array, inputs: Array, lengths: Array, blank: int, reduction: str, zero_infinity: bool
) -> Any:
    """The sum over all alignments by the usual recurrence, with probabilities instead of logarithms, in float64."""
    batched = log_probs.ndim == 3
    if not batched:
        log_probs, targets = log_probs[:, None], targets[None]
        inputs, lengths = inputs.reshape(1), lengths.reshape(1)
    losses = []
    for n in range(log_probs.shape[1]):
        labels = [blank]
        for label in targets[n, : lengths[n]]:
            labels += [int(label), blank]
        p = np.exp(log_probs[: inputs[n], n].astype(np.float64))[:, labels]
        alpha = np.zeros(len(labels))
        if len(p) == 0:
            losses.append(np.inf if lengths[n] else 0.0)
            continue
        alpha[:2] = p[0, :2]
        for row in p[1:]:
            before = alpha.copy()
            for s in range(len(labels)):
                total = before[s] + (before[s - 1] if s else 0)
                if s > 1 and labels[s] != blank and labels[s] != labels[s - 2]:
                    total += before[s - 2]
                alpha[s] = total * row[s]
        with np.errstate(divide="ignore"):
            losses.append(-np.log(alpha[-2:].sum()))
    loss = np.array(losses)
    if zero_infinity:
        loss = np.where(np.isinf(loss), 0, loss)
    if reduction == "mean":
        return (loss / np.maximum(lengths, 1)).mean().astype(log_probs.dtype)
    loss = loss.astype(log_probs.dtype)
    return loss.sum() if reduction == "sum" else loss if batched else loss[0]
