"""The names of PyTorch's Lazy Tensor Core, so that code written for ``torch._lazy`` ports by changing an import.

``import lento.lazy as lazy`` stands for ``import torch._lazy as lazy``; ``docs/coming-from-ltc.md`` shows a program.
New code had better use Lento's own names: ``lento.step``, ``lento.wait``, ``lento.eval``, ``lento.metrics``. Where a
device is named, ``"lazy"`` and ``""`` mean Lento's default device.

    >>> from lento import lazy
    >>> x = lento.ones((2, 2)) * 3
    >>> lazy.add_step_closure(lambda total: print(float(total)), args=(x.sum(),))
    >>> lazy.mark_step()
    12.0
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .. import _core, tree
from .._fail import fail
from . import (
    closure,
    computation,
    config,
    debug,
    device_context,
    extract_compiled_graph,
    ir_cache,
    metrics,
    tensor_factory_functions,
    ts_backend,
)
from ._files import save_arrays as _save_arrays
from .closure import add_step_closure, run_step_closures

__all__ = [
    "add_step_closure",
    "closure",
    "computation",
    "config",
    "debug",
    "device_context",
    "extract_compiled_graph",
    "get_tensor_id",
    "ir_cache",
    "mark_step",
    "metrics",
    "run_step_closures",
    "save",
    "sync_multi",
    "tensor_factory_functions",
    "to_cpu",
    "ts_backend",
    "wait_device_ops",
]


def _device(name: Any) -> Any:
    """Lento's device for LTC's: ``torch.device("lazy", 0)`` and the words for it are the default one."""
    word = str(name)
    return None if word in ("", "None", "lazy", "lazy:0") else name


def mark_step(device: str = "", wait: bool = False) -> None:
    """``lento.step``: starts computing what this thread has recorded for the device, then runs the step closures.

    LTC takes the live tensors of all threads; ``lento.step(all_threads=True)`` does.
    """
    _core.step(_device(device), wait)


def wait_device_ops(devices: Sequence[Any] | None = None) -> None:
    """``lento.wait``: returns when everything that was started on these devices (none: on all) is done."""
    names = [devices] if isinstance(devices, str) else list(devices or ())
    _core.wait([_device(name) for name in names] or None)


def sync_multi(tensors: Iterable[_core.Tensor], devices: Sequence[Any] | None = None) -> None:
    """Computes these tensors, and returns when that is done. Their devices are known; ``devices`` is not needed."""
    wanted = list(tensors)
    _core.eval(wanted)
    _core.wait(list({str(tensor.device): tensor.device for tensor in wanted}.values()))


def get_tensor_id(tensor: _core.Tensor) -> int:
    """A number that no other value of this process has."""
    if not isinstance(tensor, _core.Tensor):
        raise fail(TypeError, f"get_tensor_id(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    return tensor.id


def _on_cpu(value: Any) -> Any:
    if not isinstance(value, _core.Tensor):
        return value
    if str(value.device).startswith("cpu"):
        return value.__copy__()
    moved = value.to_device("cpu")
    moved.tobytes()  # waits for the copy
    return moved


def to_cpu(tensors: Any, devices: Sequence[Any] | None = None) -> Any:
    """The same structure of tuples, lists and dicts with every tensor computed, on the CPU.

    >>> pair = lento.lazy.to_cpu({"a": lento.ones((2,)) + 1})
    >>> pair["a"].is_pending
    False
    """
    sync_multi([leaf for leaf in tree.leaves(tensors) if isinstance(leaf, _core.Tensor)], devices)
    return tree.map(_on_cpu, tensors)


def save(tensors: Any, f: Any) -> None:
    """Writes tensors (one, or tuples, lists and dicts of them) to a file that ``numpy.load`` reads.

    One tensor becomes a ``.npy`` file. Of more, each is an entry of a ``.npz`` file, named by its way through the
    structure: ``{"layer": {"w": w}}`` gives ``layer.w``. Nothing is pickled: other objects are refused. ``f`` is a
    path, which is taken as it is, or a file opened for writing bytes.
    """
    _save_arrays(to_cpu(tensors), f)
