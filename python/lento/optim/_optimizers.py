"""The optimizers. Names, defaults and updates are PyTorch's; Lion is not in PyTorch."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from .._fail import fail, names_its_errors
from .._ops import full_like, ones, zeros, zeros_like
from ._optimizer import Groups, Optimizer, Schedule


@names_its_errors
class SGD(Optimizer):
    """Gradient descent, as PyTorch's: with ``momentum``, a running sum of gradients that old ones fade from."""

    kept: tuple[str, ...] = ("momentum_buffer",)
    settings: tuple[str, ...] = ("lr", "momentum", "weight_decay", "nesterov")
    _make_step = staticmethod(_core._sgd_step)

    def __init__(
        self,
        parameters: Any,
        lr: float | Schedule,
        momentum: float = 0.0,
        *,  # PyTorch has its dampening here
        weight_decay: float = 0.0,
        nesterov: bool = False,
        groups: Groups | None = None,
    ) -> None:
        if nesterov and not momentum:
            raise fail(ValueError, "SGD(): nesterov needs a momentum")
        self._check_not_negative(momentum=momentum, weight_decay=weight_decay)
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.nesterov = nesterov
        self._same_for_all = () if momentum else ("momentum",)
        super().__init__(parameters, lr, groups)

    def _start(self, kept: str, parameter: Tensor) -> Tensor | None:
        return zeros_like(parameter) if self.momentum else None


@names_its_errors
class RMSprop(Optimizer):
    """RMSprop: divides by the root of a running mean of squares, of the variance where it is ``centered``."""

    kept: tuple[str, ...] = ("square_avg", "momentum_buffer", "grad_avg")
    settings: tuple[str, ...] = ("lr", "alpha", "eps", "weight_decay", "momentum")
    _make_step = staticmethod(_core._rmsprop_step)

    def __init__(
        self,
        parameters: Any,
        lr: float | Schedule = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        groups: Groups | None = None,
    ) -> None:
        self._check_fraction(alpha=alpha)
        self._check_not_negative(eps=eps, weight_decay=weight_decay, momentum=momentum)
        self.alpha = alpha
        self.eps = eps
        self.weight_decay = weight_decay
        self.momentum = momentum
        self.centered = centered
        self._same_for_all = () if momentum else ("momentum",)
        super().__init__(parameters, lr, groups)

    def _start(self, kept: str, parameter: Tensor) -> Tensor | None:
        is_kept = {"square_avg": True, "momentum_buffer": bool(self.momentum), "grad_avg": self.centered}[kept]
        return zeros_like(parameter) if is_kept else None


@names_its_errors
class Adagrad(Optimizer):
    """Adagrad: divides by the root of the sum of all squares so far."""

    kept: tuple[str, ...] = ("sum",)
    settings: tuple[str, ...] = ("lr", "lr_decay", "weight_decay", "eps")
    _make_step = staticmethod(_core._adagrad_step)

    def __init__(
        self,
        parameters: Any,
        lr: float | Schedule = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        groups: Groups | None = None,
    ) -> None:
        self._check_not_negative(lr_decay=lr_decay, weight_decay=weight_decay, eps=eps)
        self._check_not_negative(initial_accumulator_value=initial_accumulator_value)
        self.lr_decay = lr_decay
        self.weight_decay = weight_decay
        self.initial_accumulator_value = initial_accumulator_value
        self.eps = eps
        super().__init__(parameters, lr, groups)

    def _start(self, kept: str, parameter: Tensor) -> Tensor | None:
        value = float(self.initial_accumulator_value)
        return full_like(parameter, complex(value, value) if parameter.dtype.kind == "c" else value)


@names_its_errors
class Adadelta(Optimizer):
    """Adadelta: sizes of steps come from those of the steps before."""

    kept: tuple[str, ...] = ("square_avg", "acc_delta")
    settings: tuple[str, ...] = ("lr", "rho", "eps", "weight_decay")
    _make_step = staticmethod(_core._adadelta_step)

    def __init__(
        self,
        parameters: Any,
        lr: float | Schedule = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        groups: Groups | None = None,
    ) -> None:
        self._check_fraction(rho=rho)
        self._check_not_negative(eps=eps, weight_decay=weight_decay)
        self.rho = rho
        self.eps = eps
        self.weight_decay = weight_decay
        super().__init__(parameters, lr, groups)


@names_its_errors
class Adam(Optimizer):
    """Adam; ``weight_decay`` is added to the gradient."""

    kept: tuple[str, ...] = ("exp_avg", "exp_avg_sq")
    settings: tuple[str, ...] = ("lr", "betas", "eps", "weight_decay", "_decoupled")
    _make_step = staticmethod(_core._adam_step)
    _decoupled = False

    def __init__(
        self,
        parameters: Any,
        lr: float | Schedule = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        groups: Groups | None = None,
    ) -> None:
        self._check_betas(betas)
        self._check_not_negative(eps=eps, weight_decay=weight_decay)
        self.betas = betas
        self.eps = eps
        self.weight_decay = weight_decay
        super().__init__(parameters, lr, groups)


