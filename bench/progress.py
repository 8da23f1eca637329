"""A progress bar of one line on standard error; on something that is no terminal, a line for each case."""

from __future__ import annotations

import sys
import time


class Progress:
    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self.start = time.monotonic()
        self.terminal = sys.stderr.isatty()
        self.case = ""

    def begin(self, case: str) -> None:
        self.case = case
        if not self.terminal:
            print(
                f"[{self.done + 1}/{self.total}] {case}, after {time.monotonic() - self.start:.0f} s", file=sys.stderr
            )

    def show(self, what: str) -> None:
        if not self.terminal:
            return
        width = 24
        full = width * self.done // self.total
        seconds = int(time.monotonic() - self.start)
        text = f"{'━' * full}{'╌' * (width - full)} {self.done}/{self.total} {seconds // 60}:{seconds % 60:02d} "
        sys.stderr.write(f"\r\033[K{text}{self.case}: {what}"[:118])
        sys.stderr.flush()

    def end(self) -> None:
        self.done += 1
        if self.terminal and self.done == self.total:
            sys.stderr.write("\r\033[K")
