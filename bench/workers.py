"""Worker processes from the parent's side: started with the same environment for each, asked, killed when they hang."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def environment(threads: int, caches: Path, keep_code: bool) -> dict[str, str]:
    """Equal threads, and folders for compiled code that nobody has used yet: a first call shall be one. Libraries that
    keep code only for users who ask for it are asked with ``keep_code``: writing it takes time."""
    for name in ("home", "tmp"):
        (caches / name).mkdir(parents=True, exist_ok=True)
    count = str(threads)
    asked = {
        "JAX_COMPILATION_CACHE_DIR": str(caches / "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    return {
        **{name: value for name, value in os.environ.items() if name not in asked},
        **(asked if keep_code else {}),
        **{f"{library}_NUM_THREADS": count for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")},
        "NUMEXPR_MAX_THREADS": count,
        "HOME": str(caches / "home"),  # Dr.Jit's
        "TMPDIR": str(caches / "tmp"),  # MLX's
        "XDG_CACHE_HOME": str(caches / "home"),
        "LENTO_CACHE_DIR": str(caches / "lento"),
        "TORCHINDUCTOR_CACHE_DIR": str(caches / "inductor"),
        "JAX_PLATFORMS": "cpu",
    }


class Process:
    """A running worker. Answers are dictionaries; one with "fails" or "missing" has nothing else."""

    def __init__(self, peer: str, threads: int, caches: Path, log: Path, quick: bool, keep_code: bool) -> None:
        self.log = log
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, HERE / "worker.py", peer, str(threads), *(["quick"] if quick else [])],
                env=environment(threads, caches, keep_code),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self.hello = self.answer(120)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def ask(self, do: str, limit: float, **arguments: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return self.end()
        return self.answer(limit)

    def answer(self, seconds: float) -> dict[str, Any]:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        if not ready:
            self.kill()
            return {"fails": f"no answer within {seconds:.0f} s"}
        line = self.process.stdout.readline()
        return json.loads(line) if line else self.end()

    def end(self) -> dict[str, Any]:
        code = self.process.wait()
        lines = self.log.read_text(errors="replace").strip().splitlines() or [""]
        return {"fails": f"the process ended with {code}: {lines[-1][:160]}"}

    def close(self) -> None:
        """Lets it end by itself, so that it can write what it keeps."""
        try:
            self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
