"""What the classes of lr_scheduler share."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, SupportsFloat

from .. import _core
from .._core import Tensor
from .._fail import fail, warn
from .._recording import current
from .._state import load_into
from ._optimizer import Optimizer


class LRScheduler:
    """What all of them share. One of your own overrides ``rate``."""

    last_epoch: float  # how often it was stepped, unless it was told otherwise

    def __init__(self, optimizer: Optimizer, last_epoch: float = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise fail(TypeError, f"{type(self).__name__}(): {type(optimizer).__name__} is no optimizer")
        self.optimizer = optimizer
        if any(callable(group["lr"]) for group in optimizer.param_groups):
            raise fail(ValueError, f"{type(self).__name__}(): the optimizer's lr is a function of the step already")
        # The rate of the optimizer and those of its groups, None for one that takes the optimizer's. They are those
        # that the first scheduler of an optimizer found, as in PyTorch.
        if optimizer._first_rates is None:
            if last_epoch != -1:
                raise fail(
                    ValueError,
                    f"{type(self).__name__}(): with last_epoch={last_epoch} the optimizer's first rates are not known; "
                    "make the scheduler with last_epoch=-1 and load its state_dict",
                )
            groups = [float(own["lr"]) if "lr" in own else None for own in optimizer.groups]
            optimizer._first_rates = [float(optimizer.lr), *groups]  # type: ignore[arg-type]
        self.first_rates = optimizer._first_rates
        self.last_epoch = last_epoch
        self._mark: object | None = None  # there once it was stepped
        self._go_to(self._checked_epoch(f"{type(self).__name__}()", last_epoch + 1))

    def rate(self, first: float, epoch: float) -> float:
        """The learning rate after ``epoch`` calls of ``step``, where it was ``first`` before them."""
        raise NotImplementedError

    def step(self, epoch: float | None = None) -> None:
        """Goes on to the next epoch, or to this one."""
        caller = f"{type(self).__name__}.step()"
        if current.recording is not None:
            current.recording.refuse(f"{caller} is called inside; call it outside, its rates are asked for anew")
        epoch = self._checked_epoch(caller, self.last_epoch + 1 if epoch is None else epoch)
        self._go_to(epoch)
        if self._mark is None:
            self._mark = object()
        elif self.optimizer._stepped_by is not self._mark and not self.optimizer._turns_are_known:
            self.optimizer._turns_are_known = True
            warn(
                f"{caller}: another scheduler of this optimizer was stepped in between; the last one decides the "
                "learning rate, and ChainedScheduler combines them",
                RuntimeWarning,
            )
        self.optimizer._stepped_by = self._mark

    def _go_to(self, epoch: float) -> None:
        self._check_groups("step")
        # All of them first: a formula that raises has changed nothing.
        rates = [None if first is None else self.rate(first, epoch) for first in self.first_rates]
        momentum = self._momentum_at(epoch)
        if rates[0] is not None:
            self.optimizer._schedule("lr", rates[0])
        for own, rate in zip(self.optimizer.groups, rates[1:], strict=True):
            if rate is not None:
                own["lr"] = rate
        if momentum is not None:
            self._set_momentum(momentum)
        self.last_epoch = epoch

    def _momentum_at(self, epoch: float) -> float | None:
        """None where the momentum is left alone."""
        return None

    def _set_momentum(self, momentum: float) -> None:
        optimizer: Any = self.optimizer
        if hasattr(optimizer, "betas"):
            optimizer._schedule("betas", (momentum, optimizer.betas[1]))
        else:
            optimizer._schedule("momentum", momentum)  # begins to keep what it needs where there was none
        for own in optimizer.groups:
            if "betas" in own:
                own["betas"] = (momentum, own["betas"][1])
            elif "momentum" in own:
                own["momentum"] = momentum

    @staticmethod
    def _checked_epoch(caller: str, epoch: Any) -> float:
        if not isinstance(epoch, SupportsFloat):
            raise fail(TypeError, f"{caller}: an epoch is a number, not {epoch!r}")
        check_counted(caller, "the epoch", float(epoch))
        return epoch  # type: ignore[return-value]

    def _check_groups(self, method: str) -> None:
        now, before = len(self.optimizer.groups), len(self.first_rates) - 1
        if now != before:
            raise fail(
                ValueError,
                f"{type(self).__name__}.{method}(): there are {now} groups, and there were {before} when the scheduler "
                "was made",
            )

    def get_last_lr(self) -> list[float]:
        """The learning rates of ``optimizer.param_groups``."""
        return [float(group["lr"]) for group in self.optimizer.param_groups]

    def _saved(self) -> dict[str, float]:
        rates = {_first_name(i): rate for i, rate in enumerate(self.first_rates) if rate is not None}
        return {"last_epoch": self.last_epoch, **rates}

    #: What is saved and counts something.
    _counts: tuple[str, ...] = ("last_epoch",)

    def _check_saved(self, caller: str, saved: Mapping[str, float]) -> None:
        for name in self._counts:
            check_counted(caller, name, saved[name])
        for name, value in saved.items():
            if name.endswith("first_lr") and not math.isfinite(value):
                raise fail(ValueError, f"{caller}: {name} is {value}, which is not finite")

    def _take(self, saved: dict[str, float]) -> None:
        self.last_epoch = saved["last_epoch"]
        # In place: all schedulers of an optimizer share them.
        self.first_rates[:] = [saved.get(_first_name(i)) for i in range(len(self.first_rates))]

    def state_dict(self) -> dict[str, Tensor]:
        """What has to be saved beside the optimizer's state to go on later: the epoch, and the rates before the first
        one."""
        return {name: _core.asarray(float(value), dtype=_core.float64) for name, value in self._saved().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from what ``state_dict`` gave, and sets the learning rates of that epoch: the optimizer's state may
        be loaded before this scheduler is made, or after."""
        caller = f"{type(self).__name__}.load_state_dict()"
        load_into(caller, {}, state, False)  # refuses what is no dict
        self._check_groups("load_state_dict")
        here = self.state_dict()
        for i in range(1, len(self.first_rates)):  # the scheduler changes the rates of those groups that it did then
            name = _first_name(i)
            here.pop(name, None)
            if name in state:
                here[name] = _core.asarray(0.0, dtype=_core.float64)
        load_into(caller, here, state, True)
        saved = {name: float(tensor) for name, tensor in here.items()}
        self._check_saved(caller, saved)
        before = self._saved()
        self._take(saved)
        try:
            self._go_to(self.last_epoch)
        except BaseException:
            self._take(before)
            raise


