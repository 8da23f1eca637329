"""Optimizers, schedules of the learning rate, and clipping of gradients.

An optimizer changes parameters in place, so the old values' memory holds the new ones. Learning rates and the number of
steps are numbers of the plan: changing them compiles nothing.

    >>> w = lento.asarray([1.0, 2.0])
    >>> optimizer = lento.optim.SGD(w, lr=0.1)
    >>> optimizer.step(lento.grad(lambda w: (w * w).sum())(w))
    >>> w
    tensor([0.8, 1.6], dtype=float32)
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, ValuesView
from typing import Any, NoReturn, SupportsFloat, TypeAlias, TypeVar

from . import _core, errors, tree
from ._core import Tensor
from ._fail import fail, names_its_errors
from ._module import load_into
from ._ops import clip, complex, imag, minimum, real, sign, sqrt, square, zeros_like

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "Lion",
    "Optimizer",
    "clip_grad_norm",
    "clip_grad_value",
    "constant",
    "cosine",
    "linear",
    "steps",
    "warmup",
]

Schedule: TypeAlias = Callable[[int], float]
_Tree = TypeVar("_Tree")


def _trainable(leaf: Any) -> bool:
    return isinstance(leaf, Tensor) and leaf.dtype.kind in "fc"


def _named(parameters: Any) -> dict[str, Tensor]:
    """The tensors to train by the path that leads to them; one without a path is "0", as it is alone in a list."""
    tree.leaves(parameters)  # raises for what contains itself
    found: dict[str, Tensor] = {}
    for name, leaf in tree._named_leaves(parameters):
        if _trainable(leaf):
            if name in found:
                raise fail(ValueError, f"two tensors to train would be named {name!r}")
            found[name or "0"] = leaf
    return found


class Optimizer:
    """What all optimizers share. ``parameters`` is a module or any other tree of tensors; ``lr`` is a number, or a
    function of the number of the step (from 0) such as :func:`cosine`."""

    #: The tensors kept for each parameter, by name.
    kept: tuple[str, ...] = ()

    def __init__(self, parameters: Any, lr: float | Schedule) -> None:
        if not callable(lr):
            self._check_not_negative(lr=lr)
        if isinstance(parameters, ValuesView):  # of model.parameters()
            parameters = list(parameters)
        if isinstance(parameters, list | tuple) and any(isinstance(p, dict) and "params" in p for p in parameters):
            raise fail(
                ValueError,
                f"{type(self).__name__}(): groups of parameters with settings of their own are not taken; make an "
                "optimizer for each",
            )
        self._form = parameters
        self.parameters = _named(parameters)
        if not self.parameters:
            raise fail(ValueError, f"{type(self).__name__}(): there is no floating tensor to train")
        if len({id(p) for p in self.parameters.values()}) != len(self.parameters):
            raise fail(ValueError, f"{type(self).__name__}(): a tensor is there twice; a module may share one")
        self.lr = lr
        self.step_count = 0
        self.state: dict[str, dict[str, Tensor]] = {
            kept: {name: zeros_like(p) for name, p in self.parameters.items()} for kept in self.kept
        }

    def _check_not_negative(self, **settings: float) -> None:
        for name, value in settings.items():
            if not isinstance(value, SupportsFloat):
                raise fail(TypeError, f"{type(self).__name__}(): {name} is a number, not {value!r}")
            if not float(value) >= 0:
                raise fail(ValueError, f"{type(self).__name__}(): {name} is {value}, which is less than 0 or no number")

    def _check_betas(self, betas: tuple[float, float]) -> None:
        if len(betas) != 2 or not all(0 <= beta < 1 for beta in betas):
            raise fail(ValueError, f"{type(self).__name__}(): betas are two numbers from 0 to less than 1, not {betas}")

    def learning_rate(self) -> float:
        """What the next step uses."""
        return float(self.lr(self.step_count) if callable(self.lr) else self.lr)

    def step(self, gradients: Any) -> None:
        """Updates the parameters with gradients of the same form."""
        now = tree.leaves(self._form)
        trained = [leaf for leaf in now if _trainable(leaf)]
        if len(trained) != len(self.parameters) or any(map(operator.is_not, trained, self.parameters.values())):
            self._refuse_other_tensors()
        leaves = tree.leaves_like(self._form, gradients, f"{type(self).__name__}.step(): what is given as gradients")
        given = [g for p, g in zip(now, leaves, strict=True) if _trainable(p)]
        for (name, p), g in zip(self.parameters.items(), given, strict=True):
            if not isinstance(g, Tensor):
                raise fail(
                    TypeError, f"{type(self).__name__}.step(): the gradient of {name} is {g!r} instead of a tensor"
                )
            if g.shape != p.shape:
                raise fail(
                    ValueError, f"{type(self).__name__}.step(): {name} has shape {p.shape}, but its gradient {g.shape}"
                )
            if g.dtype.kind == "c" and p.dtype.kind != "c":
                raise fail(
                    errors.DTypeError, f"{type(self).__name__}.step(): {name} is {p.dtype}, but its gradient {g.dtype}"
                )
        lr = self.learning_rate()
        self.step_count += 1
        for (name, p), g in zip(self.parameters.items(), given, strict=True):
            self._update(p, g, lr, *(self.state[kept][name] for kept in self.kept))

    def _refuse_other_tensors(self) -> NoReturn:
        now = _named(self._form)
        names = [name for name in {**self.parameters, **now} if self.parameters.get(name) is not now.get(name)]
        raise fail(
            ValueError,
            f"{type(self).__name__}.step(): {', '.join(names[:3]) or 'the order'} is not as it was when the optimizer "
            "was made: a tensor was replaced, added or taken away; make a new optimizer",
        )

    def _update(self, p: Tensor, g: Tensor, lr: float, *kept: Tensor) -> None:
        raise NotImplementedError

    def state_dict(self) -> dict[str, Tensor]:
        """What has to be saved to go on later, as it is now; the learning rate too where it is a number."""
        made = {"step_count": _core.asarray(self.step_count, dtype=_core.int64)}
        if not callable(self.lr):
            made["lr"] = _core.asarray(float(self.lr), dtype=_core.float64)
        return made | {name: tensor.__copy__() for name, tensor in self._kept_by_name().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from what ``state_dict`` gave; nothing is changed when names or shapes differ. Its learning rate is
        taken unless the one here is a function of the step."""
        caller = f"{type(self).__name__}.load_state_dict()"
        rate = 0.0 if callable(self.lr) else float(self.lr)
        if isinstance(state, Mapping) and "lr" in state:
            saved = _core.asarray(rate, dtype=_core.float64)
            load_into(caller, {"lr": saved}, {"lr": state["lr"]}, True)
            rate = float(saved)
            self._check_not_negative(lr=rate)
            state = {name: value for name, value in state.items() if name != "lr"}
        count = _core.asarray(self.step_count, dtype=_core.int64)
        # By itself first: how many steps it names has to be right before anything is changed.
        if isinstance(state, Mapping) and "step_count" in state:
            load_into(caller, {"step_count": count}, {"step_count": state["step_count"]}, True)
            if int(count) < 0:
                raise fail(ValueError, f"{caller}: a step_count of {int(count)} is less than none")
        load_into(caller, {"step_count": count, **self._kept_by_name()}, state, True)
        self.step_count = int(count)
        if not callable(self.lr):
            self.lr = rate

    def _kept_by_name(self) -> dict[str, Tensor]:
        return {f"{kept}.{name}": tensor for kept, all in self.state.items() for name, tensor in all.items()}


