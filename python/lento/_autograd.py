"""Derivatives of functions of trees of tensors. The work is done in C++ (src/autograd); this flattens and rebuilds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, cast, overload

from . import _core, errors, tree
from ._core import Tensor
from ._core import stop_gradient as stop_gradient
from ._fail import fail
from ._origin import gradients_like

if TYPE_CHECKING:
    from typing_extensions import TypeVarTuple, Unpack  # Python 3.10 has none, and nothing needs them at run time

    _Ts = TypeVarTuple("_Ts")

_A = TypeVar("_A")
_B = TypeVar("_B")
_P = ParamSpec("_P")
_R = TypeVar("_R")
_Aux = TypeVar("_Aux")

detach = stop_gradient  # its name elsewhere

__all__ = [
    "custom_gradient",
    "detach",
    "grad",
    "jvp",
    "linearize",
    "stop_gradient",
    "value_and_grad",
    "vjp",
]


_differentiable = _core._is_differentiable


def _could_be_followed(leaf: Any) -> bool:
    """Whether it is floating but no tensor: a number, or an array of another library."""
    if isinstance(leaf, Tensor):
        return False
    kind = getattr(getattr(leaf, "dtype", None), "kind", "f")  # others than NumPy's have none
    return isinstance(leaf, float | complex) or (hasattr(leaf, "dtype") and kind in "fc")


def _with_tensors(argument: Any) -> Any:
    """An argument without any floating tensor, with tensors for its arrays and numbers. A list of numbers is one
    tensor, as it is for every function. Beside tensors all of these are constants."""
    if isinstance(argument, Tensor):
        return argument
    leaves = tree.leaves(argument)
    if any(map(_differentiable, leaves)) or not any(map(_could_be_followed, leaves)):
        return argument
    if type(argument) in (list, tuple) and all(isinstance(leaf, int | float | complex) for leaf in leaves):
        try:
            return _core.asarray(argument)
        except (TypeError, ValueError):  # dicts in it, or lists of different lengths: a tree
            pass
    return tree.map(lambda leaf: _core.asarray(leaf) if _could_be_followed(leaf) else leaf, argument)


def _followable(caller: str, argument: Any, number: int | None = None) -> Any:
    """The argument, with tensors. TypeError for one that has a ``number`` and nothing floating: its gradient was asked
    for."""
    if _differentiable(argument):
        return argument
    found = _with_tensors(argument)
    leaves = tree.leaves(found)
    if number is None or not leaves or any(map(_differentiable, leaves)):
        return found
    if isinstance(leaves[0], Tensor):
        raise fail(TypeError, f"{caller}: argument {number} must be floating, not {leaves[0].dtype}")
    raise fail(
        TypeError,
        f"{caller}: argument {number} must be floating, and is of type {type(leaves[0]).__name__}; make it a "
        "tensor with lento.asarray(…, dtype=lento.float32)",
    )


class _Followed:
    """Arguments whose floating tensors are followed; everything else is passed as it is."""

    __slots__ = ("arguments", "differentiation", "given", "inputs", "leaves")

    def __init__(self, arguments: Any) -> None:
        self.arguments = arguments
        self.leaves = tree.leaves(arguments)
        self.differentiation = _core._Differentiation()
        try:
            # What is followed for each leaf, or None; and the leaves that the function is given. These are handles of
            # their own: a function may change its arguments in place.
            self.inputs, self.given = self.differentiation.follow(self.leaves)
        except BaseException:
            self.differentiation.end()
            raise

    def tree(self) -> Any:
        """What the function is given; asked for once."""
        given, self.given = self.given, []
        return tree.unflatten(self.arguments, given)

    def gradients(self, outputs: Sequence[Tensor], cotangents: Sequence[Tensor | None] | None = None) -> Any:
        """As the arguments, with gradients for tensors and None for what has none. Without cotangents they are ones."""
        return gradients_like(self.arguments, self.differentiation.pull_back(outputs, cotangents, self.inputs))


def _argument_numbers(caller: str, argnums: int | Sequence[int], count: int) -> tuple[int, ...]:
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for number in numbers:
        if not -count <= number < count:
            raise fail(ValueError, f"{caller}: there is no argument {number}; the function was called with {count}")
    positions = tuple(number % count for number in numbers)
    if len(set(positions)) != len(positions):
        raise fail(ValueError, f"{caller}: argnums {tuple(numbers)} names an argument twice")
    return positions


def _call_followed(
    caller: str, f: Callable[..., Any], argnums: int | Sequence[int], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[_Followed, Any]:
    """What ``f`` gives while the argument or the arguments ``argnums`` are followed."""
    numbers = _argument_numbers(caller, argnums, len(args))
    given = list(args)
    if isinstance(argnums, int):
        at = numbers[0]
        followed = _Followed(_followable(caller, args[at], at))
    else:
        followed = _Followed(tuple([_followable(caller, args[i], i) for i in numbers]))
    try:
        if isinstance(argnums, int):
            given[at] = followed.tree()
        else:
            for i, value in zip(numbers, followed.tree(), strict=True):
                given[i] = value
        return followed, f(*given, **kwargs)
    finally:
        followed.differentiation.end()


@overload
def value_and_grad(
    f: Callable[Concatenate[_A, _P], Tensor], argnums: Literal[0] = 0, *, has_aux: Literal[False] = False
) -> Callable[Concatenate[_A, _P], tuple[Tensor, _A]]: ...
@overload
def value_and_grad(
    f: Callable[Concatenate[_A, _B, _P], Tensor], argnums: Literal[1], *, has_aux: Literal[False] = False
) -> Callable[Concatenate[_A, _B, _P], tuple[Tensor, _B]]: ...
@overload
def value_and_grad(
    f: Callable[Concatenate[_A, _B, _P], Tensor],
    argnums: tuple[Literal[0], Literal[1]],
    *,
    has_aux: Literal[False] = False,
) -> Callable[Concatenate[_A, _B, _P], tuple[Tensor, tuple[_A, _B]]]: ...
@overload
def value_and_grad(
    f: Callable[..., Tensor], argnums: int, *, has_aux: Literal[False] = False
) -> Callable[..., tuple[Tensor, Any]]: ...
@overload
def value_and_grad(
    f: Callable[..., Tensor], argnums: Sequence[int], *, has_aux: Literal[False] = False
) -> Callable[..., tuple[Tensor, tuple[Any, ...]]]: ...
@overload
def value_and_grad(
    f: Callable[Concatenate[_A, _P], tuple[Tensor, _Aux]], argnums: Literal[0] = 0, *, has_aux: Literal[True]
) -> Callable[Concatenate[_A, _P], tuple[tuple[Tensor, _Aux], _A]]: ...
@overload
def value_and_grad(
    f: Callable[Concatenate[_A, _B, _P], tuple[Tensor, _Aux]], argnums: Literal[1], *, has_aux: Literal[True]
) -> Callable[Concatenate[_A, _B, _P], tuple[tuple[Tensor, _Aux], _B]]: ...
@overload
def value_and_grad(
    f: Callable[Concatenate[_A, _B, _P], tuple[Tensor, _Aux]],
    argnums: tuple[Literal[0], Literal[1]],
    *,
    has_aux: Literal[True],
) -> Callable[Concatenate[_A, _B, _P], tuple[tuple[Tensor, _Aux], tuple[_A, _B]]]: ...
@overload
def value_and_grad(
    f: Callable[..., tuple[Tensor, _Aux]], argnums: int, *, has_aux: Literal[True]
) -> Callable[..., tuple[tuple[Tensor, _Aux], Any]]: ...
@overload
def value_and_grad(
    f: Callable[..., tuple[Tensor, _Aux]], argnums: Sequence[int], *, has_aux: Literal[True]
) -> Callable[..., tuple[tuple[Tensor, _Aux], tuple[Any, ...]]]: ...
@overload
def value_and_grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool
) -> Callable[..., tuple[Any, Any]]: ...
def value_and_grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """A function that gives the value of ``f`` and its gradient by the arguments ``argnums``.

    Arguments may be trees of tensors (tuples, lists, dicts, dataclasses, modules); the gradient has the same form, with
    None for what has none. An argument that is a NumPy array, a number or a list of numbers is given to ``f`` as a
    tensor; one of ``argnums`` with nothing floating is a TypeError. ``f`` gives a real scalar, or with ``has_aux`` a
    pair of it and anything else.

        >>> f = lambda w, x: ((w * x) ** 2).sum()
        >>> value, slope = lento.value_and_grad(f)(lento.asarray([1.0, 2.0]), lento.asarray([3.0, 1.0]))
        >>> float(value), slope
        (13.0, tensor([18.,  4.], dtype=float32))
    """

    return _value_and_grad("grad()", f, argnums, has_aux)


def _value_and_grad(
    caller: str, f: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool
) -> Callable[..., tuple[Any, Any]]:
    @functools.wraps(f)
    def differentiated(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        return _result_and_gradient(caller, f, argnums, has_aux, args, kwargs)

    return differentiated


def _result_and_gradient(
    caller: str,
    f: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Any, Any]:
    followed, result = _call_followed(caller, f, argnums, args, kwargs)
    value = _apart(caller, "a scalar", result)[0] if has_aux else result
    _check_scalar(caller, value)
    return result, followed.gradients([value])


def _apart(caller: str, what: str, result: Any) -> tuple[Any, Any]:
    """The two parts of what a function gives with ``has_aux``."""
    if isinstance(result, tuple | list) and len(result) == 2:
        return result[0], result[1]
    found = f"{len(result)} entries" if isinstance(result, tuple | list) else f"a {type(result).__name__}"
    raise fail(TypeError, f"{caller}: with has_aux the function must give a pair of {what} and anything, not {found}")


def _check_scalar(caller: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise fail(TypeError, f"{caller}: the function must give a tensor, not {type(value).__name__}")
    if value.size != 1:
        raise fail(ValueError, f"{caller}: the function must give a scalar, not a tensor of shape {value.shape}")
    if value.dtype.kind != "f":
        hint = "; take its real part or abs" if value.dtype.kind == "c" else ""
        raise fail(TypeError, f"{caller}: the function must give a real floating number, not {value.dtype}{hint}")


@overload
def grad(
    f: Callable[Concatenate[_A, _P], Tensor], argnums: Literal[0] = 0, *, has_aux: Literal[False] = False
) -> Callable[Concatenate[_A, _P], _A]: ...
@overload
def grad(
    f: Callable[Concatenate[_A, _B, _P], Tensor], argnums: Literal[1], *, has_aux: Literal[False] = False
) -> Callable[Concatenate[_A, _B, _P], _B]: ...
@overload
def grad(
    f: Callable[Concatenate[_A, _B, _P], Tensor],
    argnums: tuple[Literal[0], Literal[1]],
    *,
    has_aux: Literal[False] = False,
) -> Callable[Concatenate[_A, _B, _P], tuple[_A, _B]]: ...
@overload
def grad(f: Callable[..., Tensor], argnums: int, *, has_aux: Literal[False] = False) -> Callable[..., Any]: ...
@overload
def grad(
    f: Callable[..., Tensor], argnums: Sequence[int], *, has_aux: Literal[False] = False
) -> Callable[..., tuple[Any, ...]]: ...
@overload
def grad(
    f: Callable[Concatenate[_A, _P], tuple[Tensor, _Aux]], argnums: Literal[0] = 0, *, has_aux: Literal[True]
) -> Callable[Concatenate[_A, _P], tuple[_A, _Aux]]: ...
@overload
def grad(
    f: Callable[Concatenate[_A, _B, _P], tuple[Tensor, _Aux]], argnums: Literal[1], *, has_aux: Literal[True]
) -> Callable[Concatenate[_A, _B, _P], tuple[_B, _Aux]]: ...
@overload
def grad(
    f: Callable[Concatenate[_A, _B, _P], tuple[Tensor, _Aux]],
    argnums: tuple[Literal[0], Literal[1]],
    *,
    has_aux: Literal[True],
) -> Callable[Concatenate[_A, _B, _P], tuple[tuple[_A, _B], _Aux]]: ...
@overload
def grad(
    f: Callable[..., tuple[Tensor, _Aux]], argnums: int, *, has_aux: Literal[True]
) -> Callable[..., tuple[Any, _Aux]]: ...
@overload
def grad(
    f: Callable[..., tuple[Tensor, _Aux]], argnums: Sequence[int], *, has_aux: Literal[True]
) -> Callable[..., tuple[tuple[Any, ...], _Aux]]: ...
@overload
def grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool) -> Callable[..., Any]: ...
def grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False) -> Callable[..., Any]:
    """The gradient of ``f``, which gives a real scalar, by the arguments ``argnums``.

    What ``f`` computes is followed while it runs, so loops, branches on values and in-place updates are all right.

        >>> lento.grad(lambda x: (x**3).sum())(lento.asarray([1.0, 2.0]))
        tensor([ 3., 12.], dtype=float32)
        >>> lento.grad(lento.grad(lambda x: x**3))(lento.asarray(2.0))
        tensor(12., dtype=float32)
    """

    @functools.wraps(f)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        result, gradients = _result_and_gradient("grad()", f, argnums, has_aux, args, kwargs)
        return (gradients, result[1]) if has_aux else gradients

    return gradient


def _check_shapes(caller: str, what: str, whose: str, pairs: Sequence[tuple[Any, Any]]) -> None:
    for i, (tensor, change) in enumerate(pairs):
        if isinstance(change, Tensor) and change.shape != tensor.shape:
            message = f"{caller}: {what} {i} has shape {change.shape}, its {whose} {tensor.shape}"
            raise fail(errors.ShapeError, message)


def _as_tensor(value: Any, dtype: Any = None) -> Any:
    """A number, a list or an array as a tensor; whatever else it is stays what it is."""
    if isinstance(value, bool | int | float | complex):
        return _core.asarray(value, dtype=dtype)
    is_array = isinstance(value, list | tuple) or hasattr(value, "dtype")
    return _core.asarray(value) if is_array and not isinstance(value, Tensor) else value


def _as_change(change: Any, of: Any) -> Any:
    """The same, with the dtype of the tensor that it is a change of where it is a number; of a tree, as it is."""
    return _as_tensor(change, of.dtype) if _differentiable(of) else change


def vjp(f: Callable[[Unpack[_Ts]], _R], *args: Unpack[_Ts]) -> tuple[_R, Callable[[_R], tuple[Unpack[_Ts]]]]:
    """``f(*args)``, and a function from a cotangent of it to those of the arguments.

    >>> y, pull = lento.vjp(lambda x: x * x, lento.asarray([1.0, 2.0]))
    >>> pull(lento.asarray([1.0, 10.0]))
    (tensor([ 2., 40.], dtype=float32),)
    """
    followed = _Followed(tuple([_followable("vjp()", argument) for argument in args]))
    try:
        result = f(*followed.tree())
    finally:
        followed.differentiation.end()
    # Handles of their own: the caller may change the results in place.
    kept = tree.map(lambda leaf: leaf.__copy__() if isinstance(leaf, Tensor) else leaf, result)
    outputs = tree.leaves(kept)

    def pull(cotangents: Any) -> tuple[Any, ...]:
        given = tree.leaves_like(kept, _as_change(cotangents, kept), "vjp(): the cotangents")
        pairs = [(y, _as_change(c, y)) for y, c in zip(outputs, given, strict=True) if _differentiable(y)]
        _check_shapes("vjp()", "cotangent", "output", pairs)
        gradients: tuple[Any, ...] = followed.gradients([y for y, _ in pairs], [c for _, c in pairs])
        return gradients

    return result, pull


@overload
def jvp(f: Callable[[Unpack[_Ts]], _R], primals: tuple[Unpack[_Ts]], tangents: Sequence[Any]) -> tuple[_R, _R]: ...
@overload
def jvp(f: Callable[..., _R], primals: list[Any], tangents: Sequence[Any]) -> tuple[_R, _R]: ...
def jvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """``f(*primals)``, and how it changes when the primals change by ``tangents``: forward mode.

    >>> lento.jvp(lambda x: x * x, (lento.asarray([1.0, 2.0]),), (lento.asarray([1.0, 10.0]),))
    (tensor([1., 4.], dtype=float32), tensor([ 2., 40.], dtype=float32))
    """
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, list | tuple):
            raise fail(
                TypeError,
                f"jvp(): {what} is a tuple or list with an entry for each argument, not {type(given).__name__}",
            )
    result, push = _linearized("jvp()", f, primals)
    return result, push(tangents)


def linearize(f: Callable[[Unpack[_Ts]], _R], *primals: Unpack[_Ts]) -> tuple[_R, Callable[[Unpack[_Ts]], _R]]:
    """``f(*primals)``, and the linear function from changes of the primals to the change of ``f``: forward mode, with
    ``f`` called once for as many directions as wanted.

        >>> y, push = lento.linearize(lambda x: x * x, lento.asarray([1.0, 2.0]))
        >>> y, push(lento.asarray([1.0, 10.0])), push(lento.asarray([0.0, 1.0]))
        (tensor([1., 4.], dtype=float32), tensor([ 2., 40.], dtype=float32), tensor([0., 4.], dtype=float32))
    """
    result, push = _linearized("linearize()", f, primals)
    # Handles of their own: the caller may change the results in place.
    given = tree.map(lambda leaf: leaf.__copy__() if isinstance(leaf, Tensor) else leaf, result)
    return given, lambda *tangents: push(tangents)


def _linearized(
    caller: str, f: Callable[..., Any], primals: Sequence[Any]
) -> tuple[Any, Callable[[Sequence[Any]], Any]]:
    """What ``f`` gives, and a function from tangents of all primals to those of it."""
    followed = _Followed([_followable(caller, primal) for primal in primals])
    try:
        result = f(*followed.tree())
    finally:
        followed.differentiation.end()
    outputs = tree.leaves(result)
    where = [i for i, leaf in enumerate(outputs) if _differentiable(leaf)]

    def push(tangents: Sequence[Any]) -> Any:
        if len(tangents) == len(followed.arguments):
            tangents = list(map(_as_change, tangents, followed.arguments))
        leaves = tree.leaves_like(followed.arguments, list(tangents), f"{caller}: the tangents")
        given = list(map(_as_change, leaves, followed.leaves))
        followed_leaves = [i for i, of in enumerate(followed.inputs) if of is not None]
        _check_shapes(caller, "tangent", "input", [(followed.leaves[i], given[i]) for i in followed_leaves])
        pushed = followed.differentiation.push_forward(
            [outputs[i] for i in where],
            [of for of in followed.inputs if of is not None],
            [given[i] for i in followed_leaves],
        )
        changes: list[Any] = [None] * len(outputs)
        for i, change in zip(where, pushed, strict=True):
            changes[i] = change
        return tree.unflatten(result, changes)

    return result, push


def custom_gradient(
    f: Callable[_P, _R], backward: Callable[[list[Tensor], list[Tensor], list[Any]], Sequence[Tensor | None]]
) -> Callable[_P, _R]:
    """``f`` with a derivative of its own: ``backward(inputs, outputs, cotangents)`` gives the cotangents of
    the inputs. All four are lists of tensors; None stands for a cotangent of zeros.

        >>> clipped = lento.custom_gradient(lambda x: x, lambda xs, ys, gs: [lento.clip(gs[0], -1, 1)])
        >>> lento.grad(lambda x: clipped(x) * 10)(lento.asarray(1.0))
        tensor(1., dtype=float32)
    """
    function: Callable[..., Any] = f

    @functools.wraps(f)
    def custom(*args: Any) -> Any:
        single = False

        def flat(inputs: list[Tensor]) -> list[Tensor]:
            nonlocal single
            result = function(*inputs)
            single = isinstance(result, Tensor)
            return [result] if single else list(result)

        def checked(inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
            made = backward(inputs, outputs, cotangents)
            if isinstance(made, list | tuple):
                return list(made)
            raise fail(
                TypeError,
                f"custom_gradient(): backward gives a list with a cotangent for each input, not {type(made).__name__}",
            )

        outputs = _core._custom_gradient(flat, checked, list(map(_as_tensor, args)))
        return outputs[0] if single else tuple(outputs)

    return cast("Callable[_P, _R]", custom)
