"""A generator and a discriminator of pictures of 64 x 64, which train each other. The noise is given."""

from __future__ import annotations

from collections.abc import Iterable

import lento
from lento import nn, optim


class Deconvolution(nn.Module):
    """A transposed convolution without a bias."""

    def __init__(self, channels: int, out_channels: int, size: int, stride: int, padding: int) -> None:
        self.weight = 0.02 * lento.random.normal((channels, out_channels, size, size))
        self.stride = stride
        self.padding = padding

    def forward(self, x: lento.Tensor) -> lento.Tensor:
        return nn.conv_transpose2d(x, self.weight, stride=self.stride, padding=self.padding)


def leaky(x: lento.Tensor) -> lento.Tensor:
    return nn.leaky_relu(x, 0.2)


class Generator(nn.Module):
    def __init__(self, latent: int, features: int, channels: int) -> None:
        steps: list[object] = []
        inputs = latent
        for level, outputs in enumerate((8 * features, 4 * features, 2 * features, features)):
            stride, padding = (1, 0) if level == 0 else (2, 1)
            steps += [Deconvolution(inputs, outputs, 4, stride, padding), nn.BatchNorm2d(outputs), nn.relu]
            inputs = outputs
        self.main = nn.Sequential(*steps, Deconvolution(features, channels, 4, 2, 1), lento.tanh)

    def forward(self, noise: lento.Tensor) -> lento.Tensor:
        return self.main(noise)


class Discriminator(nn.Module):
    def __init__(self, features: int, channels: int) -> None:
        steps: list[object] = [nn.Conv2d(channels, features, 4, 2, 1, bias=False), leaky]
        for outputs in (2 * features, 4 * features, 8 * features):
            steps += [nn.Conv2d(outputs // 2, outputs, 4, 2, 1, bias=False), nn.BatchNorm2d(outputs), leaky]
        self.main = nn.Sequential(*steps, nn.Conv2d(8 * features, 1, 4, 1, 0, bias=False), lento.sigmoid)

    def forward(self, pictures: lento.Tensor) -> lento.Tensor:
        return self.main(pictures).reshape(-1)


def verdict(discriminator: Discriminator, pictures: lento.Tensor, real: bool) -> lento.Tensor:
    """How wrong it is to hold these pictures for real ones, or for made ones."""
    guess = discriminator(pictures)
    return nn.binary_cross_entropy(guess, lento.full_like(guess, float(real)))


def train(
    generator: Generator,
    discriminator: Discriminator,
    batches: Iterable[tuple[lento.Tensor, lento.Tensor]],
    lr: float = 0.0002,
) -> lento.Tensor:
    """Goes through pairs of pictures and noise; the losses of both networks at each."""
    optimizers = [optim.Adam(net, lr=lr, betas=(0.5, 0.999)) for net in (discriminator, generator)]

    def advance(pictures: lento.Tensor, noise: lento.Tensor) -> lento.Tensor:
        # One forward pass of the generator serves both: vjp keeps what its gradient needs.
        made, backward = lento.vjp(lambda net: net(noise), generator)

        def both(net: Discriminator) -> lento.Tensor:
            return verdict(net, pictures, True) + verdict(net, lento.stop_gradient(made), False)

        loss, gradients = lento.value_and_grad(both)(discriminator)
        optimizers[0].step(gradients)
        other_loss, slope = lento.value_and_grad(lambda made: verdict(discriminator, made, True))(made)
        optimizers[1].step(backward(slope)[0])
        return lento.stack([loss, other_loss])

    losses = []
    for pictures, noise in batches:
        losses.append(advance(pictures, noise))
        lento.step()
    return lento.stack(losses)
