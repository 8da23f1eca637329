"""Layers and losses that are written in one way here and in PyTorch: values, gradients, and state dicts that load."""

from __future__ import annotations

from typing import Any

import lento
import numpy as np
import pytest
from arrays import array
from lento import nn

Array = Any


def normal(*shape: int) -> Array:
    return array(*shape)


def unit(*shape: int) -> Array:
    return np.random.default_rng(3).uniform(0.05, 0.95, shape).astype(np.float32)


def integers(*shape: int) -> Array:
    return np.random.default_rng(4).integers(0, 5, shape)


def signs(*shape: int) -> Array:
    return np.random.default_rng(5).integers(0, 2, shape) * 2 - 1


PADS = {1: ("(1, 2)", (2, 3, 4)), 2: ("(1, 2, 0, 1)", (1, 2, 3, 4)), 3: ("(1, 0, 2, 1, 1, 1)", (1, 2, 3, 4, 3))}
SPACE = {1: (2, 3, 8), 2: (2, 3, 6, 8), 3: (1, 2, 4, 6, 4)}
WEIGHTS = np.array([0.5, 1.0, 2.0, 3.0, 4.0], dtype=np.float32)

# The layer, and what it is called with.
LAYERS: dict[str, list[Array]] = {
    "Conv1d(2, 3, 4, padding='same', dilation=2)": [normal(1, 2, 9)],
    "Conv3d(2, 4, (1, 2, 3), stride=(1, 2, 1), groups=2)": [normal(1, 2, 3, 4, 5)],
    "Conv3d(2, 3, 3, padding='same')": [normal(1, 2, 3, 4, 5)],
    "ConvTranspose1d(4, 6, 3, 2, 1, 1, 2)": [normal(2, 4, 5)],
    "ConvTranspose2d(3, 4, (3, 2), stride=(2, 1), bias=False, dilation=2)": [normal(1, 3, 4, 5)],
    "ConvTranspose2d(8, 4, 4, 2, 1, groups=4)": [normal(2, 8, 5, 6)],
    "ConvTranspose3d(2, 3, 2, stride=2, output_padding=1)": [normal(1, 2, 2, 3, 2)],
    "Bilinear(3, 4, 2)": [normal(5, 3), array(5, 4, seed=1)],
    "LocalResponseNorm(3, alpha=0.5)": [normal(2, 4, 5)],
    "BatchNorm1d(3, track_running_stats=False)": [normal(4, 3)],
    "BatchNorm3d(3, momentum=0.3)": [normal(2, 3, 2, 2, 2)],
    "InstanceNorm1d(3)": [normal(4, 3, 5)],
    "InstanceNorm1d(3, affine=True)": [normal(3, 5)],
    "InstanceNorm2d(3, affine=True, track_running_stats=True)": [normal(4, 3, 5, 2)],
    "InstanceNorm3d(3, momentum=0.3, track_running_stats=True)": [normal(2, 3, 2, 2, 2)],
    "RNN(3, 4, 2)": [normal(5, 2, 3)],
    "RNN(3, 4, 1, 'relu', True, True, 0.0, True)": [normal(2, 5, 3)],
    "RNNCell(3, 4)": [normal(2, 3), array(2, 4, seed=1)],
    "RNNCell(3, 4, False, 'relu')": [normal(3)],
    "GRUCell(3, 4)": [normal(2, 3), array(2, 4, seed=1)],
    "LSTMCell(3, 4)": [normal(2, 3)],
    "ReLU(True)": [normal(9)],
    "LeakyReLU(0.2, inplace=True)": [normal(9)],
    "PReLU(3)": [normal(2, 3, 4)],
    **{f"{name}()": [normal(9)] for name in (
        "ReLU6", "ELU", "SELU", "CELU", "SiLU", "Mish", "Sigmoid", "LogSigmoid", "Tanh", "Tanhshrink", "Softplus",
        "Softsign", "Softshrink", "Hardshrink", "Hardtanh", "Hardsigmoid", "Hardswish", "Identity",
    )},
    "Softplus(2.0, 1.0)": [normal(9)],
    "Threshold(0.1, 2.0)": [normal(9)],
    "GLU()": [normal(2, 6)],
    "Softmax(dim=0)": [normal(3, 4)],
    "LogSoftmax(1)": [normal(3, 4)],
    "Softmin(1)": [normal(3, 4)],
    "MSELoss()": [normal(3, 4), array(3, 4, seed=1)],
    "L1Loss(reduction='none')": [normal(3, 4), array(3, 4, seed=1)],
    "SmoothL1Loss(beta=0.5)": [normal(3, 4), array(3, 4, seed=1)],
    "HuberLoss(reduction='sum', delta=0.5)": [normal(3, 4), array(3, 4, seed=1)],
    "BCELoss(WEIGHTS)": [unit(3, 5), unit(3, 5) ** 2],
    "BCEWithLogitsLoss(pos_weight=WEIGHTS)": [normal(3, 5), unit(3, 5)],
    "NLLLoss(WEIGHTS, ignore_index=1)": [normal(6, 5), integers(6)],
    "CrossEntropyLoss(WEIGHTS, label_smoothing=0.1)": [normal(6, 5), integers(6)],
    "CrossEntropyLoss()": [normal(2, 5, 3), integers(2, 3)],
    "KLDivLoss(reduction='batchmean')": [normal(3, 4), unit(3, 4)],
    "PoissonNLLLoss(full=True)": [normal(3, 4), 4 * unit(3, 4)],
    "GaussianNLLLoss(full=True)": [normal(3, 4), array(3, 4, seed=1), unit(3, 4)],
    "HingeEmbeddingLoss(0.5)": [normal(6), signs(6)],
    "CosineEmbeddingLoss(0.5)": [normal(6, 3), array(6, 3, seed=1), signs(6)],
    "MarginRankingLoss(0.5)": [normal(6), array(6, seed=1), signs(6)],
    "TripletMarginLoss(swap=True)": [normal(6, 3), array(6, 3, seed=1), array(6, 3, seed=2)],
    "SoftMarginLoss()": [normal(6), signs(6)],
    "MultiLabelSoftMarginLoss(WEIGHTS)": [normal(3, 5), unit(3, 5)],
    "MultiMarginLoss(2, 0.5, WEIGHTS)": [normal(6, 5), integers(6)],
    "CosineSimilarity()": [normal(3, 4), array(3, 4, seed=1)],
    "PairwiseDistance(keepdim=True)": [normal(3, 4), array(3, 4, seed=1)],
    **{f"{name}{n}d({pads})": [normal(*shape)] for n, (pads, shape) in PADS.items()
       for name in ("ZeroPad", "ReflectionPad", "ReplicationPad", "CircularPad")},
    **{f"ConstantPad{n}d({pads}, 1.5)": [normal(*shape)] for n, (pads, shape) in PADS.items()},
    **{f"MaxPool{n}d(3, 2, 1, ceil_mode=True)": [normal(*shape)] for n, shape in SPACE.items()},
    **{f"AvgPool{n}d(2, padding=1, count_include_pad=False)": [normal(*shape)] for n, shape in SPACE.items()},
    **{f"LPPool{n}d(2.0, 2)": [unit(*shape)] for n, shape in SPACE.items()},
    **{f"AdaptiveAvgPool{n}d(2)": [normal(*shape)] for n, shape in SPACE.items()},
    **{f"AdaptiveMaxPool{n}d(3)": [normal(*shape)] for n, shape in SPACE.items()},
    "Unfold((2, 3), stride=2)": [normal(2, 3, 6, 7)],
    "Fold((4, 5), 2)": [normal(2, 8, 12)],
    "PixelShuffle(2)": [normal(1, 8, 2, 3)],
    "PixelUnshuffle(2)": [normal(1, 2, 4, 6)],
    "ChannelShuffle(2)": [normal(1, 4, 2, 3)],
    "Upsample(scale_factor=(2.0, 1.5), mode='bilinear')": [normal(1, 2, 4, 4)],
    "Upsample((5, 6))": [normal(1, 2, 4, 4)],
    "Flatten()": [normal(2, 3, 4)],
    "Unflatten(1, (2, 3))": [normal(2, 6)],
}  # fmt: skip


