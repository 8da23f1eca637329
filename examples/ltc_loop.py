"""A training loop as one writes it for PyTorch's Lazy Tensor Core: record, mark the step, look at results in closures.

    python examples/ltc_loop.py --steps 300

Logistic regression on two clouds of points, with the gradient written by hand. Only the imports tell that it is Lento;
docs/coming-from-ltc.md has the list of names.
"""

from __future__ import annotations

import argparse

import lento
import lento.lazy as lazy  # was: import torch._lazy as lazy
from lento.lazy import metrics  # was: import torch._lazy.metrics as metrics


def clouds(points: int) -> tuple[lento.Tensor, lento.Tensor]:
    """Points of two kinds, and the kinds, 0 and 1."""
    kind = (lento.arange(points) % 2).astype(lento.float32)
    centre = lento.asarray([[-1.0, -0.5], [1.0, 0.5]])
    return centre[lento.arange(points) % 2] + 0.7 * lento.random.normal((points, 2)), kind


def train(steps: int, seed: int, every: int = 100) -> tuple[list[tuple[int, float, float]], lento.Tensor, lento.Tensor]:
    """What was logged (step, loss, part that is right), the weights, and the bias."""
    logged: list[tuple[int, float, float]] = []

    def log(step: int, loss: lento.Tensor, right: lento.Tensor) -> None:
        logged.append((step, loss.item(), right.item()))

    lazy.ts_backend.init()
    lento.random.seed(seed)
    x, kind = clouds(512)
    weights, bias = lento.zeros(2), lento.zeros(())
    lazy.mark_step()
    metrics.reset()
    for step in range(1, steps + 1):
        score = x @ weights + bias
        guess = lento.sigmoid(score)
        error = (guess - kind) / kind.size
        if step % every == 0 or step == 1:
            loss = lento.nn.binary_cross_entropy_with_logits(score, kind)
            right = ((score > 0) == (kind > 0)).astype(lento.float32).mean()
            lazy.add_step_closure(log, args=(step, loss, right), run_async=True)
        weights -= 0.5 * (error @ x)
        bias -= 0.5 * error.sum()
        lazy.mark_step()
    lazy.wait_device_ops()
    lento.wait_closures()
    return logged, weights, bias


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    logged, weights, bias = train(options.steps, options.seed)
    for step, loss, right in logged:
        print(f"step {step:4}: loss {loss:.4f}, {right:.1%} right")
    print(f"weights {weights}, bias {bias:.3f}")
    print("compiled", metrics.counter_value("UncachedCompile"), "of", metrics.counter_value("MarkStep"), "steps")


if __name__ == "__main__":
    main()
