"""Sequential and Identity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, overload

from ._core import Tensor
from ._fail import fail, names_its_errors
from ._module import Module

__all__ = ["Identity", "Sequential"]


class Identity(Module):
    """Gives what it is called with. Takes any arguments, so that it can stand for any other layer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def forward(self, x: Tensor) -> Tensor:
        return x


@names_its_errors
class Sequential(Module):
    """Modules, or functions of a tensor, one after the other; named "0", "1" and so on.

    >>> lento.nn.Sequential(lento.nn.Linear(4, 8), lento.nn.ReLU(), lento.nn.Linear(8, 2))
    Sequential(
      (0): Linear(4, 8)
      (1): ReLU()
      (2): Linear(8, 2)
    )
    """

    def __init__(self, *steps: Any) -> None:
        # As attributes, not as a list: the names of a state dict are then PyTorch's.
        for step in steps:
            self._add("Sequential()", step)

    def _add(self, caller: str, step: Any) -> None:
        i = len(self)
        if not callable(step):
            hint = "; steps are given one by one, as in Sequential(*steps)" if isinstance(step, Iterable) else ""
            raise fail(TypeError, f"{caller}: step {i} is a {type(step).__name__}, which cannot be called{hint}")
        setattr(self, str(i), step)

    def append(self, step: Any) -> Sequential:
        """Adds a step at the end; gives the module itself."""
        self._add("Sequential.append()", step)
        return self

    def extend(self, steps: Iterable[Any]) -> Sequential:
        """Adds steps at the end; gives the module itself."""
        for step in list(steps):
            self._add("Sequential.extend()", step)
        return self

    def _steps(self) -> list[Callable[..., Any]]:
        return [step for name, step in vars(self).items() if name.isdecimal()]

    # Most steps make a tensor of a tensor; others may take and give anything.
    @overload
    def __call__(self, x: Tensor) -> Tensor: ...
    @overload
    def __call__(self, x: Any) -> Any: ...
    def __call__(self, x: Any) -> Any:
        return Module.__call__(self, x)

    def forward(self, x: Any) -> Any:
        for step in self._steps():
            x = step(x)
        return x

    def __len__(self) -> int:
        return len(self._steps())

    def __getitem__(self, i: int) -> Any:
        return self._steps()[i]

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        return iter(self._steps())
