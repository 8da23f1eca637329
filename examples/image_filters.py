"""Blur, edges and sharpening by convolution; the pictures go into one PNG file.

    python examples/image_filters.py --output filters.png

Each filter is a few lines of tensor code and gives what SciPy's ndimage gives with mode="reflect". All five pictures
are pending until the file is written; one evaluation computes them together.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import lento
from lento import nn
from matplotlib.image import imsave


def scene(size: int, seed: int) -> lento.Tensor:
    """A picture to work on, from 0 to 1: rings, a disc, a square and some noise."""
    lento.random.seed(seed)
    axis = lento.linspace(-1, 1, size)
    y, x = axis[:, None], axis[None, :]
    picture = 0.5 + 0.25 * lento.cos(40 * lento.sqrt(x**2 + y**2)) * lento.exp(-2 * (x**2 + y**2))
    picture = lento.where((x + 0.45) ** 2 + (y + 0.4) ** 2 < 0.08, 0.95, picture)
    picture = lento.where(lento.maximum(abs(x - 0.5), abs(y - 0.45)) < 0.25, 0.1, picture)
    return lento.clip(picture + 0.03 * lento.random.normal((size, size)), 0, 1)


def correlate(picture: lento.Tensor, weights: lento.Tensor) -> lento.Tensor:
    """The weighted sum around each pixel; at the border the picture is mirrored."""
    rows, columns = weights.shape
    wide = lento.pad(picture, [rows // 2, rows // 2, columns // 2, columns // 2], mode="symmetric")
    return nn.conv2d(wide[None, None], weights[None, None])[0, 0]


def separable(picture: lento.Tensor, vertical: lento.Tensor, horizontal: lento.Tensor) -> lento.Tensor:
    """A filter that is the product of two: 2 n multiplications a pixel instead of n * n."""
    return correlate(correlate(picture, vertical[:, None]), horizontal[None, :])


def box_blur(picture: lento.Tensor, width: int) -> lento.Tensor:
    mean = lento.full(width, 1 / width)
    return separable(picture, mean, mean)


def gaussian_blur(picture: lento.Tensor, sigma: float) -> lento.Tensor:
    radius = int(4 * sigma + 0.5)
    bell = lento.exp(-0.5 * (lento.arange(-radius, radius + 1, dtype=lento.float32) / sigma) ** 2)
    bell /= bell.sum()
    return separable(picture, bell, bell)


def sobel(picture: lento.Tensor, axis: int) -> lento.Tensor:
    """The slope along an axis, smoothed across it."""
    slope, smooth = lento.asarray([-1.0, 0.0, 1.0]), lento.asarray([1.0, 2.0, 1.0])
    return separable(picture, slope, smooth) if axis == 0 else separable(picture, smooth, slope)


def edges(picture: lento.Tensor) -> lento.Tensor:
    return lento.hypot(sobel(picture, 0), sobel(picture, 1))


def sharpen(picture: lento.Tensor, sigma: float, strength: float) -> lento.Tensor:
    return lento.clip(picture + strength * (picture - gaussian_blur(picture, sigma)), 0, 1)


def contact_sheet(pictures: list[lento.Tensor]) -> lento.Tensor:
    """The pictures in a row, as bytes."""
    row = lento.concat(pictures, axis=1)
    return lento.rint(255 * lento.clip(row, 0, 1)).astype(lento.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("filters.png"))
    options = parser.parse_args()
    picture = scene(options.size, options.seed)
    found = edges(gaussian_blur(picture, math.sqrt(2)))
    filtered = [
        picture,
        box_blur(picture, 9),
        gaussian_blur(picture, 3.0),
        sharpen(picture, 2.0, 2.0),
        found / found.max(),
    ]
    imsave(options.output, contact_sheet(filtered).numpy()[:, :, None].repeat(3, axis=2))
    print(f"{options.output}: a picture, box blur, Gaussian blur, sharpened, edges")


if __name__ == "__main__":
    main()
