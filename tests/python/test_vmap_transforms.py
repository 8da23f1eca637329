"""vmap beyond the primitives: with derivatives, models, random numbers, trees of axes, and as one plan."""

from __future__ import annotations

from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts
from lento import nn


def loss(model: Any, x: lento.Tensor, y: lento.Tensor) -> lento.Tensor:
    return ((model(x) - y) ** 2).sum()


def data(count: int) -> tuple[lento.Tensor, lento.Tensor]:
    rng = np.random.default_rng(1)
    return lento.asarray(rng.normal(size=(count, 3))), lento.asarray(rng.normal(size=(count, 2)))


def model() -> nn.Module:
    lento.random.seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.LayerNorm(4), nn.Linear(4, 2))


# --- models ---


def test_gradients_of_each_example_of_a_model() -> None:
    net, (x, y) = model(), data(5)
    each = lento.vmap(lento.grad(loss), in_axes=(None, 0, 0))(net, x, y)
    assert isinstance(each, nn.Sequential)
    for i in range(5):
        one = lento.grad(loss)(net, x[i], y[i])
        for (name, got), want in zip(each.parameters().items(), one.parameters().values(), strict=True):
            np.testing.assert_allclose(got[i].numpy(), want.numpy(), rtol=1e-5, atol=1e-6, err_msg=name)


def test_gradients_of_each_example_of_a_convolution() -> None:
    lento.random.seed(0)
    layer = nn.Conv2d(2, 3, 3)
    images = lento.asarray(np.random.default_rng(2).normal(size=(4, 2, 5, 5)).astype(np.float32))
    square = lambda layer, image: (layer(image[None]) ** 2).sum()  # noqa: E731
    each = lento.vmap(lento.grad(square), in_axes=(None, 0))(layer, images)
    for i in range(4):
        one = lento.grad(square)(layer, images[i])
        np.testing.assert_allclose(each.weight[i].numpy(), one.weight.numpy(), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(each.bias[i].numpy(), one.bias.numpy(), rtol=1e-4, atol=1e-4)


def test_a_mapped_step_is_one_plan_that_repeats() -> None:
    net, (x, y) = model(), data(6)
    each = lento.vmap(lento.grad(loss), in_axes=(None, 0, 0))
    lento.wait()

    def step() -> None:
        norms = [(g**2).sum(axis=tuple(range(1, g.ndim))) for g in each(net, x, y).parameters().values()]
        lento.eval(sum(norms))

    for _ in range(3):
        step()
    counts = Counts()
    for _ in range(4):
        step()
    assert (counts["plan.miss"], counts["plan.hit"], counts["kernel.compile"], counts["sync.implicit"]) == (0, 4, 0, 0)


def test_the_function_runs_once() -> None:
    runs = 0

    def f(x: lento.Tensor) -> lento.Tensor:
        nonlocal runs
        runs += 1
        return x * 2

    assert lento.vmap(f)(lento.ones(1000)).shape == (1000,)
    assert runs == 1


def test_shared_arguments_that_would_differ_are_refused_and_kept() -> None:
    total = lento.zeros(2)

    def f(total: lento.Tensor, x: lento.Tensor) -> lento.Tensor:
        total += x
        return x

    with pytest.raises(ValueError, match=r"shape \(2,\) that all examples share"):
        lento.vmap(f, in_axes=(None, 0))(total, lento.ones((3, 2)))
    assert total.tolist() == [0, 0]
    # A change that is the same for all is one.
    lento.vmap(lambda t, x: t.__iadd__(1) * x, in_axes=(None, 0))(total, lento.ones((3, 2)))
    assert total.tolist() == [1, 1]


@pytest.mark.parametrize("transform", [lambda f: f, lento.grad, lento.value_and_grad], ids=["f", "grad", "both"])
@pytest.mark.parametrize("held", [lambda net: net, lambda net: {"net": [net]}], ids=["module", "tree"])
def test_buffers_of_modules_that_would_differ_are_refused_and_kept(transform: Any, held: Any) -> None:
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))

    def f(tree: Any, x: lento.Tensor) -> lento.Tensor:
        (module,) = tree["net"] if isinstance(tree, dict) else [tree]
        return (module(x) ** 2).sum()

    x = lento.asarray(np.random.default_rng(5).normal(size=(4, 6, 3)).astype(np.float32))
    before = {name: buffer.numpy() for name, buffer in net.buffers().items()}
    with pytest.raises(ValueError, match=r"a module's buffer of shape \(2,\) that all examples share.*use eval\(\)"):
        lento.vmap(transform(f), in_axes=(None, 0))(held(net), x)
    for name, buffer in net.buffers().items():
        np.testing.assert_array_equal(buffer.numpy(), before[name], err_msg=name)
    net.eval()
    lento.tree.leaves(lento.vmap(transform(f), in_axes=(None, 0))(held(net), x))


