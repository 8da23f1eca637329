"""Runs Lento beside its peers: ``make bench``, ``make bench CASE=softmax PEERS=jax,torch THREADS=1,4``.

Every peer works in a process of its own (worker.py) with the same number of threads. The peers take turns: each
runs a case for a fraction of a second, then the next one, and so on, several rounds, so that a machine that is busy for
a while is unfair to nobody. A result is compared with NumPy's in float64 before it is timed. The best time counts.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cores
import numpy as np
import report
from cases import Case, select
from peers import PEERS
from peers.numpy import NumPy
from progress import Progress
from workers import Process

HERE = Path(__file__).parent
# A burst of calls of one peer; then it is the next one's turn.
BURST_SECONDS = 0.2
BURST_CALLS = 400
# The same for training steps, of which one may take a tenth of a second.
STEPS_SECONDS = 0.6
# Threads of the last peer that still spin for work fall asleep meanwhile.
PAUSE_SECONDS = 0.02
# A peer that has used this much time at a warm case takes part in no further round: by then it has many samples.
ENOUGH_SECONDS = 8.0
# First times, however long they take: each peer has as many, since the best one counts.
FIRST_ROUNDS = 3
# For preparing; torch.compile takes half a minute at times.
LONGEST_SECONDS = 300.0


@dataclass
class Run:
    """What was asked for, and what has been measured: results[case][peer] is as in the JSON file."""

    cases: list[Case]
    peers: list[str]
    threads: int
    rounds: int
    quick: bool
    folder: Path
    workers: dict[str, Process] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    results: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    stream: list[float] = field(default_factory=list)
    stream_program: Path | None = None

    def start(self, peer: str, caches: Path, keep_code: bool = False) -> Process:
        process = Process(peer, self.threads, caches, self.folder / f"{peer}.log", self.quick, keep_code)
        if "version" in process.hello:
            self.versions[peer] = process.hello["version"]
        return process

    def worker(self, peer: str) -> Process:
        """The peer's process for warm cases; a new one when the last one has ended."""
        if peer not in self.workers or not self.workers[peer].alive:
            self.workers[peer] = self.start(peer, self.folder / "caches" / peer)
        return self.workers[peer]

    def kill(self) -> None:
        for process in self.workers.values():
            process.kill()


def expected_result(case: Case, run: Run) -> str:
    """A file with what NumPy computes in float64; of training, the losses that PyTorch has in float64."""
    if case.model:
        return expected_losses(case, run)
    inputs = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in case.inputs(run.quick)]
    path = run.folder / "expected.npy"
    peer = NumPy(run.threads)
    np.save(path, case.run(peer, peer.compile(case.function), inputs))
    return str(path)


def expected_losses(case: Case, run: Run) -> str:
    path = run.folder / f"{case.name.removesuffix('-' + case.kind)}.npy"
    # Without PyTorch Lento in float64 has to do: then only the peers' losses say that Lento's are right.
    for peer in ("torch", "lento") if not path.exists() else ():
        process = run.start(peer, Path(tempfile.mkdtemp(dir=run.folder)))
        answer = process.hello
        if not failure(answer):
            answer = process.ask("losses", LONGEST_SECONDS, name=case.name, path=str(path))
        process.close()
        if not failure(answer):
            break
    return str(path)


def failure(answer: dict[str, Any]) -> dict[str, Any] | None:
    return answer if "fails" in answer or "missing" in answer else None


