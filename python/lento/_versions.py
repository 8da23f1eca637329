"""``lento.show_versions``: what a report of a bug should tell."""

from __future__ import annotations

from . import _core


def show_versions() -> None:
    """Print what Lento is made of and runs on: versions, instruction set, threads, cache, ``LENTO_...`` variables."""
    import importlib.metadata
    import platform
    import sys

    def installed(package: str) -> str:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return "not installed"

    engine = _core.version_rows()
    rows = {
        "lento": engine.pop("lento"),
        "python": f"{platform.python_version()} ({sys.executable})",
        "system": platform.platform(),  # which knows more than the engine
        "numpy": installed("numpy"),
        "ml_dtypes": installed("ml_dtypes"),
    }
    rows = rows | {name: text for name, text in engine.items() if name not in rows}
    width = max(map(len, rows))
    for name, text in rows.items():
        print(f"{name:{width}}  {text}")
