"""What the tests of the engine share: testing devices, counters, programs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import lento
import numpy as np
from lento import _core
from locations import BUILD

_core._register_testing_devices()

# What a submitter is told of a closure that failed (clause C5).
REFUSED = "Cannot run asynchronous closure due to previously raised exception"


def ones(count: int = 3, device: str | None = None) -> lento.Tensor:
    return lento.asarray(np.ones(count, np.float32), device=device)


def counter(name: str) -> int:
    return lento.metrics.counter(name)


class Counts:
    """How much counters have grown since it was made."""

    def __init__(self) -> None:
        self._before = lento.metrics.counters()

    def __getitem__(self, name: str) -> int:
        return counter(name) - self._before.get(name, 0)


def settle() -> None:
    """Everything that was started has ended, and no failure of another test is waiting to be raised."""
    for device in lento.devices():
        with suppress(lento.Error):
            lento.wait(device)


@contextmanager
def closed_gate() -> Iterator[None]:
    """Runs on the device gated:0 wait inside; at the end everything is let through."""
    _core._gate_close()
    try:
        yield
    finally:
        _core._gate_open_forever()
        settle()
        lento.wait_closures()
        _core._gate_close()


def state_of(tensor: lento.Tensor) -> str:
    (entry,) = [entry for entry in lento.live_tensors() if entry["id"] == tensor.id]
    return str(entry["state"])


def in_thread(function: Callable[[], Any]) -> Any:
    """The result of the function, called on another thread."""
    result: list[Any] = []
    thread = threading.Thread(target=lambda: result.append(function()))
    thread.start()
    thread.join()
    return result[0]


def run_program(source: str, timeout: float = 120, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a program with the package of this build; a program that hangs fails."""
    # Of the environment only what a sanitizer's build needs: LENTO_... variables would change what is tested.
    kept = {name: os.environ[name] for name in ("PATH", "LD_PRELOAD", "ASAN_OPTIONS") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)],
        capture_output=True,
        text=True,
        timeout=timeout,
        # From 3.12 on Python warns of every fork beside threads.
        env={
            "PYTHONPATH": str(BUILD / "python"),
            "PYTHONWARNINGS": "ignore:This process:DeprecationWarning",
            **kept,
            **environment,
        },
    )


def check_program(source: str, expected: str, **environment: str) -> None:
    """The program ends well, prints exactly this, and complains about nothing."""
    done = run_program(source, **environment)
    outcome = (done.returncode, done.stdout, done.stderr)
    assert outcome == (0, expected, ""), f"{outcome} instead of {(0, expected, '')}"


class Boom(Exception):
    """What closures of tests raise."""


def boom(*_: Any) -> None:
    raise Boom("it went off")
