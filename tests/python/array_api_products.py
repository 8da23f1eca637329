"""Cases for linear algebra, Fourier transforms and creation functions: see array_api_cases.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lento
import numpy as np
from array_api_cases import COMPLEXES, FLOATS, NUMERIC, Call, Case, Draw, an_axis, tensor, wide, xps
from hypothesis import strategies as st

SIDE = st.integers(1, 5)


def values(draw: Draw, dtype: str, shape: tuple[int, ...], seed: int | None = None) -> Any:
    """Random numbers of a good condition: hypothesis likes to draw the same number everywhere, which is singular."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)) if seed is None else seed)
    data = rng.standard_normal(shape)
    if dtype.startswith("complex"):
        data = data + 1j * rng.standard_normal(shape)
    return lento.asarray(data.astype(dtype))


def stacks(draw: Draw) -> tuple[int, ...]:
    return draw(xps.array_shapes(min_dims=0, max_dims=2, min_side=1, max_side=3))


def matmul(draw: Draw) -> Call:
    dtype = [draw(st.sampled_from(NUMERIC))]
    shapes = draw(xps.mutually_broadcastable_shapes(2, max_dims=2, max_side=3)).input_shapes
    n, k, m = (draw(st.integers(0, 5)) for _ in range(3))
    x1 = tensor(draw, dtype, (*shapes[0], n, k), -9, 9)
    x2 = tensor(draw, dtype, (*shapes[1], k, m), -9, 9)
    return (x1, x2), {}, np.matmul(wide(x1), wide(x2))


def tensordot(draw: Draw) -> Call:
    dtype = [draw(st.sampled_from(NUMERIC))]
    shared = draw(xps.array_shapes(min_dims=0, max_dims=2, max_side=3))
    left, right = (draw(xps.array_shapes(min_dims=0, max_dims=2, max_side=3)) for _ in range(2))
    x1, x2 = tensor(draw, dtype, left + shared, -9, 9), tensor(draw, dtype, shared + right, -9, 9)
    return (x1, x2), {"axes": len(shared)}, np.tensordot(wide(x1), wide(x2), len(shared))


def vecdot(draw: Draw) -> Call:
    dtype, n = [draw(st.sampled_from(NUMERIC))], draw(SIDE)
    shapes = draw(xps.mutually_broadcastable_shapes(2, max_dims=2, max_side=3)).input_shapes
    x1, x2 = (tensor(draw, dtype, (*shape, n), -9, 9) for shape in shapes)
    return (x1, x2), {}, np.vecdot(wide(x1), wide(x2))


def outer(draw: Draw) -> Call:
    dtype = [draw(st.sampled_from(NUMERIC))]
    x1, x2 = (tensor(draw, dtype, xps.array_shapes(max_dims=1, min_side=0), -9, 9) for _ in range(2))
    return (x1, x2), {}, np.outer(wide(x1), wide(x2))


def cross(draw: Draw) -> Call:
    dtype, shape = [draw(st.sampled_from(NUMERIC))], (*stacks(draw), 3)
    x1, x2 = (tensor(draw, dtype, shape, 0, 9) for _ in range(2))
    return (x1, x2), {}, np.cross(wide(x1), wide(x2))


def transpose(draw: Draw) -> Call:
    x = tensor(draw, NUMERIC, xps.array_shapes(min_dims=2, max_dims=4, min_side=0, max_side=4))
    return (x,), {}, np.swapaxes(wide(x), -1, -2)


def along_diagonal(oracle: Callable[..., Any]) -> Case:
    def case(draw: Draw) -> Call:
        x = tensor(draw, NUMERIC, xps.array_shapes(min_dims=2, max_dims=4, max_side=4), -9, 9)
        offset = draw(st.integers(-x.shape[-2] + 1, x.shape[-1] - 1))
        return (x,), {"offset": offset}, oracle(wide(x), offset=offset, axis1=-2, axis2=-1)

    return case


def square(oracle: Callable[..., Any], *, hermitian: bool = False, positive: bool = False, **words: Any) -> Case:
    """A stack of square matrices that are far from singular."""

    def case(draw: Draw) -> Call:
        dtype, n = draw(st.sampled_from(FLOATS + COMPLEXES)), draw(SIDE)
        x = values(draw, dtype, (*stacks(draw), n, n))
        if hermitian or positive:
            x = x + lento.conj(lento.matrix_transpose(x))
        if positive or not hermitian:
            x = x + 4 * n * lento.eye(n, dtype=dtype)
        given = {name: draw(strategy) for name, strategy in words.items()}
        return (x,), given, oracle(wide(x), **given)

    return case


