"""Nanoseconds an op of steps of 500 small ops, recorded, run and waited for in each way there is.

    PYTHONPATH=build/release/python .venv/bin/python bench/python_waits.py

The ways take turns, so that a busy machine is unfair to none of them. A second thread is kept alive, because locks are
cheaper in a process that has only one.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable

import lento
import numpy as np

OPS = 500
ELEMENTS = 1024
ROUNDS = 100
IN_TURN = 5
IN_A_ROW = 10


class Ways:
    def __init__(self) -> None:
        values = np.random.default_rng(0).uniform(0.5, 1.5, (4, ELEMENTS)).astype(np.float32)
        self.y, self.a, self.b, self.c = (lento.asarray(row) for row in values)

    def record(self) -> lento.Tensor:
        y, a, b, c = self.y, self.a, self.b, self.c
        for _ in range(OPS // 4):
            y = y * a
            y = y + b
            y = y - c
            y = y * 0.5
        return y

    def step_that_waits(self) -> None:
        _y = self.record()
        lento.step(wait=True)

    def step_then_wait(self) -> None:
        _y = self.record()
        lento.step()
        lento.wait()

    def eval_that_waits(self) -> None:
        lento.eval(self.record(), wait=True)

    def eval_then_wait(self) -> None:
        y = self.record()
        lento.eval(y)
        lento.wait()

    def step_then_read(self) -> None:
        y = self.record()
        lento.step()
        y.numpy()

    def read_all(self) -> None:
        self.record().numpy()

    def read_one(self) -> None:
        self.record().item(0)

    def read_what_is_made_of_it(self) -> None:
        y = self.record()
        float(y.sum())

    def wait_for_ten_steps(self) -> None:
        for _ in range(IN_A_ROW):
            _y = self.record()
            lento.step()
        lento.wait()

    def all(self) -> dict[str, Callable[[], None]]:
        return {
            "step(wait=True)": self.step_that_waits,
            "step(); wait()": self.step_then_wait,
            "eval(y, wait=True)": self.eval_that_waits,
            "eval(y); wait()": self.eval_then_wait,
            "step(); y.numpy()": self.step_then_read,
            "y.numpy()": self.read_all,
            "y.item(0)": self.read_one,
            "float(y.sum()), y alive": self.read_what_is_made_of_it,
            f"step() {IN_A_ROW} times; wait()": self.wait_for_ten_steps,
        }


def main() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    ways = Ways().all()
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            way()
            ops = OPS * (IN_A_ROW if "times" in name else 1)
            for _ in range(IN_TURN):
                start = time.perf_counter_ns()
                way()
                times[name].append((time.perf_counter_ns() - start) / ops)
    print(f"{'500 small ops, ' + str(ELEMENTS) + ' elements':28} {'best':>8} {'median':>8}  ns/op")
    for name, taken in times.items():
        print(f"{name:28} {min(taken):8.1f} {statistics.median(taken):8.1f}")
    inline, worker = (lento.metrics.counter(f"launch.{where}") for where in ("inline", "worker"))
    print(f"runs on the calling thread: {inline}, on workers: {worker}")
    stop.set()
    thread.join()


if __name__ == "__main__":
    main()
