"""Lento, as its users write: plain functions, nothing is decorated."""

from __future__ import annotations

from typing import Any

import lento
import numpy as np

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

    def transpose(self, x: Any) -> Any:
        return lento.contiguous(x.T)
