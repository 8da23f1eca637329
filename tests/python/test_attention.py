"""Attention without its scores in memory: values, derivatives of every order, vmap, bits and memory, beside the same
made of matrix products and a softmax. Errors are those of sums in the element type: eps times the length of the
sums."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import lento
import numpy as np
import pytest
from lento import nn

prim = lento._core.prim
WIDE = 300  # more than two blocks of keys, and no multiple of one


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = lento.get_num_threads()
    yield lento.set_num_threads
    lento.set_num_threads(before)


def normal(*shape: int, seed: int = 0, dtype: str = "float64") -> Any:
    return lento.asarray(np.random.default_rng([seed, *shape]).normal(size=shape).astype(dtype))


def composed(q: Any, k: Any, v: Any, mask: Any = None, is_causal: bool = False) -> Any:
    """What it is, of other ops."""
    k, v = (lento.repeat(x, q.shape[-3] // x.shape[-3], axis=-3) for x in (k, v))
    scores = q @ lento.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if is_causal:
        scores = lento.where(lento.tril(lento.ones(scores.shape[-2:], dtype=lento.bool)), scores, -np.inf)
    if mask is not None:
        scores = lento.where(mask, scores, -np.inf) if mask.dtype == lento.bool else scores + mask
    return lento.softmax(scores) @ v


def attended(q: Any, k: Any, v: Any, mask: Any = None, is_causal: bool = False) -> Any:
    return nn.scaled_dot_product_attention(q, k, v, mask, is_causal=is_causal, enable_gqa=True)


def close(actual: Any, expected: Any, length: int) -> None:
    """Elements are about 1: sums of `length` products in their type, of some products of sums."""
    expected = expected.numpy()
    bound = 16 * length * np.finfo(expected.dtype).eps * max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(actual.numpy(), expected, rtol=0, atol=bound)


CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], Any, bool]] = {
    "plain": ((2, 4, 7, 5), (2, 4, 9, 5), None, False),
    "causal": ((2, 2, WIDE, 8), (2, 2, WIDE, 8), None, True),
    "causal, more keys": ((1, 1, 70, 4), (1, 1, WIDE, 4), None, True),
    "causal, more queries": ((1, 2, WIDE, 4), (1, 2, 70, 4), None, True),
    "shared heads": ((2, 6, 40, 8), (2, 2, 150, 8), None, False),
    "bool mask": ((2, 3, 20, 4), (2, 3, 150, 4), (2, 1, 20, 150), False),
    "float mask": ((2, 3, 20, 4), (2, 3, 150, 4), (20, 150), False),
}


def operands(name: str, dtype: str = "float64") -> tuple[list[Any], bool]:
    queries, keys, mask, causal = CASES[name]
    tensors = [normal(*queries, dtype=dtype), normal(*keys, seed=1, dtype=dtype), normal(*keys, seed=2, dtype=dtype)]
    if mask is not None:
        added = normal(*mask, seed=3, dtype=dtype)
        tensors.append(added > -1 if name == "bool mask" else added)
    return tensors, causal


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_the_composition(name: str, dtype: str) -> None:
    tensors, causal = operands(name, dtype)
    weights = normal(*tensors[0].shape, seed=4, dtype=dtype)
    close(attended(*tensors, is_causal=causal), composed(*tensors, is_causal=causal), WIDE)
    floating = tuple(i for i, x in enumerate(tensors) if x.dtype != lento.bool)

    def loss(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *tensors: lento.sum(function(*tensors, is_causal=causal) * weights)

    found = lento.grad(loss(attended), argnums=floating)(*tensors)
    wanted = lento.grad(loss(composed), argnums=floating)(*tensors)
    for a, b in zip(found, wanted, strict=True):
        close(a, b, WIDE)


@pytest.mark.parametrize("name", ["causal", "shared heads", "bool mask", "float mask"])
def test_second_derivatives_are_those_of_the_composition(name: str) -> None:
    tensors, causal = operands(name)
    floating = tuple(i for i, x in enumerate(tensors) if x.dtype != lento.bool)
    directions = [normal(*tensors[i].shape, seed=5 + i) for i in floating]

    def slope(function: Callable[..., Any]) -> Callable[..., Any]:
        def inner(*tensors: Any) -> Any:
            return lento.sum(function(*tensors, is_causal=causal) ** 2)

        def outer(*tensors: Any) -> Any:
            gradients = lento.grad(inner, argnums=floating)(*tensors)
            return sum(lento.sum(g * d) for g, d in zip(gradients, directions, strict=True))

        return lento.grad(outer, argnums=floating)

    for a, b in zip(slope(attended)(*tensors), slope(composed)(*tensors), strict=True):
        close(a, b, WIDE * 16)


def test_forward_mode_is_that_of_the_composition() -> None:
    tensors, causal = operands("causal")
    directions = [normal(*x.shape, seed=9) for x in tensors]
    _, found = lento.jvp(lambda *x: attended(*x, is_causal=causal), tensors, directions)
    _, wanted = lento.jvp(lambda *x: composed(*x, is_causal=causal), tensors, directions)
    close(found, wanted, WIDE)


def test_a_query_that_sees_nothing_gives_zeros_and_no_gradient() -> None:
    q, k, v = normal(1, 2, 3), normal(1, 4, 3, seed=1), normal(1, 4, 3, seed=2)
    mask = lento.asarray(np.array([[True, False, True, True], [False] * 4]))
    result = attended(q, k, v, mask).numpy()
    np.testing.assert_array_equal(result[0, 1], 0)
    gradients = lento.grad(lambda *x: lento.sum(attended(*x, mask)), argnums=(0, 1, 2))(q, k, v)
    assert all(np.isfinite(g.numpy()).all() for g in gradients)
    np.testing.assert_array_equal(gradients[0].numpy()[0, 1], 0)
    _, log_sum_exp = prim.attention(q, k, v, 1.0, [mask], False)
    assert log_sum_exp.numpy()[0, 1, 0] == -np.inf


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("keys", [3, WIDE])
def test_nan_comes_through_and_stays_in_its_row(keys: int, dtype: str) -> None:
    arrays = [np.random.default_rng([i, keys]).normal(size=(1, n, 4)) for i, n in enumerate((3, keys, keys))]
    arrays[0][0, 1, 2] = np.nan
    q, k, v = (lento.asarray(x.astype(dtype)) for x in arrays)
    for mask in (None, lento.ones((3, keys), dtype=lento.bool), lento.zeros((3, keys), dtype=dtype)):
        result = attended(q, k, v, mask).numpy()
        assert np.isnan(result[0, 1]).all()
        assert np.isfinite(result[0, [0, 2]]).all()
        _, log_sum_exp = prim.attention(q, k, v, 1.0, [] if mask is None else [mask], False)
        np.testing.assert_array_equal(np.isnan(log_sum_exp.numpy()[0, :, 0]), [False, True, False])
    for_all = attended(lento.asarray(arrays[1][:, :2].astype(dtype)), k * np.nan, v)
    assert np.isnan(for_all.numpy()).all()
    seen = lento.asarray(np.arange(keys)[None] % 2 == [[0], [1], [0]])
    assert np.isnan(attended(q, k, v, seen).numpy()[0, 1]).all()


def test_a_key_that_a_mask_hides_may_be_nan() -> None:
    q, k, v = normal(1, 2, 3), np.array(normal(1, WIDE, 3, seed=1)), normal(1, WIDE, 3, seed=2)
    k[0, 5], k[0, 280], k[0, 281] = np.nan, np.inf, -np.inf
    seen = np.ones(WIDE, bool)
    seen[[5, 280, 281]] = False
    for mask in (seen, np.where(seen, 0.0, -np.inf)):
        found = attended(q, lento.asarray(k), v, lento.asarray(mask)).numpy()
        np.testing.assert_allclose(found, attended(q, lento.asarray(k[:, seen]), v[:, lento.asarray(seen)]).numpy())
    nothing = attended(q, lento.asarray(k), v, lento.zeros(WIDE, dtype=lento.bool))
    np.testing.assert_array_equal(nothing.numpy(), 0)


@pytest.mark.parametrize("p", [-0.5, 1.5, float("nan")])
def test_t2_a_dropout_that_is_no_probability_is_refused(p: float) -> None:
    """Clause T2."""
    q = normal(2, 3, 4)
    with pytest.raises(lento.errors.ValueError, match="the probability must be between 0 and 1"):
        nn.scaled_dot_product_attention(q, q, q, dropout_p=p)


@pytest.mark.parametrize("which", [(0,), (1,), (2,), (3,), (0, 1, 2, 3)])
def test_vmap_repeats_any_of_the_operands(which: tuple[int, ...]) -> None:
    shapes = [(4, 6, 5), (2, 7, 5), (2, 7, 3), (6, 7)]
    one = [normal(*shape, seed=i) for i, shape in enumerate(shapes)]
    many = [
        normal(3, *shape, seed=i) if i in which else x for i, (shape, x) in enumerate(zip(shapes, one, strict=True))
    ]
    axes = tuple(0 if i in which else None for i in range(4))
    found = lento.vmap(attended, in_axes=axes)(*many)
    gradients = lento.vmap(lento.grad(lambda *x: lento.sum(attended(*x) ** 2), argnums=(0, 1, 2)), in_axes=axes)(*many)
    for i in range(3):
        example = [x[i] if j in which else x for j, x in enumerate(many)]
        close(found[i], attended(*example), 7)
        for g, wanted in zip(
            gradients, lento.grad(lambda *x: lento.sum(attended(*x) ** 2), argnums=(0, 1, 2))(*example), strict=True
        ):
            close(g[i], wanted, 7)


def test_axes_before_the_heads_broadcast() -> None:
    """Clause T2: what cannot broadcast is an error of the call."""
    q, k, v = normal(5, 6), normal(3, 1, 7, 6), normal(2, 7, 4)
    expected = composed(lento.broadcast_to(q, (3, 2, 5, 6)), lento.broadcast_to(k, (3, 2, 7, 6)), v)
    close(nn.scaled_dot_product_attention(q, k, v), expected, 7)
    mask = normal(4, 1, 7)
    assert nn.scaled_dot_product_attention(normal(5, 6), normal(7, 6), normal(7, 2), mask).shape == (4, 5, 2)
    with pytest.raises(lento.ShapeError, match="cannot be broadcast together"):
        nn.scaled_dot_product_attention(normal(4, 5, 6), normal(2, 7, 6), normal(2, 7, 6))
    with pytest.raises(lento.ShapeError, match="3 query heads are no multiple of 2 key heads"):
        nn.scaled_dot_product_attention(normal(3, 5, 6), normal(2, 7, 6), normal(2, 7, 6), enable_gqa=True)
    with pytest.raises(lento.ShapeError, match="does not broadcast to the scores"):
        nn.scaled_dot_product_attention(normal(2, 5, 6), normal(2, 7, 6), normal(2, 7, 6), normal(4, 7))


def test_t4_a_new_scale_compiles_nothing() -> None:
    """Clause T4."""
    q = normal(2, 5, 4, dtype="float32")

    def gradient(scale: float) -> Any:
        return lento.grad(lambda q: lento.sum(nn.scaled_dot_product_attention(q, q, q, scale=scale)))(q).numpy()

    gradient(0.3)
    before = lento.metrics.counter("plan.miss")
    gradient(0.7)
    assert lento.metrics.counter("plan.miss") == before


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_e_bits_do_not_depend_on_the_number_of_threads(dtype: str, threads: Callable[[int], None]) -> None:
    """Clause D7."""
    shapes = [(1, 4, WIDE, 16), (1, 2, 2 * WIDE, 16), (1, 2, 2 * WIDE, 16), (1, 4, WIDE, 16)]
    q, k, v, g = (normal(*shape, seed=i).astype(dtype) for i, shape in enumerate(shapes))

    def everything() -> list[Any]:
        results, pull = lento.vjp(lambda *x: attended(*x, is_causal=True), q, k, v)
        return [x.astype("float64").numpy() for x in (results, *pull(g))]

    threads(1)
    expected = everything()
    for count in (2, 3, 5):
        threads(count)
        for a, b in zip(everything(), expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_scores_are_never_in_memory() -> None:
    """Clause E9: the peak, which is that of a process."""
    code = """
import lento
x = lento.random.normal((1, 2, 2048, 16))
loss = lambda x: lento.sum(lento.nn.scaled_dot_product_attention(x, x, x, is_causal=True) ** 2)
lento.eval(lento.grad(loss)(x))
lento.wait()
print(lento.memory()["peak"])
"""
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert int(run.stdout) < 2 * 2048 * 2048 * 4 / 2
