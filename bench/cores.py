"""What is made of runs with several numbers of threads: a table and a plot of speed by cores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from peers import PEERS
from report import columns, figures, label


def best(results: dict[str, Any], case: str, peer: str) -> float | None:
    """The best time or size that the peer had in this run; None when there is none."""
    row = next(row for row in results["cases"] if row["name"] == case)
    value = row["results"].get(peer, {}).get("best")
    return None if value is None else float(value)


def table(runs: list[dict[str, Any]]) -> str:
    """A row for each case and peer, a column for each number of threads. The last one says how many times as fast the
    most threads are as the fewest."""
    counts = [results["machine"]["threads"] for results in runs]
    lines = [["case", "unit", "library", *map(str, counts), f"{counts[-1]} threads beside {counts[0]}"]]
    for row in runs[0]["cases"]:
        for peer in (peer for peer in PEERS if peer in row["results"]):
            values = [best(results, row["name"], peer) for results in runs]
            if all(value is None for value in values):
                continue
            cells = ["–" if value is None else figures(value) for value in values]
            times = figures(values[0] / values[-1]) if values[0] and values[-1] else "–"
            lines.append([row["title"], row["unit"], label(peer), *cells, times])
    return "\n".join(columns(lines))


def write(runs: list[dict[str, Any]], folder: Path) -> list[Path]:
    """The table, and the plot where matplotlib is there; returns what was written."""
    paths = [folder / "cores.md"]
    paths[0].write_text(table(runs) + "\n")
    try:
        return paths + plot(runs, folder)
    except ImportError:
        return paths


def plot(runs: list[dict[str, Any]], folder: Path) -> list[Path]:
    """A field for each case: how fast each library is on how many threads, beside Lento on the fewest."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    fewest = runs[0]
    rows = [row for row in fewest["cases"] if best(fewest, row["name"], "lento") and row["unit"] != "MB"]
    if not rows:
        return []
    counts = [results["machine"]["threads"] for results in runs]
    wide = min(4, len(rows))
    high = -(-len(rows) // wide)
    figure, fields = pyplot.subplots(
        high, wide, figsize=(3.2 * wide, 0.6 + 2.6 * high), squeeze=False, layout="constrained"
    )
    names: dict[str, Any] = {}
    for field, row in zip(fields.flat, rows, strict=False):
        unit = best(fewest, row["name"], "lento")
        field.set_title(row["title"], fontsize=8)
        field.set_xscale("log", base=2)
        field.set_yscale("log", base=2)
        field.yaxis.set_major_formatter("{x:g}")
        field.set_xticks(counts, map(str, counts))
        field.grid(color="#dddddd")
        for colour, peer in enumerate(PEERS):
            points = [
                (count, unit / value)
                for count, results in zip(counts, runs, strict=True)
                if (value := best(results, row["name"], peer))
            ]
            if points and unit:
                style = {"color": "black", "linewidth": 2} if peer == "lento" else {"color": f"C{colour}"}
                (names[label(peer)],) = field.plot(*zip(*points, strict=True), marker=".", **style)
    for field in fields.flat[len(rows) :]:
        field.set_visible(False)
    threads = "1 thread" if counts[0] == 1 else f"{counts[0]} threads"
    figure.suptitle(
        f"Speed by number of threads; 1 is Lento's on {threads}. {fewest['machine']['cpu']}, float32", fontsize=10
    )
    figure.legend(list(names.values()), list(names), loc="outside lower center", ncols=8, frameon=False, fontsize=8)
    paths = [folder / "cores.png", folder / "cores.svg"]
    for path in paths:
        figure.savefig(path, dpi=130)
    pyplot.close(figure)
    return paths
