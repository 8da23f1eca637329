"""Schedulers that go up and down, and may change the momentum too."""

from __future__ import annotations

import math

from .._fail import fail, names_its_errors
from ._optimizer import Optimizer
from ._scheduler import LRScheduler, check_for_all_groups, check_positive


class _Cycle(LRScheduler):
    """Those that may change the momentum too: up where the learning rate goes down."""

    cycle_momentum: bool

    def momentum(self, epoch: float) -> float:
        """The momentum after ``epoch`` calls of ``step``."""
        raise NotImplementedError

    def _check_momentum(self, optimizer: Optimizer) -> None:
        has_one = hasattr(optimizer, "betas") or hasattr(optimizer, "momentum")
        if self.cycle_momentum and isinstance(optimizer, Optimizer) and not has_one:
            raise fail(
                ValueError,
                f"{type(self).__name__}(): {type(optimizer).__name__} has no momentum to change; give "
                "cycle_momentum=False",
            )

    def _momentum_at(self, epoch: float) -> float | None:
        return self.momentum(epoch) if self.cycle_momentum else None


@names_its_errors
class OneCycleLR(_Cycle):
    """One cycle of ``total_steps`` (or ``epochs * steps_per_epoch``) steps: up to ``max_lr``, then far down."""

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: float = -1,
    ) -> None:
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise fail(ValueError, "OneCycleLR(): total_steps, or epochs and steps_per_epoch, have to be given")
            total_steps = epochs * steps_per_epoch
        check_positive(self, total_steps=total_steps)
        check_for_all_groups(self, max_lr=max_lr)
        if anneal_strategy not in ("cos", "linear"):
            raise fail(ValueError, f"OneCycleLR(): anneal_strategy is 'cos' or 'linear', not {anneal_strategy!r}")
        if not 0 < pct_start <= 1:
            raise fail(ValueError, f"OneCycleLR(): pct_start is {pct_start}, which is not more than 0 and at most 1")
        for name, factor in (("div_factor", div_factor), ("final_div_factor", final_div_factor)):
            if not factor > 0:
                raise fail(ValueError, f"OneCycleLR(): {name} is {factor}, which is not more than 0")
        self.total_steps = total_steps
        self.anneal_strategy = anneal_strategy
        self.cycle_momentum = cycle_momentum
        self._check_momentum(optimizer)
        start = max_lr / div_factor
        # Where each phase ends, and the rates and momenta there; the first is where it begins.
        self._ends: list[float] = [0.0, pct_start * total_steps - 1]
        self._rates = [start, max_lr]
        self._momenta = [max_momentum, base_momentum]
        if three_phase:
            self._ends.append(2 * pct_start * total_steps - 2)
            self._rates.append(start)
            self._momenta.append(max_momentum)
        self._ends.append(total_steps - 1)
        self._rates.append(start / final_div_factor)
        self._momenta.append(max_momentum)
        super().__init__(optimizer, last_epoch)

    def rate(self, first: float, epoch: float) -> float:
        return self._at(self._rates, epoch)

    def momentum(self, epoch: float) -> float:
        return self._at(self._momenta, epoch)

    def _at(self, values: list[float], epoch: float) -> float:
        if epoch > self.total_steps:
            raise fail(
                ValueError, f"OneCycleLR.step(): the cycle has {self.total_steps} steps, and this is step {epoch:.15g}"
            )
        phase = 1
        while phase < len(values) - 1 and epoch > self._ends[phase]:
            phase += 1
        start, end = values[phase - 1], values[phase]
        length = self._ends[phase] - self._ends[phase - 1]
        if length == 0:
            return end
        part = (epoch - self._ends[phase - 1]) / length
        if self.anneal_strategy == "linear":
            return start + (end - start) * part
        return end + (start - end) / 2 * (1 + math.cos(math.pi * part))


@names_its_errors
class CyclicLR(_Cycle):
    """Up from ``base_lr`` to ``max_lr`` in ``step_size_up`` steps and down in ``step_size_down``, again and again: to
    the same height (``triangular``), to half of the last (``triangular2``), lower by ``gamma`` at each step
    (``exp_range``)."""

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float,
        max_lr: float,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: float = -1,
    ) -> None:
        if mode not in ("triangular", "triangular2", "exp_range"):
            raise fail(ValueError, f"CyclicLR(): mode is 'triangular', 'triangular2' or 'exp_range', not {mode!r}")
        check_for_all_groups(self, base_lr=base_lr, max_lr=max_lr)
        step_size_down = step_size_up if step_size_down is None else step_size_down
        check_positive(self, step_size_up=step_size_up, step_size_down=step_size_down)
        self.base_lr = base_lr
        self.max_lr = max_lr
        self.step_size_up = step_size_up
        self.step_size_down = step_size_down
        self.mode = mode
        self.gamma = gamma
        self.cycle_momentum = cycle_momentum
        self.base_momentum = base_momentum
        self.max_momentum = max_momentum
        self._check_momentum(optimizer)
        super().__init__(optimizer, last_epoch)

    def rate(self, first: float, epoch: float) -> float:
        return self.base_lr + (self.max_lr - self.base_lr) * self._height(epoch)

    def momentum(self, epoch: float) -> float:
        return self.max_momentum - (self.max_momentum - self.base_momentum) * self._height(epoch)

    def _height(self, epoch: float) -> float:
        size = self.step_size_up + self.step_size_down
        done = math.fmod(epoch, size)
        height = done / self.step_size_up if done <= self.step_size_up else (size - done) / self.step_size_down
        if self.mode == "triangular2":
            height *= math.pow(0.5, epoch // size)
        elif self.mode == "exp_range":
            height *= math.pow(self.gamma, epoch)
        return height
