"""Values that are refused: at the call where they are known, else when they are computed (T2, T10, E7)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lento
import numpy as np
import pytest
from engine import run_program

X = lento.asarray([3.0, 1.0, 2.0, 5.0])
QUANTILES: dict[str, tuple[Callable[..., Any], float]] = {
    "quantile": (lento.quantile, 1.0),
    "nanquantile": (lento.nanquantile, 1.0),
    "percentile": (lento.percentile, 100.0),
}
WRONG = [-0.5, -1e-6, 1.0001, 2.0, float("nan"), float("inf"), float("-inf")]


def pending(value: Any) -> lento.Tensor:
    made = lento.asarray(value) + lento.zeros(())
    assert made.is_pending
    return made


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", QUANTILES)
def test_t2_a_quantile_that_is_known_is_refused_by_the_call(name: str, wrong: float) -> None:
    function, most = QUANTILES[name]
    for q in (wrong * most, [wrong * most], [0.0, wrong * most], (wrong * most,), np.array([wrong * most])):
        with pytest.raises(ValueError, match=rf"lies between 0 and {most:.0f}, got"):
            function(X, q)
    with pytest.raises(ValueError, match="lies between"):
        function(X, lento.asarray([0.0, wrong * most]))


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("method", ["linear", "lower", "higher", "nearest", "midpoint"])
@pytest.mark.parametrize("name", QUANTILES)
def test_e7_a_quantile_that_is_computed_poisons(name: str, method: str, wrong: float) -> None:
    function, most = QUANTILES[name]
    result = function(X, pending([0.5 * most, wrong * most]), method=method)
    for _ in range(2):
        with pytest.raises(ValueError, match="a quantile lies between 0 and 1"):
            result.tolist()
    with pytest.raises(ValueError, match="a quantile lies between 0 and 1"):
        lento.wait()


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("name", QUANTILES)
def test_quantiles_in_range_are_numpys(name: str, device: str) -> None:
    function, most = QUANTILES[name]
    host = np.array([[3.0, 1.0, 2.0], [5.0, 4.0, 0.0]])
    q = np.array([0.0, 0.25, 0.5, 1.0]) * most
    for wanted in (lento.asarray(q, device=device), lento.asarray(q, device=device) + 0):
        found = function(lento.asarray(host, device=device), wanted, axis=1)
        np.testing.assert_allclose(found.numpy(), getattr(np, name)(host, q, axis=1))


def test_a_known_quantile_is_checked_without_a_sync() -> None:
    before = lento.metrics.counter("sync.implicit")
    lento.quantile(X, lento.asarray([0.5, 0.25]))
    lento.quantile(X, pending(0.5))
    assert lento.metrics.counter("sync.implicit") == before


# --- arange ---


def test_arange_without_elements_is_int64() -> None:
    for arguments in ((3, 9, -(2**63)), (2**63, 5, 2**63 + 1), (2**63, 2**63)):
        found = lento.arange(*arguments)
        assert (found.dtype, found.shape) == (lento.int64, (0,))


def test_arange_refuses_elements_beyond_its_dtype() -> None:
    for arguments in ((0, 2**64 - 1, 2**62), (2**63 - 1, 2**63 + 1), (2**63, 2**63 + 1)):
        with pytest.raises(OverflowError, match="do not fit into int64"):
            lento.arange(*arguments, dtype="int64")


@pytest.mark.parametrize(
    "arguments",
    [
        (2**63, 2**63 + 3),
        (2**63 - 2, 2**63 + 2),
        (0, 2**64 - 1, 2**62),
        (2**64 - 1, 2**64 - 4, -1),
        (2**63 + 5, 2**63 - 5, -3),
        (2**63,  2**63),
    ],
)  # fmt: skip
def test_arange_reaches_all_of_uint64(arguments: tuple[int, ...]) -> None:
    expected = list(range(*arguments))
    for dtype in (None, "uint64"):
        found = lento.arange(*arguments, dtype=dtype)
        assert found.tolist() == expected
        assert dtype is None or found.dtype is lento.uint64
    if expected and max(expected) >= 2**63:
        assert lento.arange(*arguments).dtype is lento.uint64


def test_arange_refuses_what_no_dtype_holds() -> None:
    with pytest.raises(OverflowError, match="no integer dtype holds"):
        lento.arange(-1, 2**64 - 1, 2**63 + 5)
    with pytest.raises(ValueError, match="too large"):
        lento.arange(0, 2**64 - 1)
    assert lento.arange(3).dtype is lento.int64
    assert lento.arange(-(2**63), -(2**63) + 2).tolist() == [-(2**63), -(2**63) + 1]


# --- histogram ---


@pytest.mark.falls_back  # what depends on a failure is looked at op by op
@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), float("-inf")])
def test_e7_a_histogram_without_a_finite_range_poisons(wrong: float, device: str) -> None:
    """NumPy raises ValueError: autodetected range is not finite."""
    x = lento.asarray([1.0, wrong, 2.0], device=device)
    hist, edges = lento.histogram(x, 3)
    for result in (hist, edges):
        with pytest.raises(ValueError, match="range of the values is not finite"):
            result.tolist()
    hist, edges = lento.histogram(x, 2, range=(0, 4))
    assert hist.tolist() == np.histogram([1.0, wrong, 2.0], 2, range=(0, 4))[0].tolist()
    assert edges.tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    "range", [(0, float("nan")), (float("-inf"), 1), (0, float("inf")), (2, 1), (float("nan"), float("nan"))]
)
def test_t2_a_range_that_is_none_is_refused_by_the_call(range: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="range"):
        lento.histogram(X, 3, range=range)
    with pytest.raises(ValueError, match="range"):
        np.histogram([1.0, 2.0], 3, range=range)


def test_e7_edges_that_decrease_poison() -> None:
    hist, edges = lento.histogram(X, lento.asarray([0.0, 3.0, 2.0]))
    for result in (hist, edges):
        with pytest.raises(ValueError, match="must not decrease"):
            result.tolist()
    hist, _ = lento.histogram(X, lento.asarray([0.0, 2.0, 2.0, 6.0]))
    assert hist.tolist() == np.histogram(X.numpy(), [0.0, 2.0, 2.0, 6.0])[0].tolist()


# --- parts ---


@pytest.mark.parametrize(
    "call",
    [
        lambda: lento.array_split(X, 2**40),
        lambda: lento.array_split(lento.zeros((0, 3)), 2**62),
        lambda: lento.split(lento.zeros(0), 2**40),
        lambda: lento.split(lento.zeros(2**40), 2**40),
        lambda: lento.chunk(lento.zeros(2**40), 2**40),
        lambda: lento.chunk(lento.zeros(0), 2**40),
        lambda: lento.chunk(lento.zeros(2**40), 2**63 - 1),
        lambda: lento.unstack(lento.zeros(2**40)),
    ],
)
def test_t2_more_parts_than_can_be_made_are_refused_at_once(call: Callable[[], Any]) -> None:
    # Without the check this takes minutes, or for ever.
    with pytest.raises(ValueError, match="are too many: at most 1048576"):
        call()


def test_parts_are_as_they_were() -> None:
    assert [part.tolist() for part in lento.array_split(lento.arange(5), 3)] == [[0, 1], [2, 3], [4]]
    assert [part.shape for part in lento.chunk(lento.zeros(0), 3)] == [(0,)] * 3
    assert len(lento.chunk(lento.arange(5), 2**63 - 1)) == 5


# --- dropout ---

DROPOUTS: dict[str, Callable[..., Any]] = {
    "dropout": lambda x, p, g: lento.nn.dropout(x, p, generator=g),
    "dropout1d": lambda x, p, g: lento.nn.dropout1d(x[0, 0], p, generator=g),
    "dropout2d": lambda x, p, g: lento.nn.dropout2d(x[0], p, generator=g),
    "dropout3d": lambda x, p, g: lento.nn.dropout3d(x, p, generator=g),
    "alpha_dropout": lambda x, p, g: lento.nn.alpha_dropout(x, p, generator=g),
    "attention": lambda x, p, g: lento.nn.scaled_dot_product_attention(x, x, x, dropout_p=p, generator=g),
}


@pytest.mark.parametrize("p", [0, 0.0, 1, 1.0])
@pytest.mark.parametrize("name", DROPOUTS)
def test_t4_dropping_nothing_or_all_draws_nothing(name: str, p: float) -> None:
    x = lento.asarray(np.arange(16, dtype="float32").reshape(2, 2, 2, 2) + 1)
    own = lento.random.Generator(3)
    before = (own.state, lento.random.default_generator().state)
    for generator in (own, None):
        y = DROPOUTS[name](x, p, generator)
        assert "random_bits" not in lento.dump(y)
        if p == 1:
            assert not y.any()
        elif name != "attention":
            assert bool((y == x.reshape(-1)[: y.size].reshape(y.shape)).all())
    assert (own.state, lento.random.default_generator().state) == before


def test_t4_dropout_of_infinities_by_one_is_zero() -> None:
    x = lento.asarray([float("inf"), float("nan"), 1.0])
    assert lento.nn.dropout(x, 1.0).tolist() == [0, 0, 0]
    assert lento.nn.alpha_dropout(x, 1.0).tolist() == [0, 0, 0]
    assert lento.grad(lambda x: lento.nn.dropout(x, 1.0).sum())(X).tolist() == [0, 0, 0, 0]
    assert lento.grad(lambda x: lento.nn.dropout(x, 0.0).sum())(X).tolist() == [1, 1, 1, 1]


# --- scopes ---


def test_t7_names_of_scopes_are_not_kept_for_ever() -> None:
    done = run_program(
        """
        import lento

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        def use(first, count):
            for i in range(first, first + count):
                with lento.scope(f"step{i}"):
                    pass

        with lento.scope("train"):
            use(0, 100_000)
            before = resident()
            use(100_000, 400_000)
            print(resident() - before < 4 << 20)
            with lento.scope("last"):
                x = lento.ones(()) + 1
        print("train/last" in lento.dump(x))
        with lento.scope("train"):
            y = lento.ones(()) + 2
        print("train" in lento.dump(y))
        """
    )
    assert (done.returncode, done.stdout) == (0, "True\nTrue\nTrue\n"), done.stderr


def test_t7_a_scope_that_is_open_keeps_its_name() -> None:
    with lento.scope("outer"), lento.scope("inner"):
        for i in range(20_000):
            with lento.scope(f"{os.getpid()}-{i}"):
                pass
        x = lento.ones(()) + 1
    assert "outer/inner" in lento.dump(x)


# --- numbers that overflow on the way ---


def test_t2_repeats_that_sum_up_to_too_much_are_refused() -> None:
    for counts in ([2**62] * 4, [2**62] * 3 + [2**62 + 5], [2**62, 2**62]):
        with pytest.raises(ValueError, match="more elements than a tensor can have"):
            lento.repeat(lento.ones(len(counts)), lento.asarray(counts))
    assert lento.repeat(lento.asarray([1, 2]), lento.asarray([2, 3])).tolist() == [1, 1, 2, 2, 2]


@pytest.mark.parametrize("mode", ["edge", "wrap", "reflect", "symmetric", "constant"])
def test_t2_padding_that_makes_an_axis_too_long_is_refused(mode: str) -> None:
    most = 2**63 - 1
    for width in ((most, most), (most, most - 1), (2**57, 2**57)):
        with pytest.raises(ValueError, match=r"too large|no valid length"):
            lento.pad(lento.ones(4), width, mode=mode)


def test_t2_positions_beyond_what_can_be_counted_are_refused() -> None:
    index = lento.asarray([2**32 - 1])
    with pytest.raises(ValueError, match="large"):
        lento.ravel_multi_index((index, index), (2**32, 2**32))


def test_a_histogram_needs_a_range_of_finite_length() -> None:
    with pytest.raises(ValueError, match="finite length"):
        lento.histogram(lento.asarray([1.0, 2.0]), range=(-1e308, 1e308))
    counts, _ = lento.histogram(lento.asarray([1e308, -1e308], dtype="float64"))
    with pytest.raises(ValueError, match="not finite"):
        counts.tolist()


def test_t7_errors_of_files_name_the_users_line(tmp_path: Path) -> None:
    for name in ("a.npy", "a.npz", "a.safetensors"):
        with pytest.raises(OSError, match=r"test_value_checks\.py:\d+$"):
            lento.save(tmp_path / "nowhere" / name, {"x": lento.ones(2)} if name != "a.npy" else lento.ones(2))
