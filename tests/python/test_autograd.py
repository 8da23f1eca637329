"""grad, value_and_grad, vjp, jvp: what they promise beyond the derivatives of single ops."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import lento
import numpy as np
import pytest


def t(*values: float) -> lento.Tensor:
    return lento.asarray(np.array(values, np.float64))


# --- what a function may do ---


def test_control_flow_and_reads_inside() -> None:
    def f(x: lento.Tensor) -> lento.Tensor:
        y = x * 2
        for _ in range(3):
            if y.sum().item() > 0:  # computes y, which forgets its graph; the derivative does not
                y = y * x
        lento.step()
        return y.sum()

    np.testing.assert_allclose(lento.grad(f)(t(1, 2)).numpy(), [8, 64])


def test_in_place_changes_and_indexing() -> None:
    def f(x: lento.Tensor) -> lento.Tensor:
        y = x * 1
        y += x
        y[0] = y[1] * 3
        x *= 2  # the function's own handle
        return (y * y).sum() + x.sum()

    x = t(5, 7)
    # y = (6 x1, 2 x1), so the sum of squares is 40 x1².
    np.testing.assert_allclose(lento.grad(f)(x).numpy(), [2, 80 * 7 + 2])
    np.testing.assert_array_equal(x.numpy(), [5, 7])


def test_what_is_captured_is_a_constant() -> None:
    x = t(5)
    gradient = lento.grad(lambda y: (x * y).sum())(x)
    np.testing.assert_array_equal(gradient.numpy(), [5])


def test_perturbations_are_not_confused() -> None:
    """d/dx (x · d/dy (x + y)) = 1: the inner derivative is by y alone."""
    f = lambda x: x * lento.grad(lambda y: x + y)(x)  # noqa: E731
    assert float(lento.grad(f)(lento.asarray(5.0))) == 1
    g = lambda x: x * lento.jvp(lambda y: x * y, (x,), (lento.ones_like(x),))[1]  # noqa: E731
    assert float(lento.grad(g)(lento.asarray(5.0))) == 10


def test_unused_arguments_have_zeros() -> None:
    gradient = lento.grad(lambda x, y: (x * 2).sum(), argnums=(0, 1))(t(1, 2), lento.ones((2, 3)))
    np.testing.assert_array_equal(gradient[0].numpy(), [2, 2])
    np.testing.assert_array_equal(gradient[1].numpy(), np.zeros((2, 3)))
    constant = lento.grad(lambda x: lento.asarray(3.0))(t(1))
    np.testing.assert_array_equal(constant.numpy(), [0])


# --- tensors where numbers are expected ---


def test_tensors_in_lists_keep_their_derivative() -> None:
    def assigned(x: lento.Tensor) -> lento.Tensor:
        y = lento.zeros(2, dtype=lento.float64)
        y[:] = [x[1], x[0] * 3]
        return (y**2).sum()

    x = t(1, 2)
    np.testing.assert_array_equal(lento.grad(assigned)(x).numpy(), [18, 4])
    matrix = lento.grad(lambda x: (lento.asarray([[x[0], 5], [7, x[1]]]) @ x).sum())(x)  # x0² + 5 x1 + 7 x0 + x1²
    np.testing.assert_array_equal(matrix.numpy(), [9, 9])
    rows = lento.grad(lambda x: (lento.asarray([x, [3.0, 4.0], x * x]) ** 2).sum())(x)
    np.testing.assert_array_equal(rows.numpy(), [2 + 4, 4 + 4 * 8])


def test_a_filled_or_moved_tensor_keeps_its_derivative() -> None:
    x = t(1, 2)
    np.testing.assert_array_equal(lento.grad(lambda x: lento.full((3,), x[0]).sum())(x).numpy(), [3, 0])
    moved = lambda x: (x.to_device("reference") ** 3).sum()  # noqa: E731
    gradient = lento.grad(moved)(x)
    np.testing.assert_array_equal(gradient.numpy(), [3, 12])
    assert gradient.device == x.device
    second = lento.grad(lambda x: lento.grad(moved)(x).sum())(x)
    np.testing.assert_array_equal(second.numpy(), [6, 12])
    tangent = lento.jvp(lambda x: x.to_device("reference") * 2, (x,), (t(1, 10),))[1]
    np.testing.assert_array_equal(tangent.numpy(), [2, 20])


@pytest.mark.parametrize(
    "function,words",
    [
        (lambda x: lento.linspace(0.0, x[0], 3), r"linspace\(\): argument 'stop'"),
        (lambda x: lento.pad(x, (1, 1), constant_values=x[0]), r"pad\(\): argument 'constant_values'"),
        (lambda x: lento.nn.leaky_relu(x, x[0]), r"leaky_relu\(\): argument 'negative_slope'"),
    ],
    ids=["linspace", "pad", "leaky_relu"],
)
def test_a_number_that_would_lose_its_derivative_is_refused(function: Any, words: str) -> None:
    x = t(1, 2)
    with pytest.raises(ValueError, match=words + r".*being differentiated; write stop_gradient\(x\) or x\.item\(\)"):
        lento.grad(lambda x: function(x).sum())(x)
    assert function(x).size > 0  # no derivative, no trouble


def test_numbers_that_are_meant_as_constants_are_taken() -> None:
    x = t(2, 3)
    for constant in (lambda y: y.item(), float, lento.stop_gradient, lambda y: lento.argmax(x)):
        gradient = lento.grad(lambda x, c=constant: (lento.linspace(0.0, c(x[0]), 3) * x[1]).sum())(x)
        assert gradient[0].item() == 0
        assert gradient[1].item() == pytest.approx(1.5 * constant(x[0]))


def test_sums_of_gradients_show_the_line_where_they_meet() -> None:
    def f(x: lento.Tensor) -> lento.Tensor:
        y = lento.sin(x)
        return (y * x).sum() + y.sum()

    text = lento.dump(lento.grad(f)(t(1, 2)))
    sums = [line for line in text.splitlines() if "= add(" in line]
    first = f.__code__.co_firstlineno
    assert [line.split("@ ")[1] for line in sums] == [f"test_autograd.py:{first + 2}", f"test_autograd.py:{first + 1}"]


# --- nesting ---


def test_derivatives_of_every_order() -> None:
    f = lambda x: lento.sin(x) * lento.exp(x)  # noqa: E731
    x = 0.7
    expected = [
        np.exp(x) * (np.sin(x) + np.cos(x)),
        2 * np.exp(x) * np.cos(x),
        2 * np.exp(x) * (np.cos(x) - np.sin(x)),
        -4 * np.exp(x) * np.sin(x),
    ]
    for value in expected:
        f = lento.grad(f)
        assert float(f(lento.asarray(np.float64(x)))) == pytest.approx(value, rel=1e-12)


def hessian(f: Any, x: lento.Tensor) -> np.ndarray:
    rows = [lento.jvp(lento.grad(f), (x,), (lento.asarray(row),))[1].numpy() for row in np.eye(x.size)]
    return np.stack(rows)


def test_hessian_by_forward_over_reverse_and_the_other_ways() -> None:
    a = np.random.default_rng(0).normal(size=(4, 4))
    f = lambda x: (lento.tanh(lento.asarray(a) @ x) ** 2).sum()  # noqa: E731
    x = lento.asarray(np.linspace(-1, 1, 4))
    forward_over_reverse = hessian(f, x)
    np.testing.assert_allclose(forward_over_reverse, forward_over_reverse.T, atol=1e-12)
    for i, row in enumerate(np.eye(4)):
        unit = lento.asarray(row)
        reverse_over_reverse = lento.grad(lambda y, unit=unit: (lento.grad(f)(y) * unit).sum())(x)
        reverse_over_forward = lento.grad(lambda y, unit=unit: lento.jvp(f, (y,), (unit,))[1])(x)
        np.testing.assert_allclose(reverse_over_reverse.numpy(), forward_over_reverse[i], atol=1e-12)
        np.testing.assert_allclose(reverse_over_forward.numpy(), forward_over_reverse[i], atol=1e-12)
        np.testing.assert_allclose(
            lento.jvp(lambda y, unit=unit: lento.jvp(f, (y,), (unit,))[1], (x,), (unit,))[1].numpy(),
            forward_over_reverse[i, i],
            atol=1e-12,
        )


# --- forms ---


class Pair(NamedTuple):
    first: lento.Tensor
    second: lento.Tensor


def test_trees_come_back_in_their_form() -> None:
    arguments = {"w": t(1, 2), "more": [Pair(t(3), t(4)), (t(5), 7)], "n": lento.asarray([1, 2]), "none": None}

    def f(p: Any) -> lento.Tensor:
        assert p["none"] is None
        assert p["more"][1][1] == 7
        return (p["w"] * p["n"]).sum() + (p["more"][0].first * p["more"][0].second * p["more"][1][0]).sum()

    value, gradient = lento.value_and_grad(f)(arguments)
    assert float(value) == 5 + 60
    assert list(gradient) == list(arguments)
    assert isinstance(gradient["more"][0], Pair)
    np.testing.assert_array_equal(gradient["w"].numpy(), [1, 2])
    assert [float(x) for x in (*gradient["more"][0], gradient["more"][1][0])] == [20, 15, 12]
    assert gradient["n"] is None and gradient["more"][1][1] is None and gradient["none"] is None


def test_has_aux_and_keywords() -> None:
    f = lambda x, *, scale: ((x * scale).sum(), {"seen": x + 1})  # noqa: E731
    (value, aux), gradient = lento.value_and_grad(f, has_aux=True)(t(1, 2), scale=3.0)
    assert float(value) == 9
    np.testing.assert_array_equal(aux["seen"].numpy(), [2, 3])
    np.testing.assert_array_equal(gradient.numpy(), [3, 3])
    gradient, aux = lento.grad(f, has_aux=True)(t(1, 2), scale=3.0)
    np.testing.assert_array_equal(gradient.numpy(), [3, 3])


def test_argnums() -> None:
    f = lambda x, y: (x * y * y).sum()  # noqa: E731
    assert float(lento.grad(f, 1)(t(2), t(3)).sum()) == 12
    assert float(lento.grad(f, -1)(t(2), t(3)).sum()) == 12
    assert [float(g.sum()) for g in lento.grad(f, (1, 0))(t(2), t(3))] == [12, 9]
    with pytest.raises(ValueError, match="no argument 2"):
        lento.grad(f, 2)(t(2), t(3))


ALONE = [2.0, 1j, np.ones(2), np.float32(3), {"a": [np.ones(2), 1]}]


@pytest.mark.parametrize("argument", ALONE, ids=["float", "complex", "array", "scalar", "tree"])
def test_arguments_beside_tensors_are_constants(argument: Any) -> None:
    f = lambda x, y: y.sum()  # noqa: E731
    # Nobody asked for a gradient by what is not named.
    assert lento.grad(f, 1)(argument, t(1)).tolist() == [1]
    assert lento.grad(lambda x: x[1].sum())((argument, t(1)))[1].tolist() == [1]
    # Alone they are followed like tensors.
    assert lento.tree.leaves(lento.grad(f)(argument, t(1)))[0].tolist() in (0, [0, 0])


def test_whole_numbers_have_no_gradient() -> None:
    for argument in (3, "text", None, np.arange(2)):
        with pytest.raises(TypeError, match="argument 0 must be floating, and is of type "):
            lento.grad(lambda i, x: x.sum())(argument, t(1))
    with pytest.raises(TypeError, match="argument 0 must be floating, not int64"):
        lento.grad(lambda i, x: x.sum())(lento.asarray([1]), t(1))
    # A place or a label is passed on: these take all arguments.
    for place in (0, np.array([0]), lento.asarray([0])):
        _, pull = lento.vjp(lambda x, i: x[i].sum(), t(1, 2), place)
        gradient, nothing = pull(lento.asarray(np.float64(1)))
        assert (gradient.tolist(), nothing) == ([1, 0], None)
    # What has no parameters has a gradient without any.
    assert lento.grad(lambda p, x: x.sum())({}, t(1)) == {}


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (lambda s: s, "not a Tensor"),
        (lambda s: (s,), "not 1 entries"),
        (lambda s: [s, 1, 2], "not 3 entries"),
        (lambda s: {"value": s, "aux": 1}, "not a dict"),
    ],
    ids=["tensor", "one", "three", "dict"],
)
def test_has_aux_takes_exactly_a_pair(result: Any, words: str) -> None:
    for transform in (lento.grad, lento.value_and_grad):
        with pytest.raises(TypeError, match=rf"with has_aux the function must give a pair.*, {words}"):
            transform(lambda x: result(x.reshape(1)), has_aux=True)(t(2))
        assert transform(lambda x: [x.sum(), "aux"], has_aux=True)(t(2)) is not None


def test_vjp_pulls_often_and_by_several_results() -> None:
    (y, _), pull = lento.vjp(lambda x: (x * x, x.sum()), t(1, 2))
    np.testing.assert_array_equal(y.numpy(), [1, 4])
    for scale in (1.0, 2.0):
        (cotangent,) = pull((t(scale, 0), lento.asarray(np.float64(3))))
        np.testing.assert_array_equal(cotangent.numpy(), [2 * scale + 3, 3])
    with pytest.raises(ValueError, match="cotangents"):
        pull(t(1, 2))


# --- constants, custom derivatives ---


def test_stop_gradient() -> None:
    f = lambda x: (x * lento.stop_gradient(x * x)).sum()  # noqa: E731
    np.testing.assert_array_equal(lento.grad(f)(t(3)).numpy(), [9])
    assert float(lento.jvp(f, (t(3),), (t(1),))[1]) == 9
    assert float(lento.stop_gradient(lento.asarray(2.0))) == 2


def test_custom_gradient() -> None:
    calls = []

    def backward(inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        calls.append(len(inputs))
        return [cotangents[0] * outputs[0] * 100, None]

    f = lento.custom_gradient(lambda x, y: x * y, backward)
    assert float(f(t(2), t(3)).sum()) == 6
    gx, gy = lento.grad(lambda x, y: f(x, y).sum(), (0, 1))(t(2), t(3))
    assert calls == [2]
    np.testing.assert_array_equal(gx.numpy(), [600])
    np.testing.assert_array_equal(gy.numpy(), [0])
    # Its derivative is differentiated in turn.
    second = lento.grad(lambda x: lento.grad(lambda z: f(z, z * 0 + 3).sum())(x).sum())(t(2))
    # The gradient is 100 f, and the derivative of f is 100 f again: 100 · 100 · 6.
    np.testing.assert_array_equal(second.numpy(), [60_000])
    wrong = lento.custom_gradient(lambda x: x, lambda xs, ys, gs: [])
    with pytest.raises(ValueError, match="0 cotangents for 1"):
        lento.grad(lambda x: wrong(x).sum())(t(1))


def test_what_a_concealed_function_captures_is_refused() -> None:
    """Its derivative would be lost without a word."""
    w = t(2)
    for concealed in (
        lambda f: lento.checkpoint(f),
        lambda f: lento.custom_gradient(f, lambda xs, ys, gs: [gs[0]]),
    ):
        with pytest.raises(ValueError, match="not one of its arguments"):
            lento.grad(lambda w, concealed=concealed: concealed(lambda x: x * w)(t(3)).sum())(w)
        # A constant is no trouble, nor is what is marked as one.
        lento.grad(lambda x, concealed=concealed: concealed(lambda x: x * w)(x).sum())(t(3))
        lento.grad(lambda w, concealed=concealed: concealed(lambda x: x * lento.stop_gradient(w))(w).sum())(w)


def test_results_changed_in_place_do_not_change_the_pull() -> None:
    y, pull = lento.vjp(lambda x: x * x, t(1, 2))
    y += 1
    np.testing.assert_array_equal(pull(t(1, 1))[0].numpy(), [2, 4])


def test_dicts_are_matched_by_their_keys() -> None:
    assert lento.tree.map(lambda a, b: a - b, {"a": 5, "b": 7}, {"b": 1, "a": 2}) == {"a": 3, "b": 6}
    _, tangent = lento.jvp(lambda p: p["a"] * 10 + p["b"], ({"a": t(1), "b": t(2)},), ({"b": t(0), "a": t(1)},))
    np.testing.assert_array_equal(tangent.numpy(), [10])
    _, pull = lento.vjp(lambda x: {"a": x * 10, "b": x}, t(1))
    np.testing.assert_array_equal(pull({"b": t(0), "a": t(1)})[0].numpy(), [10])
    for wrong in ({"a": 1}, {"a": 1, "c": 2}, [1, 2], 3):
        with pytest.raises(ValueError, match="keys"):
            lento.tree.map(lambda a, b: a, {"a": 5, "b": 7}, wrong)
    with pytest.raises(ValueError, match="parts"):
        lento.tree.map(lambda a, b: a, [1, 2], [1])


def test_products_of_nothing() -> None:
    for left, right in [((2, 3, 0), (0, 5)), ((2, 3, 4), (4, 0)), ((3, 0), (2, 0, 5)), ((2, 3, 0), (0,))]:
        gradients = lento.grad(lambda a, b: (a @ b).sum(), (0, 1))(lento.ones(left), lento.ones(right))
        assert [g.shape for g in gradients] == [left, right]


# --- complex numbers: PyTorch's convention ---


def test_complex_gradients_point_uphill() -> None:
    z = lento.asarray(np.array([1 + 2j, -3j]))
    gradient = lento.grad(lambda z: lento.real(z * lento.conj(z)).sum())(z)
    np.testing.assert_allclose(gradient.numpy(), 2 * z.numpy())
    holomorphic = lento.grad(lambda z: lento.real(z * z).sum())(z)
    np.testing.assert_allclose(holomorphic.numpy(), np.conj(2 * z.numpy()))
    through_real = lento.grad(lambda x: lento.real((x * 1j) ** 2).sum())(t(3))
    np.testing.assert_allclose(through_real.numpy(), [-6])


# --- errors ---


def test_what_has_no_derivative_is_an_error_with_its_line() -> None:
    def f(x: lento.Tensor) -> lento.Tensor:
        return lento.nextafter(x, lento.ones_like(x)).sum()

    with pytest.raises(ValueError, match=r"'nextafter' \(test_autograd\.py:\d+\) has no derivative.*stop_gradient"):
        lento.grad(f)(t(1))
    # Not on the way to the result: no trouble.
    np.testing.assert_array_equal(lento.grad(lambda x: (f(x), x.sum())[1])(t(1)).numpy(), [1])


def test_wrong_use() -> None:
    with pytest.raises(ValueError, match=r"must give a scalar, not a tensor of shape \(2,\)"):
        lento.grad(lambda x: x)(t(1, 2))
    with pytest.raises(TypeError, match="real floating number, not complex128; take its real part"):
        lento.grad(lambda x: (x * 1j).sum())(t(1))
    with pytest.raises(TypeError, match="not float"):
        lento.grad(lambda x: 1.0)(t(1))
    with pytest.raises(TypeError, match="not int64"):
        lento.grad(lambda x: x.sum())(lento.asarray([1, 2]))
    with pytest.raises(ZeroDivisionError):
        lento.grad(lambda x: 1 / 0)(t(1))
    # Nothing is left behind by a function that raised.
    np.testing.assert_array_equal(lento.grad(lambda x: (x * x).sum())(t(3)).numpy(), [6])


def test_a_transform_that_fails_in_another_thread_leaves_nothing_behind() -> None:
    def fail() -> None:
        endless: list[Any] = [t(1)]
        endless.append(endless)
        lento.grad(lambda p: p[0].sum())(endless)

    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(ValueError, match="contains itself"):
            pool.submit(fail).result()
        gc.collect()
        assert pool.submit(lambda: float((t(1, 2) + 1).sum())).result() == 5
        # One that is dropped here, before its end there.
        kept = [pool.submit(lento._core._Differentiation).result()]
        kept.clear()
        gc.collect()
        assert pool.submit(lambda: float((t(1, 2) + 1).sum())).result() == 5


class _Holder:
    """Holds a derivative that holds it."""

    def __init__(self, wrap: Any) -> None:
        self.layer = wrap(self)
        self.value, self.pull = lento.vjp(lambda x: self.layer(x) * 2, t(1, 2))

    def forward(self, x: lento.Tensor) -> lento.Tensor:
        return x * x

    def backward(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return [cotangents[0] * 10]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda holder: lento.custom_gradient(holder.forward, holder.backward),
        lambda holder: lento.checkpoint(holder.forward),
        lambda holder: lento.checkpoint(lento.custom_gradient(holder.forward, holder.backward)),
        lambda holder: lento.vmap(lento.custom_gradient(holder.forward, holder.backward)),
        lambda holder: lento.vmap(lento.checkpoint(holder.forward)),
        lambda holder: lambda x: lento.vmap(lento.vmap(lento.checkpoint(holder.forward)))(x.reshape((1, 2)))[0],
    ],
    ids=["custom_gradient", "checkpoint", "both", "vmap custom_gradient", "vmap checkpoint", "vmap vmap checkpoint"],
)
def test_a_cycle_through_a_derivative_is_collected(wrap: Any) -> None:
    holder = _Holder(wrap)
    gc.collect()  # what is in use stays
    assert holder.pull(t(1, 1))[0].shape == (2,)
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None


# --- the engine ---


def test_a_step_with_its_gradient_is_one_plan_that_repeats() -> None:
    w = lento.asarray(np.ones((4, 3), np.float32))
    x = lento.asarray(np.ones((8, 4), np.float32))
    for i in range(4):
        before = lento.metrics.counter("plan.miss")
        _, gradient = lento.value_and_grad(lambda w: (lento.tanh(x @ w) ** 2).mean())(w)
        w -= 0.1 * (i + 1) * gradient  # a rate that changes
        lento.step()
        if i > 1:
            assert lento.metrics.counter("plan.miss") == before


def test_gradients_of_a_long_chain() -> None:
    def f(x: lento.Tensor) -> lento.Tensor:
        for _ in range(20_000):
            x = x * 0.9999
        return x.sum()

    assert float(lento.grad(f)(t(1)).sum()) == pytest.approx(0.9999**20_000, rel=1e-9)


def test_a_captured_tensor_that_is_moved_is_refused_too() -> None:
    def moved(x: lento.Tensor) -> lento.Tensor:
        return lento.checkpoint(lambda y: x.to_device("reference").to_device("cpu") * y)(x * 1)

    with pytest.raises(ValueError, match="not one of its arguments"):
        lento.grad(moved)(lento.asarray(2.0))


@pytest.mark.parametrize("given,name", [(None, "NoneType"), (lento.ones(2), "Tensor")], ids=["None", "tensor"])
def test_a_backward_function_that_gives_no_list_is_named(given: Any, name: str) -> None:
    square = lento.custom_gradient(lambda x: x * x, lambda inputs, outputs, cotangents: given)
    with pytest.raises(TypeError, match=f"backward gives a list with a cotangent for each input, not {name}"):
        lento.grad(lambda x: square(x).sum())(lento.ones(2))


def test_arguments_of_jvp_are_a_tuple() -> None:
    with pytest.raises(TypeError, match=r"jvp\(\): primals is a tuple .* not a? ?Tensor"):
        lento.jvp(lambda x: x, lento.ones(3), (lento.ones(3),))  # type: ignore[arg-type]
