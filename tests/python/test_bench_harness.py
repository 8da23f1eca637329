"""The harness of ``make bench``: it times nothing that is wrong and hides nothing that fails. With tiny sizes, through
its command line; what a peer does wrong is done by modules of the test's own that are found in its place."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from locations import BUILD

RUN = Path(__file__).resolve().parents[2] / "bench" / "run.py"
sys.path.insert(0, str(RUN.parent))
import cases  # noqa: E402
import report  # noqa: E402
import training  # noqa: E402

PLACES = {case.name: case.places for case in cases.CASES}

# A numexpr whose every result is one too large.
WRONG = """
import numpy as np
__version__ = "0"
def set_num_threads(n): pass
def evaluate(text, variables, _):
    return eval(text, {"exp": np.exp, "tanh": np.tanh}, variables) + np.float32(1)
"""


def run(*arguments: str, fake: Path | None = None, program: Path = RUN) -> subprocess.CompletedProcess[str]:
    paths = (
        [*([fake] if fake else []), BUILD / "python"] if "LENTO_INSTALLED" not in os.environ else [fake] if fake else []
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    return subprocess.run(
        [sys.executable, program, "--quick", "--threads", "1", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def measured(done: subprocess.CompletedProcess[str], folder: Path) -> dict[str, dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return {case["name"]: case for case in json.loads((folder / "bench.json").read_text())["cases"]}


def test_every_case_runs_and_is_judged(tmp_path: Path) -> None:
    done = run("--peers", "numpy", "--rounds", "2", "--output", str(tmp_path))
    cases = measured(done, tmp_path)
    results = json.loads((tmp_path / "bench.json").read_text())
    assert set(results["versions"]) == {"lento", "numpy"}
    assert results["machine"]["threads"] == 1
    for name, case in cases.items():
        assert set(case["results"]) == {"lento", "numpy"}
        own, other = case["results"]["lento"], case["results"]["numpy"]
        assert len(own["samples_bytes" if name.endswith("-memory") else "samples_ns"]) == 2 * PLACES[name], name
        assert own["best"] > 0, name
        assert bool(case["targets"]) == (name not in ("small-ops-loop", "lorenz"))
        if name in ("first-call", "new-shape", "from-disk"):
            assert (case["best_peer"], case["ratio"]) == (None, None)
            assert other == {"missing": "compiles nothing"}
            continue
        if name.startswith("train-"):
            assert (case["best_peer"], case["ratio"]) == (None, None)
            assert other == {"missing": "no training"}
            continue
        assert case["best_peer"] == "numpy"
        assert case["ratio"] == pytest.approx(other["best"] / own["best"])
    small = cases["small-ops"]["results"]["lento"]
    assert small["best"] == pytest.approx(min(small["samples_ns"]) / 500)
    loop = cases["small-ops-loop"]["results"]["lento"]
    assert loop["best"] == pytest.approx(min(loop["samples_ns"]) / (20 * 500))
    # Nothing of what these are to be compared with took part.
    assert [target["met"] for target in cases["softmax"]["targets"]] == [None]

    lines = done.stdout.splitlines()
    rows = {line.split("|")[1].strip(): line for line in lines if line.startswith("|")}
    for case in cases.values():
        assert case["title"] in rows
    assert "not compared" in rows[cases["softmax"]["title"]]
    verdict = ("met" if cases["sum"]["ratio"] >= 1 else "NOT MET") + " (without torch, JAX)"
    assert rows[cases["sum"]["title"]].rstrip(" |").endswith(f", {verdict}")
    assert (tmp_path / "bench.md").read_text() == done.stdout


def test_a_wrong_result_is_not_timed(tmp_path: Path) -> None:
    (tmp_path / "numexpr.py").write_text(WRONG)
    cases = measured(
        run(
            "--peers",
            "numexpr",
            "--rounds",
            "1",
            "--case",
            "elementwise-64k,first",
            "--output",
            str(tmp_path),
            fake=tmp_path,
        ),
        tmp_path,
    )
    for case in cases.values():
        assert set(case["results"]["numexpr"]) == {"fails"}
        assert case["results"]["numexpr"]["fails"].startswith("wrong result: off by 1, ")
        assert "samples_ns" in case["results"]["lento"]


def test_several_numbers_of_threads_have_a_run_each_and_are_compared(tmp_path: Path) -> None:
    counts = [1, min(2, len(os.sched_getaffinity(0)))]
    wanted = ("--peers", "numpy", "--rounds", "1", "--case", "softmax,matmul-256", "--output", str(tmp_path))
    done = run(*wanted, "--threads", "2,1" if counts[1] == 2 else "1,1")
    assert done.returncode == 0, done.stderr
    if counts[1] == 1:  # a machine with one core: one run, as without a list
        assert (tmp_path / "bench.json").exists()
        return
    runs = [json.loads((tmp_path / f"threads-{count}" / "bench.json").read_text()) for count in counts]
    assert [results["machine"]["threads"] for results in runs] == counts
    lines = (tmp_path / "cores.md").read_text().splitlines()
    assert "\n".join(lines) in done.stdout
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert rows[0] == ["case", "unit", "library", "1", "2", "2 threads beside 1"]
    own = [row for row in rows if row[2] == "Lento"]
    assert [row[0] for row in own] == [case["title"] for case in runs[0]["cases"]]
    for row, *both in zip(own, *(results["cases"] for results in runs), strict=True):
        values = [case["results"]["lento"]["best"] for case in both]
        assert row[3:] == [*map(report.figures, values), report.figures(values[0] / values[1])]


def test_more_threads_than_cores_are_refused(tmp_path: Path) -> None:
    cores = len(os.sched_getaffinity(0))
    done = run("--output", str(tmp_path), "--threads", f"1,{cores + 1}")
    assert done.returncode == 2
    assert f"numbers from 1 to {cores}, the cores of this machine, are wanted" in done.stderr


# A JAX that trains, but with a loss that does not become smaller.
IDLE = """
from . import Peer
class Jax(Peer):
    def version(self): return "0"
    def array(self, values): return values
    def trainer(self, loss, weights, batch, rate):
        import numpy as np
        return lambda: np.float32(START)
