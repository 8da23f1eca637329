"""What arguments of PyTorch's layers, optimizers and schedulers are here: the end of a TypeError.

Those of functions are in python/src/call.cpp.
"""

from __future__ import annotations

import re

_BATCH_FIRST = "it is not needed: tensors are (batch, length, features)"
_NOT_NEEDED = "it is not needed: a step updates all parameters at once"
_NO_TABLE = "it is not needed: the gradient of the table is one tensor"
_REDUCTION = "write reduction='mean', 'sum' or 'none'"

_HINTS = {
    # layers
    "batch_first": _BATCH_FIRST,
    "device": "it is not needed: lento.devices() has the one device that computes",
    "dtype": "write layer.to(dtype)",
    "inplace": "it is not needed: steps reuse memory by themselves",
    "layer_norm_eps": "assign layer.norm1.eps and layer.norm2.eps",
    "max_norm": "write weight[...] = weight * lento.clip(max_norm / lento.linalg.norm(weight, axis=1, keepdims=True), "
    "max=1) before a step",
    "padding_mode": "put nn.ReflectionPad2d, nn.ReplicationPad2d or nn.CircularPad2d before the layer",
    "proj_size": "put a nn.Linear behind the layer",
    "reduce": _REDUCTION,
    "return_indices": "use nn.max_pool2d_with_indices",
    "scale_grad_by_freq": _NO_TABLE,
    "size_average": _REDUCTION,
    "sparse": _NO_TABLE,
    # optimizers and schedulers
    "amsgrad": "there is none; use a class of your own, as in the example of lento.optim.Optimizer",
    "capturable": _NOT_NEEDED,
    "dampening": "there is none; use a class of your own, as in the example of lento.optim.Optimizer",
    "differentiable": "write the update as a function of tensors, which lento.grad follows",
    "foreach": _NOT_NEEDED,
    "fused": _NOT_NEEDED,
    "maximize": "negate what is minimised",
    "params": "it is called 'parameters' here, and comes first",
    "verbose": "write print(scheduler.get_last_lr())",
}

_UNKNOWN = re.compile(r"(?:\w+\.)?\w+\(\) got an unexpected keyword argument '(\w+)'")


def with_hint(message: str) -> str:
    """A message of Python's, and what to write instead of the argument that it does not know."""
    found = _UNKNOWN.match(message)
    hint = found and _HINTS.get(found[1])
    return f"{message}; {hint}" if hint else message
