"""The keys of ``model.parameters()``: texts that say what to write when they are taken for tensors, as in PyTorch."""

from __future__ import annotations

from typing import Any, NoReturn

from ._core import Tensor

_HINT = "it is the name of a parameter, as model.parameters() is a dict: write for p in model.parameters().values()"


class ParameterName(str):
    """A text like any other, except in the message about an attribute that tensors have."""

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        hint = f"; {_HINT}" if name in vars(Tensor) and not name.startswith("_") else ""
        raise AttributeError(f"'str' object has no attribute {name!r}{hint}", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__getattr__(name)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)