def solve(draw: Draw) -> Call:
    dtype, n = draw(st.sampled_from(FLOATS + COMPLEXES)), draw(SIDE)
    stack = stacks(draw)
    x1 = values(draw, dtype, (*stack, n, n)) + 4 * n * lento.eye(n, dtype=dtype)
    x2 = values(draw, dtype, (*stack, n, draw(SIDE)))
    return (x1, x2), {}, np.linalg.solve(wide(x1), wide(x2))


def matrix_power(draw: Draw) -> Call:
    (x,), _, _ = square(np.asarray)(draw)
    n = draw(st.integers(-2, 4))
    return (x, n), {}, np.linalg.matrix_power(wide(x), n)


def rectangle(oracle: Callable[..., Any], **words: Any) -> Case:
    def case(draw: Draw) -> Call:
        x = values(draw, draw(st.sampled_from(FLOATS + COMPLEXES)), (*stacks(draw), draw(SIDE), draw(SIDE)))
        given = {name: draw(strategy) for name, strategy in words.items()}
        return (x,), given, oracle(wide(x), **given)

    return case


def vector_norm(draw: Draw) -> Call:
    x = values(draw, draw(st.sampled_from(FLOATS + COMPLEXES)), draw(xps.array_shapes(max_dims=3, max_side=4)))
    words = {
        "axis": draw(st.none() | st.integers(-x.ndim, x.ndim - 1)),
        "keepdims": draw(st.booleans()),
        "ord": draw(st.sampled_from([0, 1, 2, 3, 0.5, -1, np.inf, -np.inf])),
    }
    return (x,), words, np.linalg.vector_norm(wide(x), **words)


# --- Fourier transforms ---


def transform(oracle: Callable[..., Any], dtypes: list[str], least: int = 1) -> Case:
    def case(draw: Draw) -> Call:
        shape = draw(xps.array_shapes(max_dims=3, min_side=least, max_side=9))
        x = values(draw, draw(st.sampled_from(dtypes)), shape)
        words = {
            "n": draw(st.none() | st.integers(least, 12)),
            "axis": an_axis(draw, x),
            "norm": draw(st.sampled_from(["backward", "ortho", "forward"])),
        }
        return (x,), words, oracle(wide(x), **words)

    return case


def transforms(oracle: Callable[..., Any], dtypes: list[str], least: int = 1) -> Case:
    def case(draw: Draw) -> Call:
        x = values(draw, draw(st.sampled_from(dtypes)), draw(xps.array_shapes(max_dims=3, min_side=least, max_side=6)))
        axes = draw(st.none() | xps.valid_tuple_axes(x.ndim, min_size=1))
        words = {"axes": axes, "norm": draw(st.sampled_from(["backward", "ortho", "forward"]))}
        return (x,), words, oracle(wide(x), **words)

    return case


def frequencies(oracle: Callable[..., Any]) -> Case:
    def case(draw: Draw) -> Call:
        n, d = draw(st.integers(1, 20)), draw(st.sampled_from([0.25, 1.0, 3.0]))
        return (n,), {"d": d}, oracle(n, d=d)

    return case


def shifted(oracle: Callable[..., Any]) -> Case:
    def case(draw: Draw) -> Call:
        x = tensor(draw, FLOATS + COMPLEXES, xps.array_shapes(max_dims=3, max_side=5))
        axes = draw(st.none() | xps.valid_tuple_axes(x.ndim, min_size=1))
        return (x,), {"axes": axes}, oracle(wide(x), axes=axes)

    return case


# --- creation ---


def arange(draw: Draw) -> Call:
    start, stop = draw(st.integers(-99, 99)), draw(st.integers(-99, 99))
    step = draw(st.integers(-9, 9).filter(bool))
    return (start, stop, step), {}, np.arange(start, stop, step)


def linspace(draw: Draw) -> Call:
    start, stop, num = draw(st.integers(-99, 99)), draw(st.integers(-99, 99)), draw(st.integers(0, 30))
    endpoint = draw(st.booleans())
    return (start, stop, num), {"endpoint": endpoint}, np.linspace(start, stop, num, endpoint=endpoint)


def eye(draw: Draw) -> Call:
    rows, columns, k = draw(st.integers(0, 6)), draw(st.none() | st.integers(0, 6)), draw(st.integers(-9, 9))
    return (rows, columns), {"k": k}, np.eye(rows, columns, k)


def filled(oracle: Callable[..., Any], like: bool, number: bool = False) -> Case:
    def case(draw: Draw) -> Call:
        dtype = draw(st.sampled_from(NUMERIC))
        shape = draw(xps.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
        more = (draw(st.integers(0, 9)),) if number else ()
        first = tensor(draw, [dtype], shape) if like else shape
        words = {} if like else {"dtype": getattr(lento, dtype)}
        return (first, *more), words, oracle(shape, *more, dtype=dtype)

    return case
