"""A variational autoencoder of pictures of digits. What is drawn at random is given."""

from __future__ import annotations

import lento
from lento import nn


class VAE(nn.Module):
    def __init__(self, pixels: int = 784, hidden: int = 400, latent: int = 20) -> None:
        self.fc1 = nn.Linear(pixels, hidden)
        self.fc21 = nn.Linear(hidden, latent)
        self.fc22 = nn.Linear(hidden, latent)
        self.fc3 = nn.Linear(latent, hidden)
        self.fc4 = nn.Linear(hidden, pixels)

    def forward(self, x: lento.Tensor, noise: lento.Tensor) -> tuple[lento.Tensor, lento.Tensor, lento.Tensor]:
        """The picture that is found again, mean and logarithm of the variance of its code."""
        hidden = nn.relu(self.fc1(x))
        mean, log_variance = self.fc21(hidden), self.fc22(hidden)
        code = mean + noise * lento.exp(0.5 * log_variance)
        return lento.sigmoid(self.fc4(nn.relu(self.fc3(code)))), mean, log_variance


def loss(model: VAE, x: lento.Tensor, noise: lento.Tensor) -> lento.Tensor:
    picture, mean, log_variance = model(x, noise)
    reconstruction = nn.binary_cross_entropy(picture, x, reduction="sum")
    divergence = -0.5 * (1 + log_variance - mean**2 - lento.exp(log_variance)).sum()
    return reconstruction + divergence
