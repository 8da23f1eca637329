"""Clipping of gradients."""

from __future__ import annotations

from typing import Any, TypeVar

from .. import _core, tree
from .._core import Tensor
from .._fail import names_errors
from . import _groups

_Tree = TypeVar("_Tree")


@names_errors
def global_norm(tensors: Any, norm_type: float = 2.0) -> Tensor:
    """The common norm of all tensors of a tree, as of one vector, computed in float32 at least: the root of the sum of
    squares, the largest element for a ``norm_type`` of infinity, or that of another power.

    >>> float(lento.optim.global_norm({"a": lento.asarray([3.0]), "b": lento.asarray([-4.0])}))
    5.0
    """
    return _core._global_norm(tree.leaves(_groups.as_tree(tensors)), float(norm_type))


@names_errors
def clip_grad_norm(gradients: _Tree, max_norm: float, norm_type: float = 2.0) -> tuple[_Tree, Tensor]:
    """The gradients, scaled down where their common norm exceeds ``max_norm``; and that norm.

    >>> clipped, norm = lento.optim.clip_grad_norm([lento.asarray([3.0]), lento.asarray([4.0])], 1.0)
    >>> float(norm), round(float(clipped[0]), 4)
    (5.0, 0.6)
    """
    leaves, like = tree.flatten(_groups.as_tree(gradients))
    clipped, norm = _core._clip_grad_norm(leaves, float(max_norm), float(norm_type))
    return like(clipped), norm


@names_errors
def clip_grad_value(gradients: _Tree, limit: float) -> _Tree:
    """The gradients with every element between ``-limit`` and ``limit``."""
    leaves, like = tree.flatten(_groups.as_tree(gradients))
    clipped: _Tree = like(_core._clip_grad_value(leaves, float(limit)))
    return clipped
