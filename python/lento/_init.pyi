from collections.abc import Sequence

from ._core import Device, Generator, Tensor
from ._init_in_place import constant_ as constant_
from ._init_in_place import kaiming_normal_ as kaiming_normal_
from ._init_in_place import kaiming_uniform_ as kaiming_uniform_
from ._init_in_place import normal_ as normal_
from ._init_in_place import ones_ as ones_
from ._init_in_place import orthogonal_ as orthogonal_
from ._init_in_place import trunc_normal_ as trunc_normal_
from ._init_in_place import uniform_ as uniform_
from ._init_in_place import xavier_normal_ as xavier_normal_
from ._init_in_place import xavier_uniform_ as xavier_uniform_
from ._init_in_place import zeros_ as zeros_
from ._ops import DTypeLike

def uniform(
    shape: Sequence[int] | int,
    a: float = 0.0,
    b: float = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    generator: Generator | None = None,
) -> Tensor: ...
def normal(
    shape: Sequence[int] | int,
    mean: float = 0.0,
    std: float = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    generator: Generator | None = None,
) -> Tensor: ...
def trunc_normal(
    shape: Sequence[int] | int,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    generator: Generator | None = None,
) -> Tensor: ...
def constant(
    shape: Sequence[int] | int, value: float, *, dtype: DTypeLike | None = None, device: Device | str | None = None
) -> Tensor: ...
def ones(
    shape: Sequence[int] | int, *, dtype: DTypeLike | None = None, device: Device | str | None = None
) -> Tensor: ...
def zeros(
    shape: Sequence[int] | int, *, dtype: DTypeLike | None = None, device: Device | str | None = None
) -> Tensor: ...
def xavier_uniform(
    shape: Sequence[int] | int,
    gain: float = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    generator: Generator | None = None,
) -> Tensor: ...
def xavier_normal(
    shape: Sequence[int] | int,
    gain: float = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    generator: Generator | None = None,
) -> Tensor: ...
def kaiming_uniform(
    shape: Sequence[int] | int,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    generator: Generator | None = None,
) -> Tensor: ...
def kaiming_normal(
    shape: Sequence[int] | int,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    generator: Generator | None = None,
) -> Tensor: ...
def orthogonal(
    shape: Sequence[int] | int,
    gain: float = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    generator: Generator | None = None,
) -> Tensor: ...
def calculate_gain(nonlinearity: str, param: float = 0.01) -> float: ...
