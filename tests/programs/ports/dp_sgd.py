"""Differentially private training: the gradient of each example is clipped, and their sum made noisy.

The noise is given.
"""

from __future__ import annotations

from collections.abc import Iterable

import lento
from lento import nn


class Net(nn.Module):
    """Reads pictures of 28 x 28."""

    def __init__(self) -> None:
        self.conv1 = nn.Conv2d(1, 16, 8, stride=2, padding=3)
        self.conv2 = nn.Conv2d(16, 32, 4, stride=2)
        self.dense1 = nn.Linear(512, 32)
        self.dense2 = nn.Linear(32, 10)

    def forward(self, x: lento.Tensor) -> lento.Tensor:
        x = nn.max_pool2d(nn.relu(self.conv1(x)), 2, stride=1)
        x = nn.max_pool2d(nn.relu(self.conv2(x)), 2, stride=1)
        return self.dense2(nn.relu(self.dense1(x.reshape(x.shape[0], -1))))


def loss(model: Net, pictures: lento.Tensor, digits: lento.Tensor) -> lento.Tensor:
    return nn.cross_entropy(model(pictures), digits)


def clipped_gradient(model: Net, picture: lento.Tensor, digit: lento.Tensor, clip: float) -> Net:
    """The gradient for one example, no longer than ``clip``."""
    gradient = lento.grad(loss)(model, picture[None], digit[None])
    return lento.optim.clip_grad_norm(gradient, clip)[0]


def private_gradient(
    model: Net, pictures: lento.Tensor, digits: lento.Tensor, noise: Net, clip: float, multiplier: float
) -> Net:
    """``noise`` is normal noise of the form of the model."""
    each = lento.vmap(clipped_gradient, in_axes=(None, 0, 0, None))(model, pictures, digits, clip)
    return lento.tree.map(
        lambda gradients, noise: (gradients.sum(axis=0) + clip * multiplier * noise) / len(pictures), each, noise
    )


def train(
    model: Net,
    batches: Iterable[tuple[lento.Tensor, lento.Tensor, Net]],
    lr: float = 0.15,
    clip: float = 1.0,
    multiplier: float = 1.1,
) -> lento.Tensor:
    """Goes through pictures, digits and noise; the losses before each step."""
    optimizer = lento.optim.SGD(model, lr=lr)
    losses = []
    for pictures, digits, noise in batches:
        losses.append(loss(model, pictures, digits))
        optimizer.step(private_gradient(model, pictures, digits, noise, clip, multiplier))
        lento.step()
    return lento.stack(losses)
