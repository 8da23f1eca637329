"""Linear algebra: products, decompositions, solvers and norms."""

from ._core import LinAlgError as LinAlgError
from ._linalg import *  # noqa: F403
