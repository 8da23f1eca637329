"""Marks for tensors that are assigned to a module: what is not trained, and PyTorch's name for what is."""

from __future__ import annotations

from typing import Any

from . import _core
from ._fail import fail


def as_tensor(caller: str, value: Any) -> _core.Tensor:
    """``value`` as a tensor; TypeError where it cannot be one."""
    if isinstance(value, _core.Tensor):
        return value
    try:
        return _core.asarray(value)
    except (TypeError, ValueError) as error:
        raise fail(TypeError, f"{caller}: {str(error).removeprefix('asarray(): ')}") from None


class Buffer:
    """Marks a tensor that belongs to a module's state but is not trained: ``self.mean = lento.nn.Buffer(zeros(3))``.

    ``self.mean`` is a tensor of that value, which may be an array, a list or a number too. Assigning another tensor of
    the same shape and dtype later changes its value, in every copy of the module that shares it. One that is not
    ``persistent`` is no part of the state, as what is only kept because it takes long to make. With None the tensor is
    assigned later.
    """

    def __init__(self, tensor: Any, persistent: bool = True) -> None:
        self.tensor = None if tensor is None else as_tensor("Buffer()", tensor)
        self.persistent = persistent


def Parameter(data: Any, requires_grad: bool = True) -> Any:
    """``data`` as a tensor, for programs written for PyTorch: assigned to a module it is a parameter without this.

    Without ``requires_grad`` it is a :class:`Buffer`.
    """
    tensor = as_tensor("Parameter()", data)
    return tensor if requires_grad else Buffer(tensor)
