"""Optimizers, schedules of the learning rate, clipping of gradients, averages of parameters.

An optimizer changes parameters in place, so the old values' memory holds the new ones. Learning rates and the number of
steps are numbers of the plan: changing them compiles nothing.

    >>> w = lento.asarray([1.0, 2.0])
    >>> optimizer = lento.optim.SGD(w, lr=0.1)
    >>> optimizer.step(lento.grad(lambda w: (w * w).sum())(w))
    >>> w
    tensor([0.8, 1.6], dtype=float32)
"""

from __future__ import annotations

from . import lr_scheduler
from ._averages import EMA, MultiSteps, incremental_update
from ._clip import clip_grad_norm, clip_grad_value, global_norm
from ._optimizer import Optimizer
from ._optimizers import SGD, Adadelta, Adafactor, Adagrad, Adam, Adamax, AdamW, Lion, NAdam, RAdam, RMSprop
from ._schedules import (
    constant,
    constant_schedule,
    cosine,
    cosine_decay_schedule,
    cosine_onecycle_schedule,
    exponential_decay,
    join_schedules,
    linear,
    linear_onecycle_schedule,
    linear_schedule,
    piecewise_constant_schedule,
    polynomial_schedule,
    steps,
    warmup,
    warmup_constant_schedule,
    warmup_cosine_decay_schedule,
    warmup_exponential_decay_schedule,
)

__all__ = [
    "EMA",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Lion",
    "MultiSteps",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "clip_grad_norm",
    "clip_grad_value",
    "constant",
    "constant_schedule",
    "cosine",
    "cosine_decay_schedule",
    "cosine_onecycle_schedule",
    "exponential_decay",
    "global_norm",
    "incremental_update",
    "join_schedules",
    "linear",
    "linear_onecycle_schedule",
    "linear_schedule",
    "lr_scheduler",
    "piecewise_constant_schedule",
    "polynomial_schedule",
    "steps",
    "warmup",
    "warmup_constant_schedule",
    "warmup_cosine_decay_schedule",
    "warmup_exponential_decay_schedule",
]
