"""PyTorch's classes that change the learning rate of an optimizer at each ``step()``, with its names and arguments.

A class here is a formula of the first learning rate and the number of calls. So any of them can be saved, resumed and
put after another. Whoever does not need the class gives the optimizer a function: ``lr=optim.cosine(…)``.

    >>> w = lento.ones(1)
    >>> optimizer = lento.optim.SGD(w, lr=1.0)
    >>> scheduler = lento.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> rates = []
    >>> for epoch in range(4):
    ...     rates.append(optimizer.lr)
    ...     scheduler.step()
    >>> rates
    [1.0, 1.0, 0.5, 0.5]
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from .._fail import fail, names_its_errors
from ._cycles import CyclicLR, OneCycleLR
from ._optimizer import Optimizer
from ._scheduler import LRScheduler, check_for_all_groups, check_positive, check_rising

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]


def _half_cosine(first: float, eta_min: float, done: float, length: float) -> float:
    return eta_min + (first - eta_min) * (1 + math.cos(math.pi * done / length)) / 2


@names_its_errors
class LambdaLR(LRScheduler):
    """The first rate times ``lr_lambda(epoch)``."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[int], float], last_epoch: float = -1) -> None:
        check_for_all_groups(self, lr_lambda=lr_lambda)
        self.lr_lambda = lr_lambda
        super().__init__(optimizer, last_epoch)

    def rate(self, first: float, epoch: float) -> float:
        return first * self.lr_lambda(int(epoch))


@names_its_errors
class MultiplicativeLR(LRScheduler):
    """Times ``lr_lambda(epoch)`` at each epoch."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[int], float], last_epoch: float = -1) -> None:
        check_for_all_groups(self, lr_lambda=lr_lambda)
        self.lr_lambda = lr_lambda
        self._products = [1.0]
        super().__init__(optimizer, last_epoch)

    def rate(self, first: float, epoch: float) -> float:
        while len(self._products) <= epoch:
            self._products.append(self._products[-1] * self.lr_lambda(len(self._products)))
        return first * self._products[int(epoch)]


@names_its_errors
class StepLR(LRScheduler):
    """Times ``gamma`` after every ``step_size`` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: float = -1) -> None:
        check_positive(self, step_size=step_size)
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, first: float, epoch: float) -> float:
        return first * math.pow(self.gamma, epoch // self.step_size)


@names_its_errors
class MultiStepLR(LRScheduler):
    """Times ``gamma`` at each of the ``milestones``."""

    def __init__(
        self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1, last_epoch: float = -1
    ) -> None:
        self.milestones = sorted(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, first: float, epoch: float) -> float:
        return first * math.pow(self.gamma, bisect_right(self.milestones, epoch))


@names_its_errors
class ConstantLR(LRScheduler):
    """Times ``factor`` for the first ``total_iters`` epochs."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: float = -1
    ) -> None:
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, first: float, epoch: float) -> float:
        return first * self.factor if epoch < self.total_iters else first


@names_its_errors
class LinearLR(LRScheduler):
    """Times a factor that goes from ``start_factor`` to ``end_factor`` in ``total_iters`` epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: float = -1,
    ) -> None:
        check_positive(self, total_iters=total_iters)
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, first: float, epoch: float) -> float:
        part = min(epoch, self.total_iters) / self.total_iters
        return first * (self.start_factor + (self.end_factor - self.start_factor) * part)


@names_its_errors
class ExponentialLR(LRScheduler):
    """Times ``gamma`` at each epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: float = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, first: float, epoch: float) -> float:
        return first * math.pow(self.gamma, epoch)


@names_its_errors
class PolynomialLR(LRScheduler):
    """Down to 0 in ``total_iters`` epochs, as a power of those that are left."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: float = -1) -> None:
        check_positive(self, total_iters=total_iters)
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def rate(self, first: float, epoch: float) -> float:
        return first * math.pow(1.0 - min(self.total_iters, epoch) / self.total_iters, self.power)


