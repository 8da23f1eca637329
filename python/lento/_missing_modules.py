"""What an import of another library's module says: ``import lento.numpy``, ``from lento.utils.data import DataLoader``.

Python asks the finder here after all others, so that imports of what is there cost what they cost before.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from ._hints import hint_of

# Packages whose modules people import by other libraries' names.
_PACKAGES = ("lento", "lento.nn", "lento.optim")


class _Finder:
    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        package, _, module = name.rpartition(".")
        hint = hint_of(package, module) if package in _PACKAGES else None
        if hint is None:
            return None
        raise ModuleNotFoundError(f"No module named {name!r}; {hint}", name=name)


def install() -> None:
    """Lets imports of modules that are not there answer so."""
    for name in _PACKAGES:
        vars(sys.modules[name]).setdefault("__path__", [])  # of others Python does not ask for modules inside
    sys.meta_path.append(_Finder)