def measure_warm(case: Case, run: Run, progress: Progress) -> dict[str, dict[str, Any]]:
    expected = expected_result(case, run)
    results: dict[str, dict[str, Any]] = {}
    for peer in run.peers:
        progress.show(f"{peer} prepares")
        worker = run.worker(peer)
        answer = worker.hello
        if not failure(answer):
            answer = worker.ask("prepare", LONGEST_SECONDS, name=case.name, expected=expected)
        results[peer] = failure(answer) or {"samples_ns": []}
    used = dict.fromkeys(run.peers, 0.0)
    rounds = run.rounds * case.places
    seconds = (STEPS_SECONDS if case.model else BURST_SECONDS) / case.places
    for round in range(rounds):
        # Another one is first in each round.
        first = round % len(run.peers)
        for peer in run.peers[first:] + run.peers[:first]:
            if "samples_ns" not in results[peer] or used[peer] > ENOUGH_SECONDS:
                continue
            progress.show(f"round {round + 1} of {rounds}, {peer}")
            if case.places > 1 and round > 0 and failure(answer := run.worker(peer).ask("move", LONGEST_SECONDS)):
                results[peer] = answer
                continue
            time.sleep(PAUSE_SECONDS)
            start = time.monotonic()
            answer = run.worker(peer).ask(
                "measure",
                LONGEST_SECONDS,
                seconds=0.0 if run.quick else seconds,
                most=BURST_CALLS,
            )
            used[peer] += time.monotonic() - start
            if failure(answer):
                results[peer] = answer
            else:
                results[peer]["samples_ns"] += answer["samples"]
        if case.bytes:
            progress.show(f"round {round + 1} of {rounds}, STREAM")
            run_stream(run, case.bytes // 16)
    for worker in run.workers.values():
        if worker.alive:
            worker.ask("drop", LONGEST_SECONDS)
    return results


def measure_first(cases: list[Case], run: Run, progress: Progress) -> dict[str, dict[str, dict[str, Any]]]:
    """First calls: each in a new process, with empty folders for compiled code, then in one that finds them filled."""
    expected = expected_result(cases[0], run)
    results: dict[str, dict[str, dict[str, Any]]] = {case.name: {} for case in cases}
    samples: dict[str, dict[str, list[int]]] = {peer: {"first": [], "shape": [], "disk": []} for peer in run.peers}
    failed: dict[str, dict[str, Any]] = {}
    keeps_code: dict[str, bool] = {}

    def first(peer: str, caches: Path, keep_code: bool) -> dict[str, Any]:
        """The answers to "hello" and "first", or why there is none."""
        process = run.start(peer, caches, keep_code)
        answer = process.hello
        if not failure(answer):
            answer = process.ask("first", LONGEST_SECONDS, name=cases[0].name, expected=expected)
        process.close()
        return answer if failure(answer) else process.hello | answer

    def one_round(peer: str, caches: Path) -> dict[str, Any]:
        """All samples of one round, or why there are none."""
        new = first(peer, caches, keep_code=False)
        if failure(new):
            return new
        keeps_code[peer] = new["keeps_code"]
        made = {"first": new["first"], "shape": new["shape"]}
        if not new["keeps_code"]:
            return made
        if new["when_asked"] and failure(filled := first(peer, caches, keep_code=True)):
            return filled
        again = first(peer, caches, keep_code=True)
        return again if failure(again) else {**made, "disk": again["first"]}

    rounds = min(run.rounds, FIRST_ROUNDS)
    for round in range(rounds):
        for peer in run.peers:
            if peer in failed:
                continue
            progress.show(f"round {round + 1} of {rounds}, {peer}")
            caches = Path(tempfile.mkdtemp(dir=run.folder))
            answer = one_round(peer, caches)
            shutil.rmtree(caches, ignore_errors=True)
            if failure(answer):
                failed[peer] = answer
                continue
            for kind, sample in answer.items():
                samples[peer][kind].append(sample)
    for case in cases:
        for peer in run.peers:
            if peer in failed:
                results[case.name][peer] = failed[peer]
            elif case.kind == "disk" and not keeps_code[peer]:
                results[case.name][peer] = {"missing": "keeps no code on disk"}
            else:
                results[case.name][peer] = {"samples_ns": samples[peer][case.kind]}
    return results


def measure_training(cases: list[Case], run: Run, progress: Progress) -> dict[str, dict[str, dict[str, Any]]]:
    """First steps and memory of one model: each in a new process with empty folders for compiled code."""
    expected = expected_losses(cases[0], run)
    results: dict[str, dict[str, dict[str, Any]]] = {case.name: {} for case in cases}
    failed: set[str] = set()
    rounds = min(run.rounds, FIRST_ROUNDS)
    for round in range(rounds):
        for peer in run.peers:
            if peer in failed:
                continue
            progress.show(f"round {round + 1} of {rounds}, {peer}")
            caches = Path(tempfile.mkdtemp(dir=run.folder))
            process = run.start(peer, caches)
            answer = process.hello
            if not failure(answer):
                answer = process.ask("first_steps", LONGEST_SECONDS, name=cases[0].name, expected=expected)
            process.close()
            shutil.rmtree(caches, ignore_errors=True)
            if failure(answer):
                failed.add(peer)
            for case in cases:
                key = "samples_bytes" if case.kind == "memory" else "samples_ns"
                if peer in failed:
                    results[case.name][peer] = answer
                else:
                    results[case.name].setdefault(peer, {key: []})[key].append(answer[case.kind])
    return results


def build_stream(run: Run) -> Path | None:
    program = run.folder / "stream"
    command = [
        os.environ.get("CC", "cc"),
        "-O3",
        "-march=native",
        "-fopenmp",
        str(HERE / "stream.c"),
        "-o",
        str(program),
    ]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"bench: without STREAM: {error}", file=sys.stderr)
        return None
    return program


