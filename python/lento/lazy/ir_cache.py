"""LTC keeps nodes of earlier traces in a cache. Lento keeps plans of earlier steps: ``lento.cache``."""

from __future__ import annotations

from .. import _core

__all__ = ["dump", "reset"]


def dump(dot_file_name: str) -> None:
    """Writes the cached plans to a file in the DOT language, most recently used first."""
    lines = ["digraph plan_cache {", "  node [shape=box]"]
    for plan in _core.cache_plans():
        label = "\\n".join(
            [
                f"{plan['key']:016x} on {plan['device']}",
                f"{plan['nodes']} nodes, {plan['inputs']} inputs, {plan['outputs']} outputs",
                f"{plan['kernels']} kernels, {plan['code_bytes']} bytes of code",
            ]
        )
        lines.append(f'  plan_{plan["key"]:016x} [label="{label}"]')
    with open(dot_file_name, "w", encoding="utf-8") as out:
        out.write("\n".join([*lines, "}", ""]))


def reset() -> None:
    """Forgets all plans: the next steps compile, or load from disk, what they need."""
    _core.cache_clear()
