"""Draws the plots of docs/performance.md from its tables into docs/images; `make docs-charts` calls it.

Each file says what it was drawn from, so that `charts.py --check`, which needs no matplotlib, finds one that is stale.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "performance.md"
IMAGES = ROOT / "docs" / "images"

LENTO, OTHERS, SLOWER = "#0b7285", "#adb5bd", "#e8590c"
TEXT, QUIET = "#212529", "#6c757d"
MACHINE = "2 threads of an AMD EPYC (virtual machine) · torch 2.13.0, JAX 0.10.2 · make bench · 16 November 2026"
PEERS = ["Lento", "torch", "torch.compile", "JAX"]


class Table(NamedTuple):
    columns: list[str]
    rows: list[list[str]]

    def cells(self, row: str, columns: list[str]) -> list[str]:
        (cells,) = (cells for cells in self.rows if cells[0] == row)
        return [cells[self.columns.index(column)] for column in columns]


def tables(section: str) -> list[Table]:
    """The tables of a section of the page."""
    text = PAGE.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    found = []
    for block in re.findall(r"^\|.*\n\|[-|]+\n(?:\|.*\n)+", text, flags=re.M):
        lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
        found.append(Table(lines[0], lines[2:]))
    return found


def style() -> Any:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    pyplot.rcParams.update(
        {
            "svg.fonttype": "none",  # text stays text
            "svg.hashsalt": "lento",
            "font.family": "sans-serif",
            "font.sans-serif": ["Helvetica", "Arial", "DejaVu Sans", "sans-serif"],
            "font.size": 10,
            "text.color": TEXT,
            "axes.edgecolor": QUIET,
            "axes.labelcolor": QUIET,
            "xtick.color": QUIET,
            "ytick.color": TEXT,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.spines.left": False,
            "ytick.left": False,
        }
    )
    return pyplot


def draw_panel(panel: Any, title: str, cells: list[str], names: bool, logarithmic: bool = False) -> None:
    """The figures of all libraries, Lento's first. Bars start at 0, so on a logarithmic axis there are points."""
    values = [float(cell) for cell in cells]
    places = list(range(len(values)))
    colors = [LENTO, *[OTHERS] * (len(values) - 1)]
    if logarithmic:
        panel.scatter(values, places, color=colors, s=70)
        panel.set_xscale("log")
        panel.set_xlim(20, 800_000)
        panel.set_ylim(-0.5, len(values) - 0.5)
        panel.set_xticks([100, 1_000, 10_000, 100_000], ["100", "1,000", "10,000", "100,000"])
        panel.grid(axis="x", color="#e9ecef")
        panel.set_axisbelow(True)
    else:
        panel.barh(places, values, color=colors, height=0.7)
        panel.set_xlim(0, max(values) * 1.18)
    for place, (value, cell) in enumerate(zip(values, cells, strict=True)):
        weight = "bold" if place == 0 else "normal"
        shift = (7 if logarithmic else 4, 0)
        panel.annotate(cell, (value, place), shift, textcoords="offset points", va="center", fontweight=weight)
    panel.set_yticks(places, PEERS if names else [""] * len(places))
    panel.invert_yaxis()
    panel.set_title(title, loc="left", fontsize=11, fontweight="bold")


def finish(figure: Any, note: str) -> None:
    figure.text(0.01, 0.02, note, color=QUIET, fontsize=8.5, va="bottom")


def training(pyplot: Any) -> Any:
    """One panel per model: milliseconds per step, from 0."""
    table = tables("Training")[0]
    figure, panels = pyplot.subplots(1, 3, figsize=(10, 2.6))
    for number, (row, *_) in enumerate(table.rows):
        title = {"convolutions": "7 convolutions"}.get(row, row)
        draw_panel(panels[number], title, table.cells(row, PEERS), names=number == 0)
    figure.suptitle("Milliseconds per training step (less is better)", x=0.01, ha="left", fontsize=12)
    slow = [f"{table.columns[i]} {', '.join(cells[i] for cells in table.rows)} ms" for i in (5, 6)]
    finish(figure, f"{MACHINE}\nNot shown, beyond the axes: {'; '.join(slow)}")
    figure.subplots_adjust(left=0.115, right=0.99, top=0.79, bottom=0.25, wspace=0.08)
    return figure