def total(y: Any) -> Any:
    """A number that depends on every element of a result, on each in another way."""
    y = y[0] if isinstance(y, tuple) else y
    return (y * y * y).sum() + y.sum()


def check_gradient(mine: lento.Tensor, other: Any) -> None:
    """Within rounding of the largest element: small ones are sums of large ones that cancel."""
    expected = other.numpy()
    np.testing.assert_allclose(mine.numpy(), expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max(initial=0))


@pytest.mark.peers
@pytest.mark.parametrize("text", LAYERS)
def test_layer_and_gradients_agree_with_torch(text: str) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    theirs = eval(text, {**vars(torch.nn), "WEIGHTS": torch.tensor(WEIGHTS)})
    ours = eval(text, {**vars(nn), "WEIGHTS": lento.asarray(WEIGHTS)})
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict({name: tensor.detach().numpy().copy() for name, tensor in theirs.state_dict().items()})
    assert list(ours.parameters()) == [name for name, _ in theirs.named_parameters()]

    x, *others = LAYERS[text]
    tx = torch.tensor(x, requires_grad=True)
    # A copy, which layers that work in place may change.
    expected = theirs(tx * 1, *map(torch.tensor, others))
    total(expected).backward()

    def loss(layer: Any, x: lento.Tensor) -> Any:
        return total(layer(x, *map(lento.asarray, others)))

    value = ours(lento.asarray(x), *map(lento.asarray, others))
    for mine, other in zip(*(y if isinstance(y, tuple) else (y,) for y in (value, expected)), strict=True):
        np.testing.assert_allclose(mine.numpy(), other.detach().numpy(), rtol=2e-5, atol=2e-6)
    for name, buffer in theirs.named_buffers():  # after one call of each
        np.testing.assert_allclose(ours.buffers()[name].numpy(), buffer.numpy(), rtol=1e-5, atol=1e-6)
    by_layer, by_x = lento.grad(loss, argnums=(0, 1))(ours, lento.asarray(x))
    check_gradient(by_x, tx.grad)
    for name, p in theirs.named_parameters():
        check_gradient(by_layer.parameters()[name], p.grad)


