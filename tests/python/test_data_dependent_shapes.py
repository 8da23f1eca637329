"""T10, E4: shapes that depend on data. A number of elements that is new is fitted to the plan of the others."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts
from on_device import not_on_another_device

LENGTH = 40

shares_memory = not_on_another_device("memory of the host is shared with the host alone")
needs_kernel_cache = not_on_another_device("it may have no cache of kernels, as the toy device")


def with_true(count: int) -> np.ndarray:
    mask = np.zeros(LENGTH, bool)
    mask[np.random.default_rng(count).permutation(LENGTH)[:count]] = True
    return mask


def vector() -> np.ndarray:
    return np.linspace(-2, 3, LENGTH)


def matrix() -> np.ndarray:
    return np.linspace(-1, 1, LENGTH * 3).reshape(LENGTH, 3)


def assigned(xp: Any, mask: Any) -> Any:
    x = xp.asarray(vector()) * 2  # NumPy assigns in place
    x[mask] = x[mask] ** 2 + xp.asarray(vector())[mask]
    return x


def unique(xp: Any, mask: Any) -> Any:
    """As many values as the mask has true elements, and 0."""
    values = xp.where(mask, xp.arange(LENGTH) + 1, 0)
    if xp is np:
        return np.unique(values, return_counts=True)
    found = lento.unique_counts(values)
    return found.values, found.counts


Function = Callable[[Any, Any], Any]

# What is computed from a mask, with NumPy and with Lento.
FUNCTIONS: dict[str, Function] = {
    "sum": lambda xp, mask: xp.sum(xp.asarray(vector())[mask]),
    "rows": lambda xp, mask: xp.exp(xp.asarray(matrix())[mask]) * 0.5,
    "rows_of_columns": lambda xp, mask: xp.asarray(matrix().T)[:, mask] + 1,
    "two_axes": lambda xp, mask: xp.asarray(matrix().reshape(8, 5, 3))[mask.reshape(8, 5)] + 1,
    "two_axes_behind": lambda xp, mask: xp.asarray(matrix().reshape(3, 8, 5))[1:, mask.reshape(8, 5)] + 1,
    "nonzero": lambda xp, mask: xp.nonzero(mask.reshape(8, 5)),
    "argwhere": lambda xp, mask: xp.argwhere(mask.reshape(8, 5)),
    "assigned": assigned,
    "unique": unique,
    "repeat": lambda xp, mask: xp.repeat(xp.asarray(vector()), xp.astype(mask, xp.int64) * 2) * 3,
    "compress": lambda xp, mask: xp.compress(mask, xp.asarray(matrix()), axis=0) - 1,
    "sorted": lambda xp, mask: xp.sort(xp.asarray(vector())[mask])[::-1],
    "padded": lambda xp, mask: padded(xp, xp.asarray(vector())[mask]),
    "concatenated": lambda xp, mask: xp.concat([xp.asarray(vector())[mask], xp.asarray(vector())]) * 2,
    "product": lambda xp, mask: xp.matmul(xp.asarray(matrix())[mask], xp.asarray(matrix().T)),
    "running": lambda xp, mask: xp.cumulative_sum(xp.asarray(vector())[mask]),
    "deleted": lambda xp, mask: (np.delete if xp is np else lento.delete_)(xp.asarray(vector()), mask) * 2,
}


def padded(xp: Any, x: Any) -> Any:
    """To a length that does not depend on data, as for a batch."""
    return xp.pad(x, [(0, LENGTH - x.shape[0])])


def parts(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def check(function: Function, count: int) -> None:
    mask = with_true(count)
    results = parts(function(lento, lento.asarray(mask)))
    lento.eval(*results)
    for result, expected in zip(results, parts(function(np, mask)), strict=True):
        assert tuple(result.shape) == np.shape(expected), count
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12, err_msg=str(count))


@pytest.mark.parametrize("fusion", [True, False])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=list(FUNCTIONS))
def test_t10_every_count_is_right(function: Function, fusion: bool) -> None:
    with lento.options(fusion=fusion):
        for count in (7, 0, 1, 2, LENGTH, LENGTH - 1, 1, 0):
            check(function, count)


@needs_kernel_cache
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=list(FUNCTIONS))
def test_e4_a_new_count_compiles_nothing(function: Function) -> None:
    lento.cache.clear()
    check(function, 5)
    check(function, LENGTH)  # all of them is a special case of some
    counts = Counts()
    new = [3, 2, 17, 38, 11, 20, 4, 31]
    for count in new:
        check(function, count)
    assert (counts["plan.miss"], counts["kernel.compile"]) == (0, 0), lento.explain()
    assert counts["plan.rebind"] >= len(new)
    again = Counts()
    for count in new:  # every one of them is known by now
        check(function, count)
    assert (again["plan.miss"], again["plan.rebind"]) == (0, 0), lento.explain()


@needs_kernel_cache
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=list(FUNCTIONS))
def test_e4_none_and_one_are_at_most_one_miss_per_plan(function: Function) -> None:
    lento.cache.clear()
    first = Counts()
    check(function, 5)
    plans = first["plan.miss"]
    for special in (0, 1):
        counts = Counts()
        check(function, special)
        assert counts["plan.miss"] <= plans, (special, lento.explain())


@needs_kernel_cache
def test_e4_thresholds_share_a_plan() -> None:
    x = lento.asarray(np.random.default_rng(0).standard_normal(1000))
    lento.cache.clear()
    counts = Counts()
    for threshold in np.linspace(-2, 2, 50):
        expected = x.numpy()[x.numpy() > threshold].mean()
        np.testing.assert_allclose(x[x > float(threshold)].mean().item(), expected, rtol=1e-12)
    # One plan counts, the other one selects.
    assert counts["plan.miss"] == 2, lento.explain()
    assert counts["sync.implicit"] == 100


def mandelbrot(xp: Any, z: Any, c: Any, rounds: int) -> tuple[Any, Any]:
    """As in NumPy's books: fewer points stay near in every round."""
    near = xp.zeros(c.shape, dtype=xp.int64)
    for i in range(rounds):
        inside = abs(z) < 2.0
        near[inside] = i
        z[inside] = z[inside] ** 2 + c[inside]
    return z, near


