"""Layers and their gradients beside torch's, with torch's weights."""

from __future__ import annotations

from typing import Any

import lento
import numpy as np
import pytest
from arrays import array
from lento import nn

LAYERS: dict[str, tuple[str, str, tuple[int, ...]]] = {
    # name: (the layer here, the layer there, shape of x)
    "linear": ("Linear(5, 3)", "Linear(5, 3)", (4, 5)),
    "conv1d": ("Conv1d(4, 6, 3, 2, 1, groups=2)", "Conv1d(4, 6, 3, 2, 1, groups=2)", (2, 4, 9)),
    "conv2d": ("Conv2d(3, 4, 3, padding=1)", "Conv2d(3, 4, 3, padding=1)", (2, 3, 6, 5)),
    "conv2d-same": (
        "Conv2d(3, 4, (3, 5), padding='same', dilation=2)",
        "Conv2d(3, 4, (3, 5), padding='same', dilation=2)",
        (2, 3, 9, 9),
    ),
    "layer_norm": ("LayerNorm((3, 4))", "LayerNorm((3, 4))", (5, 3, 4)),
    "rms_norm": ("RMSNorm(4)", "RMSNorm(4)", (5, 4)),
    "group_norm": ("GroupNorm(2, 4)", "GroupNorm(2, 4)", (3, 4, 5)),
    "batch_norm": ("BatchNorm1d(4)", "BatchNorm1d(4)", (6, 4)),
    "batch_norm2d": ("BatchNorm2d(3, momentum=0.3)", "BatchNorm2d(3, momentum=0.3)", (4, 3, 5, 5)),
    "mlp": (
        "Sequential(nn.Linear(5, 7), nn.GELU(), nn.Linear(7, 2), nn.SiLU())",
        "Sequential(nn.Linear(5, 7), nn.GELU(), nn.Linear(7, 2), nn.SiLU())",
        (4, 5),
    ),
    "block": (
        "TransformerEncoderLayer(8, 2, 16, dropout=0.0)",
        "TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)",
        (3, 5, 8),
    ),
    "block-first": (
        "TransformerEncoderLayer(8, 2, 16, 0.0, 'gelu', norm_first=True)",
        "TransformerEncoderLayer(8, 2, 16, 0.0, 'gelu', norm_first=True, batch_first=True)",
        (3, 5, 8),
    ),
    "gru": ("GRU(3, 4, 2)", "GRU(3, 4, 2)", (5, 2, 3)),
    "gru-both": (
        "GRU(3, 4, batch_first=True, bidirectional=True)",
        "GRU(3, 4, batch_first=True, bidirectional=True)",
        (2, 5, 3),
    ),
    "lstm": ("LSTM(3, 4, 2, batch_first=True)", "LSTM(3, 4, 2, batch_first=True)", (2, 5, 3)),
    "lstm-both": (
        "LSTM(3, 4, batch_first=True, bidirectional=True)",
        "LSTM(3, 4, batch_first=True, bidirectional=True)",
        (2, 5, 3),
    ),
    "lstm-both-deep": ("LSTM(3, 4, 2, bidirectional=True)", "LSTM(3, 4, 2, bidirectional=True)", (5, 2, 3)),
    "lstm-plain": ("LSTM(3, 4, bias=False)", "LSTM(3, 4, bias=False)", (5, 2, 3)),
}


def from_torch(state: Any) -> dict[str, Any]:
    return {name: tensor.detach().numpy().copy() for name, tensor in state.items()}


@pytest.mark.peers
@pytest.mark.parametrize("name", LAYERS)
def test_layer_and_gradients_agree_with_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    ours_text, theirs_text, shape = LAYERS[name]
    torch.manual_seed(1)
    theirs = eval(theirs_text, {"nn": torch.nn, **vars(torch.nn)})
    ours = eval(ours_text, {"nn": nn, **vars(nn)})
    ours.load_state_dict(from_torch(theirs.state_dict()))
    assert list(ours.parameters()) == [key for key, _ in theirs.named_parameters()]

    def loss(run: Any, x: Any) -> Any:
        y = run(x)
        y = y[0] if isinstance(y, tuple) else y
        return (y * y * y).sum() + y.sum()

    x = array(*shape)
    tx = torch.tensor(x, requires_grad=True)
    expected = loss(theirs, tx)
    expected.backward()
    value, (by_model, by_x) = lento.value_and_grad(loss, argnums=(0, 1))(ours, lento.asarray(x))
    np.testing.assert_allclose(float(value), expected.item(), rtol=2e-5)
    np.testing.assert_allclose(by_x.numpy(), tx.grad.numpy(), rtol=1e-4, atol=1e-4)
    for key, p in theirs.named_parameters():
        np.testing.assert_allclose(by_model.parameters()[key].numpy(), p.grad.numpy(), rtol=1e-4, atol=1e-4)
    for key, buffer in theirs.named_buffers():
        np.testing.assert_allclose(ours.buffers()[key].numpy(), buffer.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.peers
def test_embedding_agrees_with_torch() -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.nn.Embedding(6, 3, padding_idx=-2)
    ours = nn.Embedding(6, 3, padding_idx=-2)
    ours.load_state_dict(from_torch(theirs.state_dict()))
    rows, factors = np.array([[1, 4, 5], [4, 1, 1]]), array(2, 3, 3)
    loss = (theirs(torch.tensor(rows)) ** 2 * torch.tensor(factors)).sum()
    loss.backward()
    value, gradient = lento.value_and_grad(lambda e: (e(lento.asarray(rows)) ** 2 * lento.asarray(factors)).sum())(ours)
    np.testing.assert_allclose(float(value), loss.item(), rtol=1e-5)
    np.testing.assert_allclose(gradient.weight.numpy(), theirs.weight.grad.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.peers
def test_attention_with_other_keys_agrees_with_torch() -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    ours = nn.MultiHeadAttention(8, 2)
    ours.load_state_dict(from_torch(theirs.state_dict()))
    q, k, v = array(2, 3, 8), array(2, 5, 8, seed=1), array(2, 5, 8, seed=2)
    expected = theirs(*map(torch.tensor, (q, k, v)))[0].detach().numpy()
    np.testing.assert_allclose(ours(*map(lento.asarray, (q, k, v))).numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.peers
@pytest.mark.parametrize("both", [False, True])
def test_states_of_an_lstm_agree_with_torch(both: bool) -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.nn.LSTM(3, 4, 2, bidirectional=both)
    lstm = nn.LSTM(3, 4, 2, bidirectional=both)
    lstm.load_state_dict(from_torch(theirs.state_dict()))
    count = 4 if both else 2
    x, h, c = array(5, 2, 3), array(count, 2, 4, seed=1), array(count, 2, 4, seed=2)
    y, (hn, cn) = lstm(lento.asarray(x), (lento.asarray(h), lento.asarray(c)))
    ty, (thn, tcn) = theirs(torch.tensor(x), (torch.tensor(h), torch.tensor(c)))
    for mine, other in ((y, ty), (hn, thn), (cn, tcn)):
        np.testing.assert_allclose(mine.numpy(), other.detach().numpy(), rtol=1e-4, atol=1e-5)