@pytest.mark.peers
@pytest.mark.parametrize("text", ["ConvTranspose2d(8, 90, 3, groups=2)", "LSTMCell(3, 40)", "RNN(3, 40)",
                                  "Bilinear(5, 6, 40)", "EmbeddingBag(500, 20)", "PReLU(3)"])  # fmt: skip
def test_parameters_start_as_those_of_torch(text: str) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    lento.random.seed(1)
    theirs, ours = eval(text, dict(vars(torch.nn))), eval(text, dict(vars(nn)))
    for name, p in theirs.named_parameters():
        mine, other = ours.parameters()[name].numpy(), p.detach().numpy()
        assert mine.shape == other.shape
        np.testing.assert_allclose(np.abs(mine).max(), np.abs(other).max(), rtol=0.25)
        np.testing.assert_allclose(mine.std(), other.std(), rtol=0.25, atol=1e-6)


@pytest.mark.peers
def test_states_of_an_lstm_cell_agree_with_torch() -> None:
    torch = pytest.importorskip("torch")
    theirs, ours = torch.nn.LSTMCell(3, 4), nn.LSTMCell(3, 4)
    ours.load_state_dict({name: tensor.numpy() for name, tensor in theirs.state_dict().items()})
    x, h, c = array(2, 3), array(2, 4, seed=1), array(2, 4, seed=2)
    mine = ours(lento.asarray(x), (lento.asarray(h), lento.asarray(c)))
    expected = theirs(torch.tensor(x), (torch.tensor(h), torch.tensor(c)))
    for one, other in zip(mine, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.peers
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag_agrees_with_torch(mode: Any) -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.nn.EmbeddingBag(6, 3, mode=mode, padding_idx=2)
    ours = nn.EmbeddingBag(6, 3, mode=mode, padding_idx=2)
    ours.load_state_dict({name: tensor.numpy() for name, tensor in theirs.state_dict().items()})
    rows, offsets = np.array([1, 2, 4, 5, 4, 3, 2]), np.array([0, 3, 3, 5])
    for arguments in ([rows.reshape(1, 7)], [rows, offsets]):
        expected = theirs(*map(torch.tensor, arguments))
        np.testing.assert_allclose(
            ours(*map(lento.asarray, arguments)).numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6
        )


@pytest.mark.peers
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_ctc_loss_and_its_gradient_agree_with_torch(reduction: Any) -> None:
    torch = pytest.importorskip("torch")
    logits = 3 * array(12, 3, 5)
    targets = np.array([[1, 1, 2, 4], [3, 2, 1, 0], [0, 0, 0, 0]])
    inputs, lengths = np.array([12, 9, 7]), np.array([4, 3, 0])
    tx = torch.tensor(logits, requires_grad=True)
    expected = torch.nn.CTCLoss(reduction=reduction)(
        tx.log_softmax(2), torch.tensor(targets), torch.tensor(inputs), torch.tensor(lengths)
    )
    expected.sum().backward()

    def loss(x: lento.Tensor) -> Any:
        y = nn.CTCLoss(reduction=reduction)(nn.log_softmax(x, 2), *map(lento.asarray, (targets, inputs, lengths)))
        return y.sum(), y

    gradient, mine = lento.grad(loss, has_aux=True)(lento.asarray(logits))
    np.testing.assert_allclose(mine.numpy(), expected.detach().numpy(), rtol=1e-5)
    np.testing.assert_allclose(gradient.numpy(), tx.grad.numpy(), rtol=1e-4, atol=1e-5)