@needs_kernel_cache
def test_e4_the_mandelbrot_set_is_compiled_once() -> None:
    rounds = 100
    real, imaginary = np.linspace(-2.25, 0.75, 90), np.linspace(-1.25, 1.25, 70)
    c = real + imaginary[:, None] * 1j
    lento.cache.clear()
    z, points = lento.asarray(np.zeros_like(c)), lento.asarray(c)
    lento.eval(z, points)
    counts = Counts()
    z, near = mandelbrot(lento, z, points, rounds)
    lento.eval(z)
    # The first round has nothing to finish before it counts, the last one nothing to count.
    assert counts["plan.miss"] == 3, lento.explain()
    assert counts["plan.rebind"] > rounds / 4
    assert counts["sync.implicit"] == rounds  # one per mask, though each selects twice
    expected_z, expected_near = mandelbrot(np, np.zeros_like(c), c, rounds)
    same = near.numpy() == expected_near  # chaos makes much of a last bit
    assert same.mean() > 0.999
    both = same & (abs(expected_z) < 2)
    np.testing.assert_allclose(z.numpy()[both], expected_z[both], rtol=1e-3)


def test_e8_a_mask_is_counted_once() -> None:
    mask = lento.asarray(with_true(5))
    x, y = lento.asarray(vector()), lento.asarray(matrix())
    counts = Counts()
    assert (x[mask].shape, y[mask].shape, lento.argwhere(mask).shape) == ((5,), (5, 3), (5, 1))
    assert counts["sync.implicit"] == 1
    mask[:] = True  # the handle has a new value, and that has not been counted
    assert x[mask].shape == (LENGTH,)
    assert counts["sync.implicit"] == 2


@shares_memory
@pytest.mark.parametrize("stride", [1, 2])
def test_x2_shared_memory_is_counted_every_time(stride: int) -> None:
    """Clause X2: between steps its owner may change it."""
    data = np.zeros(12, np.int64)
    chosen = lento.asarray(data[::stride], copy=False)
    for count in (1, 4, 2, 0, 6):
        data[:] = 0
        data[: count * stride : stride] = 7
        assert lento.nonzero(chosen)[0].tolist() == list(range(count))
        assert lento.count_nonzero(chosen).item() == count


