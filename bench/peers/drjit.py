"""Dr.Jit with its LLVM backend. Vectors are ``Float``, everything else ``TensorXf``."""

from __future__ import annotations

from typing import Any

import drjit as dr
import numpy as np
from drjit.llvm import Float, TensorXf, UInt32

from . import MissingError, Peer


class DrJit(Peer):
    keeps_code = True
    index_type = np.uint32
    exp = staticmethod(dr.exp)
    tanh = staticmethod(dr.tanh)
    sqrt = staticmethod(dr.sqrt)
    sum = staticmethod(dr.sum)
    mean = staticmethod(dr.mean)
    max = staticmethod(dr.max)
    argmax = staticmethod(dr.argmax)
    transpose = staticmethod(dr.transpose)

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        dr.set_thread_count(threads)

    def version(self) -> str:
        return dr.__version__

    def array(self, values: np.ndarray) -> Any:
        x = (Float if values.ndim == 1 else TensorXf)(values)
        self.wait(x)
        return x

    def indices(self, values: np.ndarray) -> Any:
        x = UInt32(values.astype(np.uint32))
        self.wait(x)
        return x

    def step(self, result: Any) -> None:
        dr.eval(result)

    def wait(self, result: Any) -> None:
        dr.eval(result)
        dr.sync_thread()

    def numpy(self, result: Any) -> np.ndarray:
        return result.numpy()

    def cumsum(self, x: Any, axis: int) -> Any:
        return dr.cumsum(x) if isinstance(x, Float) else dr.cumsum(x, axis=axis)

    def take(self, x: Any, indices: Any) -> Any:
        return dr.gather(Float, x, indices)

    def sort(self, x: Any, axis: int) -> Any:
        return dr.sort(x) if isinstance(x, Float) else dr.sort(x, axis=-1 if axis == 1 else axis)

    def concatenate(self, tensors: Any) -> Any:
        return dr.concat(list(tensors))

    def matmul(self, x: Any, y: Any) -> Any:
        # dr.matmul is for small matrices that are unrolled.
        raise MissingError("no matmul of tensors")
