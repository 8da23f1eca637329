"""For each function of the Array API: which calls are tried, and what NumPy says of them.

A case draws the arguments of a call. Tensors among them are drawn by `hypothesis.extra.array_api` through the functions
of Lento itself; NumPy gets the same values, floats in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lento
import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

xps = make_strategies_namespace(lento)

Draw = Callable[[st.SearchStrategy[Any]], Any]
Call = tuple[tuple[Any, ...], dict[str, Any], Any]  # arguments, keywords, NumPy's result
Case = Callable[[Draw], Call]

BOOL = ["bool"]
SIGNED = ["int8", "int16", "int32", "int64"]
INTEGERS = [*SIGNED, "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
COMPLEXES = ["complex64", "complex128"]
REAL = INTEGERS + FLOATS
NUMERIC = REAL + COMPLEXES
ALL = BOOL + NUMERIC

SHAPES = xps.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)
SOME = xps.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=5)


def elements(dtype: str, low: Any, high: Any) -> st.SearchStrategy[Any] | None:
    """Numbers between two bounds; anything the dtype has without bounds."""
    if low is None or dtype == "bool":
        return None
    if dtype.startswith("complex"):
        return st.complex_numbers(max_magnitude=high, allow_nan=False, width=int(dtype[7:]))  # type: ignore[arg-type]
    if dtype.startswith("float"):
        return xps.from_dtype(getattr(lento, dtype), min_value=low, max_value=high)
    limits = lento.iinfo(dtype)
    return st.integers(max(int(low), limits.min), min(int(high), limits.max))


def tensor(draw: Draw, dtypes: list[str], shape: Any = SHAPES, low: Any = None, high: Any = None) -> Any:
    dtype = draw(st.sampled_from(dtypes))
    return draw(xps.arrays(getattr(lento, dtype), shape, elements=elements(dtype, low, high)))


def wide(x: Any) -> np.ndarray[Any, Any]:
    """The same values for NumPy, with floats in double precision."""
    array = x.numpy()
    return array.astype({"f": np.float64, "c": np.complex128}.get(array.dtype.kind, array.dtype))


def an_axis(draw: Draw, x: Any) -> int:
    return draw(st.integers(-x.ndim, x.ndim - 1))


# --- elementwise ---


def unary(
    oracle: Callable[..., Any], dtypes: list[str], low: Any = None, high: Any = None, shape: Any = SHAPES
) -> Case:
    def case(draw: Draw) -> Call:
        x = tensor(draw, dtypes, shape, low, high)
        return (x,), {}, oracle(wide(x))

    return case


def binary(oracle: Callable[..., Any], dtypes: list[str], low: Any = None, high: Any = None) -> Case:
    """Two tensors that broadcast, or a tensor and a number of its kind."""

    def case(draw: Draw) -> Call:
        shapes = draw(xps.mutually_broadcastable_shapes(2, max_dims=4, max_side=5)).input_shapes
        dtype = [draw(st.sampled_from(dtypes))]
        x1, x2 = (tensor(draw, dtype, shape, low, high) for shape in shapes)
        if draw(st.integers(0, 3)) == 0:
            number = tensor(draw, dtype, (), low, high).item()
            return (x1, number), {}, oracle(wide(x1), np.asarray(number, wide(x1).dtype))
        return (x1, x2), {}, oracle(wide(x1), wide(x2))

    return case


def shift(oracle: Callable[..., Any]) -> Case:
    def case(draw: Draw) -> Call:
        x = tensor(draw, INTEGERS)
        by = draw(xps.arrays(x.dtype, x.shape, elements=st.integers(0, 8 * x.dtype.itemsize - 1)))
        return (x, by), {}, oracle(wide(x), wide(by))

    return case


def whole_division(oracle: Callable[..., Any]) -> Case:
    """Integers: floats have cases of their own where NumPy differs from the standard."""

    def case(draw: Draw) -> Call:
        x1 = tensor(draw, INTEGERS)
        x2 = draw(xps.arrays(x1.dtype, x1.shape, elements=xps.from_dtype(x1.dtype).filter(lambda n: n not in (0, -1))))
        return (x1, x2), {}, oracle(wide(x1), wide(x2))

    return case


def clip(draw: Draw) -> Call:
    x = tensor(draw, REAL, low=-100, high=100)
    low = draw(st.none() | st.integers(0, 50))
    high = draw(st.none() | st.integers(50, 100))
    expected = wide(x)
    if low is not None:
        expected = np.maximum(expected, np.asarray(low, expected.dtype))
    if high is not None:
        expected = np.minimum(expected, np.asarray(high, expected.dtype))
    return (x,), {"min": low, "max": high}, expected


def where(draw: Draw) -> Call:
    shapes = draw(xps.mutually_broadcastable_shapes(3, max_dims=4, max_side=4)).input_shapes
    dtype = [draw(st.sampled_from(ALL))]
    condition = tensor(draw, BOOL, shapes[0])
    x1, x2 = (tensor(draw, dtype, shape) for shape in shapes[1:])
    return (condition, x1, x2), {}, np.where(wide(condition), wide(x1), wide(x2))


# --- reductions, scans, sorting, searching ---


def reduction(
    oracle: Callable[..., Any], dtypes: list[str], low: Any, high: Any, shape: Any = SHAPES, **more: Any
) -> Case:
    def case(draw: Draw) -> Call:
        x = tensor(draw, dtypes, shape, low, high)
        axis = draw(st.none() | xps.valid_tuple_axes(x.ndim))
        words = {"axis": axis, "keepdims": draw(st.booleans())}
        words |= {name: draw(strategy) for name, strategy in more.items()}
        return (x,), words, oracle(wide(x), **words)

    return case


def position(oracle: Callable[..., Any]) -> Case:
    def case(draw: Draw) -> Call:
        x = tensor(draw, REAL, SOME, -1000, 1000)
        words = {"axis": draw(st.none() | st.integers(-x.ndim, x.ndim - 1)), "keepdims": draw(st.booleans())}
        return (x,), words, oracle(wide(x), **words)

    return case


def scan(oracle: Callable[..., Any], low: float, high: float) -> Case:
    def case(draw: Draw) -> Call:
        x = tensor(draw, NUMERIC, xps.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5), low, high)
        words = {"axis": an_axis(draw, x), "include_initial": draw(st.booleans())}
        return (x,), words, oracle(wide(x), **words)

    return case


def sorting(oracle: Callable[..., Any]) -> Case:
    def case(draw: Draw) -> Call:
        x = tensor(draw, REAL, SOME, -5, 5)
        axis, descending = an_axis(draw, x), draw(st.booleans())
        array = wide(x)
        # A stable order the other way round: of the reversed array, backwards.
        result = oracle(np.flip(array, axis) if descending else array, axis=axis, stable=True)
        if descending:
            result = np.flip(result, axis)
            if oracle is np.argsort:
                result = array.shape[axis] - 1 - result
        return (x,), {"axis": axis, "descending": descending}, result

    return case


def searchsorted(draw: Draw) -> Call:
    dtype = [draw(st.sampled_from(REAL))]
    x1 = lento.sort(tensor(draw, dtype, xps.array_shapes(max_dims=1, min_side=0, max_side=9), -5, 5))
    x2 = tensor(draw, dtype, SHAPES, -5, 5)
    side = draw(st.sampled_from(["left", "right"]))
    return (x1, x2), {"side": side}, np.searchsorted(wide(x1), wide(x2), side=side)


def isin(draw: Draw) -> Call:
    dtype = [draw(st.sampled_from(INTEGERS))]
    x1, x2 = tensor(draw, dtype, SHAPES, -5, 5), tensor(draw, dtype, SHAPES, -5, 5)
    invert = draw(st.booleans())
    return (x1, x2), {"invert": invert}, np.isin(wide(x1), wide(x2), invert=invert)


def unique(oracle: Callable[..., Any]) -> Case:
    def case(draw: Draw) -> Call:
        x = tensor(draw, INTEGERS + FLOATS, SHAPES, -4, 4)
        return (x,), {}, oracle(wide(x) + 0)  # NumPy keeps one of 0.0 and -0.0, not always the same

    return case


def diff(draw: Draw) -> Call:
    x = tensor(draw, REAL, xps.array_shapes(min_dims=1, max_dims=3, min_side=3, max_side=5), 0, 9)
    words = {"axis": an_axis(draw, x), "n": draw(st.integers(0, 2))}
    return (x,), words, np.diff(wide(x), **words)


# --- manipulation ---


def with_axis(oracle: Callable[..., Any], shape: Any = SOME) -> Case:
    def case(draw: Draw) -> Call:
        x = tensor(draw, ALL, shape)
        axis = an_axis(draw, x)
        return (x,), {"axis": axis}, oracle(wide(x), axis=axis)

    return case


def joined(oracle: Callable[..., Any]) -> Case:
    def case(draw: Draw) -> Call:
        dtype, shape = [draw(st.sampled_from(ALL))], draw(SOME)
        arrays = [tensor(draw, dtype, shape) for _ in range(draw(st.integers(1, 4)))]
        axis = draw(st.integers(-len(shape), len(shape) - 1))
        return (arrays,), {"axis": axis}, oracle([wide(x) for x in arrays], axis=axis)

    return case


def broadcast(draw: Draw) -> Call:
    shapes = draw(xps.mutually_broadcastable_shapes(draw(st.integers(1, 4)), max_dims=4, max_side=4)).input_shapes
    arrays = tuple(tensor(draw, ALL, shape) for shape in shapes)
    return arrays, {}, np.broadcast_arrays(*map(wide, arrays))


def broadcast_to(draw: Draw) -> Call:
    shapes = draw(xps.mutually_broadcastable_shapes(2, max_dims=4, max_side=4))
    x = tensor(draw, ALL, shapes.input_shapes[0])
    return (x, shapes.result_shape), {}, np.broadcast_to(wide(x), shapes.result_shape)


def reshape(draw: Draw) -> Call:
    x = tensor(draw, ALL)
    shape = draw(st.permutations(x.shape).map(tuple) | st.just((x.size,)) | st.just((1, x.size)))
    if x.size and draw(st.booleans()) and shape:
        shape = (-1, *shape[1:])
    return (x, shape), {}, np.reshape(wide(x), shape)


def permute_dims(draw: Draw) -> Call:
    x = tensor(draw, ALL)
    axes = tuple(draw(st.permutations(range(x.ndim))))
    return (x, axes), {}, np.transpose(wide(x), axes)


def moveaxis(draw: Draw) -> Call:
    x = tensor(draw, ALL, SOME)
    source, destination = an_axis(draw, x), an_axis(draw, x)
    return (x, source, destination), {}, np.moveaxis(wide(x), source, destination)


def expand_dims(draw: Draw) -> Call:
    x = tensor(draw, ALL)
    axis = draw(st.integers(-x.ndim - 1, x.ndim))
    return (x,), {"axis": axis}, np.expand_dims(wide(x), axis)


def squeeze(draw: Draw) -> Call:
    x = tensor(draw, ALL, xps.array_shapes(min_dims=1, max_dims=4, max_side=2))
    axes = tuple(axis for axis, extent in enumerate(x.shape) if extent == 1 and draw(st.booleans()))
    return (x, axes), {}, np.squeeze(wide(x), axes)


def roll(draw: Draw) -> Call:
    x = tensor(draw, ALL, SOME)
    axis = draw(st.none() | st.integers(-x.ndim, x.ndim - 1))
    shift_by = draw(st.integers(-9, 9))
    return (x, shift_by), {"axis": axis}, np.roll(wide(x), shift_by, axis)


def flip(draw: Draw) -> Call:
    x = tensor(draw, ALL)
    axis = draw(st.none() | xps.valid_tuple_axes(x.ndim))
    return (x,), {"axis": axis}, np.flip(wide(x), axis)


def repeat(draw: Draw) -> Call:
    x = tensor(draw, ALL, SOME)
    axis = draw(st.none() | st.integers(-x.ndim, x.ndim - 1))
    extent = x.size if axis is None else x.shape[axis]
    if draw(st.booleans()):
        repeats: Any = draw(st.integers(0, 3))
        return (x, repeats), {"axis": axis}, np.repeat(wide(x), repeats, axis)
    repeats = draw(xps.arrays(lento.int64, (extent,), elements=st.integers(0, 3)))
    return (x, repeats), {"axis": axis}, np.repeat(wide(x), wide(repeats), axis)


def tile(draw: Draw) -> Call:
    x = tensor(draw, ALL)
    repetitions = tuple(draw(st.lists(st.integers(0, 3), max_size=4)))
    return (x, repetitions), {}, np.tile(wide(x), repetitions)


def take(draw: Draw) -> Call:
    x = tensor(draw, ALL, SOME)
    axis = an_axis(draw, x)
    extent = x.shape[axis]
    indices = draw(xps.arrays(lento.int64, xps.array_shapes(max_dims=1), elements=st.integers(-extent, extent - 1)))
    return (x, indices), {"axis": axis}, np.take(wide(x), wide(indices), axis)


def take_along_axis(draw: Draw) -> Call:
    x = tensor(draw, ALL, SOME)
    axis = an_axis(draw, x)
    extent = x.shape[axis]
    shape = tuple(draw(st.integers(0, 4)) if i == axis % x.ndim else n for i, n in enumerate(x.shape))
    indices = draw(xps.arrays(lento.int64, shape, elements=st.integers(-extent, extent - 1)))
    return (x, indices), {"axis": axis}, np.take_along_axis(wide(x), wide(indices), axis)


def triangle(oracle: Callable[..., Any]) -> Case:
    def case(draw: Draw) -> Call:
        x = tensor(draw, ALL, xps.array_shapes(min_dims=2, max_dims=4, min_side=0, max_side=5))
        k = draw(st.integers(-7, 7))
        return (x,), {"k": k}, oracle(wide(x), k)

    return case


def meshgrid(draw: Draw) -> Call:
    dtype = [draw(st.sampled_from(ALL))]
    arrays = tuple(tensor(draw, dtype, xps.array_shapes(max_dims=1)) for _ in range(draw(st.integers(1, 4))))
    indexing = draw(st.sampled_from(["xy", "ij"]))
    return arrays, {"indexing": indexing}, np.meshgrid(*map(wide, arrays), indexing=indexing)
