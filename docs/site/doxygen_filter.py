"""Doxygen reads each header through this: comments become Doxygen's, signatures lose what only Lento fills in.

Called as `python doxygen_filter.py GENERATED_FOLDER HEADER`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

SITE = r"(?:const )?std::source_location&? site\b(?![_(])(?: = std::source_location::current\(\))?"


def joined(block: re.Match[str]) -> str:
    """The lines of a comment as one, so that none begins with a dash by chance and becomes an item of a list."""
    lines = [line.strip().removeprefix("///").strip() for line in block[0].splitlines()]
    return f"/// {' '.join(lines)}\n"


def with_parts(text: str, folders: list[Path], seen: set[str]) -> str:
    """The text of ``lento/nn.h`` with that of the headers in ``lento/nn/``, each once."""

    def part(found: re.Match[str]) -> str:
        if found[1] in seen:
            return ""
        seen.add(found[1])
        text = next(folder / found[1] for folder in folders if (folder / found[1]).exists()).read_text()
        return with_parts(text, folders, seen)

    return re.sub(r"^#include <(lento/nn/.*\.h)>", part, text, flags=re.M)


def filtered(text: str, generated: Path) -> str:
    # Methods of the catalogue are included inside of the class, where Doxygen would not look; each op function has a
    # header of its own, which would become a page of its own.
    parts = r"^#include <(lento/(?:ops/.*\.gen\.h|.*\.inc))>"
    text = re.sub(parts, lambda found: (generated / found[1]).read_text(), text, flags=re.M)
    # Private parts and macros are in Doxygen's XML whatever its settings say.
    text = re.sub(r"^ private:\n.*?^(?=};)", "", text, flags=re.M | re.S)
    text = re.sub(r"^#define (?:.*\\\n)*.*\n", "", text, flags=re.M)
    # What says where the caller is has a default everywhere and is never given by users.
    text = re.sub(rf",\s*{SITE}", "", text)
    text = re.sub(rf"{SITE}(?:,\s*)?", "", text)
    # What is said of Lento's types to the standard library.
    text = re.sub(r"^template <>\ninline constexpr bool std::.*\n", "", text, flags=re.M)
    # The conditions of templates are told by their comments, and Doxygen does not understand all of them.
    text = re.sub(r"^ *requires\(.*\)\n", "", text, flags=re.M)
    text = re.sub(r"(?:^ */// .*\n)+", joined, text, flags=re.M)
    # A comment behind a member is about it.
    return re.sub(r"([;,{]) +// ", r"\1  ///< ", text)


if __name__ == "__main__":
    generated, header = Path(sys.argv[1]), Path(sys.argv[2])
    text = header.read_text()
    if header.name == "nn.h":
        text = with_parts(text, [header.parents[1], generated], set())
    sys.stdout.write(filtered(text, generated))
