"""Derivatives of every element: Jacobians and Hessians, by one pass back for all of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from . import _core, tree
from ._autograd import _apart, _call_followed, _Followed, _value_and_grad
from ._core import Tensor
from ._fail import fail
from ._ops import eye, zeros

__all__ = ["hessian", "jacobian"]


def jacobian(f: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False) -> Callable[..., Any]:
    """The derivatives of each element of what ``f`` gives, a tensor, by each element of the arguments ``argnums``: for
    shapes (2, 3) and (4,) a tensor of shape (2, 3, 4). Arguments may be trees, and so is the result then. With
    ``has_aux`` the function gives a pair of a tensor and anything else, and so are the derivatives and that.

        >>> lento.jacobian(lambda x: x * x)(lento.asarray([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]], dtype=float32)
    """

    @functools.wraps(f)
    def derivatives(*args: Any, **kwargs: Any) -> Any:
        followed, result = _call_followed("jacobian()", f, argnums, args, kwargs)
        y, aux = _apart("jacobian()", "a tensor", result) if has_aux else (result, None)
        if not isinstance(y, Tensor):
            raise fail(TypeError, f"jacobian(): the function must give a tensor, not {type(y).__name__}")
        if y.dtype.kind != "f":
            hint = "; take their real part" if y.dtype.kind == "c" else ""
            raise fail(TypeError, f"jacobian(): the function must give real floating numbers, not {y.dtype}{hint}")
        rows = _jacobian_rows(followed, y)
        return (rows, aux) if has_aux else rows

    return derivatives


def _jacobian_rows(followed: _Followed, y: Tensor) -> Any:
    inputs = followed.inputs
    pulled: list[Any]
    if y.size == 0:
        pulled = [None if x is None else zeros((0, *x.shape), dtype=x.dtype, device=x.device) for x in inputs]
    else:
        basis = eye(y.size, dtype=y.dtype, device=y.device).reshape((y.size, *y.shape))
        batching = _core._Batching(y.size, "same")
        try:
            one = batching.enter(basis, 0)
            leaving = followed.differentiation.pull_back([y], [one], inputs)
        finally:
            batching.end()
        pulled = [None if g is None else batching.leave(g, 0) for g in leaving]
    shaped = [None if x is None else g.reshape(y.shape + x.shape) for g, x in zip(pulled, inputs, strict=True)]
    return tree.unflatten(followed.arguments, shaped)


def hessian(f: Callable[..., Tensor], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The second derivatives of ``f``, which gives a real scalar, by the arguments ``argnums``: for one of shape (4,) a
    tensor of shape (4, 4). For several it is a tuple of tuples, and for a tree a tree of trees: the first derivative is
    by the outer entry.

        >>> lento.hessian(lambda x: (x**3).sum())(lento.asarray([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]], dtype=float32)
    """
    both = _value_and_grad("hessian()", f, argnums, has_aux=False)

    @functools.wraps(f)
    def second_derivatives(*args: Any, **kwargs: Any) -> Any:
        followed, (_, slopes) = _call_followed("hessian()", both, argnums, args, kwargs)

        def rows(slope: Tensor | None) -> Any:
            if slope is None:
                return None
            if slope.dtype.kind == "c":
                raise fail(TypeError, f"hessian(): an argument must be real, not {slope.dtype}")
            return _jacobian_rows(followed, slope)

        return tree.map(rows, slopes)

    return second_derivatives
