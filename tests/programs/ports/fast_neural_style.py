"""A network that gives pictures the style of another: convolutions, residual blocks, upsampling.

The losses compare pictures themselves, not what a trained network sees in them.
"""

from __future__ import annotations

import lento
from lento import nn


class Convolution(nn.Module):
    """Of a picture that is mirrored at its border, and before that enlarged."""

    def __init__(self, channels: int, out_channels: int, size: int, stride: int = 1, enlarge: int = 1) -> None:
        self.conv2d = nn.Conv2d(channels, out_channels, size, stride)
        self.border = size // 2
        self.enlarge = enlarge

    def forward(self, x: lento.Tensor) -> lento.Tensor:
        if self.enlarge > 1:
            x = lento.repeat(lento.repeat(x, self.enlarge, axis=2), self.enlarge, axis=3)
        sides = (0, 0, 0, 0, *[self.border] * 4)
        return self.conv2d(lento.pad(x, sides, mode="reflect"))


class InstanceNorm(nn.Module):
    def __init__(self, channels: int) -> None:
        self.weight = lento.ones(channels)
        self.bias = lento.zeros(channels)

    def forward(self, x: lento.Tensor) -> lento.Tensor:
        return nn.instance_norm(x, weight=self.weight, bias=self.bias)


class Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        self.conv1 = Convolution(channels, channels, 3)
        self.in1 = InstanceNorm(channels)
        self.conv2 = Convolution(channels, channels, 3)
        self.in2 = InstanceNorm(channels)

    def forward(self, x: lento.Tensor) -> lento.Tensor:
        return x + self.in2(self.conv2(nn.relu(self.in1(self.conv1(x)))))


class StyleNet(nn.Module):
    def __init__(self) -> None:
        self.conv1, self.in1 = Convolution(3, 32, 9), InstanceNorm(32)
        self.conv2, self.in2 = Convolution(32, 64, 3, stride=2), InstanceNorm(64)
        self.conv3, self.in3 = Convolution(64, 128, 3, stride=2), InstanceNorm(128)
        self.res1, self.res2, self.res3, self.res4, self.res5 = (Residual(128) for _ in range(5))
        self.deconv1, self.in4 = Convolution(128, 64, 3, enlarge=2), InstanceNorm(64)
        self.deconv2, self.in5 = Convolution(64, 32, 3, enlarge=2), InstanceNorm(32)
        self.deconv3 = Convolution(32, 3, 9)

    def forward(self, x: lento.Tensor) -> lento.Tensor:
        for convolution, norm in ((self.conv1, self.in1), (self.conv2, self.in2), (self.conv3, self.in3)):
            x = nn.relu(norm(convolution(x)))
        for block in (self.res1, self.res2, self.res3, self.res4, self.res5):
            x = block(x)
        x = nn.relu(self.in4(self.deconv1(x)))
        return self.deconv3(nn.relu(self.in5(self.deconv2(x))))


def gram(pictures: lento.Tensor) -> lento.Tensor:
    """How channels go together over each picture."""
    batch, channels, height, width = pictures.shape
    rows = pictures.reshape(batch, channels, height * width)
    return rows @ rows.mT / (channels * height * width)


def normalized(pictures: lento.Tensor) -> lento.Tensor:
    mean = lento.asarray([0.485, 0.456, 0.406], dtype=pictures.dtype).reshape(3, 1, 1)
    deviation = lento.asarray([0.229, 0.224, 0.225], dtype=pictures.dtype).reshape(3, 1, 1)
    return (pictures / 255 - mean) / deviation


def loss(model: StyleNet, pictures: lento.Tensor, style: lento.Tensor) -> lento.Tensor:
    made = normalized(model(pictures))
    content = nn.mse_loss(made, normalized(pictures))
    return content + 100 * nn.mse_loss(gram(made), lento.broadcast_to(gram(normalized(style)), (made.shape[0], 3, 3)))
