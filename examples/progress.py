"""How the training examples show what happens: a live bar on a terminal (with rich), plain lines elsewhere.

A loop hands the loss of every step to an asynchronous closure; numbers are read and shown by Lento's thread for
closures, so the loop itself never waits:

    with Progress("digits", steps=300) as progress:
        for step in range(300):
            loss = train_step()
            lento.add_step_closure(progress.log, args=(step, loss), run_async=True)
            lento.step()
    progress.losses  # one a step
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

import lento


def rich_console() -> Any:
    """A console of rich where somebody can watch it, else None."""
    if not sys.stdout.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console()


class Progress:
    """Follows one training run: its losses, and what Lento did for it."""

    def __init__(self, title: str, steps: int) -> None:
        self.title = title
        self.steps = steps
        self.losses: list[float] = []
        self.first_step_seconds = 0.0
        #: What Lento did, for a table; there when the run has ended.
        self.summary: dict[str, str] = {}
        self._every = max(1, steps // 8)
        self._bar: Any = None

    def __enter__(self) -> Progress:
        lento.reset_peak_memory()
        self._before = lento.metrics.counters()
        self._compile_before = lento.metrics.timing("plan.compile")["total_seconds"]
        self._start = time.perf_counter()
        console = rich_console()
        if console is not None:
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("[bold]{task.description}"),
                BarColumn(bar_width=24),
                MofNCompleteColumn(),
                TextColumn("{task.fields[text]}"),
                console=console,
            )
            self._bar.start()
            self._task = self._bar.add_task(self.title, total=self.steps, text="compiling")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            lento.wait_closures()
            self.summary = self._summary(time.perf_counter())
        finally:
            if self._bar is not None:
                self._bar.stop()

    def log(self, step: int, loss: lento.Tensor) -> None:
        """Called after the step, on another thread; reading the loss waits for this step only."""
        self.losses.append(float(loss))
        now = time.perf_counter()
        if not self.first_step_seconds:
            self.first_step_seconds = now - self._start
        if self._bar is not None:
            self._bar.update(self._task, completed=step + 1, text=self._text(now))
        elif (step + 1) % self._every == 0 or step == 0:
            print(f"{self.title:6} step {step + 1:4}/{self.steps}  {self._text(now)}", flush=True)

    def count(self, name: str) -> int:
        """How much a counter has grown since the run began."""
        return lento.metrics.counter(name) - self._before.get(name, 0)

    def ops_recorded(self) -> int:
        return sum(self.count(name) for name in lento.metrics.counters() if name.startswith("op."))

    def compile_seconds(self) -> float:
        return float(lento.metrics.timing("plan.compile")["total_seconds"]) - self._compile_before

    def steps_per_second(self, now: float) -> float:
        """Without the first step, which is compiled."""
        return (len(self.losses) - 1) / max(now - self._start - self.first_step_seconds, 1e-9)

    def _text(self, now: float) -> str:
        recent = self.losses[-20:]
        return (
            f"loss {sum(recent) / len(recent):6.4f}  {self.steps_per_second(now):6.1f} steps/s  "
            f"hits {self.count('plan.hit')}/{self.count('step')}  compile {self.compile_seconds():.2f} s  "
            f"memory {lento.memory()['peak'] / 2**20:.0f} MiB"
        )

    def _summary(self, now: float) -> dict[str, str]:
        return {
            "steps": f"{self.count('step')}",
            "steps/s": f"{self.steps_per_second(now):.1f}",
            "time to first step": f"{self.first_step_seconds:.2f} s",
            "ops recorded": f"{self.ops_recorded():,}",
            "plans compiled": f"{self.count('plan.miss')}",
            "plans found again": f"{self.count('plan.hit')}",
            "kernels compiled": f"{self.count('kernel.compile')}",
            "kernels found on disk": f"{self.count('kernel.disk_hit')}",
            "compile time": f"{self.compile_seconds():.2f} s",
            "buffers updated in place": f"{self.count('donation'):,}",
            "implicit syncs": f"{self.count('sync.implicit')}",
            "peak memory": f"{lento.memory()['peak'] / 2**20:.0f} MiB",
        }


def print_table(summaries: dict[str, dict[str, str]]) -> None:
    """The summaries side by side."""
    rows = list(next(iter(summaries.values())))
    console = rich_console()
    if console is None:
        print(f"{'what Lento did':26}" + "".join(f"{title:>14}" for title in summaries))
        for row in rows:
            print(f"{row:26}" + "".join(f"{summary[row]:>14}" for summary in summaries.values()))
        return
    from rich.table import Table

    table = Table("what Lento did", title_justify="left")
    for title in summaries:
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(row, *(summary[row] for summary in summaries.values()))
    console.print(table)
