"""A convolutional network learns to read digits: modules, derivatives, an optimizer, and a plain loop.

    python examples/digits.py --steps 600

Batches are drawn, and pictures looked up, by Lento itself: forward, backward and update are one plan, and nothing in
the loop waits for a number. The pictures are those of examples/data (data/make_digits.py drew them).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import lento
import numpy as np
from lento import nn, optim
from progress import Progress, print_table

DATA = Path(__file__).resolve().parent / "data" / "digits.bin"
TEST = 400  # so many pictures, the last ones, are not learnt from


def load() -> tuple[lento.Tensor, lento.Tensor]:
    """Pictures (count, 1, 12, 12) from 0 to 1, and the digits they show."""
    packed = np.frombuffer(DATA.read_bytes(), np.uint8)
    levels = np.stack([packed >> 4, packed & 15], axis=1).reshape(-1, 1, 12, 12)
    return lento.asarray(levels.astype(np.float32) / 15), lento.arange(len(levels)) % 10


class Reader(nn.Module):
    def __init__(self) -> None:
        self.first = nn.Conv2d(1, 16, 3, padding=1)
        self.second = nn.Conv2d(16, 32, 3, padding=1)
        self.head = nn.Linear(32 * 3 * 3, 10)

    def forward(self, x: lento.Tensor) -> lento.Tensor:
        x = nn.max_pool2d(nn.relu(self.first(x)), 2)
        x = nn.max_pool2d(nn.relu(self.second(x)), 2)
        return self.head(x.reshape((x.shape[0], -1)))


def loss_of(model: Reader, pictures: lento.Tensor, digits: lento.Tensor) -> lento.Tensor:
    return nn.cross_entropy(model(pictures), digits)


def train(steps: int = 600, batch: int = 64, seed: int = 0) -> tuple[Reader, float, Progress]:
    """The trained network, the part of the test pictures that it reads correctly, and how it went."""
    lento.random.seed(seed)
    pictures, digits = load()
    model = Reader()
    optimizer = optim.Adam(model, lr=optim.cosine(3e-3, steps))
    learnt = len(digits) - TEST

    def train_step() -> lento.Tensor:
        chosen = lento.random.randint(batch, 0, learnt)
        loss, gradients = lento.value_and_grad(loss_of)(model, pictures[chosen], digits[chosen])
        optimizer.step(gradients)
        return loss

    with Progress("digits", steps) as progress:
        for step in range(steps):
            loss = train_step()
            lento.add_step_closure(progress.log, args=(step, loss), run_async=True)
            lento.step()
    right = model(pictures[-TEST:]).argmax(axis=1) == digits[-TEST:]
    return model, int(right.sum()) / TEST, progress


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    _, accuracy, progress = train(options.steps, options.batch, options.seed)
    print(f"reads {accuracy:.1%} of {TEST} new pictures correctly")
    print_table({"digits": progress.summary})


if __name__ == "__main__":
    main()
