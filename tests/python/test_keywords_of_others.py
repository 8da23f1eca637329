"""A keyword of NumPy or PyTorch that a function does not have is refused with what to write, and that is right."""

from __future__ import annotations

import re
from typing import Any

import lento
import numpy as np
import pytest
from lento import nn, optim

X = lento.asarray([3.0, 1.0, 2.0])

CASES: list[tuple[Any, dict[str, Any], str]] = [
    (lambda **k: lento.clip(X, **k), {"a_min": 0}, "it is called 'min' here"),
    (lambda **k: X.clip(**k), {"a_max": 1}, "it is called 'max' here"),
    (lambda **k: lento.tile(X, **k), {"reps": 2}, "it is called 'repetitions' here"),
    (lambda **k: lento.sort(X, **k), {"kind": "stable"}, "it is not needed: the order is stable"),
    (lambda **k: lento.argsort(X, **k), {"kind": "stable"}, "it is not needed: the order is stable"),
    (lambda **k: lento.linspace(0, 1, 5, **k), {"retstep": True}, "write step = (stop - start) / (num - 1)"),
    (lambda **k: lento.meshgrid(X, X, **k), {"sparse": True}, "write x[None, :] and y[:, None], which broadcast"),
    (lambda **k: lento.interp(X, X, X, **k), {"left": 0}, "write lento.where(x < xp[0], left, lento.interp("),
    (lambda **k: lento.interp(X, X, X, **k), {"right": 0}, "write lento.where(x > xp[-1], right, lento.interp("),
    (lambda **k: lento.nan_to_num(X, **k), {"copy": False}, "it is not needed: the result is a new tensor"),
    (lambda **k: lento.take(X, [0], **k), {"mode": "clip"}, "give lento.clip(indices, 0, n - 1) or lento.remainder("),
    (lambda **k: lento.average(X, **k), {"returned": True}, "the sum of the weights is weights.sum()"),
    (lambda **k: lento.sum(X, **k), {"initial": 1}, "write initial + lento.sum(x)"),
    (lambda **k: lento.prod(X, **k), {"initial": 1}, "write initial * lento.prod(x)"),
    (lambda **k: X.max(**k), {"initial": 1}, "write lento.maximum(lento.max(x), initial)"),
    (lambda **k: lento.min(X, **k), {"initial": 1}, "write lento.minimum(lento.min(x), initial)"),
    (lambda **k: lento.add(X, X, **k), {"dtype": "float64"}, "convert what it is given, or its result, with x.astype("),
    (lambda **k: lento.zeros(3, **k), {"order": "C"}, "it is not needed: tensors have no memory layout"),
    (
        lambda **k: X.reshape((1, 3), **k),
        {"order": "F"},
        "elements are in row-major order; order='F' is x.T.reshape(shape[::-1]).T",
    ),
    (
        lambda **k: lento.einsum("i,i->", X, X, **k),
        {"optimize": True},
        "there is no such search; operands are contracted",
    ),
    (lambda **k: lento.random.normal(0, 1, **k), {"size": 3}, "it is called 'shape' here, and comes first"),
    (lambda **k: lento.random.dirichlet(X, **k), {"size": 3}, "it is called 'shape' here, and comes last"),
    (lambda **k: lento.random.choice(X, **k), {"size": 3}, "it is called 'shape' here, and comes second"),
    (lambda **k: lento.random.categorical(X, **k), {"size": 3}, "it is called 'shape' here"),
    (lambda **k: lento.add(X, X, **k), {"casting": "unsafe"}, "it is not needed: dtypes are promoted, and x.astype("),
    (lambda **k: lento.sum(X, **k), {"dim": 0}, "it is called 'axis' here"),
    (lambda **k: lento.flip(X, **k), {"dims": 0}, "it is called 'axis' here"),
    (lambda **k: lento.permute_dims(X, **k), {"dims": 0}, "it is called 'axes' here"),
    (lambda **k: lento.flatten(X, **k), {"start_dim": 1}, "it is called 'start_axis' here"),
    (lambda **k: lento.flatten(X, **k), {"end_dim": 1}, "it is called 'end_axis' here"),
    (lambda **k: lento.tril(X, **k), {"diagonal": 1}, "it is called 'k' here"),
    (lambda **k: lento.linspace(0, 1, **k), {"steps": 3}, "it is called 'num' here"),
    (lambda **k: lento.arange(0, **k), {"end": 3}, "it is called 'stop' here"),
    (lambda **k: lento.std(X, **k), {"unbiased": True}, "write correction=1 for unbiased=True, and nothing for"),
    (lambda **k: lento.zeros(3, **k), {"requires_grad": True}, "it is not needed: lento.grad differentiates by the"),
    (lambda **k: lento.zeros(3, **k), {"pin_memory": True}, "it is not needed: lento.devices() has the one device"),
    (lambda **k: lento.sum(**k), {"input": X}, "it is called 'x' here"),
    (lambda **k: lento.add(**k), {"input": X}, "it is called 'x1' here"),
    (lambda **k: lento.add(X, **k), {"other": X}, "it is called 'x2' here"),
    (lambda **k: lento.stack(**k), {"tensors": [X, X]}, "it is called 'arrays' here"),
    (lambda **k: lento.norm(X, **k), {"p": 2}, "it is called 'ord' here"),
    (lambda **k: lento.add(X, X, **k), {"alpha": 2}, "write x1 + alpha * x2"),
    (lambda **k: lento.subtract(X, X, **k), {"alpha": 2}, "write x1 - alpha * x2"),
    (
        lambda **k: X.nonzero(**k),
        {"as_tuple": True},
        "it is not needed: there is a tensor for each axis; the matrix is",
    ),
    (lambda **k: lento.nn.relu(X, **k), {"inplace": True}, "it is not needed: give the result the old name"),
    (lambda **k: lento.nn.mse_loss(X, X, **k), {"size_average": True}, "write reduction='mean', 'sum' or 'none'"),
    (lambda **k: lento.nn.mse_loss(X, X, **k), {"reduce": False}, "write reduction='mean', 'sum' or 'none'"),
    (lambda **k: lento.searchsorted(X, X, **k), {"right": True}, "write side='right' for right=True, and nothing for"),
    (lambda **k: X.clone(**k), {"memory_format": 1}, "it is not needed: tensors have no memory layout"),
    (lambda **k: lento.sum(**k), {"a": X}, "it is called 'x' here"),
    (lambda **k: lento.reshape(X, **k), {"newshape": (3, 1)}, "it is called 'shape' here"),
    (lambda **k: lento.insert(X, **k), {"obj": 1}, "it is called 'indices' here"),
    (lambda **k: lento.indices((2, 3), **k), {"sparse": True}, "write lento.ogrid[:n, :m]"),
    (lambda **k: lento.polyfit(X, X, 1, **k), {"full": True}, "use lento.linalg.lstsq of lento.vander(x, deg + 1)"),
    (lambda **k: lento.polyfit(X, X, 1, **k), {"cov": True}, "use numpy.polyfit"),
    (lambda **k: lento.linalg.solve_triangular(X, X, **k), {"trans": 1}, "write transpose=True"),
    # layers, optimizers, schedulers
    (lambda **k: nn.Linear(2, 3, **k), {"device": "cpu"}, "it is not needed: lento.devices() has the one device"),
    (
        lambda **k: nn.TransformerEncoderLayer(4, 2, **k),
        {"batch_first": True},
        "it is not needed: tensors are (batch, ",
    ),
    (lambda **k: nn.TransformerEncoderLayer(4, 2, **k), {"layer_norm_eps": 1e-6}, "assign layer.norm1.eps and layer."),
    (
        lambda **k: nn.MultiHeadAttention(4, 2, **k),
        {"batch_first": True},
        "it is not needed: tensors are (batch, length",
    ),
    (
        lambda **k: nn.Conv2d(1, 1, 3, **k),
        {"padding_mode": "reflect"},
        "put nn.ReflectionPad2d, nn.ReplicationPad2d or",
    ),
    (lambda **k: nn.Embedding(3, 4, **k), {"max_norm": 1.0}, "write weight[...] = weight * lento.clip(max_norm / "),
    (
        lambda **k: nn.Embedding(3, 4, **k),
        {"sparse": True},
        "it is not needed: the gradient of the table is one tensor",
    ),
    (lambda **k: nn.LSTM(3, 4, **k), {"proj_size": 2}, "put a nn.Linear behind the layer"),
    (lambda **k: nn.MaxPool2d(2, **k), {"return_indices": True}, "use nn.max_pool2d_with_indices"),
    (lambda **k: nn.MSELoss(**k), {"size_average": True}, "write reduction='mean', 'sum' or 'none'"),
    (lambda **k: optim.Adam(X, **k), {"fused": True}, "it is not needed: a step updates all parameters at once"),
    (lambda **k: optim.Adam(X, **k), {"amsgrad": True}, "there is none; use a class of your own, as in the example of"),
    (lambda **k: optim.SGD(X, 0.1, **k), {"maximize": True}, "negate what is minimised"),
    (lambda **k: optim.Adam(**k), {"params": X}, "it is called 'parameters' here, and comes first"),
    (
        lambda **k: optim.lr_scheduler.StepLR(optim.SGD(X, 0.1), 3, **k),
        {"verbose": True},
        "write print(scheduler.get_last_lr())",
    ),
]


