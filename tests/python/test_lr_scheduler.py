"""lento.optim's schedules under optax's names, and its classes under PyTorch's: what they compute and save."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts
from lento import nn, optim
from lento.optim import lr_scheduler

# Both libraries' classes are called by the same text: `o` is an optimizer with a learning rate of 0.5.
SCHEDULERS = {
    "lambda": "LambdaLR(o, lambda i: 1 / (i + 1))",
    "multiplicative": "MultiplicativeLR(o, lambda i: 0.9 + i / 100)",
    "step": "StepLR(o, 3, 0.5)",
    "multi-step": "MultiStepLR(o, [2, 5, 5, 11], 0.3)",
    "constant": "ConstantLR(o, 0.2, 4)",
    "constant-defaults": "ConstantLR(o)",
    "linear": "LinearLR(o, 0.1, 0.7, 6)",
    "linear-defaults": "LinearLR(o)",
    "exponential": "ExponentialLR(o, 0.8)",
    "polynomial": "PolynomialLR(o, 7, 2.0)",
    "polynomial-defaults": "PolynomialLR(o)",
    "cosine": "CosineAnnealingLR(o, 6, 0.05)",
    "restarts": "CosineAnnealingWarmRestarts(o, 4, eta_min=0.01)",
    "longer-restarts": "CosineAnnealingWarmRestarts(o, 2, 2)",
    "one-cycle": "OneCycleLR(o, 0.9, 20)",
    "one-cycle-linear": "OneCycleLR(o, 0.9, epochs=4, steps_per_epoch=5, anneal_strategy='linear', three_phase=True)",
    "cyclic": "CyclicLR(o, 0.1, 0.6, 3, 5, cycle_momentum=True)",
    "cyclic-halves": "CyclicLR(o, 0.1, 0.6, 3, mode='triangular2')",
    "cyclic-range": "CyclicLR(o, 0.1, 0.6, 3, mode='exp_range', gamma=0.9)",
    "sequential": "SequentialLR(o, [ConstantLR(o, 0.1, 2), ExponentialLR(o, 0.9), StepLR(o, 2)], [3, 9])",
    "chained": "ChainedScheduler([ConstantLR(o, 0.1, 4), ExponentialLR(o, 0.9), CosineAnnealingLR(o, 50)], o)",
}


def made(text: str, optimizer: optim.Optimizer) -> Any:
    return eval(text, {**vars(lr_scheduler), "o": optimizer})


def adam(**settings: Any) -> optim.Adam:
    return optim.Adam({"a": lento.ones(1), "b": lento.ones(1)}, lr=0.5, **settings)


@pytest.mark.peers
@pytest.mark.parametrize("name", SCHEDULERS)
def test_rates_and_momenta_agree_with_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    optimizer = adam(groups=[{"params": "b", "lr": 0.25, "betas": (0.7, 0.8)}])
    parameters = [torch.nn.Parameter(torch.ones(1)) for _ in range(2)]
    other = torch.optim.Adam(
        [{"params": parameters[1], "lr": 0.25, "betas": (0.7, 0.8)}, {"params": parameters[0]}], 0.5
    )
    ours = made(SCHEDULERS[name], optimizer)
    theirs = eval(SCHEDULERS[name], {**vars(torch.optim.lr_scheduler), "o": other})
    for _ in range(20):
        np.testing.assert_allclose(ours.get_last_lr(), theirs.get_last_lr(), rtol=1e-12, atol=1e-15)
        expected = [group["betas"] for group in other.param_groups]
        np.testing.assert_allclose([group["betas"] for group in optimizer.param_groups], expected, rtol=1e-12)
        other.step()
        ours.step()
        theirs.step()


@pytest.mark.peers
@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_a_plateau_is_that_of_torch(mode: str, threshold_mode: str) -> None:
    torch = pytest.importorskip("torch")
    optimizer = adam()
    other = torch.optim.Adam([torch.nn.Parameter(torch.ones(1))], 0.5)
    settings = {"factor": 0.3, "patience": 2, "threshold": 0.05, "cooldown": 2, "min_lr": 0.01}
    ours = lr_scheduler.ReduceLROnPlateau(optimizer, mode, threshold_mode=threshold_mode, **settings)
    theirs = torch.optim.lr_scheduler.ReduceLROnPlateau(other, mode, threshold_mode=threshold_mode, **settings)
    for loss in np.random.default_rng(3).uniform(0.5, 1.0, 60):
        ours.step(lento.asarray(loss))
        theirs.step(loss)
        assert ours.get_last_lr() == pytest.approx([group["lr"] for group in other.param_groups], rel=1e-12)
    assert optimizer.lr == 0.01


@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedulers_resume(name: str, tmp_path: Path) -> None:
    optimizer = adam()
    scheduler = made(SCHEDULERS[name], optimizer)
    for _ in range(5):
        scheduler.step()
    path = tmp_path / "checkpoint.safetensors"
    lento.save(path, {"optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()})
    other = adam()
    again = made(SCHEDULERS[name], other)
    other.load_state_dict(lento.load(path, "optimizer."))
    again.load_state_dict(lento.load(path, "scheduler."))
    for _ in range(8):
        assert again.get_last_lr() == scheduler.get_last_lr()
        scheduler.step()
        again.step()


@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedulers_resume_where_the_optimizer_was_loaded_before(name: str) -> None:
    optimizer = adam(groups=[{"params": "b", "lr": 0.25}])
    scheduler = made(SCHEDULERS[name], optimizer)
    for _ in range(5):
        scheduler.step()
    other = adam(groups=[{"params": "b", "lr": 0.25}])
    other.load_state_dict(optimizer.state_dict())
    again = made(SCHEDULERS[name], other)
    again.load_state_dict(scheduler.state_dict())
    for _ in range(8):
        assert again.get_last_lr() == scheduler.get_last_lr()
        assert [group["betas"] for group in other.param_groups] == [g["betas"] for g in optimizer.param_groups]
        scheduler.step()
        again.step()


def test_a_plateau_resumes_where_the_optimizer_was_loaded_before() -> None:
    optimizer, other = adam(), adam()
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
    for _ in range(3):
        scheduler.step(1.0)
    other.load_state_dict(optimizer.state_dict())
    again = lr_scheduler.ReduceLROnPlateau(other, factor=0.5, patience=0)
    again.load_state_dict(scheduler.state_dict())
    assert other.lr == 0.125
    again.step(1.0)
    assert other.lr == 0.0625


def test_a_rate_that_a_group_got_later_is_left_alone() -> None:
    optimizer = adam(groups=[{"params": "b", "eps": 1e-6}])
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.groups[0]["lr"] = 1e-3
    scheduler.step()
    assert scheduler.get_last_lr() == [1e-3, 0.25]
    assert list(scheduler.state_dict()) == ["last_epoch", "first_lr"]
    # A scheduler that found the rate goes on as the first one did.
    other = adam(groups=[{"params": "b", "eps": 1e-6, "lr": 1.0}])
    again = lr_scheduler.ExponentialLR(other, 0.5)
    other.load_state_dict(optimizer.state_dict())
    again.load_state_dict(scheduler.state_dict())
    again.step()
    assert again.get_last_lr() == [1e-3, 0.125]


def test_other_groups_than_there_were_are_refused() -> None:
    optimizer = adam(groups=[{"params": "b", "lr": 0.25}])
    scheduler = lr_scheduler.StepLR(optimizer, 2)
    state = scheduler.state_dict()
    optimizer.groups.append(dict(optimizer.groups[0]))
    with pytest.raises(
        ValueError, match=r"StepLR.step\(\): there are 2 groups, and there were 1 when the scheduler was"
    ):
        scheduler.step()
    optimizer.groups.clear()
    with pytest.raises(ValueError, match=r"StepLR.load_state_dict\(\): there are 0 groups, and there were 1 when the"):
        scheduler.load_state_dict(state)
    with pytest.raises(ValueError, match=r"Adam.step\(\): there are 0 groups, and there were 1 when the optimizer was"):
        optimizer.step({"a": lento.ones(1), "b": lento.ones(1)})
    assert scheduler.last_epoch == 0


def test_a_plateau_resumes() -> None:
    losses = [1.0, 0.9, 0.95, 0.96, 0.97, 0.98, 0.99, 1.0, 1.1]
    optimizers = [adam(), adam()]
    one, two = [lr_scheduler.ReduceLROnPlateau(o, patience=1, cooldown=1) for o in optimizers]
    for loss in losses[:5]:
        one.step(loss)
    optimizers[1].load_state_dict(optimizers[0].state_dict())
    two.load_state_dict(one.state_dict())
    for loss in losses[5:]:
        one.step(loss)
        two.step(loss)
        assert two.get_last_lr() == one.get_last_lr()
    assert optimizers[0].lr < 0.5 / 50


def test_a_group_that_has_no_rate_follows_the_optimizers() -> None:
    optimizer = adam(groups=[{"params": "b", "eps": 1e-6}])
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
    scheduler.step()
    assert scheduler.get_last_lr() == [0.25, 0.25]
    assert "lr" not in optimizer.groups[0]


def test_t4_schedulers_compile_nothing() -> None:
    layer = nn.Linear(3, 2)
    optimizer = optim.Adam(layer, lr=0.5)
    scheduler = lr_scheduler.OneCycleLR(optimizer, 0.1, 100)  # which changes the momentum too

    def run() -> None:
        optimizer.step(lento.tree.map(lento.ones_like, layer))
        scheduler.step()
        lento.step(wait=True)

    for _ in range(4):
        run()
    counts = Counts()
    for _ in range(5):
        run()
    assert (counts["plan.miss"], counts["kernel.compile"]) == (0, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda o: lr_scheduler.StepLR(o, 0), "StepLR(): step_size is 0, which is less than 1"),
        (lambda o: lr_scheduler.StepLR([], 1), "StepLR(): list is no optimizer"),
        (lambda o: lr_scheduler.OneCycleLR(o, 0.1), "OneCycleLR(): total_steps, or epochs and steps_per_epoch"),
        (
            lambda o: lr_scheduler.OneCycleLR(o, [0.1, 0.2], 5),
            "OneCycleLR(): max_lr is one for all groups, not a list;",
        ),
        (lambda o: lr_scheduler.CyclicLR(o, (0.1,), 0.2), "CyclicLR(): base_lr is one for all groups, not a tuple; a "),
        (lambda o: lr_scheduler.LambdaLR(o, [math.sin]), "LambdaLR(): lr_lambda is one for all groups, not a list; a"),
        (
            lambda o: lr_scheduler.ReduceLROnPlateau(o, min_lr=[0.1]),
            "ReduceLROnPlateau(): min_lr is one for all groups",
        ),
        (lambda o: lr_scheduler.OneCycleLR(o, 0.1, 5, anneal_strategy="x"), "anneal_strategy is 'cos' or 'linear'"),
        (lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.2, mode="x"), "CyclicLR(): mode is 'triangular', 'triangular2' or"),
        (
            lambda o: lr_scheduler.OneCycleLR(optim.Adagrad(lento.ones(1), 0.1), 0.1, 5),
            "OneCycleLR(): Adagrad has no momentum to change; give cycle_momentum=False",
        ),
        (
            lambda o: lr_scheduler.StepLR(optim.SGD(lento.ones(1), optim.constant(0.1)), 2),
            "StepLR(): the optimizer's lr is a function of the step already",
        ),
        (lambda o: lr_scheduler.SequentialLR(o, [], [2]), "SequentialLR(): there are 0 schedulers and 1 milestones"),
        (
            lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.ConstantLR(o)] * 3, [3, 2]),
            "SequentialLR(): milestones have to rise, and are [3, 2]",
        ),
        (lambda o: lr_scheduler.SequentialLR(o, [], [2]), "; it needs one milestone fewer than schedulers"),
        (
            lambda o: lr_scheduler.StepLR(o, 2, last_epoch=3),
            "StepLR(): with last_epoch=3 the optimizer's first rates are not known; make the scheduler with",
        ),
        (lambda o: lr_scheduler.StepLR(o, 2).step(-1), "StepLR.step(): the epoch is -1, which is not from 0 to 2**53"),
        (lambda o: lr_scheduler.StepLR(o, 2).step(math.nan), "StepLR.step(): the epoch is nan, which is not from 0"),
        (lambda o: lr_scheduler.StepLR(o, 2).step("a"), "StepLR.step(): an epoch is a number, not 'a'"),
        (lambda o: lr_scheduler.OneCycleLR(o, 0.1, 5, pct_start=0.0), "OneCycleLR(): pct_start is 0.0, which is not"),
        (lambda o: lr_scheduler.OneCycleLR(o, 0.1, 5, div_factor=0), "OneCycleLR(): div_factor is 0, which is not"),
        (
            lambda o: lr_scheduler.OneCycleLR(o, 0.1, 5, final_div_factor=-1),
            "OneCycleLR(): final_div_factor is -1, which is not more than 0",
        ),
        (
            lambda o: lr_scheduler.ChainedScheduler([lr_scheduler.OneCycleLR(o, 0.1, 5)], o),
            "ChainedScheduler(): a OneCycleLR that changes the momentum cannot be a part; give cycle_momentum=False",
        ),
        (
            lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.ReduceLROnPlateau(o)], []),
            "SequentialLR(): a ReduceLROnPlateau cannot be a part of it: it needs a number at each step",
        ),
        (lambda o: lr_scheduler.ChainedScheduler([2], o), "ChainedScheduler(): int is no scheduler"),
        (lambda o: lr_scheduler.ChainedScheduler([], o), "ChainedScheduler(): there are no schedulers"),
        (
            lambda o: lr_scheduler.OneCycleLR(o, 0.1, 2).step(70),
            "OneCycleLR.step(): the cycle has 2 steps, and this is step 70",
        ),
        (lambda o: adam(betas=0.9), "Adam(): betas are two numbers from 0 to less than 1, not 0.9"),
        (
            lambda o: lr_scheduler.ReduceLROnPlateau(o).step(),
            "ReduceLROnPlateau.step(): it is given the number",
        ),
        (lambda o: lr_scheduler.ReduceLROnPlateau(o, factor=1.0), "factor is 1.0, which is not less than 1"),
        (lambda o: lr_scheduler.StepLR(o, 2).load_state_dict({}), "StepLR.load_state_dict(): missing: last_epoch"),
        (lambda o: optim.join_schedules([optim.constant(1.0)], [2]), "there are 1 schedules and 1 boundaries"),
        (
            lambda o: optim.join_schedules([optim.constant(1.0)] * 3, [3, 2]),
            "join_schedules(): boundaries have to rise, and are [3, 2]",
        ),
        (lambda o: optim.cosine_decay_schedule(1.0, 0), "cosine_decay_schedule(): decay_steps is 0"),
        (lambda o: optim.warmup_cosine_decay_schedule(0.0, 1.0, 5, 5), "decay_steps is 0, which is less than 1"),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[optim.Optimizer], Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(message)) as caught:
        call(adam())
    assert ", at test_lr_scheduler.py:" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("last_epoch", -1.0),
        ("last_epoch", math.nan),
        ("last_epoch", 1e17),
        ("times", math.inf),
        ("num_bad_epochs", math.nan),
        ("cooldown_counter", -2.0),
        ("first_lr", math.inf),
    ],
)
def test_a_state_that_is_none_changes_nothing(name: str, value: float) -> None:
    optimizer = adam()
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
    for _ in range(3):
        scheduler.step(1.0)
    before = {key: float(tensor) for key, tensor in scheduler.state_dict().items()}
    with pytest.raises(ValueError, match=rf"ReduceLROnPlateau.load_state_dict\(\): {name} is "):
        scheduler.load_state_dict({**dict.fromkeys(before, 1.0), name: value})
    assert {key: float(tensor) for key, tensor in scheduler.state_dict().items()} == before
    assert optimizer.lr == 0.125
    scheduler.load_state_dict({**before, "times": 2.0**53})
    assert 0 < float(optimizer.lr) < 1e-6


def test_a_state_beyond_the_cycle_changes_nothing() -> None:
    optimizer = adam()
    scheduler = lr_scheduler.OneCycleLR(optimizer, 0.1, 4)
    scheduler.step()
    before = (optimizer.lr, optimizer.betas)
    with pytest.raises(ValueError, match="the cycle has 4 steps, and this is step 9"):
        scheduler.load_state_dict({"last_epoch": 9, "first_lr": 2.0})
    assert (scheduler.last_epoch, scheduler.first_rates, optimizer.lr, optimizer.betas) == (1, [0.5], *before)


def test_a_phase_without_length_is_at_its_end() -> None:
    optimizer = adam()
    scheduler = lr_scheduler.OneCycleLR(optimizer, 0.9, 10, pct_start=0.1)
    assert (optimizer.lr, optimizer.betas[0]) == (0.9, 0.85)
    for _ in range(9):
        scheduler.step()
    assert float(optimizer.lr) == pytest.approx(0.9 / 25 / 1e4)


def test_schedulers_that_take_turns_are_warned_of() -> None:
    optimizer = adam()
    one, two = lr_scheduler.ExponentialLR(optimizer, 0.5), lr_scheduler.ExponentialLR(optimizer, 0.25)
    one.step()
    one.step()
    two.step()  # goes on where the other ended
    two.step()
    with pytest.warns(RuntimeWarning, match=r"ExponentialLR.step\(\): another scheduler of this optimizer was"):
        one.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        two.step()


def test_the_momentum_that_a_cycle_gave_is_saved() -> None:
    after = []
    for resumes in (False, True):
        w = lento.asarray([1.0, -2.0])
        optimizer = optim.SGD(w, lr=0.1)
        scheduler = lr_scheduler.OneCycleLR(optimizer, 0.5, 8)
        for i in range(6):
            if resumes and i == 3:
                states = optimizer.state_dict(), scheduler.state_dict()
                optimizer = optim.SGD(w, lr=0.1)
                wrong = {**states[0], "momentum_buffer.0": lento.ones(3)}
                with pytest.raises(ValueError, match=r"momentum_buffer\.0 has shape"):
                    optimizer.load_state_dict(wrong)
                assert optimizer.state == {"momentum_buffer": {}}
                optimizer.load_state_dict(states[0])
                scheduler = lr_scheduler.OneCycleLR(optimizer, 0.5, 8)
                scheduler.load_state_dict(states[1])
            optimizer.step(2 * w)
            scheduler.step()
        after.append(w.tolist())
    assert after[0] == after[1]


# --- optax's names ---


def cosine_between(start: float, end: float, part: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * part)) / 2


SCHEDULES: dict[str, tuple[optim._optimizer.Schedule, Callable[[int], float]]] = {
    # name: (the schedule, its formula)
    "constant_schedule": (optim.constant_schedule(0.3), lambda i: 0.3),
    "linear_schedule": (optim.linear_schedule(1.0, 0.2, 8, 2), lambda i: np.interp(i, [2, 10], [1.0, 0.2])),
    "polynomial_schedule": (
        optim.polynomial_schedule(1.0, 0.2, 3.0, 8),
        lambda i: 0.2 + 0.8 * (1 - min(i, 8) / 8) ** 3,
    ),
    "exponential_decay": (optim.exponential_decay(2.0, 4, 0.5), lambda i: 2.0 * 0.5 ** (i / 4)),
    "exponential_decay-staircase": (
        optim.exponential_decay(2.0, 4, 0.5, 2, True, 0.3),
        lambda i: max(0.3, 2.0 * 0.5 ** (max(i - 2, 0) // 4)),
    ),
    "exponential_decay-growth": (
        optim.exponential_decay(2.0, 4, 1.5, end_value=5.0),
        lambda i: min(5.0, 2.0 * 1.5 ** (i / 4)),
    ),
    "cosine_decay_schedule": (
        optim.cosine_decay_schedule(2.0, 10, 0.1, 2.0),
        lambda i: 2.0 * (0.9 * cosine_between(1, 0, min(i, 10) / 10) ** 2 + 0.1),
    ),
    "piecewise_constant_schedule": (
        optim.piecewise_constant_schedule(2.0, {9: 0.1, 5: 0.5}),
        lambda i: 2.0 if i < 5 else 1.0 if i < 9 else 0.1,
    ),
    "warmup_constant_schedule": (optim.warmup_constant_schedule(0.1, 0.9, 4), lambda i: 0.1 + 0.2 * min(i, 4)),
    "warmup_cosine_decay_schedule": (
        optim.warmup_cosine_decay_schedule(0.1, 0.9, 4, 12, 0.3),
        lambda i: 0.1 + 0.2 * i if i < 4 else cosine_between(0.9, 0.3, min(i - 4, 8) / 8),
    ),
    "warmup_exponential_decay_schedule": (
        optim.warmup_exponential_decay_schedule(0.1, 0.9, 4, 2, 0.5),
        lambda i: 0.1 + 0.2 * i if i < 4 else 0.9 * 0.5 ** ((i - 4) / 2),
    ),
    "cosine_onecycle_schedule": (
        optim.cosine_onecycle_schedule(10, 1.0, 0.3, 5.0, 10.0),
        lambda i: cosine_between(0.2, 1.0, i / 3) if i < 3 else cosine_between(1.0, 0.02, min(i - 3, 7) / 7),
    ),
    "linear_onecycle_schedule": (
        optim.linear_onecycle_schedule(10, 1.0, 0.3, 0.8, 5.0, 10.0),
        lambda i: np.interp(i, [0, 3, 8, 10], [0.2, 1.0, 0.2, 0.02]),
    ),
    "join_schedules": (
        optim.join_schedules([optim.linear_schedule(0.0, 1.0, 4), optim.exponential_decay(1.0, 1, 0.5)], [4]),
        lambda i: i / 4 if i < 4 else 0.5 ** (i - 4),
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_are_their_formulas(name: str) -> None:
    schedule, formula = SCHEDULES[name]
    np.testing.assert_allclose(
        [schedule(i) for i in range(15)], [formula(i) for i in range(15)], rtol=1e-13, atol=1e-15
    )
    assert isinstance(schedule(3), float)


def test_schedules_begin_with_their_first_value() -> None:
    assert optim.cosine_onecycle_schedule(10, 1.0, 0.3, 4.0)(-3) == 0.25
    assert optim.linear_onecycle_schedule(10, 1.0, 0.3, 0.8, 4.0)(-3) == 0.25


def test_schedules_of_no_steps_are_those_of_optax() -> None:
    assert optim.linear_schedule(0.5, 1.0, 0)(3) == 0.5
    assert optim.polynomial_schedule(0.5, 1.0, 2.0, 0)(3) == 0.5
    assert optim.warmup_constant_schedule(0.5, 1.0, 0)(3) == 0.5
    assert optim.warmup_cosine_decay_schedule(0.5, 1.0, 0, 4)(0) == 1.0
    assert optim.warmup_exponential_decay_schedule(0.5, 1.0, 0, 2, 0.25)(1) == 0.5
    with pytest.raises(ValueError, match="transition_steps is -1, which is less than 1"):
        optim.linear_schedule(0.5, 1.0, -1)


@pytest.mark.parametrize("kind", ["SGD", "RMSprop"])
@pytest.mark.parametrize("text", ["OneCycleLR(o, 0.5, 8)", "CyclicLR(o, 0.1, 0.6, 3)"])
def test_a_cycle_gives_an_optimizer_made_without_momentum_one(kind: str, text: str) -> None:
    """As in PyTorch, where the setting is always there: the scheduler decides from the first step on."""
    after = []
    for settings in ({}, {"momentum": 0.5}):
        w = lento.asarray([1.0, -2.0])
        optimizer = getattr(optim, kind)(w, lr=0.1, **settings)
        scheduler = eval(f"lr_scheduler.{text}", {"lr_scheduler": lr_scheduler, "o": optimizer})
        momenta = []
        for _ in range(6):
            momenta.append(optimizer.momentum)
            optimizer.step(2 * w)
            scheduler.step()
        after.append((w.tolist(), momenta))
    assert after[0] == after[1]
    assert min(after[0][1]) >= 0.8
    without = getattr(optim, kind)(lento.ones(1), lr=0.1)
    lr_scheduler.OneCycleLR(without, 0.5, 8, cycle_momentum=False)
    assert (without.momentum, without.state["momentum_buffer"]) == (0.0, {})
