"""LTC computes by TorchScript once that is initialised. Lento computes by itself."""

from __future__ import annotations

__all__ = ["init"]


def init() -> None:
    """Does nothing: Lento's backends are ready when it is imported."""
