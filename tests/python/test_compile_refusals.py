"""compile (clause F4): what cannot be frozen is told once, with its line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts, ones
from frozen_functions import bits, frozen, t, told, warnings_are_errors

__all__ = ["warnings_are_errors"]  # a fixture for all tests here


# --- F4: what cannot be frozen ---


def test_f4_a_read_inside_is_told_with_its_line() -> None:
    def f(x: lento.Tensor) -> lento.Tensor:
        return x * 2 if float(x.sum()) > 0 else -x

    def call(g: Callable[..., Any]) -> None:
        np.testing.assert_array_equal(g(t(1, 2)).numpy(), [2, 4])
        np.testing.assert_array_equal(g(t(-1, 0)).numpy(), [1, 0])

    told(f, call, "read")
    counts = Counts()
    g = lento.compile(f)
    with pytest.warns(RuntimeWarning, match=r"recorded at each call.*at test_compile_refusals\.py:\d+"):
        g(t(1, 2))
    g(t(1, 2))
    assert counts["freeze.fallback"] == 1


def test_f4_a_shape_that_depends_on_data() -> None:
    f = lambda x: lento.nonzero(x)[0].sum()  # noqa: E731
    told(f, lambda g: (int(g(t(0, 1, 1))), int(g(t(1, 0, 0)))), "read")


def test_f4_a_number_that_changes_is_told_with_its_line() -> None:
    numbers = iter(range(100))
    f = lambda x: x * float(next(numbers))  # noqa: E731
    told(f, lambda g: g(ones()).numpy(), "the number 1.0 was 0.0 the first time")


def test_f4_a_tensor_that_is_kept_where_none_was() -> None:
    history: list[lento.Tensor] = []

    def f(x: lento.Tensor) -> None:
        history.append(x * 2)

    told(f, lambda g: g(ones()), "keeps a tensor where none was: history[0]")
    assert len(history) == 5


def test_f4_data_of_the_host_that_is_made_a_tensor_inside() -> None:
    data = np.ones(1000, np.float32)
    told(lambda x: x + lento.asarray(data), lambda g: g(lento.ones(1000)), "data of the host")


def test_f4_an_array_as_an_argument() -> None:
    told(lambda x: lento.asarray(x) + 1, lambda g: g(np.ones(3, np.float32)), "give a tensor")


def test_f4_steps_and_closures_inside() -> None:
    told(lambda x: (lento.step(), x + 1), lambda g: g(ones()), "lento.step() is called inside")  # type: ignore[func-returns-value]
    told(lambda x: lento.add_step_closure(print, (x,)), lambda g: g(ones()), "a step closure is added inside")


def test_f4_a_seed_inside() -> None:
    def f(x: lento.Tensor) -> lento.Tensor:
        lento.random.seed(3)
        return x + lento.random.uniform((3,))

    expected = bits(f(ones()))

    def call(g: Callable[..., Any]) -> None:
        assert bits(g(ones())) == expected

    told(f, call, "a generator is given another seed")


def test_f4_a_host_number_that_is_changed_on_the_way() -> None:
    now = [1.0]

    def f(x: lento.Tensor) -> lento.Tensor:
        now[0] += 1
        return x * (lento.host_number(lambda: now[0]) * 2)

    told(f, lambda g: g(ones()), "used on the host")


def test_f4_a_host_number_beside_an_equal_number_of_the_same_call() -> None:
    now = [0.0]

    def between(x: lento.Tensor) -> lento.Tensor:
        return lento.clip(x, 0.5, lento.host_number(lambda: now[0]))

    def call(g: Callable[..., Any]) -> None:
        now[0] = 0.75 if now[0] == 0.5 else 0.5
        assert g(t(0.0, 1.0)).tolist() == [0.5, now[0]]

    told(between, call, "nobody can tell them apart")


def test_f3_a_host_number_beside_equal_numbers_of_other_calls() -> None:
    now = [0.5]

    def f(x: lento.Tensor) -> lento.Tensor:
        y = x * 0.5
        z = x * lento.host_number(lambda: now[0])
        return y + z * 0.5

    g = frozen(f, t(1.0, 2.0))
    now[0] = 4.0
    counts = Counts()
    assert g(t(1.0, 2.0)).tolist() == [2.5, 5.0]
    assert counts["freeze.hit"] == 1


def test_f4_something_that_is_another_one_each_time() -> None:
    class Trainer:
        factor = 1.0

        def step(self, x: lento.Tensor) -> lento.Tensor:
            return x * self.factor

    trainer = Trainer()
    trainer.factor = 2.0
    g = lento.compile(trainer.step)
    with pytest.warns(RuntimeWarning, match=r"\.factor is another one time and again"):
        for i in range(40):
            trainer.factor = float(i // 3)
            np.testing.assert_array_equal(g(ones()).numpy(), np.full(3, i // 3, np.float32))


def test_f4_verify_raises_where_the_frozen_call_differs() -> None:
    numbers = iter([2.0, 2.0, 3.0, 3.0])
    g = lento.compile(lambda x: x * next(numbers), verify=2)
    np.testing.assert_array_equal(g(ones()).numpy(), [2, 2, 2])
    np.testing.assert_array_equal(g(ones()).numpy(), [2, 2, 2])
    np.testing.assert_array_equal(g(ones()).numpy(), [2, 2, 2])
    with pytest.raises(RuntimeError, match=r"give something else.*the number 3\.0 was 2\.0.*test_compile_refusals\.py"):
        g(ones())


def test_f4_verify_passes_where_it_does_not() -> None:
    w = ones()

    def f(x: lento.Tensor) -> lento.Tensor:
        nonlocal w
        w += x
        return w * 2

    g = lento.compile(f, verify=2)
    counts = Counts()
    for i in range(8):
        np.testing.assert_array_equal(g(ones()).numpy(), np.full(3, 2 * (i + 2), np.float32))
    assert counts["freeze.record"] == 2 + 3
    assert counts["freeze.hit"] == 3


def test_f4_a_result_or_an_argument_that_contains_itself() -> None:
    def f(x: Any) -> Any:
        made: list[Any] = [x]
        made.append(made)
        return made

    told(f, lambda g: g(ones()), "contains itself")
    nested: list[Any] = []
    nested += [nested, nested]
    told(lambda x, y: y + 1, lambda g: g(nested, ones()), "nested too deeply")
