"""Sphinx' settings for the site. `scripts/docs` runs it over what `pages.py` has put into build/docs/source."""

from __future__ import annotations

import hashlib
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
html_static_path = ["static"]
html_css_files = ["front.css"]
html_theme_options = {"navigation_with_keys": True}
pygments_style = "default"
pygments_dark_style = "monokai"

# Pages are written for readers of the repository too: links lead to files, anchors are those GitHub makes.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]  # for the columns of the first page
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


def _keep_signature(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, result: str | None
) -> tuple[str, str | None] | None:
    """These functions were given the signatures of the stub; numpydoc would take what the docstring has."""
    return (signature, result) if type(obj).__name__.startswith("nb_") and signature else None


def _drop_nanobind_signature(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if type(obj).__name__.startswith("nb_") and lines and re.match(r"\w+\(.*\) -> ", lines[0]):
        del lines[:2]


# Sphinx knows when a page has changed, but not that what is written here or in the extension has.
MADE_OF = hashlib.sha256(Path(__file__).read_bytes() + Path(lento._core.__file__).read_bytes()).hexdigest()


def setup(app: Any) -> None:
    app.add_config_value("made_of", MADE_OF, "env")
    app.connect("autodoc-process-signature", _keep_signature, priority=100)
    app.connect("autodoc-process-docstring", _drop_nanobind_signature, priority=50)
    app.connect("autodoc-process-docstring", _adapt_docstring, priority=100)  # before numpydoc reads them
