"""The training loop that several programs share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import lento


def train(
    model: Any, optimizer: Any, loss: Callable[..., lento.Tensor], batches: Iterable[tuple[Any, ...]]
) -> lento.Tensor:
    """One step a batch by the gradient of ``loss(model, *batch)``; the losses."""

    def advance(batch: tuple[Any, ...]) -> lento.Tensor:
        value, gradients = lento.value_and_grad(loss)(model, *batch)
        optimizer.step(gradients)
        return value

    losses = []
    for batch in batches:
        losses.append(advance(batch))
        lento.step()
    return lento.stack(losses)
