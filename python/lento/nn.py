"""Functions of neural networks: activations, normalisations, convolutions, pooling, losses, attention."""

from ._nn import *  # noqa: F403
