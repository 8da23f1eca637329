"""Layers whose weights have PyTorch's names, layouts and initial distributions; in float32 where no dtype is given."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias, overload

from . import _core, _nn, _random
from ._core import DType, Generator, Tensor
from ._fail import fail, names_its_errors
from ._module import Buffer, Module
from ._ops import ones, where, zeros

__all__ = [
    "GELU",
    "BatchNorm",
    "BatchNorm1d",
    "BatchNorm2d",
    "Conv1d",
    "Conv2d",
    "Dropout",
    "Embedding",
    "GroupNorm",
    "LayerNorm",
    "Linear",
    "RMSNorm",
    "ReLU",
    "Sequential",
    "SiLU",
    "Tanh",
]


DTypeLike: TypeAlias = DType | str | None


def uniform(shape: Sequence[int], bound: float, dtype: DTypeLike) -> Tensor:
    return _random.uniform(shape, -bound, bound, dtype=dtype)


def check_parts(caller: str, what: str, count: int, parts: int, kind: str) -> None:
    """``count`` of something must come out even in ``parts``."""
    if parts < 1 or count % parts:
        raise fail(ValueError, f"{caller}(): {count} {what} in {parts} {kind} do not come out even")


def check_sizes(caller: str, least: int = 1, **sizes: int) -> None:
    """Each of the settings must be ``least`` or more."""
    for name, size in sizes.items():
        if not hasattr(size, "__index__"):
            raise fail(TypeError, f"{caller}(): {name} is a whole number, not a {type(size).__name__}")
        if size < least:
            raise fail(ValueError, f"{caller}(): {name} is {size}, which is less than {least}")


def check_choice(caller: str, what: str, given: str, choices: Sequence[str]) -> None:
    if given not in choices:
        raise fail(ValueError, f"{caller}(): {what} is one of {', '.join(map(repr, choices))}, not {given!r}")


@names_its_errors
class Linear(Module):
    """``x @ weight.T + bias``, with ``weight`` of shape (out_features, in_features).

    >>> lento.nn.Linear(3, 2)(lento.ones((5, 3))).shape
    (5, 2)
    """

    bias: Tensor | None

    def __init__(self, in_features: int, out_features: int, bias: bool = True, dtype: DTypeLike = None) -> None:
        check_sizes("Linear", 0, in_features=in_features, out_features=out_features)
        bound = 1 / math.sqrt(in_features) if in_features else 0.0
        self.weight = uniform((out_features, in_features), bound, dtype)
        self.bias = uniform((out_features,), bound, dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return _nn.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        outputs, inputs = self.weight.shape
        return f"{inputs}, {outputs}" + ("" if self.bias is not None else ", bias=False")


@names_its_errors
class _Conv(Module):
    axes = 0
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] | Literal["same", "valid"] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: DTypeLike = None,
    ) -> None:
        caller = type(self).__name__
        kernel = (kernel_size,) * self.axes if isinstance(kernel_size, int) else tuple(kernel_size)
        if len(kernel) != self.axes:
            raise fail(ValueError, f"{caller}(): kernel_size {kernel} has {len(kernel)} numbers, not {self.axes}")
        check_sizes(caller, in_channels=in_channels, out_channels=out_channels, kernel_size=min(kernel))
        for channels in (in_channels, out_channels):
            check_parts(caller, "channels", channels, groups, "groups")
        bound = 1 / math.sqrt(in_channels // groups * math.prod(kernel))
        self.weight = uniform((out_channels, in_channels // groups, *kernel), bound, dtype)
        self.bias = uniform((out_channels,), bound, dtype) if bias else None
        self.settings: dict[str, Any] = {"stride": stride, "dilation": dilation, "groups": groups}
        self.settings |= {"auto_padding": padding} if isinstance(padding, str) else {"padding": padding}

    def extra_repr(self) -> str:
        outputs, inputs, *kernel = self.weight.shape
        text = f"{inputs * self.settings['groups']}, {outputs}, kernel_size={tuple(kernel)}"
        return text + "".join(f", {name}={value}" for name, value in self.settings.items() if value not in (0, 1))


class Conv1d(_Conv):
    """A convolution of (batch, channels, length)."""

    axes = 1

    def forward(self, x: Tensor) -> Tensor:
        return _nn.conv1d(x, self.weight, self.bias, **self.settings)


class Conv2d(_Conv):
    """A convolution of (batch, channels, height, width).

    >>> lento.nn.Conv2d(3, 8, 3, padding=1)(lento.ones((1, 3, 6, 6))).shape
    (1, 8, 6, 6)
    """

    axes = 2

    def forward(self, x: Tensor) -> Tensor:
        return _nn.conv2d(x, self.weight, self.bias, **self.settings)


@names_its_errors
class Embedding(Module):
    """The rows of ``weight`` at whole numbers; the row ``padding_idx`` begins as zeros and has no gradient.

    >>> lento.nn.Embedding(10, 4)(lento.asarray([[1, 2, 3]])).shape
    (1, 3, 4)
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, dtype: DTypeLike = None
    ) -> None:
        self.weight = _random.normal((num_embeddings, embedding_dim), dtype=dtype)
        self.padding_idx = padding_idx
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise fail(ValueError, f"Embedding(): padding_idx {padding_idx} is no row of {num_embeddings}")
            self.padding_idx = padding_idx % num_embeddings
            self.weight[padding_idx] = 0.0

    def forward(self, x: Tensor) -> Tensor:
        rows = _nn.embedding(x, self.weight)
        if self.padding_idx is None:
            return rows
        return where((x == self.padding_idx)[..., None], _core.stop_gradient(rows), rows)

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}"


