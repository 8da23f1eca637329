"""Every layer of lento.nn beside the same one in C++ (tests/nn/same_layers.cpp): looks, names, bits and messages."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from typing import Any

import lento
import pytest
from cpp_programs import compiled
from lento import nn
from on_device import not_on_another_device

pytestmark = not_on_another_device("the program in C++ runs on the CPU device, with other last places")

Input = Callable[[], lento.Tensor]


def normal(*shape: int) -> Input:
    return lambda: lento.random.normal(shape)


def unit(*shape: int) -> Input:
    return lambda: lento.random.uniform(shape)


def integers(*shape: int) -> Input:
    return lambda: lento.random.randint(shape, 0, 5)


def signs(*shape: int) -> Input:
    return lambda: lento.random.randint(shape, 0, 2) * 2 - 1


WEIGHTS = lento.asarray([0.5, 1.0, 2.0, 3.0, 4.0])

# What is made, and what it is called with: drawn after it is made, in this order.
LAYERS: dict[str, tuple[Callable[[], Any], list[Input]]] = {
    "Linear": (lambda: nn.Linear(3, 4), [normal(5, 3)]),
    "Linear-no-bias": (lambda: nn.Linear(3, 4, bias=False, dtype="bfloat16"), [normal(5, 3)]),
    "Linear-empty": (lambda: nn.Linear(0, 2), [normal(5, 0)]),
    "Conv1d": (lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), [normal(2, 4, 9)]),
    "Conv2d": (lambda: nn.Conv2d(3, 4, 3, padding=1), [normal(1, 3, 5, 6)]),
    "Conv2d-same": (lambda: nn.Conv2d(3, 4, (3, 2), padding="same", dilation=(2, 1), bias=False), [normal(1, 3, 5, 6)]),
    "Embedding": (lambda: nn.Embedding(5, 3), [integers(2, 4)]),
    "Embedding-padding": (lambda: nn.Embedding(5, 3, padding_idx=-1), [integers(2, 4)]),
    "LayerNorm": (lambda: nn.LayerNorm(4), [normal(3, 4)]),
    "LayerNorm-shape": (lambda: nn.LayerNorm((3, 4), eps=0.1, bias=False), [normal(2, 3, 4)]),
    "RMSNorm": (lambda: nn.RMSNorm(4), [normal(3, 4)]),
    "RMSNorm-plain": (lambda: nn.RMSNorm((4,), eps=1e-3, elementwise_affine=False), [normal(3, 4)]),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), [normal(3, 4, 5)]),
    "BatchNorm": (lambda: nn.BatchNorm(3), [normal(4, 3)]),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(3, momentum=None, affine=False), [normal(2, 3, 4, 4)]),
    "Dropout": (lambda: nn.Dropout(0.3), [normal(20)]),
    "Dropout-none": (lambda: nn.Dropout(0.0), [normal(20)]),
    "ReLU": (nn.ReLU, [normal(9)]),
    "SiLU": (nn.SiLU, [normal(9)]),
    "GELU": (nn.GELU, [normal(9)]),
    "GELU-tanh": (lambda: nn.GELU("tanh"), [normal(9)]),
    "Tanh": (nn.Tanh, [normal(9)]),
    "Sequential": (
        lambda: nn.Sequential(nn.Linear(3, 4), nn.relu, nn.BatchNorm(4), nn.Sequential(nn.Linear(4, 2), nn.Dropout())),
        [normal(5, 3)],
    ),
    "MultiHeadAttention": (lambda: nn.MultiHeadAttention(4, 2, dropout=0.2), [normal(2, 3, 4)]),
    "MultiHeadAttention-no-bias": (lambda: nn.MultiHeadAttention(4, 1, bias=False), [normal(2, 3, 4)]),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(4, 2, 8), [normal(2, 3, 4)]),
    "TransformerEncoderLayer-first": (
        lambda: nn.TransformerEncoderLayer(4, 2, 8, activation="gelu", norm_first=True, bias=False),
        [normal(2, 3, 4)],
    ),
    "GRU": (lambda: nn.GRU(3, 4), [normal(5, 2, 3)]),
    "GRU-both": (lambda: nn.GRU(3, 4, num_layers=2, batch_first=True, bidirectional=True), [normal(2, 5, 3)]),
    "LSTM": (lambda: nn.LSTM(3, 4, bias=False), [normal(5, 2, 3)]),
    "LSTM-both": (lambda: nn.LSTM(3, 4, num_layers=2, bidirectional=True), [normal(5, 2, 3)]),
    "Conv3d": (lambda: nn.Conv3d(2, 4, (1, 2, 3), stride=(1, 2, 1), groups=2), [normal(1, 2, 3, 4, 5)]),
    "Conv3d-same": (lambda: nn.Conv3d(2, 3, 3, padding="same"), [normal(1, 2, 3, 4, 5)]),
    "Conv1d-same": (lambda: nn.Conv1d(2, 3, 4, padding="same", dilation=2), [normal(1, 2, 9)]),
    "ConvTranspose1d": (
        lambda: nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2),
        [normal(2, 4, 5)],
    ),
    "ConvTranspose2d": (
        lambda: nn.ConvTranspose2d(3, 4, (3, 2), stride=(2, 1), bias=False, dilation=2),
        [normal(1, 3, 4, 5)],
    ),
    "ConvTranspose3d": (lambda: nn.ConvTranspose3d(2, 3, 2, stride=2), [normal(1, 2, 2, 3, 2)]),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(5, 3, mode="sum", padding_idx=1), [integers(2, 4)]),
    "Bilinear": (lambda: nn.Bilinear(3, 4, 2), [normal(5, 3), normal(5, 4)]),
    "LocalResponseNorm": (lambda: nn.LocalResponseNorm(3, alpha=0.5), [normal(2, 4, 5)]),
    "Dropout1d": (lambda: nn.Dropout1d(0.3), [normal(3, 4, 5)]),
    "Dropout2d": (lambda: nn.Dropout2d(0.3), [normal(3, 4, 5, 2)]),
    "Dropout3d": (lambda: nn.Dropout3d(0.3), [normal(3, 4, 5, 2, 2)]),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(3, track_running_stats=False), [normal(4, 3)]),
    "BatchNorm3d": (lambda: nn.BatchNorm3d(3, momentum=0.3), [normal(2, 3, 2, 2, 2)]),
    "InstanceNorm1d": (lambda: nn.InstanceNorm1d(3), [normal(4, 3, 5)]),
    "InstanceNorm1d-single": (lambda: nn.InstanceNorm1d(3, affine=True), [normal(3, 5)]),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(3, affine=True, track_running_stats=True), [normal(4, 3, 5, 2)]),
    "InstanceNorm3d": (lambda: nn.InstanceNorm3d(3, momentum=None, track_running_stats=True), [normal(4, 3, 2, 2, 2)]),
    "RNN": (lambda: nn.RNN(3, 4, 2, "relu", dropout=0.5), [normal(5, 2, 3)]),
    "RNN-both": (lambda: nn.RNN(3, 4, 2, batch_first=True, bidirectional=True), [normal(2, 5, 3)]),
    "GRU-dropout": (lambda: nn.GRU(3, 4, 3, dropout=0.5), [normal(5, 2, 3)]),
    "LSTM-dropout": (lambda: nn.LSTM(3, 4, 2, dropout=0.5, bidirectional=True), [normal(5, 2, 3)]),
    "RNNCell": (lambda: nn.RNNCell(3, 4), [normal(2, 3)]),
    "RNNCell-relu": (lambda: nn.RNNCell(3, 4, False, "relu"), [normal(2, 3), normal(2, 4)]),
    "GRUCell": (lambda: nn.GRUCell(3, 4), [normal(2, 3), normal(2, 4)]),
    "LSTMCell": (lambda: nn.LSTMCell(3, 4), [normal(2, 3)]),
    "LSTMCell-no-bias": (lambda: nn.LSTMCell(3, 4, bias=False), [normal(3)]),
    "ReLU6": (lambda: nn.ReLU6(), [normal(9)]),
    "SELU": (lambda: nn.SELU(), [normal(9)]),
    "Mish": (lambda: nn.Mish(), [normal(9)]),
    "Sigmoid": (lambda: nn.Sigmoid(), [normal(9)]),
    "LogSigmoid": (lambda: nn.LogSigmoid(), [normal(9)]),
    "Tanhshrink": (lambda: nn.Tanhshrink(), [normal(9)]),
    "Softsign": (lambda: nn.Softsign(), [normal(9)]),
    "Hardsigmoid": (lambda: nn.Hardsigmoid(), [normal(9)]),
    "Hardswish": (lambda: nn.Hardswish(), [normal(9)]),
    "Identity": (lambda: nn.Identity(), [normal(9)]),
    "LeakyReLU": (lambda: nn.LeakyReLU(0.2, inplace=True), [normal(9)]),
    "PReLU": (lambda: nn.PReLU(3), [normal(2, 3, 4)]),
    "RReLU": (lambda: nn.RReLU(0.1, 0.4), [normal(9)]),
    "ELU": (lambda: nn.ELU(0.5), [normal(9)]),
    "CELU": (lambda: nn.CELU(0.5), [normal(9)]),
    "Softplus": (lambda: nn.Softplus(2.0, 1.0), [normal(9)]),
    "Softshrink": (lambda: nn.Softshrink(0.3), [normal(9)]),
    "Hardshrink": (lambda: nn.Hardshrink(0.3), [normal(9)]),
    "Hardtanh": (lambda: nn.Hardtanh(-0.5, 0.5), [normal(9)]),
    "Threshold": (lambda: nn.Threshold(0.1, 2.0), [normal(9)]),
    "GLU": (lambda: nn.GLU(), [normal(2, 6)]),
    "Softmax": (lambda: nn.Softmax(0), [normal(3, 4)]),
    "LogSoftmax": (lambda: nn.LogSoftmax(0), [normal(3, 4)]),
    "Softmin": (lambda: nn.Softmin(0), [normal(3, 4)]),
    "MSELoss": (lambda: nn.MSELoss(), [normal(3, 4), normal(3, 4)]),
    "L1Loss": (lambda: nn.L1Loss(reduction="none"), [normal(3, 4), normal(3, 4)]),
    "SmoothL1Loss": (lambda: nn.SmoothL1Loss(beta=0.5), [normal(3, 4), normal(3, 4)]),
    "HuberLoss": (lambda: nn.HuberLoss(reduction="sum", delta=0.5), [normal(3, 4), normal(3, 4)]),
    "BCELoss": (lambda: nn.BCELoss(WEIGHTS), [unit(3, 5), unit(3, 5)]),
    "BCEWithLogitsLoss": (lambda: nn.BCEWithLogitsLoss(pos_weight=WEIGHTS), [normal(3, 5), unit(3, 5)]),
    "NLLLoss": (lambda: nn.NLLLoss(WEIGHTS, ignore_index=1), [normal(6, 5), integers(6)]),
    "CrossEntropyLoss": (lambda: nn.CrossEntropyLoss(WEIGHTS, label_smoothing=0.1), [normal(6, 5), integers(6)]),
    "CrossEntropyLoss-plain": (lambda: nn.CrossEntropyLoss(), [normal(6, 5), integers(6)]),
    "KLDivLoss": (lambda: nn.KLDivLoss(reduction="batchmean"), [normal(3, 4), unit(3, 4)]),
    "PoissonNLLLoss": (lambda: nn.PoissonNLLLoss(full=True), [normal(3, 4), unit(3, 4)]),
    "GaussianNLLLoss": (lambda: nn.GaussianNLLLoss(full=True), [normal(3, 4), normal(3, 4), unit(3, 4)]),
    "HingeEmbeddingLoss": (lambda: nn.HingeEmbeddingLoss(0.5), [normal(6), signs(6)]),
    "CosineEmbeddingLoss": (lambda: nn.CosineEmbeddingLoss(0.5), [normal(6, 3), normal(6, 3), signs(6)]),
    "MarginRankingLoss": (lambda: nn.MarginRankingLoss(0.5), [normal(6), normal(6), signs(6)]),
    "TripletMarginLoss": (lambda: nn.TripletMarginLoss(swap=True), [normal(6, 3), normal(6, 3), normal(6, 3)]),
    "SoftMarginLoss": (lambda: nn.SoftMarginLoss(), [normal(6), signs(6)]),
    "MultiLabelSoftMarginLoss": (lambda: nn.MultiLabelSoftMarginLoss(WEIGHTS), [normal(3, 5), unit(3, 5)]),
    "MultiMarginLoss": (lambda: nn.MultiMarginLoss(2, 0.5, WEIGHTS), [normal(6, 5), integers(6)]),
    "CTCLoss": (
        lambda: nn.CTCLoss(blank=5, zero_infinity=True),
        [normal(6, 2, 6), integers(2, 3), integers(2), integers(2)],
    ),
    "CosineSimilarity": (lambda: nn.CosineSimilarity(-1), [normal(3, 4), normal(3, 4)]),
    "PairwiseDistance": (lambda: nn.PairwiseDistance(keepdim=True), [normal(3, 4), normal(3, 4)]),
    "ZeroPad1d": (lambda: nn.ZeroPad1d((1, 2)), [normal(2, 3, 4)]),
    "ZeroPad2d": (lambda: nn.ZeroPad2d((1, 2, 0, 1)), [normal(1, 2, 3, 4)]),
    "ZeroPad3d": (lambda: nn.ZeroPad3d((1, 0, 2, 1, 1, 1)), [normal(1, 2, 3, 4, 3)]),
    "ConstantPad1d": (lambda: nn.ConstantPad1d((1, 2), 1.5), [normal(2, 3, 4)]),
    "ConstantPad2d": (lambda: nn.ConstantPad2d((1, 2, 0, 1), 1.5), [normal(1, 2, 3, 4)]),
    "ConstantPad3d": (lambda: nn.ConstantPad3d((1, 0, 2, 1, 1, 1), 1.5), [normal(1, 2, 3, 4, 3)]),
    "ReflectionPad1d": (lambda: nn.ReflectionPad1d((1, 2)), [normal(2, 3, 4)]),
    "ReflectionPad2d": (lambda: nn.ReflectionPad2d((1, 2, 0, 1)), [normal(1, 2, 3, 4)]),
    "ReflectionPad3d": (lambda: nn.ReflectionPad3d((1, 0, 2, 1, 1, 1)), [normal(1, 2, 3, 4, 3)]),
    "ReplicationPad1d": (lambda: nn.ReplicationPad1d((1, 2)), [normal(2, 3, 4)]),
    "ReplicationPad2d": (lambda: nn.ReplicationPad2d((1, 2, 0, 1)), [normal(1, 2, 3, 4)]),
    "ReplicationPad3d": (lambda: nn.ReplicationPad3d((1, 0, 2, 1, 1, 1)), [normal(1, 2, 3, 4, 3)]),
    "CircularPad1d": (lambda: nn.CircularPad1d((1, 2)), [normal(2, 3, 4)]),
    "CircularPad2d": (lambda: nn.CircularPad2d((1, 2, 0, 1)), [normal(1, 2, 3, 4)]),
    "CircularPad3d": (lambda: nn.CircularPad3d((1, 0, 2, 1, 1, 1)), [normal(1, 2, 3, 4, 3)]),
    "ZeroPad2d-all": (lambda: nn.ZeroPad2d(1), [normal(1, 2, 3, 4)]),
    "MaxPool1d": (lambda: nn.MaxPool1d(3, stride=2, padding=1, ceil_mode=True), [normal(2, 3, 8)]),
    "AvgPool1d": (lambda: nn.AvgPool1d(2, count_include_pad=False), [normal(2, 3, 8)]),
    "LPPool1d": (lambda: nn.LPPool1d(2.0, 2), [unit(2, 3, 8)]),
    "AdaptiveAvgPool1d": (lambda: nn.AdaptiveAvgPool1d(2), [normal(2, 3, 8)]),
    "AdaptiveMaxPool1d": (lambda: nn.AdaptiveMaxPool1d(3), [normal(2, 3, 8)]),
    "MaxPool2d": (lambda: nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True), [normal(2, 3, 6, 8)]),
    "AvgPool2d": (lambda: nn.AvgPool2d(2, count_include_pad=False), [normal(2, 3, 6, 8)]),
    "LPPool2d": (lambda: nn.LPPool2d(2.0, 2), [unit(2, 3, 6, 8)]),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d(2), [normal(2, 3, 6, 8)]),
    "AdaptiveMaxPool2d": (lambda: nn.AdaptiveMaxPool2d(3), [normal(2, 3, 6, 8)]),
    "MaxPool3d": (lambda: nn.MaxPool3d(3, stride=2, padding=1, ceil_mode=True), [normal(1, 2, 4, 6, 4)]),
    "AvgPool3d": (lambda: nn.AvgPool3d(2, count_include_pad=False), [normal(1, 2, 4, 6, 4)]),
    "LPPool3d": (lambda: nn.LPPool3d(2.0, 2), [unit(1, 2, 4, 6, 4)]),
    "AdaptiveAvgPool3d": (lambda: nn.AdaptiveAvgPool3d(2), [normal(1, 2, 4, 6, 4)]),
    "AdaptiveMaxPool3d": (lambda: nn.AdaptiveMaxPool3d(3), [normal(1, 2, 4, 6, 4)]),
    "MaxPool2d-shape": (lambda: nn.MaxPool2d((2, 3)), [normal(1, 2, 6, 6)]),
    "Unfold": (lambda: nn.Unfold((2, 3), stride=2), [normal(2, 3, 6, 7)]),
    "Fold": (lambda: nn.Fold((4, 5), 2), [normal(2, 8, 12)]),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), [normal(1, 8, 2, 3)]),
    "PixelUnshuffle": (lambda: nn.PixelUnshuffle(2), [normal(1, 2, 4, 6)]),
    "ChannelShuffle": (lambda: nn.ChannelShuffle(2), [normal(1, 4, 2, 3)]),
    "Upsample": (lambda: nn.Upsample(scale_factor=(2.0, 1.5), mode="bilinear"), [normal(1, 2, 4, 4)]),
    "Upsample-size": (lambda: nn.Upsample((5, 6)), [normal(1, 2, 4, 4)]),
    "Flatten": (lambda: nn.Flatten(), [normal(2, 3, 4)]),
    "Unflatten": (lambda: nn.Unflatten(1, (2, 3)), [normal(2, 6)]),
}

ERRORS: list[Callable[[], Any]] = [
    lambda: nn.Linear(-1, 2),
    lambda: nn.Conv2d(0, 2, 3),
    lambda: nn.Conv2d(2, 2, (3, 0)),
    lambda: nn.Conv2d(2, 2, (3,)),
    lambda: nn.Conv1d(2, 2, (3, 3)),
    lambda: nn.Conv2d(3, 4, 3, groups=2),
    lambda: nn.GroupNorm(2, 3),
    lambda: nn.Dropout(1.5),
    lambda: nn.GELU("tahn"),  # type: ignore[arg-type]
    lambda: nn.Embedding(5, 3, padding_idx=7),
    lambda: nn.MultiHeadAttention(5, 2),
    lambda: nn.MultiHeadAttention(4, 2)(lento.ones((3, 4))),
    lambda: nn.TransformerEncoderLayer(4, 2, activation="tahn"),  # type: ignore[arg-type]
    lambda: nn.GRU(3, 0),
    lambda: nn.LSTM(3, 4, 0),
    lambda: nn.GRU(3, 4)(lento.ones((5, 3))),
    lambda: nn.LSTM(3, 4, batch_first=True)(lento.ones((5, 2, 4))),
    lambda: nn.GRU(3, 4)(lento.ones((0, 2, 3))),
    lambda: nn.GRU(3, 4, 2)(lento.ones((5, 2, 3)), lento.ones((2, 4))),
    lambda: nn.ConvTranspose2d(3, 4, 3, groups=2),
    lambda: nn.RNN(3, 4, dropout=2.0),
    lambda: nn.RNN(3, 4, nonlinearity="sigmoid"),  # type: ignore[arg-type]
    lambda: nn.RNNCell(3, 4)(lento.ones((2, 3)), lento.ones(4)),
    lambda: nn.LSTMCell(3, 4)(lento.ones((2, 3, 3))),
    lambda: nn.InstanceNorm2d(3)(lento.ones((2, 4, 5, 5))),
    lambda: nn.ZeroPad2d((1, 2))(lento.ones((2, 4, 5, 5))),
    lambda: nn.MSELoss()(lento.ones((8, 1)), lento.ones(8)),
]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What the program prints, by the name of the layer."""
    made = compiled("nn/same_layers.cpp", tmp_path_factory.mktemp("cpp"))
    text = subprocess.run([str(made)], check=True, capture_output=True, text=True).stdout
    parts = [part.splitlines() for part in text.split("== ")[1:]]
    return {name: lines for name, *lines in parts}


