"""vmap: equal to a loop over the examples; every primitive, nested, and together with derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import harness
import lento
import numpy as np
import pytest
from samples import Call, calls_of, load_catalogue

SIZE = 3


def looped(f: Callable[..., Any], *args: Any, axes: tuple[int | None, ...]) -> list[Any]:
    """What vmap must equal, one example after the other, stacked."""
    rows = []
    for i in range(SIZE):
        given = [
            a if axis is None else lento.asarray(np.take(a.numpy(), i, axis))
            for a, axis in zip(args, axes, strict=True)
        ]
        rows.append([y.numpy() for y in lento.tree.leaves(f(*given)) if isinstance(y, lento.Tensor)])
    return [np.stack(column) for column in zip(*rows, strict=True)]


# --- every primitive ---


def tensor_arguments(call: Call) -> list[tuple[str, int | None]]:
    found: list[tuple[str, int | None]] = []
    for arg in call.op.args:
        value = call.arguments[arg.name]
        if isinstance(value, list):
            found += [(arg.name, i) for i, each in enumerate(value) if isinstance(each, np.ndarray)]
        elif isinstance(value, np.ndarray):
            found.append((arg.name, None))
    return found


def variant(name: str, key: str, array: np.ndarray, seed: int) -> np.ndarray:
    """Another array of the same kind, safe wherever the first is: its own elements in another order; for a symmetric
    matrix, the matrix times another number; for a sorted sequence, the sequence without its smallest values."""
    if seed == 0 or array.size < 2:
        return array
    if name in SYMMETRIC:
        return (array * (1 + seed / 2)).astype(array.dtype)
    if key == "sorted":
        return np.maximum(array, array[seed * array.size // SIZE])
    flat = array.reshape(-1).copy()
    return np.roll(flat, seed).reshape(array.shape)


PRIMITIVES = {
    op.qualified: [c for c in calls_of(op) if not c.raises and tensor_arguments(c)]
    for op in load_catalogue()
    if op.family != "composite"
}
SYMMETRIC = {"prim.cholesky_factor", "prim.eigh_factor"}


def examples_of(name: str, call: Call, batched: list[tuple[str, int | None]]) -> dict[tuple[str, int | None], Any]:
    """The arrays of the batched arguments, one an example, stacked."""
    found = {}
    for key, place in batched:
        array = call.arguments[key] if place is None else call.arguments[key][place]
        found[key, place] = np.stack([variant(name, key, array, seed) for seed in range(SIZE)])
    return found


def differ(stacked: np.ndarray) -> bool:
    return any(not np.array_equal(stacked[0], other, equal_nan=True) for other in stacked[1:])


def chosen_calls(name: str, which: str) -> list[tuple[Call, dict[tuple[str, int | None], Any]]]:
    """Some calls with the examples of their batched arguments. Most are calls whose examples differ, since equal ones
    hide which is which; the others are scalars and tensors without elements."""
    telling, others = [], []
    for call in PRIMITIVES[name]:
        if {"float16", "bfloat16"} & dtypes_of(call):
            continue
        places = tensor_arguments(call)
        batched = places if which == "all" else [places[0]] if which == "first" else [places[-1]]
        examples = examples_of(name, call, batched)
        (telling if any(map(differ, examples.values())) else others).append((call, examples))
    assert telling, f"all examples of {name} are equal"
    return telling[:: max(1, len(telling) // 6)] + others[:: max(1, len(others) // 2)]


@pytest.mark.parametrize("which", ["all", "first", "last"])
@pytest.mark.parametrize("name", [name for name, calls in PRIMITIVES.items() if calls])
def test_primitives_are_as_in_a_loop(name: str, which: str) -> None:
    for call, examples in chosen_calls(name, which):
        places = tensor_arguments(call)
        fixed = harness.lento_arguments(call)
        function = harness.find_function(call.op)

        def apply(*tensors: lento.Tensor, fixed: Any = fixed, places: Any = places, function: Any = function) -> Any:
            arguments = {k: list(v) if isinstance(v, list) else v for k, v in fixed.items()}
            for (key, place), tensor in zip(places, tensors, strict=True):
                if place is None:
                    arguments[key] = tensor
                else:
                    arguments[key][place] = tensor
            return function(**arguments)

        args, axes = [], []
        for key, place in places:
            array = call.arguments[key] if place is None else call.arguments[key][place]
            if (key, place) in examples:
                args.append(lento.asarray(examples[key, place]))
                axes.append(0)
            else:
                args.append(lento.asarray(array))
                axes.append(None)
        expected = looped(apply, *args, axes=tuple(axes))
        result = lento.vmap(apply, in_axes=tuple(axes))(*args)
        actual = [y.numpy() for y in lento.tree.leaves(result) if isinstance(y, lento.Tensor)]
        for got, want in zip(actual, expected, strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape, call.id
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5, equal_nan=True, err_msg=call.id)


def dtypes_of(call: Call) -> set[str]:
    arrays = [call.arguments[k] if i is None else call.arguments[k][i] for k, i in tensor_arguments(call)]
    return {array.dtype.name for array in arrays}


# --- axes and forms ---


def test_axes() -> None:
    x = lento.asarray(np.arange(24.0).reshape(2, 3, 4))
    f = lambda v: v.sum(axis=0)  # noqa: E731
    for axis in range(-3, 3):
        expected = np.stack([np.take(x.numpy(), i, axis).sum(0) for i in range(x.shape[axis])])
        np.testing.assert_array_equal(lento.vmap(f, in_axes=axis)(x).numpy(), expected)
        np.testing.assert_array_equal(lento.vmap(f, in_axes=axis, out_axes=-1)(x).numpy(), np.moveaxis(expected, 0, -1))


def test_trees_constants_and_what_does_not_depend() -> None:
    p = {"w": lento.ones((3, 2)), "k": 5}
    result = lento.vmap(lambda p, c: {"y": p["w"] * p["k"], "c": c + 1, "n": 7}, in_axes=(0, None))(p, lento.zeros(2))
    np.testing.assert_array_equal(result["y"].numpy(), np.full((3, 2), 5))
    np.testing.assert_array_equal(result["c"].numpy(), np.ones((3, 2)))
    assert result["n"] == 7


def test_nests_and_composes_with_derivatives() -> None:
    rng = np.random.default_rng(0)
    a, b = lento.asarray(rng.normal(size=(3, 4))), lento.asarray(rng.normal(size=(5, 4)))
    table = lento.vmap(lambda x: lento.vmap(lambda y: (x * y).sum())(b))(a)
    np.testing.assert_allclose(table.numpy(), a.numpy() @ b.numpy().T)

    f = lambda x: (lento.tanh(x) ** 2).sum()  # noqa: E731
    per_example = lento.vmap(lento.grad(f))(a)
    whole = lento.grad(lambda x: lento.vmap(f)(x).sum())(a)
    np.testing.assert_allclose(per_example.numpy(), whole.numpy(), rtol=1e-12)
    columns = lento.vmap(lambda v: lento.jvp(lento.grad(f), (a[0],), (v,))[1])(lento.eye(4, dtype=lento.float64))
    rows = [lento.grad(lambda x, i=i: lento.grad(f)(x)[i])(a[0]).numpy() for i in range(4)]
    np.testing.assert_allclose(columns.numpy(), np.stack(rows), atol=1e-12)


def test_custom_gradients_and_constants_are_kept() -> None:
    tenfold = lento.custom_gradient(lambda x: x * 1, lambda xs, ys, gs: [gs[0] * 10])
    x = lento.asarray(np.array([1.0, 2.0, 3.0]))
    for gradient in (
        lento.vmap(lento.grad(lambda v: tenfold(v) * 2))(x),
        lento.grad(lambda v: lento.vmap(lambda e: tenfold(e) * 2)(v).sum())(x),
    ):
        np.testing.assert_array_equal(gradient.numpy(), [20, 20, 20])
    stopped = lento.grad(lambda v: lento.vmap(lambda e: e * lento.stop_gradient(e))(v).sum())(x)
    np.testing.assert_array_equal(stopped.numpy(), x.numpy())


# --- errors ---


def test_reading_inside_is_an_error() -> None:
    def f(x: lento.Tensor) -> lento.Tensor:
        return x * 2 if float(x) > 0 else x

    with pytest.raises(ValueError, match="stands for all examples"):
        lento.vmap(f)(lento.ones(3))
    assert float(f(lento.asarray(1.0))) == 2
    # What does not depend on the examples can be read.
    c = lento.asarray(2.0)
    np.testing.assert_array_equal(lento.vmap(lambda x: x * float(c))(lento.ones(3)).numpy(), [2, 2, 2])


def test_wrong_use() -> None:
    with pytest.raises(ValueError, match="no argument has an axis"):
        lento.vmap(lambda x: x, in_axes=None)(lento.ones(3))
    with pytest.raises(ValueError, match="2 examples along axis 0"):
        lento.vmap(lambda x, y: x + y)(lento.ones(3), lento.ones(2))
    with pytest.raises(ValueError, match="1 entries for 2 arguments"):
        lento.vmap(lambda x, y: x + y, in_axes=(0,))(lento.ones(3), lento.ones(2))
    with pytest.raises(IndexError):
        lento.vmap(lambda x: x, in_axes=1)(lento.ones(3))
    with pytest.raises(ValueError, match="at least one example"):
        lento.vmap(lambda x: x)(lento.ones(0))
    with pytest.raises(ValueError, match="'error', 'same' or 'different', not 'foo'"):
        lento._core._Batching(3, "foo")
