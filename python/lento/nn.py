"""Neural networks: functions (activations, normalisations, convolutions, pooling, losses, attention), and modules that
hold their weights. A function is written small, as ``linear``, the module large, as ``Linear``."""

import sys as _sys

from . import _init, _nn
from ._composed_layers import *  # noqa: F403
from ._containers import *  # noqa: F403
from ._layers import *  # noqa: F403
from ._module import *  # noqa: F403
from ._nn import *  # noqa: F403
from ._norm_layers import *  # noqa: F403
from ._sequence_layers import *  # noqa: F403

# Assigned, not imported under another name: a strict type checker takes the latter for private.
init = _init
functional = _nn  # PyTorch's name for the functions alone: import lento.nn.functional as F
_sys.modules[f"{__name__}.functional"] = functional