# --- with derivatives ---


def test_forward_mode_inside_and_outside() -> None:
    f = lambda x: lento.sin(x).sum() * x[0]  # noqa: E731
    x, v = data(4)[0], lento.asarray(np.random.default_rng(3).normal(size=(4, 3)))
    inside = lento.vmap(lambda a, b: lento.jvp(f, (a,), (b,))[1])(x, v)
    value, outside = lento.jvp(lento.vmap(f), (x,), (v,))
    n, d = x.numpy(), v.numpy()
    np.testing.assert_allclose(value.numpy(), np.sin(n).sum(1) * n[:, 0])
    expected = (np.cos(n) * d).sum(1) * n[:, 0] + np.sin(n).sum(1) * d[:, 0]
    np.testing.assert_allclose(inside.numpy(), expected)
    np.testing.assert_allclose(outside.numpy(), expected)


def test_hessians_of_each_example() -> None:
    unit = lento.eye(3, dtype=lento.float64)
    f = lambda x: (x**3).sum()  # noqa: E731
    hessian = lambda x: lento.vmap(lambda v: lento.jvp(lento.grad(f), (x,), (v,))[1])(unit)  # noqa: E731
    x = data(4)[0]
    expected = np.stack([np.diag(6 * row) for row in x.numpy()])
    np.testing.assert_allclose(lento.vmap(hessian)(x).numpy(), expected, atol=1e-12)


def test_jacobians_by_reverse_mode() -> None:
    matrix, x = lento.asarray(np.random.default_rng(4).normal(size=(2, 3))), data(1)[0][0]
    _, pull = lento.vjp(lambda x: lento.tanh(matrix @ x), x)
    rows = lento.vmap(lambda g: pull(g)[0])(lento.eye(2, dtype=lento.float64))
    m = matrix.numpy()
    np.testing.assert_allclose(rows.numpy(), (1 - np.tanh(m @ x.numpy()) ** 2)[:, None] * m)


def test_checkpointed_functions() -> None:
    plain = lambda x: (lento.tanh(x) * x).sum()  # noqa: E731
    block = lento.checkpoint(plain)
    x = data(4)[0]
    n = x.numpy()
    expected = np.tanh(n) + n * (1 - np.tanh(n) ** 2)
    np.testing.assert_allclose(lento.vmap(lento.grad(block))(x).numpy(), expected)
    np.testing.assert_allclose(lento.grad(lambda x: lento.vmap(block)(x).sum())(x).numpy(), expected)


# --- random numbers ---


def test_random_numbers_are_refused_unless_said() -> None:
    noisy = lambda x: x + lento.random.uniform((2,))  # noqa: E731
    with pytest.raises(ValueError, match=r"randomness 'same' or 'different'.*test_vmap_transforms\.py"):
        lento.vmap(noisy)(lento.zeros(3))
    with pytest.raises(ValueError, match="not 'others'"):
        lento.vmap(noisy, randomness="others")
    same = lento.vmap(noisy, randomness="same")(lento.zeros(3)).numpy()
    assert len(np.unique(same)) == 2
    different = lento.vmap(noisy, randomness="different")(lento.zeros(3)).numpy()
    assert len(np.unique(different)) == 6


def test_different_random_numbers_follow_from_the_seed() -> None:
    def draw(seed: int) -> Any:
        lento.random.seed(seed)
        two = lento.vmap(lambda x: (x + lento.random.normal(()), lento.random.normal(())), randomness="different")
        return np.stack([a.numpy() for a in two(lento.zeros(1000))])

    first = draw(1)
    np.testing.assert_array_equal(first, draw(1))
    both = np.concatenate([first, draw(2)])
    assert len(np.unique(both)) > 3990
    assert np.abs(np.corrcoef(both) - np.eye(4)).max() < 0.15
    np.testing.assert_allclose(both.mean(1), 0, atol=0.15)
    np.testing.assert_allclose(both.std(1), 1, atol=0.1)


