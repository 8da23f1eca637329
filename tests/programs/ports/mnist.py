"""A convolutional network that reads digits, trained by Adadelta."""

from __future__ import annotations

import lento
from lento import nn


class Net(nn.Module):
    def __init__(self, drop: float = 0.0) -> None:
        self.conv1 = nn.Conv2d(1, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.dropout1 = nn.Dropout(drop / 2)
        self.dropout2 = nn.Dropout(drop)
        self.fc1 = nn.Linear(9216, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x: lento.Tensor) -> lento.Tensor:
        x = nn.relu(self.conv2(nn.relu(self.conv1(x))))
        x = self.dropout1(nn.max_pool2d(x, 2)).reshape(x.shape[0], -1)
        x = self.dropout2(nn.relu(self.fc1(x)))
        return nn.log_softmax(self.fc2(x), axis=1)


def loss(model: Net, pictures: lento.Tensor, digits: lento.Tensor) -> lento.Tensor:
    return nn.nll_loss(model(pictures), digits)


class Adadelta:
    """Steps as long as those before, over the size of the gradients: an optimizer of a user's own."""

    def __init__(self, model: nn.Module, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6) -> None:
        self.parameters = list(model.parameters().values())
        self.lr, self.rho, self.eps = lr, rho, eps
        self.squares = [lento.zeros_like(p) for p in self.parameters]
        self.steps = [lento.zeros_like(p) for p in self.parameters]

    def step(self, gradients: nn.Module) -> None:
        kept = zip(self.parameters, gradients.parameters().values(), self.squares, self.steps, strict=True)
        for parameter, gradient, square, past in kept:
            square *= self.rho
            square += (1 - self.rho) * gradient**2
            change = lento.sqrt(past + self.eps) / lento.sqrt(square + self.eps) * gradient
            past *= self.rho
            past += (1 - self.rho) * change**2
            parameter -= self.lr * change
