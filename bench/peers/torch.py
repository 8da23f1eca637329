"""PyTorch in three ways: eager, torch.compile, and LTC (``torch._lazy`` with its TorchScript backend)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from . import Peer


class Torch(Peer):
    compiles = False
    # Convolutions with channels last took three quarters of the time that others took.
    channels_last = True
    exp = staticmethod(torch.exp)
    tanh = staticmethod(torch.tanh)
    sqrt = staticmethod(torch.sqrt)
    sum = staticmethod(torch.sum)
    mean = staticmethod(torch.mean)
    argmax = staticmethod(torch.argmax)
    concatenate = staticmethod(torch.cat)

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        torch.set_num_threads(threads)
        # Peers record no derivatives, so neither does it.
        torch.set_grad_enabled(False)

    def version(self) -> str:
        return torch.__version__

    def array(self, values: np.ndarray) -> Any:
        return torch.from_numpy(np.array(values))

    def numpy(self, result: Any) -> np.ndarray:
        return result.cpu().numpy()

    def max(self, x: Any, axis: int | None = None) -> Any:
        return torch.max(x) if axis is None else torch.amax(x, axis)

    def cumsum(self, x: Any, axis: int) -> Any:
        return torch.cumsum(x, axis)

    def sort(self, x: Any, axis: int) -> Any:
        return torch.sort(x, dim=axis).values

    def take(self, x: Any, indices: Any) -> Any:
        return torch.index_select(x, 0, indices)

    def softmax(self, x: Any) -> Any:
        return torch.softmax(x, 1)

    def layer_norm(self, x: Any, weight: Any, bias: Any) -> Any:
        return torch.nn.functional.layer_norm(x, (x.shape[1],), weight, bias)

    def gradient(self, function: Callable[..., Any], x: Any) -> Any:
        # The compiler looks into this one, and it does not mind that gradients are off outside of it.
        return torch.func.grad(function)(x)

    def transpose(self, x: Any) -> Any:
        return x.T.contiguous()

    linear = staticmethod(F.linear)
    relu = staticmethod(F.relu)
    gelu = staticmethod(F.gelu)
    embedding = staticmethod(F.embedding)
    cross_entropy = staticmethod(F.cross_entropy)
    swap = staticmethod(torch.transpose)

    def norm(self, x: Any, weight: Any, bias: Any) -> Any:
        return F.layer_norm(x, (x.shape[-1],), weight, bias)

    def causal_attention(self, q: Any, k: Any, v: Any) -> Any:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def lstm(self, x: Any, w_input: Any, w_state: Any, b_input: Any, b_state: Any) -> Any:
        # What torch.nn.LSTM calls: has biases, one layer, no dropout, trains, one direction, length first.
        zeros = x.new_zeros(1, x.shape[1], w_state.shape[1])
        weights = [w_input, w_state, b_input, b_state]
        return torch.lstm(x, (zeros, zeros), weights, True, 1, 0.0, True, False, False)[0]

    def convolve(self, x: Any, weight: Any, bias: Any) -> Any:
        return F.conv2d(x, weight, bias, padding=1)

    def mean_of_pixels(self, x: Any) -> Any:
        return x.mean((2, 3))

    def picture(self, x: Any) -> Any:
        """A batch of pictures or a weight of a convolution in the order that suits the library."""
        return x.contiguous(memory_format=torch.channels_last) if self.channels_last and x.dim() == 4 else x

    def parameter(self, name: str, values: np.ndarray) -> Any:
        return self.picture(super().parameter(name, values))

    def compile_training(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """What the library's users would do to the loss and to the optimizer's step."""
        return function

    def trainer(
        self, loss: Callable[..., Any], weights: dict[str, Any], batch: list[Any], rate: float
    ) -> Callable[[], Any]:
        for weight in weights.values():
            weight.requires_grad_()
        batch = [self.picture(x) for x in batch]
        optimizer = self.optimizer(list(weights.values()), rate)
        forward = self.compile_training(lambda: loss(self, weights, *batch))
        update = self.compile_training(optimizer.step)

        def step() -> Any:
            optimizer.zero_grad()
            with torch.enable_grad():
                value = forward()
                value.backward()
            update()
            return value.detach()

        return step

    def updater(self, weights: dict[str, Any], gradients: dict[str, Any], rate: float) -> Callable[[], Any]:
        for name, weight in weights.items():
            weight.requires_grad_().grad = gradients[name]
        update = self.compile_training(self.optimizer(list(weights.values()), rate).step)
        scale = weights["scale"].detach()

        def step() -> Any:
            update()
            return scale

        return step

    def optimizer(self, weights: list[Any], rate: float) -> Any:
        # One kernel for each weight; without it twelve.
        return torch.optim.Adam(weights, lr=rate, fused=True)


class TorchCompile(Torch):
    compiles = True
    keeps_code = True

    def compile(self, function: Callable[..., Any]) -> Callable[..., Any]:
        # Forgets the other cases: a function that is seen with a second shape would be compiled for any shape.
        torch._dynamo.reset()
        return torch.compile(super().compile(function))

    def compile_training(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return torch.compile(function)

    def optimizer(self, weights: list[Any], rate: float) -> Any:
        # The fused step is one call that the compiler does not look into; this one it makes kernels of.
        return torch.optim.Adam(weights, lr=rate, foreach=True)


class TorchLazy(Torch):
    compiles = True
    channels_last = False

    def __init__(self, threads: int) -> None:
        import torch._lazy
        import torch._lazy.ts_backend

        super().__init__(threads)
        torch._lazy.ts_backend.init()

    def array(self, values: np.ndarray) -> Any:
        x = super().array(values).to("lazy")
        self.wait(x)
        return x

    def step(self, result: Any) -> None:
        torch._lazy.mark_step()

    def wait(self, result: Any) -> None:
        torch._lazy.mark_step()
        torch._lazy.wait_device_ops()

    def optimizer(self, weights: list[Any], rate: float) -> Any:
        return torch.optim.Adam(weights, lr=rate)
