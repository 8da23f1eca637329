"""compile (clauses F1, F2, F5): frozen calls give what the function gives, with the same bits, and record nothing."""

from __future__ import annotations

import functools
import gc
import threading
import weakref
from collections import namedtuple
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts, ones
from frozen_functions import bits, frozen, t, warnings_are_errors

__all__ = ["warnings_are_errors"]  # a fixture for all tests here


# --- F1: the same as the function ---


def test_f1_two_calls_are_recorded_and_later_ones_run_without_the_function() -> None:
    called = []

    def f(x: lento.Tensor, y: lento.Tensor) -> lento.Tensor:
        called.append(1)
        return lento.tanh(x * 0.5 + y).sum() * x

    g = lento.compile(f)
    counts = Counts()
    for i in range(6):
        x, y = t(i, 2, 3), t(1, i, 1)
        result = g(x, y)
        assert bits(result) == bits(lento.tanh(x * 0.5 + y).sum() * x)
    assert len(called) == 2
    assert (counts["freeze.record"], counts["freeze.hit"], counts["freeze.fallback"]) == (2, 4, 0)


def test_f1_nothing_is_recorded_by_a_frozen_call() -> None:
    g = frozen(lambda x: lento.exp(x) * 2 + 1, ones(), calls=3)
    counts = Counts()
    y = g(t(1, 2, 3))
    assert not y.is_pending
    assert (counts["op.exp"], counts["op.multiply"], counts["op.add"]) == (0, 0, 0)
    assert (counts["plan.miss"], counts["kernel.compile"]) == (0, 0)
    np.testing.assert_array_equal(y.numpy(), (lento.exp(t(1, 2, 3)) * 2 + 1).numpy())


Pair = namedtuple("Pair", "first second")


def test_f1_arguments_and_results_are_trees() -> None:
    def f(tree: dict[str, Any], *more: Any, scale: float) -> Any:
        (a, b), c = tree["pair"], tree["list"][0]
        return {"sum": a + b, "all": [c * scale, (more[0], None, "text")], "pair": Pair(a, b * 2)}

    g = lento.compile(f)
    for i in range(4):
        tree = {"pair": (t(i, 1), t(2, 3)), "list": [t(5, i)]}
        x = t(i)
        result = g(tree, x, scale=0.5)
        assert bits(result) == bits(f(tree, x, scale=0.5))
        assert type(result["pair"]) is Pair
        assert result["all"][1][0] is x


def test_f1_a_pending_argument_is_computed_first() -> None:
    g = frozen(lambda x: x * 3, ones())
    pending = ones() + 1
    assert pending.is_pending
    np.testing.assert_array_equal(g(pending).numpy(), np.full(3, 6, np.float32))


def test_f1_small_data_of_the_host_inside_is_a_constant() -> None:
    g = frozen(lambda x: x + lento.asarray([1.0, 2.0]), t(0, 0))
    counts = Counts()
    np.testing.assert_array_equal(g(t(1, 1)).numpy(), [2, 3])
    assert counts["freeze.hit"] == 1


def test_f1_an_exception_of_the_function_is_raised_and_nothing_is_learnt() -> None:
    fails = True

    def f(x: lento.Tensor) -> lento.Tensor:
        if fails:
            raise KeyError("mine")
        return x + 1

    g = lento.compile(f)
    for _ in range(3):
        with pytest.raises(KeyError, match="mine"):
            g(ones())
    fails = False
    counts = Counts()
    for _ in range(4):
        np.testing.assert_array_equal(g(ones()).numpy(), [2, 2, 2])
    assert (counts["freeze.record"], counts["freeze.hit"]) == (2, 2)


def test_f1_a_failure_while_running_names_the_line_inside() -> None:
    g = frozen(lambda x, i: lento.take(x, i) * 2, t(1, 2, 3), lento.asarray([0, 1]))
    result = g(t(1, 2, 3), lento.asarray([0, 7]))
    with pytest.raises(IndexError, match=r"index 7 is out of range.*test_compile\.py"):
        result.numpy()
    with pytest.raises(IndexError):
        lento.wait()
    np.testing.assert_array_equal(g(t(1, 2, 3), lento.asarray([2, 0])).numpy(), [6, 2])


def test_f1_it_looks_like_the_function() -> None:
    def f(x: lento.Tensor) -> lento.Tensor:
        """Adds one."""
        return x + 1

    g: Any = lento.compile(f)
    assert (g.__name__, g.__doc__, g.__wrapped__) == ("f", "Adds one.", f)


def test_f1_a_method_is_bound() -> None:
    class Model:
        def __init__(self, factor: float) -> None:
            self.w = t(factor, 2)

        @lento.compile
        def apply(self, x: lento.Tensor) -> lento.Tensor:
            return x * self.w

    one, two = Model(3), Model(4)
    counts = Counts()
    for _ in range(4):
        np.testing.assert_array_equal(one.apply(t(1, 1)).numpy(), [3, 2])
        np.testing.assert_array_equal(two.apply(t(1, 1)).numpy(), [4, 2])
    assert (counts["freeze.record"], counts["freeze.hit"]) == (4, 4)


def test_f1_what_is_no_function_is_refused() -> None:
    with pytest.raises(TypeError, match=r"compile\(\): a function is expected, not int"):
        lento.compile(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="verify is a number of calls, not -1"):
        lento.compile(len, verify=-1)


# --- F2: signatures ---


