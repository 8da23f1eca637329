"""What the package says of itself (scripts/package_metadata.py): its front page on an index, addresses, licenses.

`scripts/test-wheel` checks the wheel itself (tests/wheel/contents.py).
"""

from __future__ import annotations

import importlib.util
import re
import sys
from types import ModuleType
from typing import Any

import pytest
from locations import ROOT

if sys.version_info >= (3, 11):
    import tomllib


def load_provider() -> ModuleType:
    spec = importlib.util.spec_from_file_location("package_metadata", ROOT / "scripts" / "package_metadata.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


provider = load_provider()
URL = "https://example.org/lento"


def metadata(monkeypatch: pytest.MonkeyPatch, **environment: str) -> dict[str, Any]:
    for name in ("LENTO_URL", "LENTO_LICENSES"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    made: dict[str, Any] = provider.dynamic_metadata({}, {"version": "1.2"})
    return made


def links(page: str) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", page)


def test_without_an_address_the_front_page_has_no_link_that_leads_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    made = metadata(monkeypatch)
    page = made["readme"]["text"]
    assert [link for link in links(page) if "://" not in link] == []
    assert "docs/quickstart.md: ten minutes with the Python package" in page
    assert made["urls"] == {}
    assert made["license-files"] == ["LICENSE"]


def test_with_an_address_every_link_of_the_front_page_leads_to_the_file_of_that_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = metadata(monkeypatch, LENTO_URL=URL + "/")
    found = links(made["readme"]["text"])
    assert len(found) == len(links((ROOT / "README.md").read_text()))
    for link in found:
        prefix, _, target = link.partition("/blob/v1.2/")
        assert prefix == URL
        assert (ROOT / target.partition("#")[0]).is_file(), link
    assert made["urls"]["Source"] == URL
    assert made["urls"]["Documentation"] == f"{URL}/blob/v1.2/docs/README.md"


def test_code_on_the_front_page_stays_as_it_is() -> None:
    page = "`x[0](1)` and [docs/a.md](docs/a.md#b), [other](https://example.org)\n```python\nf[0](x)\n```\n"
    expected = page.replace("[docs/a.md](docs/a.md#b)", "docs/a.md")
    assert provider.front_page(page, "", "1") == expected
    text = (ROOT / "README.md").read_text()
    blocks = re.findall(r"^```.*?^```", text, flags=re.M | re.S)
    assert len(blocks) >= 4
    assert all(block in provider.front_page(text, URL, "1") for block in blocks)


def test_the_licenses_of_a_wheel_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert metadata(monkeypatch, LENTO_LICENSES="build/licenses")["license-files"] == ["LICENSE", "build/licenses/*"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 reads no TOML")
def test_the_versions_of_python_are_those_that_the_pages_name() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert named == ["3.10", "3.11", "3.12", "3.13"]
    assert "Python 3.10 to 3.13" in (ROOT / "README.md").read_text()
    assert project["requires-python"] == f">={named[0]}"
    assert project["authors"] == [{"name": "The Lento authors"}]