def test_nested_maps_draw_for_each_pair() -> None:
    inner = lento.vmap(lambda y: y + lento.random.uniform(()), randomness="different")
    table = lento.vmap(lambda x: inner(lento.zeros(4)) + x, randomness="different")(lento.zeros(3))
    assert table.shape == (3, 4)
    assert len(np.unique(table.numpy())) == 12


def test_a_checkpoint_draws_the_same_again() -> None:
    dropped = lento.checkpoint(lambda x: (x * lento.random.uniform((2,))).sum())
    x = lento.ones((3, 2))
    value, pull = lento.vjp(lento.vmap(dropped, randomness="different"), x)
    (gradient,) = pull(lento.ones(3))
    np.testing.assert_allclose(gradient.numpy().sum(1), value.numpy(), rtol=1e-6)


# --- axes ---


def test_trees_of_axes_are_matched_by_key_and_may_be_shorter() -> None:
    p = {"a": lento.zeros((3, 2)), "b": [lento.ones((2, 3)), lento.full((5, 3), 2.0)], "c": lento.asarray(4.0)}
    axes = {"c": None, "b": 1, "a": 0}
    f = lambda p: {"x": p["a"] + p["b"][0], "y": (p["b"][1], p["c"])}  # noqa: E731
    result = lento.vmap(f, in_axes=(axes,), out_axes={"y": (1, None), "x": 0})(p)
    assert (result["x"].shape, result["y"][0].shape, result["y"][1].shape) == ((3, 2), (5, 3), ())
    assert result["y"][1].tolist() == 4


def test_keyword_arguments_are_mapped_along_their_first_axis() -> None:
    f = lambda x, *, scale, power: scale * x**power  # noqa: E731
    result = lento.vmap(f, in_axes=(None,))(lento.asarray(3.0), scale=lento.asarray([1.0, 2.0]), power=2)
    assert result.tolist() == [9, 18]


WRONG_AXES: list[tuple[Any, Any, type[Exception], str]] = [
    (5, 0, IndexError, r"shape \(3, 2\) has no axis 5; in_axes None is for"),
    (-3, 0, IndexError, r"has no axis -3"),
    ("a", 0, TypeError, r"in_axes must be an int, None, or a tree of them, not 'a'"),
    (True, 0, TypeError, r"not True"),
    (({"w": 0},), 0, ValueError, r"in_axes has the keys \['w'\] for a Tensor"),
    (((0, 0),), 0, ValueError, r"in_axes has 2 entries for a Tensor"),
    (0, (0, 0), ValueError, r"out_axes has 2 entries for a Tensor"),
    (0, 1.5, TypeError, r"out_axes must be an int"),
    (0, 4, IndexError, r"axis 4 is out of range"),
    (0, None, ValueError, r"shape \(2,\) differs between the examples"),
]