@names_its_errors
class LayerNorm(Module):
    """Normalises over the last axes, then times ``weight`` plus ``bias``."""

    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        dtype: DTypeLike = None,
    ) -> None:
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.weight = ones(self.normalized_shape, dtype=dtype) if elementwise_affine else None
        self.bias = zeros(self.normalized_shape, dtype=dtype) if elementwise_affine and bias else None

    def forward(self, x: Tensor) -> Tensor:
        return _nn.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"


@names_its_errors
class RMSNorm(Module):
    """Divides by the root of the mean square over the last axes, then times ``weight``."""

    weight: Tensor | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        dtype: DTypeLike = None,
    ) -> None:
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.weight = ones(self.normalized_shape, dtype=dtype) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        return _nn.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"


@names_its_errors
class BatchNorm(Module):
    """Normalises each channel (axis 1) over the batch and keeps running statistics, which ``eval()`` makes it use.

    They move towards those of each batch by ``momentum``; with None they are the average over all batches.
    """

    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        dtype: DTypeLike = None,
    ) -> None:
        self.eps = eps
        self.momentum = momentum
        self.weight = ones(num_features, dtype=dtype) if affine else None
        self.bias = zeros(num_features, dtype=dtype) if affine else None
        self.running_mean: Any = Buffer(zeros(num_features, dtype=dtype))
        self.running_var: Any = Buffer(ones(num_features, dtype=dtype))
        self.num_batches_tracked: Any = Buffer(zeros((), dtype=_core.int64))

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return _nn.batch_norm(
                x, self.running_mean, self.running_var, self.weight, self.bias, training=False, eps=self.eps
            )
        momentum = 1.0 if self.momentum is None else self.momentum
        y, mean, var = _nn.batch_norm_train(
            x, self.running_mean, self.running_var, self.weight, self.bias, momentum, self.eps
        )
        self.num_batches_tracked += 1  # only now: an input that is refused is no batch
        if self.momentum is None:
            # How many batches there were is a tensor, so that no plan depends on it.
            share = 1 / self.num_batches_tracked.astype(mean.dtype)
            mean = self.running_mean + (mean - self.running_mean) * share
            var = self.running_var + (var - self.running_var) * share
        self.running_mean, self.running_var = mean, var
        return y

    def extra_repr(self) -> str:
        return f"{self.running_mean.shape[0]}, eps={self.eps}, momentum={self.momentum}"


class BatchNorm1d(BatchNorm):
    """:class:`BatchNorm` by PyTorch's name."""


class BatchNorm2d(BatchNorm):
    """:class:`BatchNorm` by PyTorch's name."""


@names_its_errors
class GroupNorm(Module):
    """Normalises groups of channels (axis 1), then times ``weight`` plus ``bias``."""

    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, dtype: DTypeLike = None
    ) -> None:
        check_parts("GroupNorm", "channels", num_channels, num_groups, "groups")
        self.num_groups = num_groups
        self.eps = eps
        self.weight = ones(num_channels, dtype=dtype) if affine else None
        self.bias = zeros(num_channels, dtype=dtype) if affine else None

    def forward(self, x: Tensor) -> Tensor:
        return _nn.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, eps={self.eps}"


@names_its_errors
class Dropout(Module):
    """In training, zeroes each element with probability ``p`` and scales up the others; else nothing."""

    def __init__(self, p: float = 0.5, generator: Generator | None = None) -> None:
        if not 0 <= p <= 1:
            raise fail(ValueError, f"Dropout(): p is a probability, not {p}")
        self.p = p
        self.generator = generator

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        return _nn.dropout(x, self.p, generator=self.generator)

    def extra_repr(self) -> str:
        return f"p={self.p}"


@names_its_errors
class Sequential(Module):
    """Modules, or functions of a tensor, one after the other; named "0", "1" and so on.

    >>> lento.nn.Sequential(lento.nn.Linear(4, 8), lento.nn.ReLU(), lento.nn.Linear(8, 2))
    Sequential(
      (0): Linear(4, 8)
      (1): ReLU()
      (2): Linear(8, 2)
    )
    """

    def __init__(self, *steps: Any) -> None:
        # As attributes, not as a list: the names of a state dict are then PyTorch's.
        for i, step in enumerate(steps):
            if not callable(step):
                hint = "; steps are given one by one, as in Sequential(*steps)" if isinstance(step, Iterable) else ""
                raise fail(
                    TypeError, f"Sequential(): step {i} is a {type(step).__name__}, which cannot be called{hint}"
                )
            setattr(self, str(i), step)

    def _steps(self) -> list[Callable[..., Any]]:
        return [step for name, step in vars(self).items() if name.isdecimal()]

    # Most steps make a tensor of a tensor; others may take and give anything.
    @overload
    def __call__(self, x: Tensor) -> Tensor: ...
    @overload
    def __call__(self, x: Any) -> Any: ...
    def __call__(self, x: Any) -> Any:
        return self.forward(x)

    def forward(self, x: Any) -> Any:
        for step in self._steps():
            x = step(x)
        return x

    def __len__(self) -> int:
        return len(self._steps())

    def __getitem__(self, i: int) -> Any:
        return self._steps()[i]

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        return iter(self._steps())


class ReLU(Module):
    """``relu`` as a module."""

    def forward(self, x: Tensor) -> Tensor:
        return _nn.relu(x)


class SiLU(Module):
    """``silu`` as a module."""

    def forward(self, x: Tensor) -> Tensor:
        return _nn.silu(x)


@names_its_errors
class GELU(Module):
    """``gelu`` as a module."""

    def __init__(self, approximate: Literal["none", "tanh"] = "none") -> None:
        check_choice("GELU", "approximate", approximate, ("none", "tanh"))
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        return _nn.gelu(x, self.approximate)


class Tanh(Module):
    """``tanh`` as a module."""

    def forward(self, x: Tensor) -> Tensor:
        return x.tanh()
