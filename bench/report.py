"""What is made of the samples: a summary (the JSON file), a table and a chart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cases import Bandwidth, Case, Faster, Part, Target, Within
from peers import PEERS

# What one is, in nanoseconds; in bytes.
UNITS = {"ms": 1e6, "µs": 1e3, "ns/op": 1.0, "MB": 1e6}


def label(peer: str) -> str:
    return PEERS[peer][0]


def summary(cases: list[Case], results: dict[str, dict[str, dict[str, Any]]], head: dict[str, Any]) -> dict[str, Any]:
    rows = []
    for case in cases:
        peers = results[case.name]
        for result in peers.values():
            if "samples_ns" in result:
                result["best"] = min(result["samples_ns"]) / UNITS[case.unit] / case.ops
                if case.bytes:
                    result["gb_per_s"] = case.bytes / min(result["samples_ns"])
            elif "samples_bytes" in result:
                result["best"] = min(result["samples_bytes"]) / UNITS[case.unit]
        best = {peer: result["best"] for peer, result in peers.items() if "best" in result}
        others = {peer: value for peer, value in best.items() if not peer.startswith("lento")}
        fastest = min(others, key=lambda peer: others[peer], default=None)
        own = best.get("lento")
        rows.append(
            {
                "name": case.name,
                "title": case.title,
                "unit": case.unit,
                "results": peers,
                "best_peer": fastest,
                "ratio": others[fastest] / own if fastest and own else None,
                "targets": [judge(target, case, peers, best, head["stream_gb_per_s"]) for target in case.targets],
            }
        )
    return {**head, "cases": rows}


def judge(
    target: Target, case: Case, peers: dict[str, dict[str, Any]], best: dict[str, float], stream: float | None
) -> dict[str, Any]:
    """Whether Lento reaches a target; "met" is None when there is nothing to compare with."""
    own = best.get("lento")
    match target:
        case Within(limit):
            return {"text": f"≤ {limit:g} {case.unit}", "value": own, "met": own is not None and own <= limit}
        case Bandwidth(part):
            text = f"≥ {part:.0%} of STREAM"
            if stream is None or own is None:
                return {"text": text, "value": None, "met": None if stream is None else False}
            value = peers["lento"]["gb_per_s"] / stream
            return {"text": text, "value": value, "met": value >= part}
        case Faster(times, names):
            text = f"≥ {times:.3g} × {'/'.join(label(name) for name in names)}"
            return {"text": text, **beside(names, peers, best, lambda rival, own: (rival / own, rival / own >= times))}
        case Part(part, names):
            text = f"≤ {part:.2g} × {'/'.join(label(name) for name in names)}"
            return {"text": text, **beside(names, peers, best, lambda rival, own: (own / rival, own <= part * rival))}


def beside(
    names: tuple[str, ...],
    peers: dict[str, dict[str, Any]],
    best: dict[str, float],
    compare: Callable[[float, float], tuple[float, bool]],
) -> dict[str, Any]:
    """Lento beside the best of these. "without" are those that might have been better but have no result: they were
    not asked, or failed. A library that has no such operation is no rival."""
    rivals, own = [best[name] for name in names if name in best], best.get("lento")
    without = [name for name in names if name not in best and "missing" not in peers.get(name, {})]
    if not rivals or own is None:
        return {"value": None, "met": None if not rivals else False, "without": without}
    value, met = compare(min(rivals), own)
    return {"value": value, "met": met, "without": without}


def figures(value: float) -> str:
    """Three significant ones."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def cell(result: dict[str, Any] | None, key: str = "best") -> str:
    if result is None or "missing" in result:
        return "–"
    return "fails" if "fails" in result else figures(result[key])


def verdict(target: dict[str, Any]) -> str:
    word = {True: "met", False: "NOT MET", None: "not compared"}[target["met"]]
    if target["value"] is None:
        return f"{target['text']}: {word}"
    if target.get("without"):
        word += f" (without {', '.join(map(label, target['without']))})"
    value = f"{target['value']:.0%}" if "STREAM" in target["text"] else figures(target["value"])
    return f"{target['text']}: {value}, {word}"


