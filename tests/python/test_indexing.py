"""x[...] and x[...] = v against NumPy, drawn at random, and the promises of clauses T4 and T10."""

from __future__ import annotations

import re
from typing import Any

import lento
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

SHAPES = [(5,), (3, 4), (2, 3, 4), (1, 5, 2), (0, 3), (2, 1, 3, 2), ()]


def numbered(shape: tuple[int, ...]) -> Any:
    return np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)


def to_lento(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(to_lento(each) for each in index)
    return lento.asarray(index) if isinstance(index, np.ndarray) else index


@st.composite
def slices(draw: Any, extent: int) -> slice:
    bound = st.one_of(st.none(), st.integers(-extent - 2, extent + 2))
    step = st.one_of(st.none(), st.integers(-3, 3).filter(lambda n: n != 0))
    return slice(draw(bound), draw(bound), draw(step))


@st.composite
def basic_items(draw: Any, extent: int) -> Any:
    if extent and draw(st.booleans()):
        return draw(st.integers(-extent, extent - 1))
    return draw(slices(extent))


@st.composite
def tensor_items(draw: Any, extent: int, shape: tuple[int, ...]) -> Any:
    size = int(np.prod(shape))
    flat = draw(st.lists(st.integers(-extent, extent - 1), min_size=size, max_size=size))
    return np.array(flat, dtype=draw(st.sampled_from([np.int64, np.int32]))).reshape(shape)


@st.composite
def indices(draw: Any, shape: tuple[int, ...], advanced: bool) -> Any:
    """An index for a tensor of this shape, as NumPy takes it."""
    items: list[Any] = []
    broadcast = draw(st.sampled_from([(), (3,), (2, 1), (2, 3)]))
    axis = 0
    while axis < len(shape) and draw(st.integers(0, 4)) > 0:
        extent = shape[axis]
        kind = draw(st.integers(0, 5))
        if advanced and kind in (0, 1) and extent:
            own = draw(st.sampled_from([broadcast, broadcast[-1:], ()]))
            items.append(draw(tensor_items(extent, own)))
        elif advanced and kind == 2 and extent and broadcast == ():
            mask = np.array(draw(st.lists(st.booleans(), min_size=extent, max_size=extent)), dtype=bool)
            if any(isinstance(each, np.ndarray) and each.ndim for each in items):
                items.append(slice(None))
            else:
                items.append(mask)
        else:
            items.append(draw(basic_items(extent)))
        axis += 1
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), Ellipsis)
    for _ in range(draw(st.integers(0, 2))):
        items.insert(draw(st.integers(0, len(items))), None)
    return tuple(items)


@st.composite
def cases(draw: Any, advanced: bool) -> Any:
    shape = draw(st.sampled_from(SHAPES))
    return shape, draw(indices(shape, advanced))


def numpy_ellipsis_is_right(shape: tuple[int, ...], index: tuple[Any, ...]) -> bool:
    """The drawn items were for the leading axes; an ellipsis in their middle moves later ones to other axes."""
    try:
        numbered(shape)[index]
    except IndexError:
        return False
    return True


@pytest.mark.parametrize("advanced", [False, True])
@settings(max_examples=400, deadline=None, derandomize=True)
@given(data=st.data())
def test_reading_agrees_with_numpy(advanced: bool, data: Any) -> None:
    shape, index = data.draw(cases(advanced))
    if not numpy_ellipsis_is_right(shape, index):
        return
    x = numbered(shape)
    expected = x[index]
    actual = lento.asarray(x)[to_lento(index)]
    assert actual.shape == expected.shape, f"{shape} {index}"
    np.testing.assert_array_equal(actual.numpy(), expected)


