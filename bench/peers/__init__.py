"""What is measured: each peer is a class in a file of its own, which only the process that runs it imports."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

# name: (label in tables, module:class), in the order of the table's columns.
PEERS = {
    "lento": ("Lento", "lento:Lento"),
    "lento.compile": ("Lento, frozen", "lento:LentoFrozen"),
    "numpy": ("NumPy", "numpy:NumPy"),
    "numexpr": ("numexpr", "numexpr:NumExpr"),
    "torch": ("torch", "torch:Torch"),
    "torch.compile": ("torch.compile", "torch:TorchCompile"),
    "ltc": ("LTC", "torch:TorchLazy"),
    "jax": ("JAX", "jax:Jax"),
    "drjit": ("Dr.Jit", "drjit:DrJit"),
    "mlx": ("MLX", "mlx:Mlx"),
}


class MissingError(Exception):
    """The library has no such operation."""


class Peer:
    """A library, and the names that the functions of cases.py call: ``function(peer, *tensors)``.

    What is not overridden is missing. Operators (``+ - * / @`` and indexing) are the tensors' own.
    """

    # What the library's users would index with.
    index_type: Any = np.int64
    # Whether the first call of a function is another thing than the second one.
    compiles = True
    # Whether a second process finds on disk what a first one has compiled.
    keeps_code = False
    # Whether it does so only for users who ask for it.
    keeps_code_when_asked = False

    def __init__(self, threads: int) -> None:
        """Imports the library and lets it use this many threads."""
        self.threads = threads

    def version(self) -> str:
        raise NotImplementedError

    def array(self, values: np.ndarray) -> Any:
        """A tensor with these values, which are there when this returns."""
        raise NotImplementedError

    def indices(self, values: np.ndarray) -> Any:
        return self.array(values.astype(self.index_type))

    def compile(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """What the library's users would do to a function of tensors that they call often."""
        return lambda *inputs: function(self, *inputs)

    def step(self, result: Any) -> None:
        """The end of one step of several: the result will be wanted."""

    def wait(self, result: Any) -> None:
        """Returns when the result has its values."""

    def parameter(self, name: str, values: np.ndarray) -> Any:
        """A weight, given in PyTorch's layout, in the one that the library's users would choose."""
        return self.array(values)

    def trainer(
        self, loss: Callable[..., Any], weights: dict[str, Any], batch: list[Any], rate: float
    ) -> Callable[[], Any]:
        """A function that takes one step of Adam with ``loss(peer, weights, *batch)`` and gives the loss before it.
        Waiting for that waits for the new weights too."""
        raise MissingError("no training")

    def updater(self, weights: dict[str, Any], gradients: dict[str, Any], rate: float) -> Callable[[], Any]:
        """A function that takes one step of Adam with these gradients and gives the new weight "scale". Waiting for it
        waits for all of them."""
        raise MissingError("no updates alone")

    def numpy(self, result: Any) -> np.ndarray:
        return np.asarray(result)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise MissingError(f"no {name}")

    def matmul(self, x: Any, y: Any) -> Any:
        return x @ y

    # Written out, for libraries that have no function of their own for it.

    def softmax(self, x: Any) -> Any:
        e = self.exp(x - self.keep(self.max(x, axis=1)))
        return e / self.keep(self.sum(e, axis=1))

    def layer_norm(self, x: Any, weight: Any, bias: Any) -> Any:
        d = x - self.keep(self.mean(x, axis=1))
        return d / self.sqrt(self.keep(self.mean(d * d, axis=1)) + 1e-5) * weight + bias

    def cross_entropy_slope(self, logits: Any, labels: Any) -> Any:
        """The gradient of the mean cross-entropy by the logits."""
        return self.gradient(lambda logits: self.cross_entropy(logits, labels), logits)

    def layer_norm_slope(self, x: Any, weight: Any, bias: Any, cotangent: Any) -> Any:
        """The gradient of a layer norm by its input."""
        return self.gradient(lambda x: self.sum(self.layer_norm(x, weight, bias) * cotangent), x)

    def keep(self, x: Any) -> Any:
        """A vector with one element a row as a column."""
        return x[:, None]


# Functions that libraries with NumPy's names have under the same name.
SHARED = ("exp", "tanh", "sqrt", "sum", "mean", "max", "argmax", "cumsum", "sort", "take", "concatenate")


def with_functions_of(module: Any) -> Callable[[type[Peer]], type[Peer]]:
    """A peer's shared functions are those of its library: attributes, so that a call costs what it costs there."""

    def complete(peer: type[Peer]) -> type[Peer]:
        for name in SHARED:
            setattr(peer, name, staticmethod(getattr(module, name)))
        return peer

    return complete


def load(name: str, threads: int) -> Peer:
    module, _, kind = PEERS[name][1].partition(":")
    return getattr(importlib.import_module(f"peers.{module}"), kind)(threads)
