"""The process that runs one peer. It reads commands as lines of JSON and answers each with one line.

Every peer has a process of its own, so that no library's threads, memory or imports disturb another one's, and so that
first calls can be measured. While one peer works, the others wait for their next command here and use nothing.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from cases import CASES, Case
from peers import MissingError, Peer, load
from training import RATE

WARM_SECONDS = 0.4
# Many kernels, some of which are compiled a second time meanwhile.
WARM_TRAINING_SECONDS = 2.0
# Steps whose losses are compared before training is timed.
CHECKED_STEPS = 5
# Steps after which memory is looked at: by then everything has been compiled again that shall be faster.
TRAINED_STEPS = 100
TRAINED_SECONDS = 5.0
# Of the second tensor that a kernel is called with; no power of two.
NEW_SHAPE = 1000


class Worker:
    def __init__(self, name: str, threads: int, quick: bool) -> None:
        # Also for libraries that take no option: they count the processors they may use.
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
        self.peer: Peer = load(name, threads)
        self.quick = quick
        self.call: Callable[[], None] | None = None
        self.case: Case | None = None
        # The last ones are used.
        self.inputs: list[list[Any]] = []

    def hello(self) -> dict[str, Any]:
        return {
            "version": self.peer.version(),
            "keeps_code": self.peer.keeps_code,
            "when_asked": self.peer.keeps_code_when_asked,
        }

    def prepare(self, name: str, expected: str) -> dict[str, Any]:
        """Compiles the case, compares its result with what is in this file, and runs it until it is warm."""
        case = find(name)
        if case.model:
            self.call = self.train(case, expected)
            self.warm(WARM_TRAINING_SECONDS)
            return {}
        self.case = case
        self.inputs = [self.tensors(case.inputs(self.quick))]
        function = self.peer.compile(case.function)
        result = case.run(self.peer, function, self.inputs[-1])
        self.peer.wait(result)
        compare(self.peer.numpy(result), np.load(expected), case.tolerance)
        del result

        def call() -> None:
            self.peer.wait(case.run(self.peer, function, self.inputs[-1]))

        self.call = call
        self.warm(WARM_SECONDS)
        return {}

    def warm(self, seconds: float) -> None:
        assert self.call is not None
        start = time.monotonic()
        while time.monotonic() - start < (0 if self.quick else seconds):
            self.call()

    def measure(self, seconds: float, most: int) -> dict[str, Any]:
        """Nanoseconds of single calls: everything from recording to freeing the result. The first one is not counted,
        unless it takes long: caches and threads have been left alone for a while."""
        assert self.call is not None
        samples: list[int] = []
        end = time.monotonic() + seconds
        start = time.perf_counter_ns()
        self.call()
        took = time.perf_counter_ns() - start
        if took > seconds * 1e9 > 0:
            return {"samples": [took]}
        while not samples or (len(samples) < most and time.monotonic() < end):
            start = time.perf_counter_ns()
            self.call()
            samples.append(time.perf_counter_ns() - start)
        return {"samples": samples}

    def move(self) -> dict[str, Any]:
        """The same inputs at another place, on other pages: the old place stays taken until all is done."""
        assert self.case is not None
        self.inputs.append(self.tensors(self.case.inputs(self.quick)))
        return {}

    def drop(self) -> dict[str, Any]:
        self.call = None
        self.inputs = []
        return {}

    def first(self, name: str, expected: str) -> dict[str, Any]:
        """Nanoseconds of the first call in this process and of the first one at another shape."""
        if not self.peer.compiles:
            raise MissingError("compiles nothing")
        case = find(name)
        arrays = case.inputs(self.quick)
        inputs, others = self.tensors(arrays), self.tensors([array[:NEW_SHAPE] for array in arrays])
        function = self.peer.compile(case.function)
        times = []
        for tensors in (inputs, others):
            start = time.perf_counter_ns()
            result = function(*tensors)
            self.peer.wait(result)
            times.append(time.perf_counter_ns() - start)
            want = np.load(expected)
            compare(self.peer.numpy(result), want[: len(want) if tensors is inputs else NEW_SHAPE], case.tolerance)
        return {"first": times[0], "shape": times[1]}

    def train(self, case: Case, expected: str) -> Callable[[], None]:
        """A training step, after as many steps as there are losses in this file, which were the same."""
        step = self.trainer(case)()
        want = np.load(expected)
        got = []
        for _ in want:
            loss = step()
            self.peer.wait(loss)
            got.append(self.peer.numpy(loss).item())
        compare(np.array(got, np.float32), want, case.tolerance)
        return lambda: self.peer.wait(step())

    def trainer(self, case: Case, dtype: Any = np.float32) -> Callable[[], Callable[[], Any]]:
        """Makes weights and batch, and gives a function that makes the rest, such as Adam's moments, and gives a step:
        some libraries make them then, others in the first step."""
        assert case.model is not None
        if type(self.peer).trainer is Peer.trainer:
            raise MissingError("no training")  # before it fails at a batch that it has no tensors for
        arrays, inputs = case.model.inputs(self.quick)
        weights = {name: self.peer.parameter(name, values.astype(dtype)) for name, values in arrays.items()}
        batch = self.tensors([a.astype(dtype) if a.dtype.kind == "f" else a for a in inputs])
        if case.model.loss is None:
            return partial(self.peer.updater, weights, dict(zip(weights, batch, strict=True)), RATE)
        return partial(self.peer.trainer, case.model.loss, weights, batch, RATE)

    def losses(self, name: str, path: str) -> dict[str, Any]:
        """Writes the losses of the first steps, computed in float64."""
        step = self.trainer(find(name), np.float64)()
        made = []
        for _ in range(CHECKED_STEPS):
            loss = step()
            self.peer.wait(loss)
            made.append(self.peer.numpy(loss).item())
        np.save(path, np.array(made))
        return {}

    def first_steps(self, name: str, expected: str) -> dict[str, Any]:
        """Nanoseconds of the first step in this process, with the optimizer made, and bytes by which memory grows from
        there on while it trains."""
        case = find(name)
        trainer = self.trainer(case)
        before = reset_peak()
        start = time.perf_counter_ns()
        step = trainer()
        loss = step()
        self.peer.wait(loss)
        first = time.perf_counter_ns() - start
        compare(np.array([self.peer.numpy(loss)]).reshape(1), np.load(expected)[:1], case.tolerance)
        end = time.monotonic() + (0 if self.quick else TRAINED_SECONDS)
        steps = 1
        while steps < CHECKED_STEPS or (steps < TRAINED_STEPS and time.monotonic() < end):
            loss = step()
            self.peer.wait(loss)
            steps += 1
        return {"first": first, "memory": peak() - before}

    def tensors(self, arrays: list[np.ndarray]) -> list[Any]:
        return [self.peer.indices(a) if a.dtype.kind == "i" else self.peer.array(a) for a in arrays]


def peak() -> int:
    """The most bytes of memory that this process has had since reset_peak()."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise MissingError("no peak of memory on this system")


