"""Sphinx' settings for the site. `scripts/docs` runs it over what `pages.py` has put into build/docs/source."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from typing import Any

import lento

project = "Lento"
author = "the Lento authors"
project_copyright = f"{author}; Apache-2.0"
version = release = lento.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "breathe",
]
html_theme = "furo"
html_title = f"Lento {version}"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "sphinx"
pygments_dark_style = "monokai"

# Pages are written for readers of the repository too: links lead to files, anchors are those GitHub makes.
myst_heading_anchors = 4
# pycon blocks of docs/ops.md and text blocks are shown as they are.
highlight_language = "none"

autosummary_generate = False  # pages.py lists what there is
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

breathe_projects = {"lento": os.environ["LENTO_DOXYGEN_XML"]}
breathe_default_project = "lento"
breathe_default_members = ("members",)
breathe_show_include = False
suppress_warnings = ["duplicate_declaration.cpp"]  # namespace lento, which every header opens

_MARKUP = re.compile(r"(``.+?``|:\w+:`[^`]+`|`[^`]+`)")


def _as_restructured_text(line: str) -> str:
    """Docstrings of the catalogue are written like the pages: `code` in single backticks, stars that are only stars."""
    parts = _MARKUP.split(line)
    for i, part in enumerate(parts):
        if i % 2 == 0:
            part = re.sub(r"([*|])", r"\\\1", part)
            parts[i] = re.sub(r"(\w)_(?=\W|$)", r"\1\\_", part)
        elif not part.startswith((":", "``")):
            parts[i] = f"`{part}`"
    return "".join(parts)


def _adapt_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    example = False
    for i, line in enumerate(lines):
        if line.lstrip().startswith(">>>"):
            example = True
        elif not line.strip():
            example = False
        if not example:
            lines[i] = _as_restructured_text(line)


def _stubs() -> dict[str, tuple[str, str]]:
    """Arguments and result of the extension's functions and methods, as its stub has them."""
    found = {}
    module = ast.parse(Path(lento.__file__).with_name("_core.pyi").read_text())
    for scope in [module, *(node for node in module.body if isinstance(node, ast.ClassDef))]:
        for node in scope.body:
            if isinstance(node, ast.FunctionDef):
                arguments = re.sub(r"^self(, |$)", "", ast.unparse(node.args).replace("builtins.", ""))
                result = ast.unparse(node.returns).replace("builtins.", "") if node.returns else ""
                prefix = f"{scope.name}." if isinstance(scope, ast.ClassDef) else ""
                found[prefix + node.name] = (f"({arguments})", result)
    return found


STUBS = _stubs()


def _signature_of_stub(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, result: str | None
) -> tuple[str | None, str | None]:
    """nanobind's line in a docstring is less exact than the stub, and has the name of the extension's function."""
    if not type(obj).__name__.startswith("nb_"):
        return signature, result
    return STUBS.get(getattr(obj, "__qualname__", obj.__name__), (signature, result))


def _drop_nanobind_signature(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if type(obj).__name__.startswith("nb_") and lines and re.match(r"\w+\(.*\) -> ", lines[0]):
        del lines[:2]


def setup(app: Any) -> None:
    app.connect("autodoc-process-signature", _signature_of_stub)
    app.connect("autodoc-process-docstring", _drop_nanobind_signature, priority=50)
    app.connect("autodoc-process-docstring", _adapt_docstring, priority=100)  # before numpydoc reads them