def columns(lines: list[list[str]]) -> list[str]:
    """A table of these cells, whose first line is the head."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    ruled = [lines[0], ["-" * width for width in widths], *lines[1:]]
    return ["| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |" for line in ruled]


def table(results: dict[str, Any]) -> str:
    """Text for a terminal, which is Markdown too."""
    peers = [peer for peer in PEERS if any(peer in row["results"] for row in results["cases"])]
    head = ["case", "unit", *map(label, peers), "best peer", "Lento's speed / its", "target"]
    lines, failures, gaps = [head], [], False
    for row in results["cases"]:
        cells = [cell(row["results"].get(peer)) for peer in peers]
        best = label(row["best_peer"]) if row["best_peer"] else "–"
        ratio = figures(row["ratio"]) if row["ratio"] else "–"
        targets = "; ".join(verdict(target) for target in row["targets"])
        lines.append([row["title"], row["unit"], *cells, best, ratio, targets])
        if any("gb_per_s" in result for result in row["results"].values()):
            speeds = [cell(row["results"].get(peer), "gb_per_s") for peer in peers]
            lines.append(["", "GB/s", *speeds, "", "", ""])
        for peer in peers:
            result = row["results"].get(peer, {})
            gaps |= "missing" in result
            if "fails" in result:
                failures.append(f"{label(peer)}, {row['title']}: fails: {result['fails']}")
    text = columns(lines)
    machine = results["machine"]
    versions = ", ".join(f"{label(peer)} {version}" for peer, version in results["versions"].items())
    text += [
        "",
        f"{machine['cpu']}, {machine['threads']} threads, float32, best of {results['rounds']} rounds; {versions}",
    ]
    if results["stream_gb_per_s"]:
        text.append(f"STREAM triad with non-temporal stores, in the same rounds: {results['stream_gb_per_s']} GB/s")
    if machine["load"] > machine["cores"] / 2:
        text.append(
            f"The machine was busy (load {machine['load']}): what takes more than some milliseconds says little"
        )
    targets = [target for row in results["cases"] for target in row["targets"]]
    judged = [target for target in targets if target["met"] is not None]
    met = [target for target in judged if target["met"]]
    partly = sum(bool(target.get("without")) for target in met)
    text.append(
        f"{len(met)} of {len(judged)} targets met"
        + (f", {partly} of them without all peers they name" if partly else "")
        + (f"; {len(targets) - len(judged)} not compared" if len(targets) > len(judged) else "")
    )
    if gaps:
        text.append("–: the library has no such operation, compiles nothing, or keeps no code on disk")
    return "\n".join(text + failures)


def write(results: dict[str, Any], folder: Path) -> list[Path]:
    """The JSON file, the table, and the chart where matplotlib is there; returns what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / "bench.json", folder / "bench.md"]
    paths[0].write_text(json.dumps(results, ensure_ascii=False) + "\n")
    paths[1].write_text(table(results) + "\n")
    try:
        return paths + chart(results, folder)
    except ImportError:
        return paths


def chart(results: dict[str, Any], folder: Path) -> list[Path]:
    """A row for each case: a bar to the best peer's time and a dot for every peer's, all divided by Lento's."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [row for row in results["cases"] if row["ratio"]]
    if not rows:
        return []
    figure, axes = pyplot.subplots(figsize=(10, 1.6 + 0.34 * len(rows)), layout="constrained")
    for y, row in enumerate(rows):
        faster = row["ratio"] >= 1
        axes.barh(y, row["ratio"] - 1, left=1, height=0.62, color="#9ecae1" if faster else "#fcbba1", zorder=1)
    peers = [peer for peer in PEERS if peer != "lento"]
    for peer, marker in zip(peers, "osD^vP*Xh", strict=True):
        points = [
            (row["results"][peer]["best"] / row["results"]["lento"]["best"], y)
            for y, row in enumerate(rows)
            if "best" in row["results"].get(peer, {})
        ]
        if points:
            axes.plot(*zip(*points, strict=True), marker, label=label(peer), markersize=5, zorder=3)
    axes.axvline(1, color="black", linewidth=1, zorder=2)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), [row["title"] for row in rows])
    axes.grid(axis="x", color="#dddddd", zorder=0)
    axes.set_xlabel("time / Lento's time (right of the line Lento is faster; bar: the best peer)")
    axes.set_title(
        f"Lento beside its peers, {results['machine']['cpu']}, {results['machine']['threads']} threads, float32"
    )
    axes.set_ylim(len(rows) - 0.4, -0.6)
    figure.legend(loc="outside lower center", ncols=8, frameon=False, fontsize=8)
    paths = [folder / "bench.png", folder / "bench.svg"]
    for path in paths:
        figure.savefig(path, dpi=130)
    pyplot.close(figure)
    return paths
