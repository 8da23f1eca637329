"""Averages: of a model's parameters over its training, and of gradients over several batches."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from .. import _core, tree
from .._core import Tensor
from .._fail import fail, names_errors, names_its_errors
from .._module import Module, _named_modules_in
from .._state import load_into
from ._groups import as_tree
from ._optimizer import Optimizer, _named, refuse_no_gradients

_Tree = TypeVar("_Tree")


@names_errors
def incremental_update(new_tensors: Any, old_tensors: _Tree, step_size: float) -> _Tree:
    """``old_tensors`` moved by ``step_size`` of the way to ``new_tensors``, leaf by leaf: optax's.

    >>> lento.optim.incremental_update([lento.ones(2)], [lento.zeros(2)], 0.25)
    [tensor([0.25, 0.25], dtype=float32)]
    """
    now = tree.leaves_like(old_tensors, new_tensors, "incremental_update(): what is new")
    leaves, like = tree.flatten(old_tensors)
    made: _Tree = like(_core._moved("incremental_update()", now, leaves, float(step_size)))
    return made


@names_its_errors
class EMA(Generic[_Tree]):
    """The exponential average of a model's parameters, as PyTorch's ``AveragedModel`` with
    ``get_ema_multi_avg_fn(decay)``: the first update copies, each one after it keeps ``decay`` of the average. Buffers
    are those of the last update.

    >>> w = lento.zeros(1)
    >>> average = lento.optim.EMA(w, decay=0.75)
    >>> average.update(w)
    >>> w += 1
    >>> average.update(w)
    >>> average.model
    tensor([0.25], dtype=float32)
    """

    def __init__(self, model: _Tree, decay: float = 0.999) -> None:
        if not 0 <= decay <= 1:
            raise fail(ValueError, f"EMA(): decay is {decay}, which is not from 0 to 1")
        #: With the averages as parameters.
        self.model: _Tree = copy.deepcopy(as_tree(model))
        self.decay = decay
        self.n_averaged = 0

    def update(self, model: _Tree) -> None:
        """Takes the parameters of a model of the same form in."""
        model = as_tree(model)
        now = tree.leaves_like(self.model, model, "EMA.update(): the model")
        old = tree.leaves(self.model)
        made = _core._moved("EMA.update()", now, old, 1.0 - self.decay) if self.n_averaged else now
        for place, value in zip(old, made, strict=True):
            if isinstance(place, Tensor):
                place[...] = value
        theirs = _buffers(model)
        for name, buffer in _buffers(self.model).items():
            buffer[...] = theirs[name]
        self.n_averaged += 1

    def state_dict(self) -> dict[str, Tensor]:
        """``n_averaged``, and the averages and the buffers of modules as ``model.<name>``."""
        made = {"n_averaged": _core.asarray(self.n_averaged, dtype=_core.int64)}
        return made | {f"model.{name}": tensor.__copy__() for name, tensor in self._named().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from what ``state_dict`` gave; nothing is changed when names or shapes differ."""
        count = _core.asarray(0, dtype=_core.int64)
        here = {f"model.{name}": tensor for name, tensor in self._named().items()}
        load_into("EMA.load_state_dict()", {"n_averaged": count, **here}, state, True)
        self.n_averaged = int(count)

    def _named(self) -> dict[str, Tensor]:
        return _named(self.model) | _buffers(self.model)


def _buffers(model: Any) -> dict[str, Tensor]:
    """Those of a module, or of the modules in another tree."""
    if isinstance(model, Module):
        return model.buffers()
    modules = _named_modules_in("", model, set())
    return {f"{path}.{name}": tensor for path, module in modules for name, tensor in module.buffers().items()}


@names_its_errors
class MultiSteps:
    """Gathers gradients: every ``every``-th step is one of the optimizer, with the mean of the gradients since the last
    one. optax's name.

    >>> w = lento.zeros(1)
    >>> steps = lento.optim.MultiSteps(lento.optim.SGD(w, lr=1.0), every=2)
    >>> [steps.step(gradient) for gradient in (lento.full(1, 1.0), lento.full(1, 3.0))]
    [False, True]
    >>> w
    tensor([-2.], dtype=float32)
    """

    def __init__(self, optimizer: Optimizer, every: int) -> None:
        if every < 1:
            raise fail(ValueError, f"MultiSteps(): every is {every}, which is less than 1")
        self.optimizer = optimizer
        self.every = every
        #: How many gradients are gathered.
        self.mini_step = 0
        self._mean: list[Any] = []

    def step(self, gradients: Any = None) -> bool:
        """Takes gradients in; returns whether the parameters were changed."""
        if gradients is None:
            refuse_no_gradients(self)
        mean, like = tree.flatten(as_tree(gradients))
        if not self.mini_step:  # the caller's may change until the mean is taken
            mean = [leaf.__copy__() if isinstance(leaf, Tensor) else leaf for leaf in mean]
        else:
            mean = _core._moved("MultiSteps.step()", mean, self._mean, 1.0 / (self.mini_step + 1))
        is_last = self.mini_step + 1 >= self.every
        if is_last:
            self.optimizer.step(like(mean))
        self.mini_step, self._mean = (0, []) if is_last else (self.mini_step + 1, mean)
        return is_last