@shares_memory
def test_x2_a_shared_mask_selects_by_what_it_holds_now() -> None:
    data = np.array([True, False, False, True])
    x, mask = lento.asarray([1.0, 2.0, 3.0, 4.0]), lento.asarray(data, copy=False)
    assert x[mask].tolist() == [1, 4]
    data[1] = True
    assert x[mask].tolist() == [1, 2, 4]
    data[:] = False
    assert x[mask].tolist() == []


# --- random programs ---


class Drawn:
    """A random program over vectors of any length, run by NumPy and by Lento."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.ours: list[Any] = []
        self.theirs: list[Any] = []
        for k in range(2):
            values = np.random.default_rng([seed, k]).integers(-4, 5, self.random.choice([1, 6, 9])).astype(np.float64)
            self.keep(lento.asarray(values), values)

    def keep(self, ours: Any, theirs: Any) -> None:
        self.ours.append(ours)
        self.theirs.append(theirs)

    def step(self) -> None:
        x = self.random.randrange(len(self.ours))
        y = self.random.randrange(len(self.ours))
        threshold = self.random.randrange(-5, 6)
        operations: list[Callable[[Any, Any, Any], Any]] = [
            lambda xp, a, b: a[a > threshold],
            lambda xp, a, b: a[a > threshold] * 2 + 1,
            lambda xp, a, b: xp.concat([a[a < threshold], b]),
            lambda xp, a, b: xp.astype(xp.nonzero(a)[0], xp.float64) - 2,
            lambda xp, a, b: xp.unique_values(a),
            lambda xp, a, b: xp.astype(xp.unique_counts(a).counts, xp.float64),
            lambda xp, a, b: xp.repeat(a, xp.astype(xp.abs(a) % 3, xp.int64)),
            lambda xp, a, b: masked_update(xp, a, b, threshold),
            lambda xp, a, b: xp.reshape(xp.sum(a[a > threshold]), (1,)),
            lambda xp, a, b: xp.where(a > 0, a, -a) % 7,
            lambda xp, a, b: a[1:] - a[:-1],
            lambda xp, a, b: xp.flip(a),
            lambda xp, a, b: xp.reshape(a[:, None] * b[None, :], (-1,))[:9] % 5,
            lambda xp, a, b: a + b[:1] if b.shape[0] else a,
            lambda xp, a, b: a + xp.arange(a.shape[0])[::-1] % 3,
            lambda xp, a, b: a[xp.arange(a.shape[0]) % 3 != 1],
            lambda xp, a, b: (xp.eye(a.shape[0], 5, k=threshold) * b[:1]).sum(axis=1) if b.shape[0] else a,
            lambda xp, a, b: xp.reshape(xp.tril(a[:, None] + a[:7], k=threshold), (-1,))[:11],
            lambda xp, a, b: xp.repeat(a, xp.arange(a.shape[0]) % 2),
        ]
        operation = self.random.choice(operations)
        self.keep(operation(lento, self.ours[x], self.ours[y]), operation(np, self.theirs[x], self.theirs[y]))
        if self.random.random() < 0.2:
            lento.step()
        if self.random.random() < 0.2:  # what nobody holds any more is not computed, or is given away
            gone = self.random.randrange(len(self.ours))
            if len(self.ours) > 2:
                del self.ours[gone], self.theirs[gone]


def masked_update(xp: Any, a: Any, b: Any, threshold: int) -> Any:
    mask = a > threshold
    result = a * 1
    result[mask] = a[mask] + (b[0] if b.shape[0] else 1)
    return result


@pytest.mark.parametrize("fusion", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_t10_random_programs_equal_numpy(seed: int, fusion: bool) -> None:
    with lento.options(fusion=fusion):
        program = Drawn(seed)
        for _ in range(25):
            program.step()
        for ours, theirs in zip(program.ours, program.theirs, strict=True):
            np.testing.assert_array_equal(ours.numpy(), theirs)
