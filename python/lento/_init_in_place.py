"""Initial values for a tensor that is there already, by PyTorch's names: ``lento.nn.init.normal_(layer.weight)``.

Each draws what the function without the underscore does for that shape and dtype, and writes it in place, so that
optimizers and other modules keep the tensor, and gives the tensor.
"""

from __future__ import annotations

from typing import Any

from ._core import Generator, Tensor
from ._fail import fail
from ._namespace import functions

__all__ = [
    "constant_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_MAKE = functions("nn.init", "lento.nn.init")


def _fill(name: str, tensor: Tensor, *arguments: Any, **named: Any) -> Tensor:
    if not isinstance(tensor, Tensor):
        raise fail(TypeError, f"{name}_(): fills a tensor, not a {type(tensor).__name__}")
    tensor[...] = _MAKE[name](tensor.shape, *arguments, dtype=tensor.dtype, **named)
    return tensor


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills with numbers from ``a`` to ``b``."""
    return _fill("uniform", tensor, a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills with normal numbers.

    >>> layer = lento.nn.Linear(3, 2)
    >>> lento.nn.init.normal_(layer.weight, std=0.02) is layer.weight
    True
    """
    return _fill("normal", tensor, mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fills with normal numbers between ``a`` and ``b``."""
    return _fill("trunc_normal", tensor, mean, std, a, b, generator=generator)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills with a number."""
    return _fill("constant", tensor, val)


def ones_(tensor: Tensor) -> Tensor:
    """Fills with ones."""
    return _fill("ones", tensor)


def zeros_(tensor: Tensor) -> Tensor:
    """Fills with zeros."""
    return _fill("zeros", tensor)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills with uniform numbers after Glorot."""
    return _fill("xavier_uniform", tensor, gain, generator=generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills with normal numbers after Glorot."""
    return _fill("xavier_normal", tensor, gain, generator=generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fills with uniform numbers after He."""
    return _fill("kaiming_uniform", tensor, a, mode, nonlinearity, generator=generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fills with normal numbers after He."""
    return _fill("kaiming_normal", tensor, a, mode, nonlinearity, generator=generator)


def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills with rows, or columns, that are orthogonal."""
    return _fill("orthogonal", tensor, gain, generator=generator)
