"""Marks for tensors that are assigned to a module: what is not trained, and PyTorch's name for what is."""

from __future__ import annotations

from typing import Any

from . import _core


class Buffer:
    """Marks a tensor that belongs to a module's state but is not trained: ``self.mean = lento.nn.Buffer(zeros(3))``.

    ``self.mean`` is a tensor of that value. Assigning another one of the same shape and dtype later changes its value,
    in every copy of the module that shares it. One that is not ``persistent`` is no part of the state, as what is only
    kept because it takes long to make. With None the tensor is assigned later.
    """

    def __init__(self, tensor: _core.Tensor | None, persistent: bool = True) -> None:
        self.tensor = tensor
        self.persistent = persistent


def Parameter(data: Any, requires_grad: bool = True) -> Any:
    """``data`` as a tensor, for programs written for PyTorch: assigned to a module it is a parameter without this.

    Without ``requires_grad`` it is a :class:`Buffer`.
    """
    tensor = data if isinstance(data, _core.Tensor) else _core.asarray(data)
    return tensor if requires_grad else Buffer(tensor)
