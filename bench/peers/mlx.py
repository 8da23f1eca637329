"""MLX on the CPU, with mx.compile."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from functools import partial
from typing import Any

import mlx.core as mx
import numpy as np
from mlx import nn, optimizers

from . import Peer, with_functions_of


@with_functions_of(mx)
class Mlx(Peer):
    keeps_code = True
    index_type = np.int32

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        mx.set_default_device(mx.cpu)

    def version(self) -> str:
        return importlib.metadata.version("mlx")

    def array(self, values: np.ndarray) -> Any:
        x = mx.array(values)
        mx.eval(x)
        return x

    def compile(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return mx.compile(super().compile(function))

    def step(self, result: Any) -> None:
        mx.async_eval(result)

    def wait(self, result: Any) -> None:
        mx.eval(result)

    def gradient(self, function: Callable[..., Any], x: Any) -> Any:
        return mx.grad(function)(x)

    def softmax(self, x: Any) -> Any:
        return mx.softmax(x, axis=1)

    def layer_norm(self, x: Any, weight: Any, bias: Any) -> Any:
        return mx.fast.layer_norm(x, weight, bias, 1e-5)

    def transpose(self, x: Any) -> Any:
        return mx.contiguous(mx.transpose(x))

    relu = staticmethod(nn.relu)
    gelu = staticmethod(nn.gelu)
    swap = staticmethod(mx.swapaxes)

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        return mx.addmm(bias, x, weight.T)

    def embedding(self, indices: Any, weight: Any) -> Any:
        return weight[indices]

    def norm(self, x: Any, weight: Any, bias: Any) -> Any:
        return mx.fast.layer_norm(x, weight, bias, 1e-5)

    def causal_attention(self, q: Any, k: Any, v: Any) -> Any:
        return mx.fast.scaled_dot_product_attention(q, k, v, scale=q.shape[-1] ** -0.5, mask="causal")

    def convolve(self, x: Any, weight: Any, bias: Any) -> Any:
        return mx.conv2d(x, weight, padding=1) + bias

    def mean_of_pixels(self, x: Any) -> Any:
        return x.mean((1, 2))

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        return nn.losses.cross_entropy(logits, labels, reduction="mean")

    def trainer(
        self, loss: Callable[..., Any], weights: dict[str, Any], batch: list[Any], rate: float
    ) -> Callable[[], Any]:
        optimizer = optimizers.Adam(rate, bias_correction=True)
        optimizer.init(weights)
        state = [weights, optimizer.state]

        @partial(mx.compile, inputs=state, outputs=state)
        def train(*batch: Any) -> Any:
            value, gradients = mx.value_and_grad(lambda weights: loss(self, weights, *batch))(weights)
            weights.update(optimizer.apply_gradients(gradients, weights))
            return value

        # Channels are last there.
        batch = [x.transpose(0, 2, 3, 1) if x.ndim == 4 else x for x in batch]
        mx.eval(batch, state)

        def step() -> Any:
            value = train(*batch)
            mx.eval(value, state)
            return value

        return step

    def parameter(self, name: str, values: np.ndarray) -> Any:
        return self.array(values.transpose(0, 2, 3, 1) if values.ndim == 4 else values)
