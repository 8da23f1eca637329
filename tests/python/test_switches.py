"""Options that take something away to find a wrong result: fusion, tier, force_fallback. The bits stay."""

from __future__ import annotations

from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts, check_program, run_program

SWITCHES: list[dict[str, Any]] = [
    {"fusion": False},
    {"tier": 0},
    {"tier": 1},
    {"force_fallback": "exp,multiply"},
    {"force_fallback": "reduce_sum,matrix_multiply,astype"},
    {"fusion": False, "tier": 1, "force_fallback": "add"},
]


def step(x: lento.Tensor) -> list[bytes]:
    """A step of several kernels and a product, of which the reference backend has the same bits."""
    y = x * 2 + x
    z = lento.abs(y) - y.sum(axis=0)
    w = z.astype(lento.float64) @ lento.ones((7, 3), dtype=lento.float64)
    return [part.numpy().tobytes() for part in (y, z, w)]


@pytest.fixture
def x() -> lento.Tensor:
    # Whole numbers: every order of adding them gives the same sum, also that of a library.
    return lento.asarray(np.random.default_rng(4).integers(-9, 9, (5, 7)).astype(np.float32))


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
def test_results_have_the_same_bits(x: lento.Tensor, switches: dict[str, Any]) -> None:
    expected = step(x)
    with lento.options(**switches):
        assert step(x) == expected


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
def test_e2_a_plan_is_used_under_the_options_it_was_made_with_alone(x: lento.Tensor, switches: dict[str, Any]) -> None:
    lento.cache.clear()

    def run() -> tuple[int, int]:
        """Plans made and found."""
        counts = Counts()
        y = lento.exp(x * 2).sum()
        lento.step()
        assert y.shape == ()
        return counts["plan.miss"] + counts["plan.rebind"], counts["plan.hit"]

    assert run() == (1, 0)
    with lento.options(**switches):
        assert run() == (1, 0)  # not what the thread replays, nor what the cache holds
        assert run()[0] == 0
    assert run()[0] == 0  # the first one is still there
    with lento.options(**switches):
        assert run()[0] == 0
    assert lento.cache.info()["entries"] == 2


def test_m3_explain_names_the_change_of_options(x: lento.Tensor) -> None:
    lento.cache.clear()
    lento.explain()  # what came before
    for fusion in (True, False):
        with lento.options(fusion=fusion):
            lento.eval(lento.exp(x) + 1)
    assert lento.explain().count("the option fusion, tier or force_fallback changed.") == 1


def test_the_program_is_what_the_options_say(x: lento.Tensor) -> None:
    y = lento.exp(x * 2) + 1
    assert lento.dump(y, "backend").startswith("# 1 steps, 1 kernels")
    with lento.options(fusion=False):
        assert lento.dump(y, "backend").startswith("# 3 steps, 3 kernels")
    with lento.options(force_fallback="exp"):
        assert "call exp" in lento.dump(y, "backend")


def test_m1_every_run_on_the_reference_backend_is_counted(x: lento.Tensor) -> None:
    counts = Counts()
    with lento.options(force_fallback="exp"):
        for _ in range(3):
            (lento.exp(x) + 1).numpy()
    assert (counts["fallback.exp"], counts["fallback.add"]) == (3, 0)
    lento.exp(x).numpy()
    assert counts["fallback.exp"] == 3
    with lento.options(force_fallback="matrix_multiply"):
        (x @ x.T).numpy()
    (x @ x.T).numpy()
    assert counts["fallback.matrix_multiply"] == 1


def test_kernels_of_different_tiers_are_kept_apart() -> None:
    """Code that another plan had improved does not run where tier 0 is asked for."""
    check_program(
        """
        import lento
        x = lento.ones((100,))
        lento.eval(x)
        def compiled():
            before = lento.metrics.counter("kernel.compile")
            lento.eval(lento.tanh(x) * 3)
            return lento.metrics.counter("kernel.compile") - before
        while lento.metrics.counter("kernel.tierup") == 0:
            compiled()
        for tier in (0, 1, "auto", 0, 1):
            with lento.options(tier=tier):
                print(tier, compiled())
        """,
        "0 1\n1 1\nauto 0\n0 0\n1 0\n",
    )


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"fusion": 0}, TypeError, "argument 'fusion' must be bool, not int"),
        ({"tier": 2}, ValueError, "tier must be 0, 1 or 'auto', not 2"),
        ({"tier": True}, ValueError, "tier must be 0, 1 or 'auto', not True"),
        ({"tier": "both"}, ValueError, "tier must be 0, 1 or 'auto', not 'both'"),
        ({"force_fallback": ["exp"]}, TypeError, "argument 'force_fallback' must be str, not list"),
        ({"force_fallback": "exp,softmax"}, ValueError, "force_fallback names 'softmax', which is no primitive"),
    ],
    ids=str,
)
def test_options_that_make_no_sense_change_nothing(wrong: dict[str, Any], error: type[Exception], message: str) -> None:
    y = lento.exp(lento.ones((3,)) * 2)
    before = lento.dump(y, "backend")
    with pytest.raises(error, match=message):
        lento.options(**{"fusion": False, "tier": 0, "force_fallback": "exp"} | wrong)
    assert lento.dump(y, "backend") == before


def test_variables_say_what_options_do_not() -> None:
    program = """
    import lento
    y = lento.exp(lento.asarray([1.0, 2.0]) * 2) + 1
    def kernels():
        return lento.dump(y, "backend").partition(" kernels")[0]
    print(kernels())
    with lento.options(fusion=True):
        print(kernels())
        with lento.options(force_fallback=""):
            print(kernels())
    print(kernels())
    """
    check_program(
        program,
        "# 3 steps, 2\n# 2 steps, 1\n# 1 steps, 1\n# 3 steps, 2\n",
        LENTO_FUSION="off",
        LENTO_FORCE_FALLBACK="multiply",
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("LENTO_FUSION", "no", "LENTO_FUSION is 'no'; it must be on or off"),
        ("LENTO_TIER", "2", "LENTO_TIER is '2'; it must be 0 or 1"),
        ("LENTO_FORCE_FALLBACK", "softmax", "LENTO_FORCE_FALLBACK names 'softmax', which is no primitive"),
    ],
)
def test_variables_that_make_no_sense_are_errors(name: str, value: str, message: str) -> None:
    program = """
    import lento
    x = lento.ones((3,)) + 1
    for _ in range(2):
        try:
            lento.step()
        except ValueError as error:
            print(error)
    """
    done = run_program(program, **{name: value})
    assert (done.returncode, done.stdout.count(message)) == (0, 2)


def test_a_bitcast_through_bool_is_no_bitcast_of_the_whole() -> None:
    def through(fusion: bool) -> list[int]:
        x = lento.asarray(np.array([0, 2, 4], np.uint8))
        with lento.options(fusion=fusion):
            return lento.bitcast(lento.bitcast(x, lento.bool), lento.uint8).tolist()

    assert through(True) == through(False) == [0, 1, 1]
