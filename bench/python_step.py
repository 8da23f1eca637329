"""Nanoseconds an op of whole steps from Python: recorded in a plain loop, recognised, launched and dropped.

    PYTHONPATH=build/release/python .venv/bin/python bench/python_step.py

Lento runs on its null device, which computes nothing: what is left is what a step costs beside its work, source lines
included. The budget is 60 ns an op for a chain of 500. Where they can be imported (scripts/setup-peers), PyTorch's LTC
and Dr.Jit take the same steps on 1024 elements, in turns with Lento, so that a busy machine is unfair to nobody. They
do compute, on threads of their own, and are waited for outside of the time that is measured. A second thread is kept
alive, because locks are cheaper in a process that has only one.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import lento
import numpy as np

ELEMENTS = 1024
CHAIN_OPS = 500
PARAMETERS = 40
ADAM_OPS = 12 * PARAMETERS
ROUNDS = 12


@dataclass
class Engine:
    """What differs between the libraries. Everything else is operators."""

    name: str
    make: Callable[[], Any]  # a tensor of ones that has its value
    sqrt: Callable[[Any], Any]
    step: Callable[[list[Any]], None]  # computes these, which are all that live
    wait: Callable[[], None]
    steps: int  # in a round


def lento_engine() -> Engine:
    lento._core._register_testing_devices()
    return Engine(
        "Lento, null device",
        lambda: lento.asarray(np.ones(ELEMENTS, np.float32), device="null"),
        lento.sqrt,
        lambda _: lento.step("null"),
        lento.wait,
        100,
    )


def ltc_engine() -> Engine:
    import torch
    import torch._lazy
    import torch._lazy.ts_backend

    torch._lazy.ts_backend.init()

    def make() -> Any:
        x = torch.ones(ELEMENTS, device="lazy")
        torch._lazy.mark_step()
        return x

    def wait() -> None:
        torch._lazy.wait_device_ops()

    return Engine("PyTorch LTC", make, torch.sqrt, lambda _: torch._lazy.mark_step(), wait, 5)


def drjit_engine() -> Engine:
    import drjit
    from drjit.llvm import Float

    def make() -> Any:
        # Opaque: a literal would be folded away.
        return drjit.opaque(Float, 1, ELEMENTS)

    make()  # fails here when there is no LLVM
    return Engine("Dr.Jit, LLVM", make, drjit.sqrt, drjit.eval, drjit.sync_thread, 50)


def chain(engine: Engine) -> Callable[[], None]:
    x, step = engine.make(), engine.step

    def take() -> None:
        y = x
        for _ in range(CHAIN_OPS):
            y = y + x
        step([y])

    return take


def adam(engine: Engine) -> Callable[[], None]:
    sqrt, step = engine.sqrt, engine.step
    gradients, values, means, squares = ([engine.make() for _ in range(PARAMETERS)] for _ in range(4))
    time_step = 0

    def take() -> None:
        nonlocal time_step
        time_step += 1
        rate = 0.001 / (1 - 0.9**time_step)
        for i in range(PARAMETERS):
            g = gradients[i]
            means[i] = m = means[i] * 0.9 + g * 0.1
            squares[i] = v = squares[i] * 0.999 + g * g * 0.001
            values[i] = values[i] - m / (sqrt(v) + 1e-8) * rate
        step([*values, *means, *squares])

    return take


@dataclass
class Case:
    name: str
    ops: int
    engine: Engine
    take: Callable[[], None]
    times: list[float] = field(default_factory=list)

    def measure(self) -> None:
        for _ in range(self.engine.steps):
            start = time.perf_counter_ns()
            self.take()
            self.times.append((time.perf_counter_ns() - start) / self.ops)
            self.engine.wait()


def available_engines() -> list[Engine]:
    engines = [lento_engine()]
    for make in (ltc_engine, drjit_engine):
        try:
            engines.append(make())
        except Exception as error:
            print(f"(without {make.__name__.removesuffix('_engine')}: {error})")
    return engines


def main() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        engines = available_engines()
        programs = (("y = y + x, 500 ops", CHAIN_OPS, chain), (f"Adam, {ADAM_OPS} ops", ADAM_OPS, adam))
        for name, ops, program in programs:
            cases = [Case(name, ops, engine, program(engine)) for engine in engines]
            for case in cases:  # compiles
                for _ in range(3):
                    case.take()
                case.engine.wait()
            for _ in range(ROUNDS):
                for case in cases:
                    case.measure()
            print(f"\n{'a step of ' + name:36} {'best':>10} {'median':>10}  ns/op")
            for case in cases:
                print(f"{case.engine.name:36} {min(case.times):10.1f} {statistics.median(case.times):10.1f}")
    finally:
        stop.set()
        thread.join()


if __name__ == "__main__":
    main()
