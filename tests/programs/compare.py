#!/usr/bin/env python3
"""Runs public programs beside their ports and prints a table: tests/programs/compare.py FOLDER [PROGRAM...]

FOLDER has checkouts of the programs' repositories; docs/programs.md says which. Nothing is fetched; a program whose
original or library is not there is skipped by name. Fails when a result differs, or more lines change than allowed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
import traceback
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from comparing import PROGRAMS, Program, difference, milliseconds  # noqa: E402
from originals import Original, changed_lines, rewritten  # noqa: E402
from rules import RULES  # noqa: E402

PEERS = {
    "numpy": ["against_numpy"],
    "torch": ["against_nanogpt", "against_torch", "against_torch_graphs"],
    "jax": ["against_jax"],
}
COLUMNS = ("program", "agrees", "difference", "lines changed", "CPU ms/step", "original's")


def row(program: Program, original: Original) -> tuple[bool, tuple[str, ...]]:
    """Whether all is well, and what the table says."""
    moved = rewritten(original.text, RULES[program.name]) if program.name in RULES else original.text
    with contextlib.redirect_stdout(io.StringIO()):  # originals print how they get on
        pair = program.pair(original)
        expected = pair.theirs()
        apart = difference(pair.ours(), expected)
        if pair.moved is not None:
            apart = max(apart, difference(pair.moved(replace(original, text=moved)), expected))
        times = [f"{milliseconds(call) / pair.steps:.3g}" for call in (pair.ours, pair.theirs)]
    agrees = apart <= program.tolerance
    count = changed_lines(original.text, moved)
    within = program.limit is None or count <= program.limit
    lines = f"{count} of {len(original.text.splitlines())}" if count else ""
    if not within:
        lines += f" (>{program.limit})"
    return agrees and within, (program.name, "yes" if agrees else "NO", f"{apart:.1e}", lines, *times)


def main(folder: Path, wanted: list[str]) -> int:
    import lento

    lento.set_num_threads(1)  # so that times are comparable, also on a busy machine
    skipped = []
    for library, modules in PEERS.items():
        if importlib.util.find_spec(library) is None:
            skipped.append(f"all of {library}, which is not installed")
            continue
        for module in modules:
            importlib.import_module(module)
    unknown = [name for name in wanted if name not in PROGRAMS]
    if unknown:
        print(f"compare: there is no program {', '.join(unknown)}; there are {', '.join(PROGRAMS)}", file=sys.stderr)
        return 2
    print("{:24}{:8}{:>12}{:>18}{:>13}{:>12}".format(*COLUMNS))
    failed, ran = [], 0
    for name, program in PROGRAMS.items():
        if wanted and name not in wanted:
            continue
        path = folder / program.path
        if not path.is_file():
            skipped.append(f"{name} ({program.path})")
            continue
        ran += 1
        try:
            well, texts = row(program, Original.read(path))
            print("{:24}{:8}{:>12}{:>18}{:>13}{:>12}".format(*texts), flush=True)
        except Exception:
            well = False
            print(f"{name:24}fails\n{traceback.format_exc()}", flush=True)
        if not well:
            failed.append(name)
    if skipped:
        print("skipped: " + "; ".join(skipped))
    if failed:
        print("not as it should be: " + ", ".join(failed))
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_dir():
        print("usage: compare.py FOLDER [PROGRAM...]: FOLDER has the originals (docs/programs.md)", file=sys.stderr)
        sys.exit(2)
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