"""


def test_training_that_does_not_learn_the_same_is_not_timed(tmp_path: Path) -> None:
    # What all peers start from is right, so only later losses give it away.
    program = bench_with(IDLE, tmp_path)
    arguments = ("--peers", "jax", "--rounds", "1", "--case", "train-mlp", "--output", str(tmp_path))
    cases = measured(run(*arguments, program=program), tmp_path)
    assert cases["train-mlp"]["results"]["jax"]["fails"].startswith("wrong result: off by ")
    assert "samples_ns" in cases["train-mlp"]["results"]["lento"]
    assert cases["train-mlp-first"]["best_peer"] == "jax"


# A JAX that notes whether its process is asked to keep compiled code, and has large moments.
ASKED = """
import os
import numpy as np
from . import Peer
def note(text):
    with open(NOTES, "a") as file: file.write(text + " " + str("JAX_COMPILATION_CACHE_DIR" in os.environ) + "\\n")
class Jax(Peer):
    keeps_code = keeps_code_when_asked = True
    def __init__(self, threads):
        super().__init__(threads)
        note("process")
    def version(self): return "0"
    def array(self, values): return values
    exp, tanh, sqrt = map(staticmethod, (np.exp, np.tanh, np.sqrt))
    def trainer(self, loss, weights, batch, rate):
        moments = np.ones(1 << 24, np.float32)
        return lambda: np.float32(START) * moments[0]
