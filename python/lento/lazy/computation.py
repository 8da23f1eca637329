"""Compiled computations by their key.

>>> from lento.lazy import computation
>>> x = lento.ones((3,))
>>> computation.get_graph_hash([x * 2]) == computation.get_graph_hash([x * 3])
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from .. import _core
from .._fail import fail

__all__ = ["get_graph_hash", "get_tensors_ts_device_data_node", "run_cached_graph"]


def get_graph_hash(tensors: Sequence[_core.Tensor]) -> str:
    """``lento.graph_key`` as text: the key under which the pending graph of these tensors is or will be cached.

    Graphs that differ only in the values of numbers and tensors have the same one.
    """
    return f"{_core.graph_key(*tensors):016x}"


def run_cached_graph(hash_str: str, graph_inputs: Sequence[_core.Tensor]) -> list[_core.Tensor]:
    """``lento.cache.run``: what the cached graph of this hash computes, with other inputs.

    The inputs are those of the graph, in the order in which it first used them; numbers are those of the trace that was
    compiled. The results are the graph's outputs, oldest first. LTC needs this because tracing is slow there; in Lento,
    calling the function again finds the cached graph at tens of nanoseconds an op.
    """
    return _core.cache_run(int(hash_str, 16), list(graph_inputs))


def get_tensors_ts_device_data_node(tensors: Sequence[_core.Tensor]) -> NoReturn:
    """Not in Lento, which has no TorchScript: raises ``NotImplementedError``. ``lento.dump`` shows a graph's inputs."""
    raise fail(
        NotImplementedError,
        "get_tensors_ts_device_data_node(): Lento has no TorchScript graphs; lento.dump(tensors) shows the inputs",
    )
