"""Assigning to a part of a temporary tensor changes nothing and is warned of; everything else is not."""

from __future__ import annotations

import operator
import sys
import warnings
from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    sys.version_info >= (3, 14),
    reason="from 3.14 on the interpreter borrows references, and a temporary cannot be told",
)


def double(x: lento.Tensor) -> lento.Tensor:
    return x * 2


class Holder:
    kept = lento.zeros((2, 3))

    @property
    def made(self) -> lento.Tensor:
        return lento.zeros((2, 3))


def chained(x: lento.Tensor) -> None:
    x[0][1] = 5


def of_a_call(x: lento.Tensor) -> None:
    double(x)[0] = 5


def of_a_slice(x: lento.Tensor) -> None:
    x[0:2][0:1] = 5


def augmented(x: lento.Tensor) -> None:
    x[0][1] += 5


def of_a_transpose(x: lento.Tensor) -> None:
    x.T[0] = 5


def of_an_expression(x: lento.Tensor) -> None:
    (x + 1)[0, 0] = 5


def of_a_property(x: lento.Tensor) -> None:
    Holder().made[0] = 5


def with_a_mask(x: lento.Tensor) -> None:
    x[0][x[0] > 0] = 5


LOST = [chained, of_a_call, of_a_slice, augmented, of_a_transpose, of_an_expression, of_a_property, with_a_mask]


@pytest.mark.parametrize("assign", LOST, ids=lambda f: f.__name__)
def test_an_assignment_to_a_temporary_warns_at_its_line(assign: Callable[[lento.Tensor], None]) -> None:
    x = lento.zeros((2, 3))
    with pytest.warns(lento.AssignmentWarning, match=r"Write x\[0, 1\] = v") as caught:
        assign(x)
    (warning,) = caught
    assert warning.filename == __file__
    assert warning.lineno == assign.__code__.co_firstlineno + 1
    assert not x.any()


def of_a_variable(x: lento.Tensor) -> Any:
    x[0, 1] = 5
    x[1:2] = 5
    x[0, 1] += 1
    return x


def of_an_element(x: lento.Tensor) -> Any:
    tensors, table = [x], {"x": x}
    tensors[0][0] = 5
    table["x"][1] = 5
    return x


def of_an_attribute(_: lento.Tensor) -> Any:
    Holder.kept[0] = 5
    Holder().kept[1] = 5
    return Holder.kept


def in_a_loop(x: lento.Tensor) -> Any:
    for i in range(2):
        x[i][0:1]
        x[i, 0] = 5
    return x


def by_a_function(x: lento.Tensor) -> Any:
    operator.setitem(x, 0, 5)
    x.__setitem__(1, 5)
    return x


def named_in_place(x: lento.Tensor) -> Any:
    (y := x * 2)[0] = 5
    return y


def of_a_global(_: lento.Tensor) -> Any:
    GLOBAL[0] = 5
    return GLOBAL


def of_a_cell(x: lento.Tensor) -> Any:
    def inner() -> None:
        x[0] = 5

    inner()
    return x


def in_a_comprehension(x: lento.Tensor) -> Any:
    [operator.setitem(row, 0, 5) for row in x]
    return x[0:0].any() == 0


GLOBAL = lento.zeros((2, 3))
KEPT = [
    of_a_variable, of_an_element, of_an_attribute, in_a_loop, by_a_function, named_in_place, of_a_global, of_a_cell,
    in_a_comprehension,
]  # fmt: skip


@pytest.mark.parametrize("assign", KEPT, ids=lambda f: f.__name__)
def test_an_assignment_that_somebody_sees_is_silent(assign: Callable[[lento.Tensor], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert assign(lento.zeros((2, 3))).any()


def test_a_function_of_c_that_holds_the_only_reference_is_silent() -> None:
    """What a compiled extension does: its variable is one reference, and the interpreter is at a call."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        operator.setitem(lento.zeros((2,)), 0, 1)
        list(map(operator.setitem, [lento.zeros((2,)), lento.zeros((2,))], [0, 1], [5, 5]))


def test_the_warning_may_be_made_an_error_before_anything_is_recorded() -> None:
    x = lento.zeros((2, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error", lento.AssignmentWarning)
        with pytest.raises(lento.AssignmentWarning):
            x[0][1] = 5
    assert issubclass(lento.AssignmentWarning, RuntimeWarning)
    np.testing.assert_array_equal(x.numpy(), np.zeros((2, 3)))