def _first_name(i: int) -> str:
    """The name in state dicts of one of the first rates: the optimizer's, or that of a group, from 1."""
    return f"groups.{i - 1}.first_lr" if i else "first_lr"


def check_counted(caller: str, name: str, value: float) -> None:
    if not 0 <= value <= 2**53:
        raise fail(ValueError, f"{caller}: {name} is {value:.15g}, which is not from 0 to 2**53")


def check_positive(scheduler: LRScheduler, **values: int) -> None:
    for name, value in values.items():
        if value < 1:
            raise fail(ValueError, f"{type(scheduler).__name__}(): {name} is {value}, which is less than 1")


def check_rising(scheduler: LRScheduler, **values: Sequence[int]) -> None:
    for name, numbers in values.items():
        if any(a > b for a, b in itertools.pairwise(numbers)):
            raise fail(ValueError, f"{type(scheduler).__name__}(): {name} have to rise, and are {list(numbers)}")


def check_for_all_groups(scheduler: LRScheduler, **values: object) -> None:
    """PyTorch takes a list with an entry for each group."""
    for name, value in values.items():
        if isinstance(value, list | tuple):
            raise fail(
                TypeError,
                f"{type(scheduler).__name__}(): {name} is one for all groups, not a {type(value).__name__}; a group "
                "follows a schedule of its own when its 'lr' is one, such as lento.optim.cosine_onecycle_schedule(…)",
            )
