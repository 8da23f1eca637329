"""What the package says of itself and pyproject.toml cannot: the front page of a package index, and licenses.

scikit-build-core calls `dynamic_metadata`. Two variables of the environment change the answer:

LENTO_URL       the address of the repository. Then the package names it, and links of README.md lead there; without it
                they are plain text, since an index shows no files.
LENTO_LICENSES  a folder with licenses of libraries that the package carries (scripts/wheel).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def front_page(text: str, url: str, version: str) -> str:
    """A page whose links to files of the repository lead to the files of this version, or are their text alone."""

    def link(found: re.Match[str]) -> str:
        shown, target = found["shown"], found["target"]
        if shown is None or "://" in target:
            return found[0]
        return f"[{shown}]({url}/blob/v{version}/{target})" if url else str(shown)

    # Code comes first: what looks like a link in it is none.
    return re.sub(r"```.*?```|`[^`\n]*`|\[(?P<shown>[^\]]*)\]\((?P<target>[^)\s]+)\)", link, text, flags=re.S)


def addresses(url: str, version: str) -> dict[str, str]:
    return {
        "Source": url,
        "Issues": f"{url}/issues",
        "Documentation": f"{url}/blob/v{version}/docs/README.md",
    }


def dynamic_metadata(settings: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, Any]:
    url = os.environ.get("LENTO_URL", "").rstrip("/")
    licenses = os.environ.get("LENTO_LICENSES", "")
    version = project["version"]
    page = front_page((ROOT / "README.md").read_text(encoding="utf-8"), url, version)
    return {
        "readme": {"content-type": "text/markdown", "text": page},
        "urls": addresses(url, version) if url else {},
        "license-files": ["LICENSE", *([f"{licenses}/*"] if licenses else [])],
    }


def dynamic_wheel(settings: Mapping[str, Any]) -> dict[str, bool]:
    """A wheel with libraries has more licenses than the sources it is built from."""
    return {"license-files": True}
