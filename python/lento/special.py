"""Special functions."""

from ._special import *
