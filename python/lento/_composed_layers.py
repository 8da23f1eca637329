"""Sequential and Identity."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, overload

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

    As in a list, ``model[i]`` is a step, ``model[i] = step`` and ``del model[i]`` change steps, and ``model[1:]`` is a
    Sequential of the same steps, which are named from "0" again.
    """

    def __init__(self, *steps: Any) -> None:
        self._put("Sequential()", 0, steps)

    def _put(self, caller: str, first: int, steps: Iterable[Any]) -> None:
        """Makes these the steps from the ``first`` on."""
        steps = list(steps)
        for i, step in enumerate(steps, first):
            if not callable(step):
                hint = "; steps are given one by one, as in Sequential(*steps)" if isinstance(step, Iterable) else ""
                raise fail(TypeError, f"{caller}: step {i} is a {type(step).__name__}, which cannot be called{hint}")
        # As attributes, not as a list: the names of a state dict are then PyTorch's.
        for i, step in enumerate(steps, first):
            setattr(self, str(i), step)
        for name in self._names()[first + len(steps) :]:
            delattr(self, name)

    def append(self, step: Any) -> Sequential:
        """Adds a step at the end; gives the module itself."""
        self._put("Sequential.append()", len(self), [step])
        return self

    def extend(self, steps: Iterable[Any]) -> Sequential:
        """Adds steps at the end; gives the module itself."""
        self._put("Sequential.extend()", len(self), steps)
        return self

    def insert(self, index: int, step: Any) -> Sequential:
        """Puts a step before the one at ``index``, as in a list; gives the module itself. Later steps change their
        names."""
        first = slice(index, None).indices(len(self))[0]
        self._put("Sequential.insert()", first, [step, *self._steps()[first:]])
        return self

    def _names(self) -> list[str]:
        return [name for name in vars(self) if name.isdecimal()]

    def _steps(self) -> list[Callable[..., Any]]:
        return [step for name, step in vars(self).items() if name.isdecimal()]

    if TYPE_CHECKING:
        # Most steps make a tensor of a tensor; others may take and give anything.
        @overload
        def __call__(self, x: Tensor) -> Tensor: ...
        @overload
        def __call__(self, x: Any) -> Any: ...
        def __call__(self, x: Any) -> Any: ...

    def forward(self, x: Any) -> Any:
        for step in self._steps():
            x = step(x)
        return x

    def __len__(self) -> int:
        return len(self._steps())

    @overload
    def __getitem__(self, i: int) -> Any: ...
    @overload
    def __getitem__(self, i: slice) -> Sequential: ...
    def __getitem__(self, i: int | slice) -> Any:
        return Sequential(*self._steps()[i]) if isinstance(i, slice) else self._steps()[self._position(i)]

    def __setitem__(self, i: int, step: Any) -> None:
        i = self._position(i)
        self._put("Sequential[…] = …", i, [step, *self._steps()[i + 1 :]])

    def __delitem__(self, i: int | slice) -> None:
        steps = self._steps()
        del steps[i if isinstance(i, slice) else self._position(i)]
        self._put("Sequential", 0, steps)

    def _position(self, i: int) -> int:
        try:
            return range(len(self))[operator.index(i)]
        except TypeError:
            raise fail(TypeError, f"Sequential: the number of a step is an int, not {type(i).__name__}") from None
        except IndexError:
            raise fail(IndexError, f"Sequential: there is no step {i}; there are {len(self)} steps") from None

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        return iter(self._steps())
