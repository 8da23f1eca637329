"""``lento.show_versions``: what a report of a bug should tell."""

from __future__ import annotations

from . import _core


def show_versions() -> None:
    """Print what Lento is made of and runs on: versions, instruction set, threads, cache, ``LENTO_...`` variables."""
    import importlib.metadata
    import os
    import platform
    import sys

    about = _core.about()

    def installed(package: str) -> str:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return "not installed"

    rows = {
        "lento": f"{about['version']} (build {about['build_id'][:12] or 'unknown'})",
        "python": f"{platform.python_version()} ({sys.executable})",
        "system": platform.platform(),
        "numpy": installed("numpy"),
        "ml_dtypes": installed("ml_dtypes"),
        "llvm": about["llvm"],
        "onednn": about["onednn"],
        "openblas": about["openblas"],
        "instruction set": about["instruction_set"] or "unknown: nothing is compiled",
        "threads": str(_core.get_num_threads()),
        "devices": ", ".join(map(str, _core.devices())),
        "cache on disk": _core.cache_info()["disk_folder"] or "off",
    }
    # What OpenMP's variable says is the number of threads at the start.
    rows |= {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith("LENTO_") or name == "OMP_NUM_THREADS"
    }
    width = max(map(len, rows))
    for name, value in rows.items():
        print(f"{name:{width}}  {value}")