@names_its_errors
class SGD(Optimizer):
    """Gradient descent, as PyTorch's: with ``momentum``, a running sum of gradients that old ones fade from."""

    def __init__(
        self,
        parameters: Any,
        lr: float | Schedule,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        if nesterov and not momentum:
            raise fail(ValueError, "SGD(): nesterov needs a momentum")
        self._check_not_negative(momentum=momentum, weight_decay=weight_decay)
        self.kept = ("momentum_buffer",) if momentum else ()
        super().__init__(parameters, lr)
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.nesterov = nesterov

    def _update(self, p: Tensor, g: Tensor, lr: float, *kept: Tensor) -> None:
        if self.weight_decay:
            g = g + self.weight_decay * p
        for velocity in kept:
            velocity *= self.momentum
            velocity += g
            g = g + self.momentum * velocity if self.nesterov else velocity
        p -= lr * g


@names_its_errors
class Adam(Optimizer):
    """Adam; ``weight_decay`` is added to the gradient."""

    kept = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        parameters: Any,
        lr: float | Schedule = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        self._check_betas(betas)
        self._check_not_negative(eps=eps, weight_decay=weight_decay)
        super().__init__(parameters, lr)
        self.betas = betas
        self.eps = eps
        self.weight_decay = weight_decay

    def _decay(self, p: Tensor, g: Tensor, lr: float) -> Tensor:
        return g + self.weight_decay * p

    def _update(self, p: Tensor, g: Tensor, lr: float, *kept: Tensor) -> None:
        mean, mean_square = kept
        beta1, beta2 = self.betas
        if self.weight_decay:
            g = self._decay(p, g, lr)
        mean += (1 - beta1) * (g - mean)
        mean_square *= beta2
        # The corrections are numbers made here, in double precision, so that the plan does not count steps.
        size = lr / (1 - beta1**self.step_count)
        root = math.sqrt(1 - beta2**self.step_count)

        def direction(mean: Tensor, mean_square: Tensor) -> Tensor:
            return mean / (sqrt(mean_square) / root + self.eps)

        if p.dtype.kind != "c":
            mean_square += (1 - beta2) * (g * g)
            p -= size * direction(mean, mean_square)
            return
        # As in PyTorch a complex number is two real ones, each with a mean square of its own.
        mean_square += (1 - beta2) * complex(square(real(g)), square(imag(g)))
        p -= size * complex(*(direction(part(mean), part(mean_square)) for part in (real, imag)))


@names_its_errors
class AdamW(Adam):
    """Adam whose ``weight_decay`` shrinks the parameters directly."""

    def __init__(
        self,
        parameters: Any,
        lr: float | Schedule = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(parameters, lr, betas, eps, weight_decay)

    def _decay(self, p: Tensor, g: Tensor, lr: float) -> Tensor:
        p *= 1 - lr * self.weight_decay
        return g


@names_its_errors
class Lion(Optimizer):
    """Lion: steps of one size, in the direction of the sign of a mixture of momentum and gradient."""

    kept = ("exp_avg",)

    def __init__(
        self,
        parameters: Any,
        lr: float | Schedule = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
    ) -> None:
        self._check_betas(betas)
        self._check_not_negative(weight_decay=weight_decay)
        super().__init__(parameters, lr)
        self.betas = betas
        self.weight_decay = weight_decay

    def _update(self, p: Tensor, g: Tensor, lr: float, *kept: Tensor) -> None:
        (mean,) = kept
        beta1, beta2 = self.betas
        direction = sign(beta1 * mean + (1 - beta1) * g)
        mean *= beta2
        mean += (1 - beta2) * g
        if self.weight_decay:
            p *= 1 - lr * self.weight_decay
        p -= lr * direction


# --- schedules: functions from the number of a step, from 0, to a learning rate ---


def constant(value: float) -> Schedule:
    """Always the same."""
    return lambda step: value


def linear(start: float, end: float, steps: int) -> Schedule:
    """From ``start`` to ``end`` in ``steps`` steps, then ``end``.

    >>> [lento.optim.linear(1.0, 0.0, 4)(i) for i in range(6)]
    [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    """
    return lambda step: end if step >= steps else start + (end - start) * (step / steps)


def cosine(peak: float, steps: int, floor: float = 0.0) -> Schedule:
    """From ``peak`` to ``floor`` along half a cosine of ``steps`` steps, then ``floor``."""
    return lambda step: floor if step >= steps else floor + (peak - floor) * (1 + math.cos(math.pi * step / steps)) / 2


def steps(value: float, every: int, factor: float = 0.1) -> Schedule:
    """``value``, times ``factor`` after every ``every`` steps.

    >>> [lento.optim.steps(1.0, 2, 0.5)(i) for i in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """
    return lambda step: value * factor ** (step // every)


def warmup(schedule: float | Schedule, steps: int) -> Schedule:
    """Rises in ``steps`` equal parts to where ``schedule`` begins and then follows it, or to a number and stays there.

    >>> [lento.optim.warmup(lento.optim.constant(1.0), 4)(i) for i in range(6)]
    [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    """
    then = schedule if callable(schedule) else constant(schedule)
    return lambda step: then(0) * ((step + 1) / steps) if step < steps else then(step - steps)


# --- clipping ---


def clip_grad_norm(gradients: _Tree, max_norm: float) -> tuple[_Tree, Tensor]:
    """The gradients, scaled down where their common norm exceeds ``max_norm``; and that norm.

    >>> clipped, norm = lento.optim.clip_grad_norm([lento.asarray([3.0]), lento.asarray([4.0])], 1.0)
    >>> float(norm), round(float(clipped[0]), 4)
    (5.0, 0.6)
    """
    if not max_norm >= 0:
        raise fail(ValueError, f"clip_grad_norm(): max_norm is {max_norm}, which is less than 0 or no number")
    given = [leaf for leaf in tree.leaves(gradients) if _trainable(leaf)]
    if not given:
        raise fail(ValueError, "clip_grad_norm(): there are no gradients")
    # In float32 at least: squares of float16 overflow beyond 256, and a small scale has few bits there.
    total = sum((square(abs(_widened(g))).sum() for g in given[1:]), start=square(abs(_widened(given[0]))).sum())
    norm = sqrt(total)
    scale = minimum(max_norm / (norm + 1e-6), 1.0)
    clipped: _Tree = tree.map(lambda g: (_widened(g) * scale).astype(g.dtype) if _trainable(g) else g, gradients)
    return clipped, norm


def _widened(g: Tensor) -> Tensor:
    return g.astype(_core.float32) if g.itemsize < 4 else g


def clip_grad_value(gradients: _Tree, limit: float) -> _Tree:
    """The gradients with every element between ``-limit`` and ``limit``."""
    clipped: _Tree = tree.map(lambda g: clip(g, -limit, limit) if _trainable(g) else g, gradients)
    return clipped
