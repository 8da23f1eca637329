"""A public program in a folder of the user's: its text, its definitions, and the lines that would have to change.

Nothing is fetched, and only what a comparison names is run: a class or a function, not the script around it.
"""

from __future__ import annotations

import ast
import difflib
import re
import sys
import types
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Rule:
    """A change that a user makes by hand: ``pattern`` becomes ``text``, wherever it is."""

    pattern: str
    text: str
    until: str = ""  # not needed once this is true; x is a tensor of shape (2, 3, 4), torch is lento


def holds(expression: str) -> bool:
    """Whether Lento can do what a rule works around: what raises, or is false, it cannot."""
    import lento

    try:
        return bool(eval(expression, {"torch": lento, "nn": lento.nn, "x": lento.ones((2, 3, 4))}))
    except Exception:
        return False


def rewritten(text: str, rules: Iterable[Rule]) -> str:
    for rule in rules:
        if not rule.until or not holds(rule.until):
            text = re.sub(rule.pattern, rule.text, text, flags=re.MULTILINE)
    return text


def changed_lines(old: str, new: str) -> int:
    """How many lines of ``old`` are others in ``new``, or are added or missing there."""
    matcher = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    return sum(max(b - a, d - c) for kind, a, b, c, d in matcher.get_opcodes() if kind != "equal")


@dataclass(frozen=True)
class Original:
    """The text of a program, and where it is from."""

    path: Path
    text: str

    @classmethod
    def read(cls, path: Path) -> Original:
        return cls(path, path.read_text(encoding="utf-8"))

    def run(self, *names: str, inside: str = "", **around: Any) -> dict[str, Any]:
        """Runs the definitions of these names alone, all of the file if none is given; what there is afterwards.

        ``around`` is what they find as global names. With ``inside`` they are those in the body of that function.
        """
        body = ast.parse(self.text).body
        if inside:
            body = next(node.body for node in body if isinstance(node, ast.FunctionDef) and node.name == inside)
        if names:
            body = [node for node in body if defined(node) & set(names)]
            missing = set(names) - set().union(*map(defined, body))
            if missing:
                raise LookupError(f"{self.path} does not define {', '.join(sorted(missing))}")
        # Dataclasses look for the module that they are in.
        module = types.ModuleType(f"original_{self.path.stem}")
        sys.modules[module.__name__] = module
        space = vars(module)
        space.update(around)
        exec(compile(ast.Module(body, []), str(self.path), "exec"), space)
        return space


def defined(node: ast.stmt) -> set[str]:
    """The names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Assign):
        return {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return set()


class Patched:
    """A module with other functions in the place of some: those that draw random numbers."""

    def __init__(self, module: Any, **others: Any) -> None:
        self._module = module
        vars(self).update(others)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)
