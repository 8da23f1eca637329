"""Discrete Fourier transforms."""

from ._fft import *
