"""Lento, as its users write: plain functions, and the same with lento.compile around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lento
import numpy as np
from lento import nn

from . import Peer, with_functions_of


@with_functions_of(lento)
class Lento(Peer):
    keeps_code = True
    softmax = staticmethod(lento.softmax)

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        lento.set_num_threads(threads)

    def version(self) -> str:
        return lento.__version__

    def array(self, values: np.ndarray) -> Any:
        x = lento.asarray(values)
        self.wait(x)
        return x

    def step(self, result: Any) -> None:
        lento.step()

    def wait(self, result: Any) -> None:
        lento.step(wait=True)

    def numpy(self, result: Any) -> np.ndarray:
        return result.numpy()

    def layer_norm(self, x: Any, weight: Any, bias: Any) -> Any:
        return lento.nn.layer_norm(x, (x.shape[1],), weight, bias)

    def gradient(self, function: Callable[..., Any], x: Any) -> Any:
        return lento.grad(function)(x)

    def transpose(self, x: Any) -> Any:
        return lento.contiguous(x.T)

    linear = staticmethod(nn.linear)
    relu = staticmethod(nn.relu)
    gelu = staticmethod(nn.gelu)
    embedding = staticmethod(nn.embedding)
    cross_entropy = staticmethod(nn.cross_entropy)
    swap = staticmethod(lento.swapaxes)

    def norm(self, x: Any, weight: Any, bias: Any) -> Any:
        return nn.layer_norm(x, (x.shape[-1],), weight, bias)

    def causal_attention(self, q: Any, k: Any, v: Any) -> Any:
        return nn.scaled_dot_product_attention(q, k, v, is_causal=True)

    def lstm(self, x: Any, w_input: Any, w_state: Any, b_input: Any, b_state: Any) -> Any:
        zeros = lento.zeros((x.shape[1], w_state.shape[1]))
        return nn.lstm(x, zeros, zeros, w_input, w_state, b_input, b_state).outputs

    def convolve(self, x: Any, weight: Any, bias: Any) -> Any:
        return nn.conv2d(x, weight, bias, padding=1)

    def mean_of_pixels(self, x: Any) -> Any:
        return lento.mean(x, axis=(2, 3))

    def trainer(
        self, loss: Callable[..., Any], weights: dict[str, Any], batch: list[Any], rate: float
    ) -> Callable[[], Any]:
        optimizer = lento.optim.Adam(weights, lr=rate)
        differentiate = lento.value_and_grad(lambda weights, *batch: loss(self, weights, *batch))

        def step() -> Any:
            value, gradients = differentiate(weights, *batch)
            optimizer.step(gradients)
            return value

        return step

    def updater(self, weights: dict[str, Any], gradients: dict[str, Any], rate: float) -> Callable[[], Any]:
        optimizer = lento.optim.Adam(weights, lr=rate)

        def step() -> Any:
            optimizer.step(gradients)
            return weights["scale"]

        return step


class LentoFrozen(Lento):
    """With lento.compile around each function: what recording costs is what this does not have."""

    def compile(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return lento.compile(lambda *inputs: function(self, *inputs))

    def wait(self, result: Any) -> None:
        """A frozen call has begun by itself; one that is recorded has not."""
        lento.step()
        lento.wait()

    def trainer(
        self, loss: Callable[..., Any], weights: dict[str, Any], batch: list[Any], rate: float
    ) -> Callable[[], Any]:
        return lento.compile(super().trainer(loss, weights, batch, rate))

    def updater(self, weights: dict[str, Any], gradients: dict[str, Any], rate: float) -> Callable[[], Any]:
        return lento.compile(super().updater(weights, gradients, rate))
