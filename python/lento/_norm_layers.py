"""Normalisation with running statistics: batch norm and instance norm. Other norms are layers of the catalogue."""

from __future__ import annotations

from typing import Any

from . import _core, _nn, errors
from ._core import Tensor
from ._fail import fail, names_its_errors
from ._layer_parts import DTypeLike, check_sizes, what_changed
from ._module import Buffer, Module
from ._ops import ones, zeros

__all__ = [
    "BatchNorm",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
]


@names_its_errors
class _RunningNorm(Module):
    """What batch norm and instance norm share: weight and bias if ``affine``, and running statistics, if any."""

    weight: Tensor | None
    bias: Tensor | None
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any
    _counts = True  # whether batches are counted with a momentum too

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        dtype: DTypeLike,
    ) -> None:
        check_sizes(type(self).__name__, 0, num_features=num_features)
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.track_running_stats = track_running_stats
        self.weight = ones(num_features, dtype=dtype) if affine else None
        self.bias = zeros(num_features, dtype=dtype) if affine else None
        self.running_mean = Buffer(zeros(num_features, dtype=dtype)) if track_running_stats else None
        self.running_var = Buffer(ones(num_features, dtype=dtype)) if track_running_stats else None
        self.num_batches_tracked = Buffer(zeros((), dtype=_core.int64)) if track_running_stats else None

    def _update(self, train: Any, x: Tensor) -> Tensor:
        """What ``train``, an op that gives new running statistics, makes of ``x``."""
        momentum = 1.0 if self.momentum is None else self.momentum
        y: Tensor
        y, mean, var = train(x, self.running_mean, self.running_var, self.weight, self.bias, momentum, self.eps)
        if self._counts or self.momentum is None:
            self.num_batches_tracked += 1  # only now: an input that is refused is no batch
        if self.momentum is None:
            # How many batches there were is a tensor, so that no plan depends on it.
            share = 1 / self.num_batches_tracked.astype(mean.dtype)
            mean = self.running_mean + (mean - self.running_mean) * share
            var = self.running_var + (var - self.running_var) * share
        self.running_mean, self.running_var = mean, var
        return y


@names_its_errors
class BatchNorm(_RunningNorm):
    """Normalises each channel (axis 1) over the batch and keeps running statistics, which ``eval()`` makes it use.

    They move towards those of each batch by ``momentum``; with None they are the average over all batches. Without
    ``track_running_stats`` there are none, and those of the batch are always used.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype)

    def forward(self, x: Tensor) -> Tensor:
        if self.training and self.track_running_stats:
            return self._update(_nn.batch_norm_train, x)
        return _nn.batch_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            training=not self.track_running_stats,
            eps=self.eps,
        )

    def extra_repr(self) -> str:
        return what_changed(
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}",
            affine=(self.weight is not None, True),
            track_running_stats=(self.track_running_stats, True),
        )


class BatchNorm1d(BatchNorm):
    """:class:`BatchNorm` by PyTorch's name."""


class BatchNorm2d(BatchNorm):
    """:class:`BatchNorm` by PyTorch's name."""


class BatchNorm3d(BatchNorm):
    """:class:`BatchNorm` by PyTorch's name."""


@names_its_errors
class _InstanceNorm(_RunningNorm):
    axes = 0
    _counts = False  # as in PyTorch, whose states have the number too

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype)

    def forward(self, x: Tensor) -> Tensor:
        single = x.ndim == self.axes + 1
        channels = x.shape[-1 - self.axes] if x.ndim > self.axes else None
        if channels != self.num_features or x.ndim > self.axes + 2:
            raise fail(
                errors.ShapeError,
                f"{type(self).__name__}(): an input has {self.num_features} channels before {self.axes} spatial axes, "
                f"not shape {x.shape}",
            )
        batch = x[None] if single else x
        if self.training and self.track_running_stats:
            y = self._update(_nn.instance_norm_train, batch)
        else:
            y = _nn.instance_norm(
                batch,
                self.running_mean,
                self.running_var,
                self.weight,
                self.bias,
                use_input_stats=not self.track_running_stats,
                eps=self.eps,
            )
        return y[0] if single else y

    def extra_repr(self) -> str:
        return what_changed(
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}",
            affine=(self.weight is not None, False),
            track_running_stats=(self.track_running_stats, False),
        )


class InstanceNorm1d(_InstanceNorm):
    """Normalises each channel of each sample of (batch, channels, length), or of one sample without the batch axis.

    With ``track_running_stats`` it keeps running statistics, which ``eval()`` makes it use.
    """

    axes = 1


class InstanceNorm2d(_InstanceNorm):
    """:class:`InstanceNorm1d` for (batch, channels, height, width).

    >>> lento.nn.InstanceNorm2d(3)(lento.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    axes = 2


class InstanceNorm3d(_InstanceNorm):
    """:class:`InstanceNorm1d` for (batch, channels, depth, height, width)."""

    axes = 3
