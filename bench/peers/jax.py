"""JAX: every case is a jitted function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import Peer, with_functions_of


@with_functions_of(jnp)
class Jax(Peer):
    keeps_code = True
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

    def softmax(self, x: Any) -> Any:
        return jax.nn.softmax(x, axis=1)
