"""MLX on the CPU, with mx.compile."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import Any

import mlx.core as mx
import numpy as np

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

    def softmax(self, x: Any) -> Any:
        return mx.softmax(x, axis=1)

    def layer_norm(self, x: Any, weight: Any, bias: Any) -> Any:
        return mx.fast.layer_norm(x, weight, bias, 1e-5)

    def transpose(self, x: Any) -> Any:
        return mx.contiguous(mx.transpose(x))
