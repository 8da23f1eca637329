"""The models whose training steps are timed: a loss of weights and a batch, in the words of peers/__init__.py.

Weights have PyTorch's names, shapes and distributions. Every peer starts with the same ones and sees the same batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
# Adam's, with betas of 0.9 and 0.999 and an epsilon of 1e-8. Small: warming up shall not learn the batch by heart.
RATE = 1e-4


@dataclass(frozen=True)
class Model:
    name: str
    title: str
    # None: the batch is a gradient for each weight, and only the optimizer's step is timed.
    loss: Callable[..., Any] | None
    # Weights and a batch; quick ones are tiny.
    make: Callable[[np.random.Generator, bool], tuple[Arrays, list[np.ndarray]]]

    def inputs(self, quick: bool) -> tuple[Arrays, list[np.ndarray]]:
        """The same in every process."""
        return self.make(np.random.default_rng(7), quick)


def layer(random: np.random.Generator, *shape: int) -> tuple[np.ndarray, np.ndarray]:
    """Weight (out, in, …) and bias."""
    bound = 1 / np.sqrt(np.prod(shape[1:]))
    weight, bias = random.uniform(-bound, bound, shape), random.uniform(-bound, bound, shape[0])
    return weight.astype(np.float32), bias.astype(np.float32)


def layers(random: np.random.Generator, shapes: dict[str, tuple[int, ...]]) -> Arrays:
    made = {}
    for name, shape in shapes.items():
        made[f"{name}.weight"], made[f"{name}.bias"] = layer(random, *shape)
    return made


def linear(p: Any, w: dict[str, Any], name: str, x: Any) -> Any:
    return p.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])


# ---- 784-512-512-10, batch 128


def mlp_inputs(random: np.random.Generator, quick: bool) -> tuple[Arrays, list[np.ndarray]]:
    batch, pixels, hidden, classes = (4, 12, 8, 3) if quick else (128, 784, 512, 10)
    weights = layers(random, {"0": (hidden, pixels), "1": (hidden, hidden), "2": (classes, hidden)})
    return weights, [random.random((batch, pixels), np.float32), random.integers(0, classes, batch)]


def mlp_loss(p: Any, w: dict[str, Any], x: Any, labels: Any) -> Any:
    x = p.relu(linear(p, w, "0", x))
    x = p.relu(linear(p, w, "1", x))
    return p.cross_entropy(linear(p, w, "2", x), labels)


# ---- GPT: 4 layers of 4 heads, 256 features, 4 texts of 128 characters, a vocabulary of 65

BLOCKS, HEADS = 4, 4


def gpt_inputs(random: np.random.Generator, quick: bool) -> tuple[Arrays, list[np.ndarray]]:
    batch, length, size, words = (2, 6, 16, 7) if quick else (4, 128, 256, 65)
    weights = {
        "token.embedding": random.normal(0, 0.02, (words, size)).astype(np.float32),
        "position.embedding": random.normal(0, 0.02, (length, size)).astype(np.float32),
        "norm.weight": np.ones(size, np.float32),
        "norm.bias": np.zeros(size, np.float32),
        **layers(random, {"head": (words, size)}),
    }
    for i in range(BLOCKS):
        for norm in ("norm1", "norm2"):
            weights[f"{i}.{norm}.weight"] = np.ones(size, np.float32)
            weights[f"{i}.{norm}.bias"] = np.zeros(size, np.float32)
        shapes = {
            "attention": (3 * size, size),
            "projection": (size, size),
            "up": (4 * size, size),
            "down": (size, 4 * size),
        }
        weights |= layers(random, {f"{i}.{name}": shape for name, shape in shapes.items()})
    text = random.integers(0, words, (batch, length + 1))
    return weights, [text[:, :-1], text[:, 1:].reshape(-1)]


def gpt_loss(p: Any, w: dict[str, Any], text: Any, following: Any) -> Any:
    batch, length = text.shape
    x = p.embedding(text, w["token.embedding"]) + w["position.embedding"]
    size = x.shape[-1]

    def norm(name: str, x: Any) -> Any:
        return p.norm(x, w[f"{name}.weight"], w[f"{name}.bias"])

    def heads(x: Any) -> Any:
        return p.swap(x.reshape(batch, length, HEADS, size // HEADS), 1, 2)

    for i in range(BLOCKS):
        mixed = linear(p, w, f"{i}.attention", norm(f"{i}.norm1", x))
        q, k, v = (heads(mixed[:, :, j * size : (j + 1) * size]) for j in range(3))
        seen = p.swap(p.causal_attention(q, k, v), 1, 2).reshape(batch, length, size)
        x = x + linear(p, w, f"{i}.projection", seen)
        x = x + linear(p, w, f"{i}.down", p.gelu(linear(p, w, f"{i}.up", norm(f"{i}.norm2", x))))
    logits = linear(p, w, "head", norm("norm", x))
    return p.cross_entropy(logits.reshape(batch * length, logits.shape[-1]), following)


# ---- 7 convolutions 3×3 with 32 channels on 32 pictures of 3×32×32, then the mean over pixels and a linear layer

CONVOLUTIONS = 7


def conv_inputs(random: np.random.Generator, quick: bool) -> tuple[Arrays, list[np.ndarray]]:
    batch, side, channels, classes = (2, 6, 4, 3) if quick else (32, 32, 32, 10)
    shapes: dict[str, tuple[int, ...]] = {str(i): (channels, channels if i else 3, 3, 3) for i in range(CONVOLUTIONS)}
    weights = layers(random, {**shapes, "head": (classes, channels)})
    return weights, [random.random((batch, 3, side, side), np.float32), random.integers(0, classes, batch)]


def conv_loss(p: Any, w: dict[str, Any], x: Any, labels: Any) -> Any:
    for i in range(CONVOLUTIONS):
        x = p.relu(p.convolve(x, w[f"{i}.weight"], w[f"{i}.bias"]))
    return p.cross_entropy(linear(p, w, "head", p.mean_of_pixels(x)), labels)


# ---- a language model of words: 2 LSTMs of 200, 20 texts of 35 words, a vocabulary of 1000

LSTMS = 2


def lstm_inputs(random: np.random.Generator, quick: bool) -> tuple[Arrays, list[np.ndarray]]:
    batch, length, size, words = (2, 5, 8, 7) if quick else (20, 35, 200, 1000)
    weights = {"token.embedding": random.normal(0, 0.1, (words, size)).astype(np.float32)}
    shapes: dict[str, tuple[int, ...]] = {"head": (words, size)}
    for i in range(LSTMS):
        shapes |= {f"{i}.input": (4 * size, size), f"{i}.state": (4 * size, size)}
    text = random.integers(0, words, (length + 1, batch))
    return weights | layers(random, shapes), [text[:-1], text[1:].reshape(-1)]


def lstm_loss(p: Any, w: dict[str, Any], text: Any, following: Any) -> Any:
    length, batch = text.shape
    x = p.embedding(text, w["token.embedding"])
    for i in range(LSTMS):
        parts = [w[f"{i}.{name}"] for name in ("input.weight", "state.weight", "input.bias", "state.bias")]
        x = p.lstm(x, *parts)
    logits = linear(p, w, "head", x)
    return p.cross_entropy(logits.reshape(length * batch, logits.shape[-1]), following)


# ---- an optimizer's step alone, over as many small weights as a large model has, and a scale, whose value is compared


def adam_inputs(random: np.random.Generator, quick: bool) -> tuple[Arrays, list[np.ndarray]]:
    sizes = np.exp(random.uniform(np.log(64), np.log(4096), 3 if quick else 99)).astype(int)
    weights = {"scale": random.standard_normal(1, np.float32)}
    weights |= {f"{i}.weight": random.standard_normal(n, np.float32) for i, n in enumerate(sizes)}
    return weights, [random.standard_normal(w.shape, np.float32) for w in weights.values()]


MODELS = {
    "mlp": Model("MLP", "784-512-512-10, batch 128, Adam", mlp_loss, mlp_inputs),
    "gpt": Model("GPT", "4 layers, C=256, H=4, T=128, B=4, Adam", gpt_loss, gpt_inputs),
    "conv": Model("CNN", "7 conv 3×3×32 on 32×3×32×32, Adam", conv_loss, conv_inputs),
    "lstm": Model("LSTM", "2 layers, C=200, T=35, B=20, 1000 words, Adam", lstm_loss, lstm_inputs),
    "adam-100": Model("Adam", "step over 100 weights of 64 to 4096 elements", None, adam_inputs),
}
