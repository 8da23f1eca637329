"""A function compiled for the shapes of its example inputs.

>>> from lento.lazy.extract_compiled_graph import extract_compiled_graph
>>> x = lento.asarray([1.0, 2.0, 3.0])
>>> f = extract_compiled_graph(lambda x: (lento.exp(x) - 1).sum(), [x])
>>> f(lento.zeros((3,)))
[tensor(0., dtype=float32)]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._fail import fail
from . import metrics

__all__ = ["extract_compiled_graph", "force_lazy_device", "get_fallback_ops"]


def force_lazy_device(model: Any) -> None:
    """Does nothing: what a model makes is recorded on Lento's devices in any case."""


def get_fallback_ops() -> list[str]:
    """The ops that ran on the reference backend since the last ``metrics.reset()``, as ``"aten::exp=3"``."""
    names = (name for name in metrics.counter_names() if name.startswith("aten::"))
    return [f"{name}={metrics.counter_value(name)}" for name in names]


def _check_inputs(function: str, tensors: Sequence[Any]) -> list[_core.Tensor]:
    for number, tensor in enumerate(tensors):
        if not isinstance(tensor, _core.Tensor):
            raise fail(TypeError, f"{function}(): input {number} must be Tensor, not {type(tensor).__name__}")
    return list(tensors)


def extract_compiled_graph(
    model: Callable[..., Any], example_inputs: Sequence[_core.Tensor]
) -> Callable[..., list[_core.Tensor]]:
    """Calls ``model`` once and returns a function that runs what it recorded, with other inputs, without calling it.

    The inputs must have the dtypes and shapes of the examples. The result is a list, as in LTC: the model returns a
    tensor, or a tuple or list of them. An input that the model changes in place (``x += 1``) is changed by the
    returned function too. Everything else is as it was in the one call: which branch was taken, numbers, random draws,
    and tensors that are no inputs, such as weights. In Lento calling the model again finds the same plan at tens of
    nanoseconds an op, and none of this is frozen; use this where that time counts.
    """
    examples = _check_inputs("extract_compiled_graph", example_inputs)
    _core.eval(examples)
    before = [tensor.__copy__() for tensor in examples]
    given = [tensor.__copy__() for tensor in examples]
    result = model(*given)
    outputs = _check_inputs("extract_compiled_graph", result if isinstance(result, tuple | list) else [result])
    changed = [i for i, tensor in enumerate(given) if tensor.id != before[i].id]
    captured = _core.cache_capture(before, [*outputs, *(given[i] for i in changed)])
    count = len(outputs)
    del result, outputs, given, before, examples

    def optimized_mod(*inputs: _core.Tensor) -> list[_core.Tensor]:
        values = captured(_check_inputs("optimized_mod", inputs))
        for i, value in zip(changed, values[count:], strict=True):
            inputs[i][...] = value
        return values[:count]

    return optimized_mod