def run_stream(run: Run, elements: int) -> None:
    if run.stream_program is not None:
        command = [run.stream_program, str(elements)]
        done = subprocess.run(
            command, check=True, capture_output=True, env={**os.environ, "OMP_NUM_THREADS": str(run.threads)}
        )
        run.stream.append(float(done.stdout))


def machine(threads: int) -> dict[str, Any]:
    cpu = platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "threads": threads,
        # What else was running, roughly: processes that wanted a core in the minute before.
        "load": round(os.getloadavg()[0], 1),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def measure(run: Run) -> dict[str, Any]:
    """Everything, as it is written to the JSON file."""
    # Before this run adds to it.
    where = machine(run.threads)
    groups: dict[Any, list[Case]] = {}
    for case in run.cases:
        groups.setdefault(case.name if case.kind == "warm" else case.model, []).append(case)
    progress = Progress(len(groups))
    if any(case.bytes for case in run.cases):
        run.stream_program = build_stream(run)
    try:
        for cases in groups.values():
            case = cases[0]
            progress.begin(case.title)
            if case.kind == "warm":
                run.results[case.name] = measure_warm(case, run, progress)
            elif case.model:
                run.results.update(measure_training(cases, run, progress))
            else:
                run.results.update(measure_first(cases, run, progress))
            progress.end()
    finally:
        run.kill()
    return report.summary(
        run.cases,
        run.results,
        {
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "machine": where,
            "versions": run.versions,
            "quick": run.quick,
            "rounds": run.rounds,
            "stream_gb_per_s": round(max(run.stream) / 1e9, 2) if run.stream else None,
        },
    )


def thread_counts(text: str) -> list[int]:
    counts = sorted({int(part) for part in text.split(",")})
    cores = len(os.sched_getaffinity(0))
    if counts[0] < 1 or counts[-1] > cores:
        raise argparse.ArgumentTypeError(f"{text}: numbers from 1 to {cores}, the cores of this machine, are wanted")
    return counts


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--case", default="*", help="names, starts of names or patterns, separated by commas")
    parser.add_argument("--peers", default=",".join(PEERS), help="names, separated by commas; Lento is always there")
    parser.add_argument(
        "--threads",
        type=thread_counts,
        default=[len(os.sched_getaffinity(0))],
        help="for every peer (all cores); each of several, as in 1,4,16, has a run, and a plot compares them",
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=HERE / "results", help="folder for the JSON file and the chart")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to try the harness: the times mean nothing")
    options = parser.parse_args(arguments)
    try:
        options.case = select(options.case)
    except ValueError as error:
        parser.error(str(error))
    names = [name for name in options.peers.split(",") if name]
    for name in names:
        if name not in PEERS:
            parser.error(f"no peer is named {name!r}. The peers are: {', '.join(PEERS)}")
    options.peers = [name for name in PEERS if name in names or name == "lento"]
    return options


def main(arguments: list[str] | None = None) -> None:
    options = parse(arguments)
    runs: list[dict[str, Any]] = []
    paths: list[Path] = []
    for threads in options.threads:
        several = len(options.threads) > 1
        with tempfile.TemporaryDirectory(prefix="lento-bench-") as folder:
            run = Run(options.case, options.peers, threads, options.rounds, options.quick, Path(folder))
            try:
                runs.append(measure(run))
            except KeyboardInterrupt:
                sys.exit("bench: interrupted")
        print(report.table(runs[-1]))
        paths += report.write(runs[-1], options.output / f"threads-{threads}" if several else options.output)
    if len(runs) > 1:
        print(cores.table(runs))
        paths += cores.write(runs, options.output)
    for path in paths:
        print(f"wrote {os.path.relpath(path)}", file=sys.stderr)


if __name__ == "__main__":
    main()
