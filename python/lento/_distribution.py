"""What the classes of lento.stats are: names for the functions of a distribution."""

from __future__ import annotations

from typing import Any

from ._fail import fail


class Distribution:
    """There are no objects of it, as SciPy's frozen distributions and PyTorch's are."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name, density = type(self).__name__, "logpdf" if hasattr(self, "logpdf") else "logpmf"
        raise fail(
            TypeError,
            f"{name}(): there are no objects of a distribution; write lento.stats.{name}.{density}(x, …) with its "
            "parameters after x",
        )
