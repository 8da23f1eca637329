"""Nanoseconds an op of a 500-op chain from Python: recorded in a plain loop, with source lines, and dropped.

    PYTHONPATH=build/release/python .venv/bin/python bench/python_chain.py

A second thread is kept alive, because locks and counters are cheaper in a process that has only one.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable

import lento
import numpy as np

OPS = 500
CHAINS = 4000


def add_tensor(x: lento.Tensor, y: lento.Tensor) -> None:
    for _ in range(OPS):
        y = y + x


def multiply_number(x: lento.Tensor, y: lento.Tensor) -> None:
    for _ in range(OPS):
        y = y * 1.01


def call_function(x: lento.Tensor, y: lento.Tensor) -> None:
    tanh = lento.tanh
    for _ in range(OPS):
        y = tanh(y)


def in_place(x: lento.Tensor, y: lento.Tensor) -> None:
    for _ in range(OPS):
        y += x


def empty_loop(x: lento.Tensor, y: lento.Tensor) -> None:
    for _ in range(OPS):
        y = x  # noqa: F841


def measure(chain: Callable[[lento.Tensor, lento.Tensor], None]) -> tuple[float, float]:
    """Best and median nanoseconds an op; every chain is timed alone, so that a busy machine spoils few of them."""
    x = lento.asarray(np.ones(1024, np.float32))
    times = []
    for _ in range(CHAINS):
        # A handle of its own, so that what the chain assigns in place is the chain's.
        y = lento.asarray(x)
        start = time.perf_counter_ns()
        chain(x, y)
        del y
        times.append((time.perf_counter_ns() - start) / OPS)
    return min(times), statistics.median(times)


def main() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    print(f"{'chain of 500 ops, record and drop':36} {'best':>8} {'median':>8}  ns/op")
    for name, chain in (
        ("y = y + x", add_tensor),
        ("y = y * 1.01", multiply_number),
        ("y += x", in_place),
        ("y = tanh(y)", call_function),
        ("y = x (the loop alone)", empty_loop),
    ):
        best, median = measure(chain)
        print(f"{name:36} {best:8.1f} {median:8.1f}")
    stop.set()
    thread.join()


if __name__ == "__main__":
    main()