def test_f2_shapes_dtypes_and_numbers_are_signatures_of_their_own() -> None:
    f = lambda x, n: x * n + 1  # noqa: E731
    g = lento.compile(f)
    counts = Counts()
    arguments = [
        (t(1, 2), 2),
        (t(1, 2, 3), 2),
        (lento.asarray([1, 2]), 2),
        (t(1, 2), 3),
        (t(1, 2), 2.0),
        (t(1, 2), True),
    ]
    for _ in range(3):
        for x, n in arguments:
            assert bits(g(x, n)) == bits(f(x, n))
    assert (counts["freeze.record"], counts["freeze.hit"]) == (12, 6)


def test_f2_a_new_number_compiles_nothing() -> None:
    g = lento.compile(lambda x, rate: x * rate)
    g(ones(), 0.5).numpy()
    counts = Counts()
    for i in range(5):
        g(ones(), 0.25 + i).numpy()
    assert (counts["plan.miss"], counts["kernel.compile"]) == (0, 0)


def test_f2_zeros_of_either_sign_are_not_the_same_number() -> None:
    g = frozen(lambda x, zero: x * zero, t(1), 0.0)
    assert str(float(g(t(1), -0.0))) == "-0.0"
    assert str(float(g(t(1), 0.0))) == "0.0"


def test_f2_a_0d_tensor_varies_for_free() -> None:
    g = frozen(lambda x, rate: x * rate, ones(), lento.asarray(0.5))
    counts = Counts()
    for i in range(5):
        np.testing.assert_array_equal(g(ones(), lento.asarray(float(i))).numpy(), np.full(3, i, np.float32))
    assert counts["freeze.hit"] == 5


def test_f2_keywords_and_lengths_of_lists_count() -> None:
    g = lento.compile(lambda xs, scale=1.0: sum(xs) * scale)
    for _ in range(3):
        np.testing.assert_array_equal(g([t(1), t(2)]).numpy(), [3])
        np.testing.assert_array_equal(g([t(1), t(2), t(3)]).numpy(), [6])
        np.testing.assert_array_equal(g([t(1), t(2)], scale=2.0).numpy(), [6])


def test_f2_one_tensor_twice_is_not_two_tensors() -> None:
    def f(x: lento.Tensor, y: lento.Tensor) -> lento.Tensor:
        x += 1
        return y * 2

    g = lento.compile(f)
    for _ in range(4):
        x, y = t(1), t(1)
        np.testing.assert_array_equal(g(x, y).numpy(), [2])
        np.testing.assert_array_equal(x.numpy(), [2])
        z = t(1)
        np.testing.assert_array_equal(g(z, z).numpy(), [4])


# --- F5: together with others ---


def test_f5_grad_vmap_and_compile_of_a_compiled_function() -> None:
    g = frozen(lambda x: (x * x).sum(), t(1, 2))
    np.testing.assert_array_equal(lento.grad(g)(t(1, 2)).numpy(), [2, 4])
    np.testing.assert_array_equal(lento.vmap(g)(lento.ones((3, 2))).numpy(), [2, 2, 2])
    outer = lento.compile(lambda x: g(x) + 1)
    counts = Counts()
    for _ in range(4):
        assert float(outer(t(1, 2))) == 6
    assert (counts["freeze.record"], counts["freeze.hit"]) == (2, 2)


def test_f5_compiled_grad_and_vmap() -> None:
    g = lento.compile(lento.vmap(lento.grad(lambda x: (x**3).sum())))
    counts = Counts()
    for i in range(4):
        x = lento.full((2, 3), float(i))
        np.testing.assert_array_equal(g(x).numpy(), np.full((2, 3), 3.0 * i * i, np.float32))
    assert counts["freeze.hit"] == 2


def test_f5_signatures_are_bounded() -> None:
    g = lento.compile(lambda x, i: x + i)
    for i in range(300):
        g(ones(), i)
        g(ones(), i)
    counts = Counts()
    for _ in range(3):
        np.testing.assert_array_equal(g(ones(), 0).numpy(), [1, 1, 1])
    assert counts["freeze.record"] == 2


def test_f4_arguments_that_are_others_at_each_call() -> None:
    g = lento.compile(lambda x, i: x + i)
    counts = Counts()
    with pytest.warns(RuntimeWarning, match="numbers that vary are given as 0-d tensors"):
        for i in range(70):
            np.testing.assert_array_equal(g(ones(), i).numpy(), np.full(3, 1 + i, np.float32))
    assert (counts["freeze.record"], counts["freeze.fallback"]) == (64, 6)


def test_f5_threads_call_one_function() -> None:
    g = lento.compile(lambda x: lento.tanh(x) * 2)
    wrong: list[Any] = []

    def call(i: int) -> None:
        x = t(i, i + 1)
        expected = np.tanh(np.array([i, i + 1], np.float32)) * 2
        for _ in range(50):
            if not np.allclose(g(x).numpy(), expected, rtol=1e-6):
                wrong.append(i)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_f5_a_compiled_function_is_collected_with_what_it_holds() -> None:
    class Holder:
        def __init__(self) -> None:
            self.w = ones()
            self.g: Any = lento.compile(lambda x: x * self.w)

    holder = Holder()
    for _ in range(4):
        holder.g(ones())
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None


def test_f5_e2_a_plan_that_was_forgotten_is_made_again() -> None:
    g = frozen(lambda x: x * 2 + 1, ones())
    lento.cache.clear()
    np.testing.assert_array_equal(g(ones()).numpy(), [3, 3, 3])
    with lento.options(fusion=False):
        np.testing.assert_array_equal(g(ones()).numpy(), [3, 3, 3])


def test_f5_explain_tells_what_was_frozen() -> None:
    lento.explain()
    frozen(functools.partial(lambda w, x: x * w, t(2)), t(1))
    assert "is frozen: 1 ops, 2 inputs" in lento.explain()
