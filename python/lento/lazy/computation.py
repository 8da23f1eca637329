"""Compiled computations by their key.

>>> from lento.lazy import computation
>>> x = lento.ones((3,))
>>> computation.get_graph_hash([x * 2]) == computation.get_graph_hash([x * 3])
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from .. import _core

__all__ = ["get_graph_hash", "get_tensors_ts_device_data_node", "run_cached_graph"]


def get_graph_hash(tensors: Sequence[_core.Tensor]) -> str:
    """``lento.graph_key`` as text: the key under which the pending graph of these tensors is or will be cached.

    Graphs that differ only in the values of numbers and tensors have the same one.
    """
    return f"{_core.graph_key(*tensors):016x}"


def run_cached_graph(hash_str: str, graph_inputs: Sequence[Any]) -> NoReturn:
    """Not in Lento: raises ``NotImplementedError``.

    LTC needs it because tracing is slow there. In Lento, call the function again with the other inputs: a step of the
    same structure is recognised and runs the cached plan, and that costs tens of nanoseconds an op.
    """
    raise NotImplementedError(
        "run_cached_graph(): a plan is not run by its key in Lento; call the function that recorded it again with the "
        "new inputs, and its cached plan is found by its structure"
    )


def get_tensors_ts_device_data_node(tensors: Sequence[_core.Tensor]) -> NoReturn:
    """Not in Lento, which has no TorchScript: raises ``NotImplementedError``. ``lento.dump`` shows a graph's inputs."""
    raise NotImplementedError(
        "get_tensors_ts_device_data_node(): Lento has no TorchScript graphs; lento.dump(tensors) shows the inputs"
    )
