"""Nanoseconds of calls from Python that record more than one op, or more than an op: indices, derivatives, layers.

    PYTHONPATH=build/release/python .venv/bin/python bench/python_calls.py [WORD...]

What is timed computes nothing, except for a step of Adam. With words, only calls whose names have one of them. A second
thread is kept alive, because locks are cheaper in a process that has only one.
"""

from __future__ import annotations

import gc
import statistics
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import lento
import numpy as np
from lento import nn

SECONDS = 0.3
AT_ONCE = 50
MOST_AT_ONCE_NS = 50_000


def calls() -> dict[str, Callable[[], Any]]:
    z = lento.asarray(np.ones((64, 64), np.float32))
    inner = lento.asarray(np.ones((62, 62), np.float32))
    row = lento.asarray(np.ones(64, np.float32))
    classes = lento.asarray(np.zeros(64, np.int64))
    number = lento.asarray(2.0)
    w = z + 0
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.LayerNorm(64), nn.Linear(64, 64))
    loss = nn.CrossEntropyLoss()
    relu, linear, norm, dropout = nn.ReLU(), nn.Linear(64, 64), nn.LayerNorm(64), nn.Dropout(0.1)
    weights = [lento.asarray(np.ones((8, 8), np.float32)) for _ in range(100)]
    gradients = [lento.asarray(np.ones((8, 8), np.float32)) for _ in range(100)]
    adam = lento.optim.Adam(weights, lr=1e-3)
    of_model = lento.value_and_grad(lambda m, x, c: loss(m(x), c))
    same, same_of_each = lento.grad(lambda x: x), lento.vmap(lambda x: x)

    def assign_tensor() -> None:
        w[1:-1, 1:-1] = inner

    def assign_number() -> None:
        w[1:-1, 1:-1] = 0.5

    def adam_step() -> None:
        adam.step(gradients)
        lento.step(wait=True)

    return {
        "z + z": lambda: z + z,
        "z + row": lambda: z + row,
        "z[1:-1, 1:-1]": lambda: z[1:-1, 1:-1],
        "z[3]": lambda: z[3],
        "w[1:-1, 1:-1] = tensor": assign_tensor,
        "w[1:-1, 1:-1] = number": assign_number,
        "grad(identity)": lambda: same(number),
        "vmap(identity)": lambda: same_of_each(z),
        "relu": lambda: nn.relu(z),
        "nn.ReLU": lambda: relu(z),
        "nn.Linear": lambda: linear(z),
        "nn.LayerNorm": lambda: norm(z),
        "nn.Dropout": lambda: dropout(z),
        "nn.CrossEntropyLoss": lambda: loss(z, classes),
        "value_and_grad(model of 4)": lambda: of_model(model, z, classes),
        "Adam, 100 weights, and run": adam_step,
    }


def measure(call: Callable[[], Any]) -> tuple[float, float]:
    """Best and median nanoseconds of a call. Long ones are timed alone, so that a busy machine spoils few of them."""
    at_once = AT_ONCE
    for _ in range(3):
        start = time.perf_counter_ns()
        call()
        at_once = max(1, min(AT_ONCE, MOST_AT_ONCE_NS // (time.perf_counter_ns() - start)))
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter_ns()
        for _ in range(at_once):
            call()
        times.append((time.perf_counter_ns() - start) / at_once)
        lento.step(wait=True)  # what was assigned to would keep all that was recorded
    return min(times), statistics.median(times)


def main() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    gc.disable()
    print(f"{'call':28} {'best':>9} {'median':>9}  ns")
    for name, call in calls().items():
        if len(sys.argv) > 1 and not any(word in name for word in sys.argv[1:]):
            continue
        best, median = measure(call)
        print(f"{name:28} {best:9.0f} {median:9.0f}")
    stop.set()
    thread.join()


if __name__ == "__main__":
    main()