@pytest.mark.parametrize(("call", "keyword", "hint"), CASES)
def test_a_keyword_of_others_says_what_to_write(call: Any, keyword: dict[str, Any], hint: str) -> None:
    message = f"() got an unexpected keyword argument '{next(iter(keyword))}'; {hint}"
    with pytest.raises(TypeError, match=re.escape(message) + ".*, at test_keywords_of_others.py:"):
        call(**keyword)


def test_other_keywords_are_plain_errors() -> None:
    with pytest.raises(TypeError, match=r"^sum\(\) got an unexpected keyword argument 'retstep', at "):
        lento.sum(X, retstep=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^exp\(\) got an unexpected keyword argument 'dim', at "):
        lento.exp(X, dim=0)  # type: ignore[call-arg]


def test_what_the_hints_say_is_what_numpy_does() -> None:
    a = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    x = lento.asarray(a)
    assert [g.tolist() for g in lento.ogrid[:2, :3]] == [g.tolist() for g in np.indices((2, 3), sparse=True)]
    np.testing.assert_array_equal(lento.argwhere(x > 2), np.argwhere(a > 2))
    table, max_norm = a + 0.5, 2.0
    bounded = table * lento.clip(max_norm / lento.linalg.norm(table, axis=1, keepdims=True), max=1)
    np.testing.assert_allclose(lento.linalg.norm(bounded, axis=1), np.minimum(np.linalg.norm(table, axis=1), max_norm))
    lower, b = np.array([[2.0, 0.0], [1.0, 3.0]]), np.array([1.0, 2.0])
    found = lento.linalg.solve_triangular(lower, b, lower=True, transpose=True)
    np.testing.assert_allclose(lower.T @ found.numpy(), b)
    for shape in ((3, 2), (6,), (1, 3, 2)):
        np.testing.assert_array_equal(x.T.reshape(shape[::-1]).T, a.reshape(shape, order="F"))
    points, xp = np.array([-1.0, 0.5, 9.0], np.float32), np.array([0.0, 1.0, 2.0], np.float32)
    inside = lento.interp(points, xp, xp)
    np.testing.assert_array_equal(lento.where(points < xp[0], -7, inside), np.interp(points, xp, xp, left=-7))
    np.testing.assert_array_equal(lento.where(points > xp[-1], 7, inside), np.interp(points, xp, xp, right=7))
    for values in (a, a[:0]):
        for initial in (-3.0, 2.0, 9.0):
            x = lento.asarray(values)
            for name in ("max", "min"):
                with pytest.raises(TypeError) as caught:
                    getattr(lento, name)(x, initial=initial)
                usual, _, of_empty = str(caught.value).split("write ")[1].partition("; for an x that may be empty, ")
                expected = getattr(np, name)(values, initial=initial)
                for text in (usual, of_empty.partition(", at test_")[0])[0 if values.size else 1 :]:
                    assert float(eval(text)) == expected
    indices = lento.asarray([-4, 1, 8])
    row = np.arange(3.0)
    np.testing.assert_array_equal(lento.take(row, lento.clip(indices, 0, 2)), np.take(row, indices, mode="clip"))
    np.testing.assert_array_equal(lento.take(row, lento.remainder(indices, 3)), np.take(row, indices, mode="wrap"))