@names_its_errors
class AdamW(Adam):
    """Adam whose ``weight_decay`` shrinks the parameters directly."""

    _decoupled = True

    def __init__(
        self,
        parameters: Any,
        lr: float | Schedule = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        groups: Groups | None = None,
    ) -> None:
        super().__init__(parameters, lr, betas, eps, weight_decay, groups)


@names_its_errors
class Adamax(Adam):
    """Adamax: Adam with the greatest gradient, which fades, instead of the mean square."""

    kept: tuple[str, ...] = ("exp_avg", "exp_inf")
    settings: tuple[str, ...] = ("lr", "betas", "eps", "weight_decay")
    _make_step = staticmethod(_core._adamax_step)

    def __init__(
        self,
        parameters: Any,
        lr: float | Schedule = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        groups: Groups | None = None,
    ) -> None:
        super().__init__(parameters, lr, betas, eps, weight_decay, groups)


@names_its_errors
class NAdam(Adam):
    """NAdam: Adam with Nesterov's momentum."""

    kept: tuple[str, ...] = ("exp_avg", "exp_avg_sq", "mu_product")
    settings: tuple[str, ...] = ("lr", "betas", "eps", "weight_decay", "momentum_decay", "decoupled_weight_decay")
    _make_step = staticmethod(_core._nadam_step)

    def __init__(
        self,
        parameters: Any,
        lr: float | Schedule = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        groups: Groups | None = None,
    ) -> None:
        self._check_not_negative(momentum_decay=momentum_decay)
        self.momentum_decay = momentum_decay
        self.decoupled_weight_decay = decoupled_weight_decay
        super().__init__(parameters, lr, betas, eps, weight_decay, groups)

    def _start(self, kept: str, parameter: Tensor) -> Tensor | None:
        if kept == "mu_product":
            return ones((), dtype=_core.float64, device=parameter.device)
        return zeros_like(parameter)


@names_its_errors
class RAdam(Adam):
    """RAdam: Adam that steps without squares until it has seen enough of them."""

    settings: tuple[str, ...] = ("lr", "betas", "eps", "weight_decay", "decoupled_weight_decay")
    _make_step = staticmethod(_core._radam_step)

    def __init__(
        self,
        parameters: Any,
        lr: float | Schedule = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        groups: Groups | None = None,
    ) -> None:
        self.decoupled_weight_decay = decoupled_weight_decay
        super().__init__(parameters, lr, betas, eps, weight_decay, groups)


@names_its_errors
class Adafactor(Optimizer):
    """Adafactor: keeps a row and a column of mean squares instead of a matrix. Steps are relative to a parameter's
    size. Of ``eps`` the first keeps roots away from 0 (None: the dtype's), the second is the least size that counts."""

    kept: tuple[str, ...] = ("row_var", "col_var", "variance")
    settings: tuple[str, ...] = ("lr", "beta2_decay", "eps", "d", "weight_decay")
    _same_for_all = ("eps",)
    _make_step = staticmethod(_core._adafactor_step)

    def __init__(
        self,
        parameters: Any,
        lr: float | Schedule = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        groups: Groups | None = None,
    ) -> None:
        if not beta2_decay <= 0:
            raise fail(ValueError, f"Adafactor(): beta2_decay is {beta2_decay}, which is more than 0 or no number")
        if not d >= 1:
            raise fail(ValueError, f"Adafactor(): d is {d}, which is less than 1 or no number")
        for value in eps:
            self._check_not_negative(eps=0.0 if value is None else value)
        self._check_not_negative(weight_decay=weight_decay)
        self.beta2_decay = beta2_decay
        self.eps = eps
        self.d = d
        self.weight_decay = weight_decay
        super().__init__(parameters, lr, groups)

    def _start(self, kept: str, parameter: Tensor) -> Tensor | None:
        if parameter.dtype.kind == "c":
            name = next(name for name, p in self.parameters.items() if p is parameter)
            raise fail(_core.DTypeError, f"Adafactor(): {name} is {parameter.dtype}, but only real ones are taken")
        if (kept == "variance") == (parameter.ndim > 1):
            return None
        shape = list(parameter.shape)
        if kept != "variance":
            shape[-1 if kept == "row_var" else -2] = 1
        return zeros(shape, dtype=parameter.dtype, device=parameter.device)


@names_its_errors
class Lion(Optimizer):
    """Lion: steps of one size, in the direction of the sign of a mixture of momentum and gradient."""

    kept: tuple[str, ...] = ("exp_avg",)
    settings: tuple[str, ...] = ("lr", "betas", "weight_decay")
    _make_step = staticmethod(_core._lion_step)

    def __init__(
        self,
        parameters: Any,
        lr: float | Schedule = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
        groups: Groups | None = None,
    ) -> None:
        self._check_betas(betas)
        self._check_not_negative(weight_decay=weight_decay)
        self.betas = betas
        self.weight_decay = weight_decay
        super().__init__(parameters, lr, groups)
