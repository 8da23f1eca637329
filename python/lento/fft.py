"""Discrete Fourier transforms."""

from ._fft import *  # noqa: F403
