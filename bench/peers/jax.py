"""JAX: every case is a jitted function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import Peer, with_functions_of


@with_functions_of(jnp)
class Jax(Peer):
    keeps_code = True
    keeps_code_when_asked = True
    index_type = np.int32
    # The result of a jitted function lies in memory in the order of its own axes.
    transpose = staticmethod(jnp.transpose)

    def version(self) -> str:
        return jax.__version__

    def array(self, values: np.ndarray) -> Any:
        return jax.block_until_ready(jnp.array(values))

    def compile(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return jax.jit(super().compile(function))

    def wait(self, result: Any) -> None:
        result.block_until_ready()

    def gradient(self, function: Callable[..., Any], x: Any) -> Any:
        return jax.grad(function)(x)

    def softmax(self, x: Any) -> Any:
        return jax.nn.softmax(x, axis=1)

    relu = staticmethod(jax.nn.relu)
    swap = staticmethod(jnp.swapaxes)

    def parameter(self, name: str, values: np.ndarray) -> Any:
        # Linear layers are (in, out) there; convolutions are faster with channels last.
        if values.ndim == 4:
            return self.array(values.transpose(2, 3, 1, 0))
        return self.array(values.T if values.ndim == 2 and name.endswith("weight") else values)

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        return x @ weight + bias

    def gelu(self, x: Any) -> Any:
        return jax.nn.gelu(x, approximate=False)

    def embedding(self, indices: Any, weight: Any) -> Any:
        return weight[indices]

    def norm(self, x: Any, weight: Any, bias: Any) -> Any:
        return jax.nn.standardize(x, axis=-1, epsilon=1e-5) * weight + bias

    def causal_attention(self, q: Any, k: Any, v: Any) -> Any:
        length = q.shape[-2]
        scores = q @ jnp.swapaxes(k, 2, 3) / math.sqrt(q.shape[-1])
        seen = jnp.tril(jnp.ones((length, length), bool))
        return jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1) @ v

    def lstm(self, x: Any, w_input: Any, w_state: Any, b_input: Any, b_state: Any) -> Any:
        def step(state: Any, total: Any) -> Any:
            h, c = state
            enter, forget, fresh, out = jnp.split(total + h @ w_state, 4, axis=1)
            c = jax.nn.sigmoid(forget) * c + jax.nn.sigmoid(enter) * jnp.tanh(fresh)
            h = jax.nn.sigmoid(out) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((x.shape[1], w_state.shape[0]), x.dtype)
        return jax.lax.scan(step, (zeros, zeros), x @ w_input + (b_input + b_state))[1]

    def convolve(self, x: Any, weight: Any, bias: Any) -> Any:
        order = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=order) + bias

    def mean_of_pixels(self, x: Any) -> Any:
        return x.mean((1, 2))

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()

    def trainer(
        self, loss: Callable[..., Any], weights: dict[str, Any], batch: list[Any], rate: float
    ) -> Callable[[], Any]:
        def train(state: Any, count: Any, *batch: Any) -> Any:
            value, gradients = jax.value_and_grad(lambda weights: loss(self, weights, *batch))(state[0])
            return value, adam(state, gradients, count, rate)

        train = jax.jit(train, donate_argnums=0)
        batch = [jnp.transpose(x, (0, 2, 3, 1)) if x.ndim == 4 else x for x in batch]
        state = start_of_adam(weights)
        count = 0

        def step() -> Any:
            nonlocal state, count
            count += 1
            value, state = train(state, np.float32(count), *batch)
            return value

        return step

    def updater(self, weights: dict[str, Any], gradients: dict[str, Any], rate: float) -> Callable[[], Any]:
        update = jax.jit(lambda state, gradients, count: adam(state, gradients, count, rate), donate_argnums=0)
        state = start_of_adam(weights)
        count = 0

        def step() -> Any:
            nonlocal state, count
            count += 1
            state = update(state, gradients, np.float32(count))
            return state[0]["scale"]

        return step


def start_of_adam(weights: dict[str, Any]) -> Any:
    """Weights, means and squares."""
    return weights, jax.tree.map(jnp.zeros_like, weights), jax.tree.map(jnp.zeros_like, weights)


def adam(state: Any, gradients: Any, count: Any, rate: float) -> Any:
    weights, means, squares = state
    means = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, means, gradients)
    squares = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, squares, gradients)
    size, root = rate / (1 - 0.9**count), jnp.sqrt(1 - 0.999**count)
    weights = jax.tree.map(lambda w, m, s: w - size * m / (jnp.sqrt(s) / root + 1e-8), weights, means, squares)
    return weights, means, squares
