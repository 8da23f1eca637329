"""Linear algebra: products, decompositions, solvers and norms."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ._core import LinAlgError as LinAlgError
from ._linalg import *  # noqa: F403

if not _TYPE_CHECKING:  # which would take every name for one that is there
    from ._hints import hinting as _hinting

    __getattr__ = _hinting(__name__)
