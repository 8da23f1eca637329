"""Lento: a lazy tensor engine.

Code looks eager, but an operation only records what it would do; reading a value (``float(x)``, ``x.numpy()``,
``print(x)``), ``eval`` or ``step`` computes what is needed.

    >>> import lento
    >>> x = lento.arange(6, dtype=lento.float32)
    >>> y = (x * 2 + 1).sum()
    >>> float(y)
    36.0
"""

from __future__ import annotations

import os as _os

from . import _core
from ._ops import *  # functions of the catalogue; first, so that what follows may replace them
from ._core import (
    Device,
    DType,
    Generator,
    Tensor,
    __version__,
    asarray,
    bfloat16,
    bool,
    complex64,
    complex128,
    devices,
    dump,
    eval,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    live_tensors,
    memory,
    reset_peak_memory,
    step,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ._dtypes import (
    broadcast_shapes,
    can_cast,
    e,
    finfo,
    iinfo,
    inf,
    isdtype,
    nan,
    newaxis,
    pi,
    promote_types,
    result_type,
)
from ._options import options
from ._scope import scope
from .errors import BackendError, DeviceError, DTypeError, Error, FileError, LinAlgError, ShapeError
from . import errors, fft, linalg, metrics, nn, random, special

# Lines of this package's own files are not where the user called from.
_core._set_package_folder(_os.path.dirname(__file__))
