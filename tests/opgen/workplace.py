"""Catalogues made up by the tests, and the generator run on them."""

from __future__ import annotations

import os
import subprocess
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = (ROOT / os.environ.get("LENTO_BUILD", "build/release")).resolve()
OPGEN = BUILD / "tools" / "opgen" / "opgen"

# An op of each kind, all right. Tests add an entry to it that is wrong in one way.
GOOD = """\
- op: tanh
  doc: Hyperbolic tangent of each element.
  args: [x: Tensor]
  family: elementwise
  dtype: float(x) in floating|complex
  compute: std::tanh(x)
  vjp: {x: grad * (1 - result * result)}

- op: multiply
  doc: The product of two numbers.
  args: [x1: Operand, x2: Operand]
  family: elementwise
  dtype: promote(x1, x2) in numeric
  compute: {integer: "math::wrapping(x1, x2)", floating: x1 * x2, complex: x1 * x2}
  aliases: [mul]
  method: true

- op: take_axis
  hidden: true
  doc: Slices at indices.
  args: [x: Tensor, indices: Tensor, axis: int]
  family: gather
  batch: take
  dtype: same(x) in any
  samples:
    - {x: "any[5,3]", indices: "int64[4] in (-5, 4)", axis: 0}

- op: square
  doc: Each element times itself.
  args: [x: Tensor]
  family: composite
  dtype: same(x) in numeric
  compose: multiply(x, x)
"""

MATH = """\
namespace lento::reference::math {
template <class T> T wrapping(T a, T b);
}
"""


# An entry that is wrong in one way, and the errors it must give, as (line, column, text).
Case = tuple[str, list[tuple[int, int, str]]]


@dataclass
class Outcome:
    status: int
    output: str
    errors: str


class Workplace:
    """A folder with a catalogue and an output tree."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.ops = folder / "ops"
        self.out = folder / "generated"
        self.math = folder / "scalar_math.h"
        self.ops.mkdir(parents=True)
        self.math.write_text(MATH)

    def write(self, name: str, text: str) -> Path:
        path = self.ops / name
        path.write_text(textwrap.dedent(text))
        return path

    def run(self, command: str, *options: str) -> Outcome:
        done = subprocess.run(
            [OPGEN, command, "--ops", self.ops, *options],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        # Positions are given by the path as it was passed; the tests compare what follows the folder.
        return Outcome(done.returncode, done.stdout, done.stderr.replace(f"{self.ops}/", ""))

    def generate(self, *options: str) -> Outcome:
        return self.run("generate", "--out", str(self.out), "--math", str(self.math), *options)

    def check(self) -> Outcome:
        return self.run("check", "--math", str(self.math))


def check_case(workplace: Workplace, case: Case) -> None:
    """The errors are told with the place, the bad word and the nearest right one, and nothing is written."""
    text, expected = case
    workplace.write("b_bad.yaml", text)
    outcome = workplace.generate()
    lines = outcome.errors.splitlines()
    assert lines[:-1] == [f"b_bad.yaml:{line}:{column}: error: {message}" for line, column, message in expected]
    count = len(expected)
    assert lines[-1] == f"opgen: {count} error{'' if count == 1 else 's'}; nothing was written"
    assert outcome.status == 1
    assert not workplace.out.exists()