@pytest.mark.parametrize(("in_axes", "out_axes", "error", "text"), WRONG_AXES)
def test_wrong_axes_are_said(in_axes: Any, out_axes: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        lento.vmap(lambda x: x, in_axes=in_axes, out_axes=out_axes)(lento.ones((3, 2)))


def test_arrays_of_numpy_have_examples_too() -> None:
    rows = np.arange(6.0).reshape(3, 2)
    assert lento.vmap(lambda x, y: x.sum() + y)(rows, lento.ones(3)).tolist() == [2, 6, 10]
    assert lento.vmap(lambda x: x.sum(), in_axes=1)(rows).tolist() == [6, 9]
    assert lento.vmap(lambda x, y: (x * y).sum(), in_axes=(0, None))(rows, np.ones(2)).tolist() == [1, 5, 9]
    gradients = lento.vmap(lento.grad(lambda w, x: (w * x).sum()), in_axes=(None, 0))(lento.ones(2), rows)
    assert gradients.tolist() == rows.tolist()
    with pytest.raises(IndexError, match=r"an argument of shape \(3, 2\) has no axis 2"):
        lento.vmap(lambda x: x, in_axes=2)(rows)


# --- reads ---


@pytest.mark.parametrize(
    "read",
    [lambda x: x.item(), bool, np.asarray, lambda x: x.tolist(), lambda x: lento.ones(1)[x > 0], lento.nonzero],
    ids=["item", "bool", "asarray", "tolist", "mask", "nonzero"],
)
def test_reads_name_their_line(read: Any) -> None:
    with pytest.raises(ValueError, match=r"stands for all examples.*test_vmap_transforms\.py:\d+"):
        lento.vmap(lambda x: (read(x[None] if x.ndim == 0 else x), x)[1])(lento.ones((3, 1)))


# --- functions with derivatives of their own ---


@pytest.mark.parametrize(
    "captures",
    [
        lambda w, x: lento.checkpoint(lambda h: h * x)(w * x),
        lambda w, x: lento.checkpoint(lambda v: v * v * x)(w),
        lambda w, x: lento.vmap(lambda b: lento.checkpoint(lambda c: c * x)(b))(lento.ones(2) * w),
    ],
    ids=["beside an example", "alone", "in a vmap of its own"],
)
def test_derivatives_by_captured_examples_are_refused(captures: Any) -> None:
    xs = lento.asarray([1.0, 2.0, 3.0])
    w = lento.asarray(2.0)
    total = lambda w: lento.vmap(lambda x: captures(w, x))(xs).sum()  # noqa: E731
    assert np.isfinite(total(w).item())  # the value alone is right
    with pytest.raises(ValueError, match="not one of its arguments"):
        lento.grad(total)(w)


def test_derivative_of_a_checkpoint_that_draws_other_numbers_for_each_example() -> None:
    def total(w: lento.Tensor) -> lento.Tensor:
        lento.random.seed(3)
        one = lambda x: lento.checkpoint(lambda w: w * (lento.random.uniform(()) + 1))(w) + 0 * x  # noqa: E731
        return lento.vmap(one, randomness="different")(lento.ones(3)).sum()

    w = lento.asarray(2.0)
    # It is linear in w.
    np.testing.assert_allclose(lento.grad(total)(w).item(), total(w).item() / 2, rtol=1e-6)


def test_a_derivative_that_gives_too_much_is_said() -> None:
    f = lento.custom_gradient(lambda x: x * 2, lambda inputs, outputs, grads: [grads[0], grads[0]])
    with pytest.raises(ValueError, match="2 cotangents for 1 inputs"):
        lento.grad(lambda x: lento.vmap(f)(x).sum())(lento.ones(3))


def test_shared_arguments_keep_their_values_when_the_function_fails() -> None:
    def f(x: lento.Tensor, shared: lento.Tensor) -> lento.Tensor:
        shared += x
        raise KeyError("no")

    shared = lento.asarray([1.0, 1.0])
    with pytest.raises(KeyError):
        lento.vmap(f, in_axes=(0, None))(lento.asarray([[4.0, 4.0], [7.0, 7.0]]), shared)
    np.testing.assert_array_equal(shared.numpy(), [1, 1])


@pytest.mark.parametrize(("yes", "no"), [(1, 2), (True, False), (1.5, 2), (1j, 2)], ids=str)
def test_where_of_two_numbers(yes: Any, no: Any) -> None:
    conditions = lento.asarray([[True, False], [False, False]])
    got = lento.vmap(lambda c: lento.where(c, yes, no))(conditions)
    want = lento.where(conditions, yes, no)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_a_function_with_a_result_that_is_the_same_for_all_examples() -> None:
    f = lento.custom_gradient(
        lambda w, x: [w * 2, x * w], lambda inputs, outputs, grads: [2 * grads[0] + inputs[1] * grads[1], None]
    )
    total = lambda w: sum(y.sum() for y in lento.vmap(lambda x: f(w, x))(lento.asarray([1.0, 2.0, 3.0])))  # noqa: E731
    assert total(lento.asarray(2.0)).item() == 12 + 12
    assert lento.grad(total)(lento.asarray(2.0)).item() == 3 * 2 + 6


def test_an_index_out_of_range_is_the_users() -> None:
    rows = lento.reshape(lento.arange(20.0), (4, 5))
    with pytest.raises(IndexError, match=r"index 7 is out of range for axis \d of length 5"):
        lento.vmap(lento.take)(rows, lento.asarray([[1], [7], [2], [1]])).numpy()
    np.testing.assert_array_equal(
        lento.vmap(lento.take)(rows, lento.asarray([[1], [-1], [2], [1]])).numpy(), [[1], [9], [12], [16]]
    )