"""


def loss_at_the_start() -> float:
    weights, batch = training.MODELS["mlp"].inputs(quick=True)
    x, labels = batch
    for i in "01":
        x = np.maximum(x @ weights[f"{i}.weight"].T + weights[f"{i}.bias"], 0)
    x = x @ weights["2.weight"].T + weights["2.bias"]
    return float(np.mean(np.log(np.exp(x).sum(1)) - x[range(len(x)), labels]))


def bench_with(jax: str, folder: Path) -> Path:
    """A copy of the programs with another JAX."""
    bench = folder / "bench"
    shutil.copytree(RUN.parent, bench, ignore=shutil.ignore_patterns("results", "__pycache__"))
    (bench / "peers" / "jax.py").write_text(jax.replace("START", str(loss_at_the_start())))
    return bench / "run.py"


def test_first_times_are_equally_many_and_pay_for_nothing_that_users_would_ask_for(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    program = bench_with(ASKED.replace("NOTES", repr(str(notes))), tmp_path)
    arguments = ("--peers", "jax", "--rounds", "5", "--output", str(tmp_path))
    cases = measured(run(*arguments, "--case", "first-call,from-disk", program=program), tmp_path)
    assert {len(r["samples_ns"]) for case in cases.values() for r in case["results"].values()} == {3}
    # A process for the first call; one that fills the folder; one that finds it filled.
    assert notes.read_text().splitlines() == ["process False", "process True", "process True"] * 3
    notes.unlink()
    cases = measured(run(*arguments, "--case", "train-mlp-first,train-mlp-memory", program=program), tmp_path)
    assert {len(r["samples_ns"]) for r in cases["train-mlp-first"]["results"].values()} == {3}
    assert {len(r["samples_bytes"]) for r in cases["train-mlp-memory"]["results"].values()} == {3}
    assert set(notes.read_text().splitlines()) == {"process False"}
    # What is made for the optimizer counts, whether a library makes it before or in the first step.
    assert min(cases["train-mlp-memory"]["results"]["jax"]["samples_bytes"]) >= 4 << 24


def test_targets_say_which_peers_were_not_there() -> None:
    peers: dict[str, dict[str, Any]] = {"torch": {"best": 3.0}, "jax": {"fails": "?"}, "drjit": {"missing": "no sort"}}
    best = {"lento": 2.0, "torch": 3.0}
    for target in (
        cases.Faster(1.0, ("torch", "jax", "numpy", "drjit")),
        cases.Part(1.0, ("torch", "jax", "numpy", "drjit")),
    ):
        judged = report.judge(target, cases.CASES[0], peers, best, None)
        assert (judged["met"], judged["without"]) == (True, ["jax", "numpy"])
        assert report.verdict(judged).endswith(", met (without JAX, NumPy)")
    complete = report.judge(cases.Faster(1.0, ("torch", "drjit")), cases.CASES[0], peers, best, None)
    assert report.verdict(complete).endswith(", met")


@pytest.mark.parametrize(
    ("module", "reason"),
    [("raise ImportError('no such thing')", "no such thing"), ("import os; os._exit(3)", "the process ended with 3")],
)
def test_a_peer_that_fails_is_shown_with_the_reason(tmp_path: Path, module: str, reason: str) -> None:
    (tmp_path / "numexpr.py").write_text(module)
    done = run("--peers", "numexpr", "--rounds", "1", "--case", "sum", "--output", str(tmp_path), fake=tmp_path)
    cases = measured(done, tmp_path)
    assert sorted(cases) == ["sum", "sum-columns", "sum-rows"]
    for case in cases.values():
        assert reason in case["results"]["numexpr"]["fails"]
        assert f"numexpr, {case['title']}: fails: {case['results']['numexpr']['fails']}" in done.stdout
        assert "samples_ns" in case["results"]["lento"]


def test_names_that_match_nothing_are_errors_that_list_the_names() -> None:
    done = run("--case", "softmax,sorting")
    assert done.returncode == 2
    assert "no case is named 'sorting'. The cases are: elementwise-64k, elementwise-16m, softmax, " in done.stderr
    done = run("--peers", "numba")
    assert done.returncode == 2
    assert "no peer is named 'numba'. The peers are: lento, lento.compile, numpy, numexpr, torch, " in done.stderr