def reset_peak() -> int:
    """The bytes of memory that this process has now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError as error:
        raise MissingError(f"no peak of memory: {error}") from error
    return peak()


def find(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


def compare(got: np.ndarray, want: np.ndarray, tolerance: float) -> None:
    """Raises when a result is not worth timing."""
    if got.size != want.size:
        raise AssertionError(f"wrong result: shape {got.shape} instead of {want.shape}")
    if got.dtype == np.float64:
        raise AssertionError("computed in float64")
    error = np.abs(got.reshape(want.shape) - want).max(initial=0)
    # nan fails too.
    if not error <= tolerance * np.abs(want).max(initial=0):
        raise AssertionError(f"wrong result: off by {error:.3g}, the largest is {np.abs(want).max():.3g}")


def main() -> None:
    # Libraries may print; what the parent reads is ours alone.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(content: dict[str, Any]) -> None:
        answers.write(json.dumps(content) + "\n")
        answers.flush()

    def reason(error: BaseException) -> dict[str, Any]:
        if isinstance(error, MissingError) or isinstance(error.__cause__, MissingError):
            return {"missing": str(error)}
        traceback.print_exception(error)
        lines = str(error).strip().splitlines() or [""]
        return {"fails": (lines[0] or type(error).__name__)[:200]}

    try:
        worker = Worker(sys.argv[1], int(sys.argv[2]), sys.argv[3:] == ["quick"])
        answer(worker.hello())
    except Exception as error:
        answer(reason(error))
        return
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer(getattr(worker, command.pop("do"))(**command))
        except Exception as error:
            worker.drop()
            answer(reason(error))


if __name__ == "__main__":
    main()
