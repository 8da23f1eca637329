"""Neural networks: functions (activations, normalisations, convolutions, pooling, losses, attention), and modules that
hold their weights. A function is written small, as ``linear``, the module large, as ``Linear``."""

from ._layers import *  # noqa: F403
from ._module import *  # noqa: F403
from ._nn import *  # noqa: F403
from ._sequence_layers import *  # noqa: F403