@pytest.mark.parametrize("advanced", [False, True])
@settings(max_examples=400, deadline=None, derandomize=True)
@given(data=st.data())
def test_assigning_agrees_with_numpy(advanced: bool, data: Any) -> None:
    shape, index = data.draw(cases(advanced))
    if not numpy_ellipsis_is_right(shape, index):
        return
    x = numbered(shape)
    selected = x[index].shape
    # Values that broadcast: whole, with an axis of length 1, without leading axes, or a number.
    form = data.draw(st.integers(0, 3))
    value_shape = selected
    if form == 1 and selected:
        value_shape = (*selected[:-1], 1)
    elif form == 2:
        value_shape = selected[1:]
    value: Any = -1 - numbered(value_shape) if form != 3 else -7
    expected = x.copy()
    # NumPy leaves open which of several writes to one place counts; it writes in order, as Lento promises.
    expected[index] = value
    actual = lento.asarray(x)
    before = actual + 0
    actual[to_lento(index)] = to_lento(value) if isinstance(value, np.ndarray) else value
    np.testing.assert_array_equal(actual.numpy(), expected, err_msg=f"{shape} {index} {value_shape}")
    np.testing.assert_array_equal(before.numpy(), x)


@pytest.mark.parametrize(
    "index",
    [
        (0, slice(None), np.array([0, 1])),
        (slice(None), 0, np.array([[0], [1]])),
        (np.array([0, 1]), slice(None), np.array([1, 2])),
        (slice(None), np.array([0, 1]), np.array([1, 2])),
        (np.array([0, 1]), None, np.array([1, 2])),
        (None, np.array([0, 1]), 0),
        (Ellipsis, np.array([[0, 1], [1, 2]])),
        (np.array(1), Ellipsis),
        (slice(None), np.array([0, 1]), Ellipsis, np.array([1, 2])),
        (True,),
        (False,),
        (slice(None), True),
        (np.array(True),),
        (np.array([True, False]), 1),
        (np.array([True, False]), slice(None), np.array([2])),
        (slice(None), np.array([[True, False, True, False], [False, False, True, True], [True, True, False, False]])),
        np.zeros(0, bool),
        np.zeros((2, 0), bool),
    ],
    ids=str,
)
def test_mixed_indices_put_axes_where_numpy_does(index: Any) -> None:
    x = numbered((2, 3, 4))
    np.testing.assert_array_equal(lento.asarray(x)[to_lento(index)].numpy(), x[index])
    changed = x.copy()
    changed[index] = -1
    y = lento.asarray(x)
    y[to_lento(index)] = -1
    np.testing.assert_array_equal(y.numpy(), changed)


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (3, "index 3 is out of range for axis 0"),
        ((0, -5), "index -5 is out of range for axis 1"),
        ((0, 0, 0), "too many indices"),
        ((Ellipsis, Ellipsis), "only one ellipsis"),
        (np.array([True, False]), "does not match"),
        (np.array([0.5]), "integer or bool"),
    ],
    ids=str,
)
def test_wrong_index_raises_at_the_call(index: Any, words: str) -> None:
    x = lento.zeros((3, 4))
    with pytest.raises(IndexError, match=words):
        x[to_lento(index)]


def test_zero_step_raises() -> None:
    with pytest.raises(ValueError, match="step cannot be zero"):
        lento.zeros(3)[::0]


def test_position_out_of_range_in_a_tensor_poisons() -> None:
    x = lento.arange(5)
    bad = x[lento.asarray(np.array([0, 9]))]
    with pytest.raises(IndexError):
        bad.numpy()
    np.testing.assert_array_equal(x.numpy(), np.arange(5))


def test_value_of_another_kind_or_shape_does_not_fit() -> None:
    x = lento.zeros((3, 4), dtype=lento.int64)
    with pytest.raises(lento.errors.DTypeError, match="cannot be stored"):
        x[0] = 1.5
    with pytest.raises(lento.errors.ShapeError, match="cannot be broadcast"):
        x[0] = lento.zeros(3, dtype=lento.int64)
    with pytest.raises(OverflowError):
        lento.zeros(3, dtype=lento.int8)[0] = 300
    np.testing.assert_array_equal(x.numpy(), np.zeros((3, 4)))


def syncs() -> int:
    return lento.metrics.counter("sync.implicit")


