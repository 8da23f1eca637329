"""What names of other libraries are here: the end of an AttributeError of a module."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NoReturn

_NOT_NEEDED = "it is not needed: every step is compiled, and found again"

_HINTS = {
    "lento": {
        "array": "use lento.asarray",
        "tensor": "use lento.asarray",
        "from_numpy": "use lento.asarray",
        "rand": "use lento.random.uniform",
        "randn": "use lento.random.normal",
        "randint": "use lento.random.randint, with the shape first",
        "manual_seed": "use lento.random.seed",
        "float": "use lento.float32 or lento.float64",
        "double": "use lento.float64",
        "half": "use lento.float16",
        "int": "use lento.int32 or lento.int64",
        "long": "use lento.int64",
        "cfloat": "use lento.complex64",
        "device": "use lento.Device, or a name like 'cpu'",
        "unique": "use lento.unique_values, unique_counts, unique_inverse or unique_all",
        "compile": _NOT_NEEDED,
        "jit": _NOT_NEEDED,
        "no_grad": "it is not needed: only what lento.grad calls is differentiated",
        "vectorize": "use lento.vmap",
        "mark_step": "use lento.step, or lento.lazy.mark_step",
        "synchronize": "use lento.wait",
    },
    "lento.random": {
        "rand": "use uniform(shape)",
        "random": "use uniform(shape)",
        "randn": "use normal(shape)",
        "standard_normal": "use normal(shape)",
        "integers": "use randint(shape, low, high)",
        "default_rng": "use lento.Generator(seed), given as generator=",
        "key": "use lento.Generator(seed), given as generator=",
        "PRNGKey": "use lento.Generator(seed), given as generator=",
        "manual_seed": "use seed",
    },
    "lento.nn": {
        "functional": "functions are in lento.nn itself",
        "Parameter": "assign the tensor: floating tensors of a module are trained",
        "ModuleList": "use a list",
        "ModuleDict": "use a dict",
        "ParameterList": "use a list",
        "MultiheadAttention": "it is MultiHeadAttention",
        "Flatten": "use lambda x: x.reshape(x.shape[0], -1)",
        "MaxPool2d": "use lambda x: nn.max_pool2d(x, size)",
        "AvgPool2d": "use lambda x: nn.avg_pool2d(x, size)",
        "Sigmoid": "use lento.sigmoid",
        "Softmax": "use lambda x: nn.softmax(x, axis=axis)",
        "LeakyReLU": "use nn.leaky_relu",
        "CrossEntropyLoss": "use nn.cross_entropy",
        "MSELoss": "use nn.mse_loss",
    },
}


def hinting(module: str) -> Callable[[str], NoReturn]:
    """What a module's ``__getattr__`` is."""

    def __getattr__(name: str) -> NoReturn:
        hint = _HINTS[module].get(name)
        text = f"module {module!r} has no attribute {name!r}" + (f"; {hint}" if hint else "")
        raise AttributeError(text, name=name, obj=sys.modules[module])

    return __getattr__