@names_its_errors
class CosineAnnealingLR(LRScheduler):
    """Along a cosine: down to ``eta_min`` in ``T_max`` epochs, and up again in as many."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: float = -1) -> None:
        check_positive(self, T_max=T_max)
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, first: float, epoch: float) -> float:
        return _half_cosine(first, self.eta_min, epoch, self.T_max)


@names_its_errors
class CosineAnnealingWarmRestarts(LRScheduler):
    """Down to ``eta_min`` along half a cosine, again and again: in ``T_0`` epochs, then in ``T_mult`` times as many."""

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: float = -1
    ) -> None:
        check_positive(self, T_0=T_0, T_mult=T_mult)
        self.T_0 = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, first: float, epoch: float) -> float:
        length = float(self.T_0)
        done = math.fmod(epoch, length) if self.T_mult == 1 else float(epoch)
        while done >= length:
            done -= length
            length *= self.T_mult
        return _half_cosine(first, self.eta_min, done, length)


def _check_parts(caller: str, schedulers: Sequence[LRScheduler]) -> None:
    for scheduler in schedulers:
        kind = type(scheduler).__name__
        if not isinstance(scheduler, LRScheduler):
            raise fail(TypeError, f"{caller}(): {kind} is no scheduler")
        if isinstance(scheduler, ReduceLROnPlateau):
            raise fail(ValueError, f"{caller}(): a {kind} cannot be a part of it: it needs a number at each step")
        if scheduler._momentum_at(0) is not None:
            raise fail(
                ValueError,
                f"{caller}(): a {kind} that changes the momentum cannot be a part; give cycle_momentum=False",
            )


@names_its_errors
class SequentialLR(LRScheduler):
    """One scheduler after the other: each begins anew at its milestone."""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: float = -1,
    ) -> None:
        if len(schedulers) != len(milestones) + 1:
            raise fail(
                ValueError,
                f"SequentialLR(): there are {len(schedulers)} schedulers and {len(milestones)} milestones; it "
                "needs one milestone fewer than schedulers",
            )
        check_rising(self, milestones=milestones)
        _check_parts("SequentialLR", schedulers)
        self.schedulers = list(schedulers)
        self.milestones = list(milestones)
        super().__init__(optimizer, last_epoch)

    def rate(self, first: float, epoch: float) -> float:
        i = bisect_right(self.milestones, epoch)
        return self.schedulers[i].rate(first, epoch - self.milestones[i - 1] if i else epoch)


@names_its_errors
class ChainedScheduler(LRScheduler):
    """Schedulers together: each one takes what the one before it gives for the first rate."""

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None, last_epoch: float = -1
    ) -> None:
        if not schedulers:
            raise fail(ValueError, "ChainedScheduler(): there are no schedulers")
        _check_parts("ChainedScheduler", schedulers)
        self.schedulers = list(schedulers)
        super().__init__(optimizer or self.schedulers[0].optimizer, last_epoch)

    def rate(self, first: float, epoch: float) -> float:
        for scheduler in self.schedulers:
            first = scheduler.rate(first, epoch)
        return first


@names_its_errors
class ReduceLROnPlateau(LRScheduler):
    """Times ``factor`` where the number given to ``step`` was not better for more than ``patience`` epochs. It is read:
    give it once an epoch."""

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if not factor < 1:
            raise fail(ValueError, f"ReduceLROnPlateau(): factor is {factor}, which is not less than 1")
        if mode not in ("min", "max"):
            raise fail(ValueError, f"ReduceLROnPlateau(): mode is 'min' or 'max', not {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise fail(ValueError, f"ReduceLROnPlateau(): threshold_mode is 'rel' or 'abs', not {threshold_mode!r}")
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        check_for_all_groups(self, min_lr=min_lr)
        self.min_lr = min_lr
        self.eps = eps
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = 0
        self.cooldown_counter = 0
        self._times = 0
        super().__init__(optimizer)

    def rate(self, first: float, epoch: float) -> float:
        for _ in range(self._times):
            lower = max(first * self.factor, self.min_lr)
            if not first - lower > self.eps:
                break  # as all that follow
            first = lower
        return first

    def _is_better(self, metrics: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "rel":
            limit = self.best * (1 + sign * self.threshold)
        else:
            limit = self.best + sign * self.threshold
        return metrics < limit if self.mode == "min" else metrics > limit

    def step(self, metrics: Any = None, epoch: float | None = None) -> None:  # type: ignore[override]
        """Takes the number of an epoch in."""
        if metrics is None:
            raise fail(TypeError, "ReduceLROnPlateau.step(): it is given the number to watch, such as a loss")
        if epoch is not None:
            self._checked_epoch("ReduceLROnPlateau.step()", epoch)
        value = float(metrics)
        better = self._is_better(value)
        self.best = value if better else self.best
        self.num_bad_epochs = 0 if better else self.num_bad_epochs + 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._times += 1
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        super().step(epoch)

    def _saved(self) -> dict[str, float]:
        watched = {"best": self.best, "num_bad_epochs": self.num_bad_epochs, "cooldown_counter": self.cooldown_counter}
        return {**super()._saved(), **watched, "times": self._times}

    _counts = ("last_epoch", "num_bad_epochs", "cooldown_counter", "times")

    def _take(self, saved: dict[str, float]) -> None:
        super()._take(saved)
        self.best = saved["best"]
        self.num_bad_epochs = int(saved["num_bad_epochs"])
        self.cooldown_counter = int(saved["cooldown_counter"])
        self._times = int(saved["times"])