def first_steps(pyplot: Any) -> Any:
    """First steps on a logarithmic axis, since they differ by factors of hundreds; memory from 0."""
    _, first, memory = tables("Training")
    figure, panels = pyplot.subplots(2, 3, figsize=(10, 4.3))
    for number, (row, *_) in enumerate(first.rows):
        draw_panel(panels[0][number], f"{row}: first step, ms", first.cells(row, PEERS), number == 0, logarithmic=True)
        draw_panel(panels[1][number], f"{row}: memory, MB", memory.cells(row, PEERS), number == 0)
    title = "First steps, compiling included (logarithmic axis), and memory; less is better"
    figure.suptitle(title, x=0.01, ha="left", fontsize=12)
    finish(figure, f"{MACHINE}, at a load of 3")
    figure.subplots_adjust(left=0.115, right=0.99, top=0.86, bottom=0.14, wspace=0.08, hspace=0.6)
    return figure


def beside(pyplot: Any) -> Any:
    """One bar per case from 1, where both are as fast; logarithmic, so that twice and half are as long."""
    from matplotlib.ticker import NullLocator

    table = tables("Beside the peers")[0]
    names = [f"{case}  ({other.split()[0]})" for case, _, other, _, _ in table.rows]
    cells = [row[3] for row in table.rows]
    ratios = [float(cell) for cell in cells]
    places = list(range(len(ratios)))
    figure, axes = pyplot.subplots(figsize=(10, 7))
    colors = [LENTO if ratio >= 1 else SLOWER for ratio in ratios]
    axes.barh(places, [ratio - 1 for ratio in ratios], left=1, color=colors, height=0.7)
    for place, (ratio, cell) in enumerate(zip(ratios, cells, strict=True)):
        shift = (4, 0) if ratio >= 1 else (-4, 0)
        side = "left" if ratio >= 1 else "right"
        axes.annotate(cell, (ratio, place), shift, textcoords="offset points", va="center", ha=side)
    axes.axvline(1, color=TEXT, linewidth=1)
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(0.45, 14)
    axes.set_xticks([0.5, 1, 2, 4, 8], ["0.5 ×", "as fast", "2 ×", "4 ×", "8 ×"])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.margins(y=0.01)
    figure.suptitle(
        "Lento's speed beside the fastest other library, named in parentheses", x=0.01, ha="left", fontsize=12
    )
    finish(
        figure,
        f"{MACHINE}\nEach row is from one run. The sum of 16 M was 1.10 in another one; it depends on the moment.",
    )
    figure.subplots_adjust(left=0.4, right=0.98, top=0.94, bottom=0.1)
    return figure


CHARTS: dict[str, Callable[[Any], Any]] = {"training": training, "first-steps": first_steps, "beside": beside}


def source() -> str:
    """What decides how the plots look: the tables and this file."""
    parts = [repr(tables(section)) for section in ("Training", "Beside the peers")]
    return hashlib.sha256("\n".join([*parts, Path(__file__).read_text()]).encode()).hexdigest()[:16]


def stale() -> list[str]:
    """The names of plots that are missing or were drawn from something else."""
    files = {name: IMAGES / f"{name}.svg" for name in CHARTS}
    return [
        name for name, file in files.items() if not file.exists() or f"drawn from {source()}" not in file.read_text()
    ]


def main() -> None:
    if sys.argv[1:] == ["--check"]:
        if names := stale():
            raise SystemExit(f"stale: {', '.join(names)}; run make docs-charts")
        return
    pyplot = style()
    IMAGES.mkdir(exist_ok=True)
    for name, draw in CHARTS.items():
        figure = draw(pyplot)
        about = {"Date": None, "Creator": None, "Description": f"drawn from {source()}"}
        figure.savefig(IMAGES / f"{name}.svg", metadata=about, facecolor="white")
        text = (IMAGES / f"{name}.svg").read_text()
        (IMAGES / f"{name}.svg").write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n")
        print(f"docs/images/{name}.svg")


if __name__ == "__main__":
    main()
