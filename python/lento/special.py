"""Special functions."""

from ._special import *  # noqa: F403
