"""How originals are read, rewritten and compared, by programs that are made up here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from originals import Original, Patched, Rule, changed_lines, holds, rewritten

HERE = Path(__file__).resolve().parent

SCRIPT = """
import sys
from dataclasses import dataclass
sys.exit("a script that must not be run")

FACTOR = 3

@dataclass
class Number:
    value: int = 2

def times(x):
    return FACTOR * x.value

def main():
    def inner(x):
        return outer + x
    print("main")
"""


def test_only_the_definitions_that_are_named_are_run() -> None:
    script = Original(Path("script.py"), SCRIPT)
    space = script.run("FACTOR", "times", "Number", dataclass=__import__("dataclasses").dataclass)
    assert space["times"](space["Number"]()) == 6
    assert script.run("inner", inside="main", outer=1)["inner"](2) == 3
    with pytest.raises(LookupError, match=r"script\.py does not define nothing"):
        script.run("times", "nothing")


def test_a_patched_module_has_other_functions_in_some_places() -> None:
    here = Patched(os.path, basename=lambda path: "other")
    assert (here.basename("a/b"), here.dirname("a/b")) == ("other", "a")


def test_rules_change_lines_and_changed_lines_are_counted() -> None:
    old = "import torch\n\nx = torch.ones(2)\ny = x.view(1, 2)\nz = x.view(2)\nprint(x)\n"
    new = rewritten(old, [Rule(r"^import torch$", "import lento as torch"), Rule(r"\.view\(", ".reshape(")])
    assert "y = x.reshape(1, 2)" in new
    assert changed_lines(old, new) == 3
    assert changed_lines("a\nb\nc\n", "a\nc\nd\ne\n") == 3  # one is gone, two are new
    assert changed_lines(old, old) == 0


def test_a_rule_is_left_out_once_lento_can_do_what_it_works_around() -> None:
    assert holds("x.reshape(6, 4).shape == (6, 4)")
    assert not holds("x.no_such_method()") and not holds("torch.ones(2).shape == (3,)")
    assert rewritten("a", [Rule("a", "b", until="nn.Linear(1, 1)")]) == "a"
    assert rewritten("a", [Rule("a", "b", until="nn.NoSuchLayer(1, 1)")]) == "b"


LORENZ = """
import nothing_that_is_installed

def lorenz(xyz):
    x, y, z = xyz
    return np.array([10 * (y - x), {r} * x - y - x * z, x * y - 2.667 * z])
"""


@pytest.mark.parametrize(("r", "code", "says"), [(28, 0, "yes"), (29, 1, "NO")])
def test_the_table_says_what_agrees_and_what_is_not_there(tmp_path: Path, r: int, code: int, says: str) -> None:
    folder = tmp_path / "matplotlib" / "galleries" / "examples" / "mplot3d"
    folder.mkdir(parents=True)
    (folder / "lorenz_attractor.py").write_text(LORENZ.format(r=r))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, str(HERE / "compare.py"), str(tmp_path), "lorenz", "life"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (code, "")
    row = next(line for line in done.stdout.splitlines() if line.startswith("lorenz"))
    assert row.split()[1] == says
    assert "life (from-python-to-numpy/code/game_of_life_numpy.py)" in done.stdout.partition("skipped: ")[2]
    assert ("not as it should be: lorenz" in done.stdout) == (says == "NO")


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    command = [sys.executable, str(HERE / "compare.py"), str(tmp_path / "missing")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "usage: compare.py FOLDER" in done.stderr
