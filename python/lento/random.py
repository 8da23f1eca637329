"""Random numbers. They are counter-based: one seed gives the same numbers whatever computes them. The default generator
starts with seed 0.

    >>> lento.random.seed(7)
    >>> first = lento.random.uniform((3,))
    >>> lento.random.seed(7)
    >>> bool((first == lento.random.uniform((3,))).all())
    True
"""

from ._core import Generator as Generator
from ._core import default_generator as default_generator
from ._random import *  # noqa: F403


def seed(seed: int) -> None:
    """Restarts the default generator's sequence with this seed."""
    default_generator().seed(seed)
