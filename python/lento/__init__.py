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
    Device as Device,
    DType as DType,
    Generator as Generator,
    Tensor as Tensor,
    __version__ as __version__,
    asarray as asarray,
    bfloat16 as bfloat16,
    bool as bool,
    complex64 as complex64,
    complex128 as complex128,
    default_device as default_device,
    devices as devices,
    dump as dump,
    eval as eval,
    explain as explain,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    from_dlpack as from_dlpack,
    get_num_threads as get_num_threads,
    get_printoptions as get_printoptions,
    graph_key as graph_key,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    live_tensors as live_tensors,
    memory as memory,
    reset_peak_memory as reset_peak_memory,
    run_step_closures as run_step_closures,
    set_default_device as set_default_device,
    set_memory_limit as set_memory_limit,
    set_num_threads as set_num_threads,
    set_printoptions as set_printoptions,
    step as step,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    wait as wait,
    wait_closures as wait_closures,
)
from ._array import (
    array as array,
)
from ._array_api import (
    __array_api_version__ as __array_api_version__,
    __array_namespace_info__ as __array_namespace_info__,
)
from ._autograd import (
    custom_gradient as custom_gradient,
    detach as detach,
    grad as grad,
    jvp as jvp,
    linearize as linearize,
    stop_gradient as stop_gradient,
    value_and_grad as value_and_grad,
    vjp as vjp,
)
from ._checkpoint import (
    checkpoint as checkpoint,
)
from ._compile import (
    compile as compile,
)
from ._recording import (
    host_number as host_number,
)
from ._jacobian import (
    hessian as hessian,
    jacobian as jacobian,
)
from ._vmap import (
    vmap as vmap,
)
from ._closures import (
    add_step_closure as add_step_closure,
)
from ._dtypes import (
    broadcast_shapes as broadcast_shapes,
    can_cast as can_cast,
    e as e,
    finfo as finfo,
    iinfo as iinfo,
    inf as inf,
    isdtype as isdtype,
    nan as nan,
    newaxis as newaxis,
    pi as pi,
    promote_types as promote_types,
    result_type as result_type,
)
from ._grids import (
    mgrid as mgrid,
    ogrid as ogrid,
)
from ._ops import (
    delete_ as delete,  # a word of C++
)
from ._files import (
    load as load,
    load_metadata as load_metadata,
    save as save,
)
from ._options import (
    options as options,
)
from ._prefetch import (
    prefetch as prefetch,
)
from ._scope import (
    device as device,
    scope as scope,
)
from ._versions import (
    show_versions as show_versions,
)
from .errors import (
    AssignmentWarning as AssignmentWarning,
    BackendError as BackendError,
    DeviceError as DeviceError,
    DeviceLostError as DeviceLostError,
    DTypeError as DTypeError,
    Error as Error,
    FileError as FileError,
    LinAlgError as LinAlgError,
    ShapeError as ShapeError,
    SyncWarning as SyncWarning,
)
from . import (
    cache as cache,
    errors as errors,
    fft as fft,
    lazy as lazy,
    linalg as linalg,
    metrics as metrics,
    nn as nn,
    optim as optim,
    random as random,
    special as special,
    stats as stats,
    tree as tree,
)
from . import _attribute_hints, _familiar, _hints, _missing_modules, _namespace

# Lines of this package's own files are not where the user called from.
_core._set_package_folder(_os.path.dirname(__file__))

# After all names are there: methods that people type by habit, what missing names say, and where things are at home.
_familiar.install()
_namespace.publish()
_hints.install()
_missing_modules.install()
_attribute_hints.install()
