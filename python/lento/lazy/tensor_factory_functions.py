"""The functions of Lento that make tensors from no tensor.

LTC needs the list to move their results to its device. Lento's functions record on Lento's devices in any case; the
list is here for programs that read it.

    >>> from lento.lazy.tensor_factory_functions import tensor_factory_functions
    >>> lento.arange in tensor_factory_functions
    True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core, _ops, _random

__all__ = ["tensor_factory_functions"]

tensor_factory_functions: tuple[Callable[..., Any], ...] = (
    _core.asarray,
    _ops.arange,
    _ops.bartlett_window,
    _ops.blackman_window,
    _ops.empty,
    _ops.eye,
    _ops.full,
    _ops.hamming_window,
    _ops.hann_window,
    _ops.linspace,
    _ops.logspace,
    _ops.ones,
    _ops.tril_indices,
    _ops.triu_indices,
    _ops.zeros,
    _random.normal,
    _random.permutation,
    _random.randint,
    _random.uniform,
)
