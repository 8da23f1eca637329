"""Neural networks: functions (activations, normalisations, convolutions, pooling, losses, attention), and modules that
hold their weights. A function is written small, as ``linear``, the module large, as ``Linear``."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ._layers import *  # noqa: F403
from ._module import *  # noqa: F403
from ._nn import *  # noqa: F403
from ._sequence_layers import *  # noqa: F403

if not _TYPE_CHECKING:  # which would take every name for one that is there
    from ._hints import hinting as _hinting

    __getattr__ = _hinting(__name__)
