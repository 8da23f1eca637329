"""200 steps of training beside torch, from the same weights in a safetensors file: the same losses within float error.

Rounding errors grow from step to step, so they are bounded by what rounding itself does: torch's losses in float32
beside those in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts
from lento import nn, optim

STEPS = 200


class GPT(nn.Module):
    """A small GPT, with the names of torch_gpt below."""

    def __init__(self, tokens: int, length: int, width: int) -> None:
        self.token = nn.Embedding(tokens, width)
        self.position = nn.Embedding(length, width)
        self.blocks = [nn.TransformerEncoderLayer(width, 2, 4 * width, 0.0, "gelu", norm_first=True) for _ in range(2)]
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, tokens, bias=False)

    def forward(self, x: lento.Tensor) -> Any:
        y = self.token(x) + self.position(lento.arange(x.shape[1]))
        for block in self.blocks:
            y = block(y, is_causal=True)
        return self.head(self.norm(y))


def torch_gpt(torch: Any, tokens: int, length: int, width: int) -> Any:
    class Theirs(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.token = torch.nn.Embedding(tokens, width)
            self.position = torch.nn.Embedding(length, width)
            self.blocks = torch.nn.ModuleList(
                torch.nn.TransformerEncoderLayer(width, 2, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
                for _ in range(2)
            )
            self.norm = torch.nn.LayerNorm(width)
            self.head = torch.nn.Linear(width, tokens, bias=False)

        def forward(self, x: Any) -> Any:
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
            y = self.token(x) + self.position(torch.arange(x.shape[1]))
            for block in self.blocks:
                y = block(y, src_mask=mask)
            return self.head(self.norm(y))

    return Theirs()


def conv_net(nn: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(2, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.GELU(),
        nn.Conv2d(8, 4, 4),
    )  # fmt: skip


def mlp(nn: Any) -> Any:
    return nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))


def classes(shape: tuple[int, ...], i: int) -> tuple[Any, Any]:
    """Inputs, and a class that a model can learn from them."""
    x = np.random.default_rng(i).standard_normal((16, *shape)).astype(np.float32)
    return x, (x.reshape(16, 4, -1).sum(-1)).argmax(1)


def text(i: int) -> tuple[Any, Any]:
    start = np.random.default_rng(i).integers(0, 11, (8, 1))
    x = (start + np.arange(13) * 3) % 11
    return x[:, :-1], x[:, 1:]


# name: (here, there, batch i)
MODELS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], Callable[[int], tuple[Any, Any]]]] = {
    "mlp": (lambda: mlp(nn), lambda torch: mlp(torch.nn), lambda i: classes((12,), i)),
    "gpt": (lambda: GPT(11, 12, 16), lambda torch: torch_gpt(torch, 11, 12, 16), text),
    "conv": (lambda: conv_net(nn), lambda torch: conv_net(torch.nn), lambda i: classes((2, 8, 8), i)),
}
OPTIMIZERS: dict[str, tuple[Callable[[Any], optim.Optimizer], str]] = {
    "adam": (lambda p: optim.Adam(p, 1e-3), "Adam(p, 1e-3)"),
    "sgd": (lambda p: optim.SGD(p, 0.02, 0.9), "SGD(p, 0.02, 0.9)"),
}


def torch_losses(torch: Any, name: str, optimizer: str, state: Any, dtype: Any) -> list[float]:
    _, make, batch = MODELS[name]
    model = make(torch)
    model.load_state_dict(state)
    model.to(dtype)
    updates = eval(OPTIMIZERS[optimizer][1], {**vars(torch.optim), "p": model.parameters()})
    losses = []
    for i in range(STEPS):
        x, y = map(torch.tensor, batch(i))
        updates.zero_grad()
        logits = model(x.to(dtype) if x.is_floating_point() else x)
        classes = logits.shape[1 if name == "conv" else -1]
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, classes), y.flatten())
        loss.backward()
        updates.step()
        losses.append(loss.item())
    return losses


def loss_of(model: Any, x: lento.Tensor, y: lento.Tensor) -> lento.Tensor:
    logits = model(x)
    return nn.cross_entropy(logits.reshape((-1, logits.shape[1 if logits.ndim == 4 else -1])), y.flatten())


@pytest.mark.peers
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", MODELS)
def test_200_steps_have_the_losses_of_torch(name: str, optimizer: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)  # so small a model gains nothing from more, and they wait for each other on a busy machine
    torch.manual_seed(0)
    theirs = MODELS[name][1](torch)
    state = {key: tensor.clone() for key, tensor in theirs.state_dict().items()}
    lento.save(tmp_path / "start.safetensors", {key: tensor.numpy() for key, tensor in state.items()})

    model = MODELS[name][0]()
    model.load_state_dict(lento.load(tmp_path / "start.safetensors"))
    updates = OPTIMIZERS[optimizer][0](model)

    def train(x: lento.Tensor, y: lento.Tensor) -> lento.Tensor:
        value, gradients = lento.value_and_grad(loss_of)(model, x, y)
        updates.step(gradients)
        result: lento.Tensor = value
        return result

    kept, counts = [], Counts()
    for i, (x, y) in enumerate(lento.prefetch(MODELS[name][2](i) for i in range(STEPS))):
        if i == 4:
            counts = Counts()
        kept.append(train(x, y))
        lento.step()
    assert (counts["plan.miss"], counts["kernel.compile"]) == (0, 0)
    ours = np.array([float(value) for value in kept])
    single = np.array(torch_losses(torch, name, optimizer, state, torch.float32))
    double = np.array(torch_losses(torch, name, optimizer, state, torch.float64))
    assert single[-1] < 0.7 * single[0]  # it learns, so that the curve says something
    rounding = np.maximum.accumulate(np.abs(single - double))
    # Within a few units in the last place where torch happens to be exact.
    assert (np.abs(ours - double) <= 2 * rounding + 1e-6).all()
