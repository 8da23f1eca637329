"""Oracles of recurrent networks and of attention with several heads."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from oracles_losses import scaled_dot_product_attention

Array = Any

__all__ = [
    "ctc_loss",
    "gru",
    "gru_cell",
    "gru_states",
    "lstm",
    "lstm_cell",
    "lstm_states",
    "multi_head_attention",
    "rnn",
    "rnn_cell",
    "rnn_states",
]


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _project(x: Array, weight: Array, bias: Any) -> Array:
    return x @ weight.T + (0 if bias is None else bias)


def _wide(oracle: Callable[..., Any]) -> Callable[..., Any]:
    """The oracle computed in float64, or complex128, and rounded once."""

    def widened(x: Any) -> Any:
        is_float = isinstance(x, np.ndarray) and x.dtype.kind in "fc"
        return x.astype(np.result_type(x, np.float64)) if is_float else x

    @functools.wraps(oracle)
    def run(x: Array, *rest: Any) -> Any:
        results = oracle(*map(widened, (x, *rest)))
        if isinstance(results, tuple):
            return tuple(each.astype(x.dtype) for each in results)
        return results.astype(x.dtype)

    return run


def _masked(mask: list[Array], i: int, new: Array, old: Any) -> Array:
    return np.where(mask[0][i][:, None], new, old).astype(new.dtype) if mask else new


def _order(steps: int, reverse: bool) -> Any:
    return reversed(range(steps)) if reverse else range(steps)


@_wide
def rnn_states(inputs: Array, h: Array, weight: Array, mask: list[Array], nonlinearity: str, reverse: bool) -> Array:
    states = np.zeros_like(inputs)
    for i in _order(len(inputs), reverse):
        total = inputs[i] + h @ weight.T
        h = states[i] = _masked(mask, i, np.tanh(total) if nonlinearity == "tanh" else np.maximum(total, 0), h)
    return states


@_wide
def gru_states(inputs: Array, h: Array, weight: Array, bias: Array, mask: list[Array], reverse: bool) -> Any:
    length, batch, hidden = len(inputs), *h.shape
    states, gates = np.zeros((length, batch, hidden), h.dtype), np.zeros((length, batch, 4 * hidden), h.dtype)
    for i in _order(length, reverse):
        ours, back = np.split(inputs[i], 3, axis=1), np.split(h @ weight.T, 3, axis=1)
        reset, update, inner = _sigmoid(ours[0] + back[0]), _sigmoid(ours[1] + back[1]), back[2] + bias
        new = np.tanh(ours[2] + reset * inner)
        h = states[i] = _masked(mask, i, (1 - update) * new + update * h, h)
        gates[i] = _masked(mask, i, np.concatenate([reset, update, new, inner], axis=1), 0)
    return states, gates


@_wide
def lstm_states(inputs: Array, h: Array, c: Array, weight: Array, mask: list[Array], reverse: bool) -> Any:
    length, batch, hidden = len(inputs), *h.shape
    states, cells = np.zeros((length, batch, hidden), h.dtype), np.zeros((length, batch, hidden), h.dtype)
    gates = np.zeros((length, batch, 4 * hidden), h.dtype)
    for i in _order(length, reverse):
        enter, forget, new, out = np.split(inputs[i] + h @ weight.T, 4, axis=1)
        enter, forget, new, out = _sigmoid(enter), _sigmoid(forget), np.tanh(new), _sigmoid(out)
        cell = forget * c + enter * new
        h = states[i] = _masked(mask, i, out * np.tanh(cell), h)
        c = cells[i] = _masked(mask, i, cell, c)
        gates[i] = _masked(mask, i, np.concatenate([enter, forget, new, out], axis=1), 0)
    return states, cells, gates


def _sequences(lengths: Any, x: Array, reverse: bool) -> Any:
    """For each sequence of a batch what to slice it by, and the place of its last step."""
    for n in range(x.shape[1]):
        end = len(x) if lengths is None else int(lengths[n])
        yield n, end, 0 if reverse else end - 1


@_wide
def rnn(
    x: Array,
    h: Array,
    weight_ih: Array,
    weight_hh: Array,
    bias_ih: Any,
    bias_hh: Any,
    nonlinearity: str,
    reverse: bool,
    lengths: Any = None,
) -> Any:
    outputs, last = np.zeros((*x.shape[:2], h.shape[1]), x.dtype), h.copy()
    for n, end, at in _sequences(lengths, x, reverse):
        inputs = _project(x[:end, n : n + 1], weight_ih, bias_ih) + (0 if bias_hh is None else bias_hh)
        outputs[:end, n : n + 1] = rnn_states(inputs, h[n : n + 1], weight_hh, [], nonlinearity, reverse)
        last[n] = outputs[at, n]
    return outputs, last


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


@_wide
def gru(
    x: Array,
    h: Array,
    weight_ih: Array,
    weight_hh: Array,
    bias_ih: Any,
    bias_hh: Any,
    reverse: bool,
    lengths: Any = None,
) -> Any:
    outputs, last, hidden = np.zeros((*x.shape[:2], h.shape[1]), x.dtype), h.copy(), h.shape[1]
    inside = np.zeros(3 * hidden, x.dtype) if bias_hh is None else bias_hh
    outside = np.concatenate([inside[: 2 * hidden], np.zeros(hidden, x.dtype)])
    for n, end, at in _sequences(lengths, x, reverse):
        inputs = _project(x[:end, n : n + 1], weight_ih, bias_ih) + outside
        states, _ = gru_states(inputs, h[n : n + 1], weight_hh, inside[2 * hidden :], [], reverse)
        outputs[:end, n : n + 1] = states
        last[n] = outputs[at, n]
    return outputs, last


@_wide
def lstm(
    x: Array,
    h: Array,
    c: Array,
    weight_ih: Array,
    weight_hh: Array,
    bias_ih: Any,
    bias_hh: Any,
    reverse: bool,
    lengths: Any = None,
) -> Any:
    outputs, last, cell = np.zeros((*x.shape[:2], h.shape[1]), x.dtype), h.copy(), c.copy()
    for n, end, at in _sequences(lengths, x, reverse):
        inputs = _project(x[:end, n : n + 1], weight_ih, bias_ih) + (0 if bias_hh is None else bias_hh)
        states, cells, _ = lstm_states(inputs, h[n : n + 1], c[n : n + 1], weight_hh, [], reverse)
        outputs[:end, n : n + 1] = states
        last[n], cell[n] = outputs[at, n], cells[at, 0]
    return outputs, last, cell


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
