"""compile (clauses F1 to F5): frozen calls give what the function gives, with the same bits, and record nothing."""

from __future__ import annotations

import functools
import gc
import threading
import warnings
import weakref
from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts, ones


def t(*values: float) -> lento.Tensor:
    return lento.asarray(np.array(values, np.float32))


def bits(value: Any) -> list[Any]:
    """The leaves of a result, tensors as bytes."""
    return [
        (leaf.dtype, leaf.shape, leaf.numpy().tobytes()) if isinstance(leaf, lento.Tensor) else leaf
        for leaf in lento.tree.leaves(value)
    ]


@pytest.fixture(autouse=True)
def warnings_are_errors() -> Iterator[None]:
    """What is not frozen is told, so that no test passes by recording."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def frozen(f: Callable[..., Any], *args: Any, calls: int = 2, **kwargs: Any) -> Callable[..., Any]:
    """`f` compiled, after calls with these arguments; the next one is frozen."""
    g = lento.compile(f)
    for _ in range(calls):
        g(*args, **kwargs)
    return g


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


# --- F3: what is reached without being given ---

weight = lento.ones(3)


def test_f3_a_global_is_read_anew() -> None:
    global weight
    g = frozen(lambda x: x * weight, ones())
    counts = Counts()
    weight[...] = 5
    np.testing.assert_array_equal(g(ones()).numpy(), [5, 5, 5])
    weight = t(1, 2, 3)  # another object under the name
    np.testing.assert_array_equal(g(ones()).numpy(), [1, 2, 3])
    assert (counts["freeze.hit"], counts["freeze.record"]) == (2, 0)


def test_f3_a_captured_variable_is_read_anew_and_may_get_another_shape() -> None:
    w = t(1, 2)
    g = frozen(lambda x: x * w, t(1, 1))
    w = t(3, 4)
    np.testing.assert_array_equal(g(t(1, 1)).numpy(), [3, 4])
    w = t(5)
    for _ in range(3):
        np.testing.assert_array_equal(g(t(1, 1)).numpy(), [5, 5])


def test_f3_handles_are_changed_in_place() -> None:
    total = lento.zeros(2)

    def add(x: lento.Tensor) -> lento.Tensor:
        nonlocal total
        total += x
        total[0] = total[1] * 2
        return total

    g = lento.compile(add)
    counts = Counts()
    for i in range(1, 6):
        assert g(t(1, 1)) is total
        np.testing.assert_array_equal(total.numpy(), [2 * i, i])
    assert counts["freeze.hit"] == 3


def test_f3_an_argument_is_changed_in_place() -> None:
    def f(x: lento.Tensor) -> None:
        x *= 2

    g = lento.compile(f)
    for _ in range(4):
        x = t(1, 2)
        other = x.__copy__()
        assert g(x) is None
        np.testing.assert_array_equal(x.numpy(), [2, 4])
        np.testing.assert_array_equal(other.numpy(), [1, 2])


def test_f3_t6_a_changed_tensor_is_donated() -> None:
    state = lento.zeros(1000)

    def step() -> None:
        nonlocal state
        state += 1

    g = frozen(step)
    lento.wait()
    counts = Counts()
    for _ in range(5):
        g()
    lento.wait()
    assert counts["freeze.hit"] == 5
    assert counts["donation"] == 5
    assert float(state[0]) == 7


class Simulation:
    def __init__(self) -> None:
        self.position, self.velocity, self.previous = t(0, 1), t(1, 0), t(0, 0)
        self.dt = 0.5

    def step(self) -> lento.Tensor:
        self.previous = self.position
        self.position = self.position + self.velocity * self.dt
        self.velocity = self.velocity - self.position * self.dt
        return (self.velocity**2).sum()


def test_f3_attributes_that_get_other_tensors() -> None:
    plain, compiled = Simulation(), Simulation()
    g = lento.compile(compiled.step)
    counts = Counts()
    for _ in range(6):
        assert bits(plain.step()) == bits(g())
        assert bits([plain.position, plain.velocity, plain.previous]) == bits(
            [compiled.position, compiled.velocity, compiled.previous]
        )
    assert counts["freeze.hit"] == 4


def test_f3_a_number_beside_the_function_that_changes_is_seen() -> None:
    compiled = Simulation()
    g = frozen(compiled.step)
    plain = Simulation()
    for _ in range(2):
        plain.step()
    compiled.dt = plain.dt = 0.25
    for _ in range(4):
        assert bits(plain.step()) == bits(g())


def test_f3_the_shape_of_a_tensor_that_is_not_computed_with_is_seen() -> None:
    class Cache:
        def __init__(self) -> None:
            self.held: Any = t(1, 2)
            self.beside = t(1)  # no code names it

        def f(self, x: lento.Tensor) -> lento.Tensor:
            return x * (0 if self.held is None else self.held.shape[0])

    cache = Cache()
    g = frozen(cache.f, ones())
    cache.beside = t(1, 2, 3)
    counts = Counts()
    np.testing.assert_array_equal(g(ones()).numpy(), [2, 2, 2])
    assert counts["freeze.hit"] == 1
    cache.held = t(1, 2, 3, 4)
    np.testing.assert_array_equal(g(ones()).numpy(), [4, 4, 4])
    cache.held = None
    np.testing.assert_array_equal(g(ones()).numpy(), [0, 0, 0])


def test_f3_a_number_that_only_others_use_may_change() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.count = 0
            self.factor = 2.0

        def step(self, x: lento.Tensor) -> lento.Tensor:
            return self.scaled(x)

        def scaled(self, x: lento.Tensor) -> lento.Tensor:
            return x * self.factor

        def report(self) -> str:
            return f"{self.count} steps"

    trainer = Trainer()
    g = frozen(trainer.step, ones())
    counts = Counts()
    for _ in range(5):
        trainer.count += 1
        np.testing.assert_array_equal(g(ones()).numpy(), [2, 2, 2])
    assert counts["freeze.hit"] == 5
    trainer.factor = 3.0
    np.testing.assert_array_equal(g(ones()).numpy(), [3, 3, 3])


def test_f3_a_number_that_a_module_uses_is_seen() -> None:
    class Scaled(lento.nn.Module):
        def __init__(self) -> None:
            self.weight = t(1, 2)
            self.factor = 2.0

        def forward(self, x: lento.Tensor) -> lento.Tensor:
            return x * self.weight * self.factor

    model = lento.nn.Sequential(Scaled(), Scaled())
    g = frozen(lambda x: model(x), t(1, 1))
    model[1].factor = 3.0
    for _ in range(3):
        np.testing.assert_array_equal(g(t(1, 1)).numpy(), [6, 24])
    by_argument = frozen(lambda m, x: m(x), model, t(1, 1))
    model[0].factor = 1.0
    counts = Counts()
    for _ in range(4):
        np.testing.assert_array_equal(by_argument(model, t(1, 1)).numpy(), [3, 12])
    assert counts["freeze.hit"] == 2


def test_f3_an_attribute_of_a_function_is_read_anew() -> None:
    def f(x: lento.Tensor) -> lento.Tensor:
        return x * f.weight  # type: ignore[attr-defined, no-any-return]

    f.weight = t(2)  # type: ignore[attr-defined]
    g = frozen(f, t(1))
    f.weight = t(3)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(g(t(1)).numpy(), [3])


def test_f3_a_number_of_a_class_that_changes_is_seen() -> None:
    class Settings:
        scale = 2.0

    g = frozen(lambda x: x * Settings.scale, ones())
    Settings.scale = 3.0
    for _ in range(3):
        np.testing.assert_array_equal(g(ones()).numpy(), [3, 3, 3])


@pytest.mark.parametrize("optimizer", [lento.optim.SGD, lento.optim.Adam, lento.optim.AdamW, lento.optim.RAdam])
def test_f3_a_training_step_with_a_model_an_optimizer_and_dropout(optimizer: Any) -> None:
    def train(wrap: Callable[..., Any]) -> list[Any]:
        lento.random.seed(5)
        nn = lento.nn
        model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.4), nn.Linear(8, 1))
        rates = optimizer(model, lr=lento.optim.cosine(0.1, 10))

        def loss(model: Any, x: lento.Tensor) -> lento.Tensor:
            return (model(x) ** 2).mean()

        def step(x: lento.Tensor) -> lento.Tensor:
            value, gradients = lento.value_and_grad(loss)(model, x)
            rates.step(gradients)
            return value

        taken = wrap(step)
        seen = []
        for i in range(8):
            seen.append(taken(lento.asarray(np.random.default_rng(i).normal(size=(6, 3)).astype(np.float32))))
            lento.step()
        model.eval()  # another mode: other code
        seen.append(taken(lento.ones((6, 3))))
        return bits([seen, model.state_dict(), rates.state_dict()])

    counts = Counts()
    assert train(lambda f: f) == train(lento.compile)
    assert counts["freeze.hit"] >= 4
    assert counts["freeze.fallback"] == 0


def test_f3_groups_and_settings_that_change() -> None:
    def train(wrap: Callable[..., Any]) -> list[Any]:
        w = {"a": t(1, 2), "b": t(3, 4)}
        optimizer = lento.optim.AdamW(w, lr=0.1, groups=[{"params": "b", "lr": 0.01}])

        def step() -> None:
            optimizer.step(lento.grad(lambda p: (p["a"] * p["b"]).sum())(w))

        taken = wrap(step)
        for i in range(10):
            if i == 5:
                optimizer.groups[0]["lr"] = 0.5
            if i == 7:
                optimizer.weight_decay = 0.25
            taken()
        return bits([w, optimizer.state_dict()])

    counts = Counts()
    assert train(lambda f: f) == train(lento.compile)
    assert counts["freeze.hit"] == 6


def test_f3_an_optimizer_of_ones_own() -> None:
    class Decay(lento.optim.Optimizer):
        kept = ("velocity",)

        def update(self, parameter: Any, gradient: Any, kept: Any, lr: float, step: int) -> None:
            kept["velocity"] *= 0.9
            kept["velocity"] += gradient
            parameter -= lr * kept["velocity"]

    def train(wrap: Callable[..., Any]) -> list[Any]:
        w = t(1, 2)
        optimizer = Decay(w, lr=lambda step: 0.5 / (step + 1))
        taken = wrap(lambda: optimizer.step(lento.grad(lambda p: (p**2).sum())(w)))
        for _ in range(6):
            taken()
        return [*bits(w), optimizer.step_count]

    counts = Counts()
    assert train(lambda f: f) == train(lento.compile)
    assert counts["freeze.hit"] == 4


def test_f3_a_generator_advances_as_by_the_function() -> None:
    mine = lento.Generator(4)

    def f(x: lento.Tensor) -> Any:
        return x + lento.random.normal((3,)), lento.random.uniform((2,), generator=mine)

    g = lento.compile(f)
    lento.random.seed(9)
    expected = [bits(f(ones())) for _ in range(5)]
    lento.random.seed(9)
    mine.state = (4, 0)
    counts = Counts()
    assert [bits(g(ones())) for _ in range(5)] == expected
    assert counts["freeze.hit"] == 3


def test_f3_host_numbers_are_asked_anew() -> None:
    now = [1.0, 3]
    g = lento.compile(lambda x: x * lento.host_number(lambda: now[0]) + lento.host_number(lambda: now[1]))
    counts = Counts()
    for i in range(5):
        now[:] = [0.5 * i, i]
        np.testing.assert_array_equal(g(ones()).numpy(), np.full(3, 1.5 * i, np.float32))
    assert counts["freeze.hit"] == 3
    assert lento.host_number(lambda: 7) == 7  # outside of a recording it is a number


# --- F4: what cannot be frozen ---


def told(f: Callable[..., Any], calls: Callable[[Callable[..., Any]], Any], match: str) -> None:
    """It is told once, with the line, and every call does what the function does."""
    g = lento.compile(f)
    counts = Counts()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(5):
            calls(g)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == 1, messages
    assert "is not frozen" in messages[0]
    assert match in messages[0]
    assert counts["freeze.hit"] == 0
    assert "is not frozen" in lento.explain()


def test_f4_a_read_inside_is_told_with_its_line() -> None:
    def f(x: lento.Tensor) -> lento.Tensor:
        return x * 2 if float(x.sum()) > 0 else -x

    def call(g: Callable[..., Any]) -> None:
        np.testing.assert_array_equal(g(t(1, 2)).numpy(), [2, 4])
        np.testing.assert_array_equal(g(t(-1, 0)).numpy(), [1, 0])

    told(f, call, "read")
    counts = Counts()
    g = lento.compile(f)
    with pytest.warns(RuntimeWarning, match=r"recorded at each call.*at test_compile\.py:\d+"):
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
    with pytest.raises(RuntimeError, match=r"would give something else.*the number 3\.0 was 2\.0.*test_compile\.py"):
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


def test_f4_a_result_or_an_argument_that_contains_itself() -> None:
    def f(x: Any) -> Any:
        made: list[Any] = [x]
        made.append(made)
        return made

    told(f, lambda g: g(ones()), "contains itself")
    nested: list[Any] = []
    nested += [nested, nested]
    told(lambda x, y: y + 1, lambda g: g(nested, ones()), "nested too deeply")


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
