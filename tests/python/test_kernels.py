"""The kernels that every op of the catalogue becomes: interpreted, they must be the reference backend's values, and
generated code what the interpreter makes (tests/cpu/schedule_kernels_test.cpp)."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import harness
import lento
from locations import BUILD
from samples import calls_of, load_catalogue


def graphs_of_the_catalogue() -> list[str]:
    """One call of each op in each dtype, as the text of what was traced."""
    graphs = []
    for op in load_catalogue():
        dtypes = set()
        for call in calls_of(op):
            if call.raises or call.dtype in dtypes:
                continue
            try:
                result = harness.run(call)
                tensors = result if isinstance(result, tuple | list) else [result]
                text = lento.dump([x for x in tensors if isinstance(x, lento.Tensor)], "text")
            except (lento.Error, TypeError, ValueError):
                continue  # not an op that can be traced: the samples of what it refuses are tested elsewhere
            if "return" in text:
                graphs.append(text if text.endswith("\n") else text + "\n")
                dtypes.add(call.dtype)
    return graphs


def test_kernels_of_the_catalogue_are_the_reference(tmp_path: Path) -> None:
    graphs = graphs_of_the_catalogue()
    assert len(graphs) > 1000
    file = tmp_path / "graphs.txt"
    file.write_text("".join(graphs))
    done = subprocess.run(
        [BUILD / "tests" / "cpu_test", "--gtest_filter=ScheduledKernels.OfGivenGraphsAreTheReference"],
        env={**os.environ, "LENTO_TEST_GRAPHS": str(file)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    seen = re.search(r"(\d+) graphs, (\d+) kernels interpreted, (\d+) generated", done.stdout)
    assert seen and int(seen[1]) == len(graphs) and int(seen[2]) > 1000 and int(seen[3]) > 200, done.stdout
