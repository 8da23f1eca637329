"""The types that stubs give are those of the package as it is imported (mypy.stubtest)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import lento
import pytest
from lento._attribute_hints import Hint
from locations import BUILD, ROOT


def test_stubs_describe_what_is_there(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="the environments of `make test-wheel SUITE=1` have no mypy")
    settings = tmp_path / "mypy.ini"
    settings.write_text(f"[mypy]\nmypy_path = {BUILD / 'python'}\ncache_dir = {tmp_path}\n")
    allowed = ROOT / "tests" / "python" / "stubtest-allowlist.txt"
    hints = tmp_path / "hints.txt"  # attributes that only say what to write instead
    hints.write_text(
        "".join(
            f"lento\\.(\\w+\\.)*{kind.__name__}\\.{name}\n"
            for kind in (lento.Tensor, lento.nn.Module, lento.optim.Optimizer)
            for name, value in vars(kind).items()
            if isinstance(value, Hint)
        )
    )
    command = [sys.executable, "-m", "mypy.stubtest", "lento", "--concise", "--ignore-disjoint-bases"]
    done = subprocess.run(
        [*command, "--allowlist", str(allowed), "--allowlist", str(hints), "--mypy-config-file", str(settings)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(BUILD / "python")},
    )
    assert done.returncode == 0, done.stdout + done.stderr