def line(name: str, x: lento.Tensor) -> str:
    return f"{name} {x.dtype.name} {x.tobytes().hex()}"


def outputs(y: Any) -> list[lento.Tensor]:
    return [y] if isinstance(y, lento.Tensor) else [each for part in y for each in outputs(part)]


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_the_same_in_both_languages(name: str, printed: dict[str, list[str]]) -> None:
    make, inputs = LAYERS[name]
    lento.random.seed(11)
    layer = make()
    x = [draw() for draw in inputs]
    lines = repr(layer).splitlines()
    lines += [line(key, tensor) for key, tensor in layer.state_dict().items()]
    for training in (True, True, False):
        layer.train(training)
        lines += [line("output", y) for y in outputs(layer(*x))]
    lines += [line(key, tensor) for key, tensor in layer.buffers().items()]
    assert printed[name] == lines


IN_CPP_CONTAINERS = ("ModuleList", "ModuleDict")  # which are std::vector and std::map there


def test_all_layers_are_compared(printed: dict[str, list[str]]) -> None:
    classes = {name for name, value in vars(nn).items() if isinstance(value, type) and issubclass(value, nn.Module)}
    assert classes - {name.partition("-")[0] for name in LAYERS} == {"Module", *IN_CPP_CONTAINERS}
    assert set(printed) == {*LAYERS, "errors"}


def test_errors_are_the_same_in_both_languages(printed: dict[str, list[str]]) -> None:
    messages = []
    for run in ERRORS:
        with pytest.raises(ValueError) as raised:
            run()
        messages.append(re.sub(r", at test_nn_cpp\.py:\d+$", "", str(raised.value)))
    found = [re.sub(r", at same_layers\.cpp:\d+$", "", text.removeprefix("error ")) for text in printed["errors"]]
    assert found == messages
    assert all(re.search(r", at same_layers\.cpp:\d+$", text) for text in printed["errors"])
