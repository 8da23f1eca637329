"""Random numbers. They are counter-based: one seed gives the same numbers whatever computes them. The default generator
starts with seed 0.

    >>> lento.random.seed(7)
    >>> first = lento.random.uniform((3,))
    >>> lento.random.seed(7)
    >>> bool((first == lento.random.uniform((3,))).all())
    True
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _core
from ._core import Generator as Generator
from ._core import default_generator as default_generator
from ._fail import fail as _fail
from ._fail import names_errors as _names_errors
from ._random import *  # noqa: F403


def seed(seed: int) -> None:
    """Restarts the default generator's sequence with this seed."""
    default_generator().seed(seed)


def state_dict() -> dict[str, _core.Tensor]:
    """Where the default generator is, to be saved beside a model."""
    return {"state": _core.asarray(list(default_generator().state), dtype=_core.uint64)}


@_names_errors
def load_state_dict(state: Mapping[str, Any]) -> None:
    """Lets the default generator go on from what :func:`state_dict` gave."""
    if "state" not in state:
        raise _fail(ValueError, f"load_state_dict(): a generator's state has the name 'state', not {sorted(state)}")
    seed, position = _core.asarray(state["state"], dtype=_core.uint64).tolist()
    default_generator().state = (seed, position)