def test_t10_mask_assignment_evaluates_nothing() -> None:
    data = np.array([[1.0, -2.0], [-3.0, 4.0]])
    x = lento.asarray(data)
    before = syncs()
    x[x < 0] = 0.0
    y = lento.asarray(data)
    y[lento.asarray(data > 0)] = lento.asarray(np.array([7.0, 8.0]))
    assert syncs() == before
    np.testing.assert_array_equal(x.numpy(), np.where(data < 0, 0, data))
    np.testing.assert_array_equal(y.numpy(), [[7, -2], [-3, 8]])


def test_t10_wrong_number_of_values_for_a_mask_is_an_error_on_reading() -> None:
    x = lento.zeros(4)
    x[lento.asarray(np.array([True, False, True, True]))] = lento.ones(2)
    with pytest.raises(ValueError):
        x.numpy()


def test_t10_reading_through_a_mask_evaluates_one_count() -> None:
    x = lento.asarray(np.arange(12.0).reshape(3, 4))
    before = syncs()
    chosen = x[x > 4]
    assert chosen.shape == (7,)
    assert syncs() == before + 1
    np.testing.assert_array_equal(chosen.numpy(), np.arange(5.0, 12.0))


def structure(x: lento.Tensor) -> str:
    """The pending graph without the numbers that are arguments, and without source lines."""
    text = re.sub(r"(\$\d+: \w+) = [^,)]+", r"\1", lento.dump(x))
    return re.sub(r"\s+@.*", "", text)


def test_t4_slice_starts_and_positions_are_arguments() -> None:
    x = lento.asarray(np.arange(20.0))
    assert len({structure(x[i : i + 8]) for i in range(5)}) == 1
    assert len({structure(x[i]) for i in range(5)}) == 1
    np.testing.assert_array_equal(x[3:11].numpy(), np.arange(3.0, 11.0))


def _recorded(x: lento.Tensor) -> list[str]:
    """The index ops that x is pending by, without the names of values."""
    lines = str(lento.dump(x)).splitlines()
    return [re.sub(r"[%$]\w+", "_", line.split("@")[0]) for line in lines if "strided" in line]


@pytest.mark.parametrize("index", [2, slice(1, -1), (slice(None, None, -2), 3), (..., None, slice(2, 4), None), ()])
def test_t4_an_index_is_recorded_alike_whether_somebody_watches_or_not(index: Any) -> None:
    x = lento.asarray(np.arange(48.0, dtype=np.float32).reshape(6, 8))

    def read(x: lento.Tensor) -> lento.Tensor:
        part = x[index]
        seen.append(_recorded(part))
        return part

    def assign(x: lento.Tensor) -> lento.Tensor:
        x = x + 0
        x[index] = x[index] * 2
        seen.append(_recorded(x))
        return x

    for f in (read, assign):
        seen: list[list[str]] = []
        plain = f(x)
        watched, _ = lento.vjp(f, x)
        assert seen[0] == seen[1]
        assert np.array_equal(plain.numpy(), watched.numpy())


def test_t10_zero_dimensional_integer_tensor_gathers() -> None:
    x = lento.asarray(np.arange(20.0))
    assert "take_axis" in lento.dump(x[lento.asarray(np.array(2))])


@pytest.mark.parametrize(
    ("shape", "index"),
    [
        ((4, 5), (None, np.array([1, 2]), Ellipsis, -1)),
        ((1, 3, 2), (slice(None), np.array([[-3], [1]]), Ellipsis, np.array([[-2], [0]]))),
        ((3, 4), (None, np.array([True, False, True]), Ellipsis, np.array([True, False, False, True]))),
        ((3, 4), (slice(None), np.array([1, 2]), Ellipsis)),
    ],
)
def test_ellipsis_of_no_axes_still_separates_index_tensors(shape: tuple[int, ...], index: Any) -> None:
    data = numbered(shape)
    expected = data[index]
    np.testing.assert_array_equal(lento.asarray(data)[to_lento(index)].numpy(), expected, strict=True)
    values = -1 - numbered(expected.shape)
    x = lento.asarray(data)
    x[to_lento(index)] = lento.asarray(values)
    data[index] = values
    np.testing.assert_array_equal(x.numpy(), data)
