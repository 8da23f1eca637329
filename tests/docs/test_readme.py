"""The examples of README.md and of the pages in docs/ print what the page says they print."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("LENTO_BUILD", ROOT / "build" / "release")).resolve()


FRONT = ROOT / "docs" / "site" / "front.md"  # the first page of the site
PAGES = [ROOT / "README.md", FRONT, *sorted((ROOT / "docs").glob("*.md"))]


def examples(page: Path, language: str) -> list[tuple[str, str]]:
    """The code blocks of this language, each with the text block that follows it."""
    return re.findall(rf"```{language}\n((?:(?!```).)*?)```\n\n```text\n(.*?)```", page.read_text(), flags=re.S)


def examples_of_all_pages(language: str) -> list[ParameterSet]:
    return [
        pytest.param(code, expected, id=f"{page.name}-{number}")
        for page in PAGES
        for number, (code, expected) in enumerate(examples(page, language))
    ]


PYTHON_EXAMPLES = examples_of_all_pages("python")
CPP_EXAMPLES = examples_of_all_pages("cpp")
SHELL_EXAMPLES = examples_of_all_pages("sh")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_of_code_shows_its_output_and_so_is_run(page: Path) -> None:
    words = [("python", r"(python|py|python3)\b"), ("cpp", r"(cpp|c\+\+|cxx)"), ("sh", r"(sh|bash|shell|console)\b")]
    for language, names in words:
        blocks = re.findall(rf"^ *(?:```|~~~) *{names}", page.read_text(), flags=re.M | re.I)
        assert len(blocks) == len(examples(page, language)), f"{page.name}: a block of {language} is not run"


def test_there_are_examples() -> None:
    assert len(PYTHON_EXAMPLES) >= 50
    assert len(CPP_EXAMPLES) >= 2
    assert len(SHELL_EXAMPLES) >= 1


@pytest.mark.parametrize("code, expected", PYTHON_EXAMPLES)
def test_python_example_prints_what_the_page_says(code: str, expected: str, tmp_path: Path) -> None:
    program = tmp_path / "example.py"
    program.write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
    done = subprocess.run(
        [sys.executable, program.name], cwd=tmp_path, env=environment, text=True, capture_output=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout == expected


@pytest.mark.skipif(not shutil.which("c++"), reason="needs a compiler")
@pytest.mark.parametrize("code, expected", CPP_EXAMPLES)
def test_cpp_example_prints_what_the_page_says(code: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "example.cpp").write_text(code)
    includes = [f"-I{folder}" for folder in (ROOT / "include", BUILD / "generated", BUILD / "config")]
    library = [f"-L{BUILD / 'lib'}", "-llento", f"-Wl,-rpath,{BUILD / 'lib'}"]
    subprocess.run(["c++", "-std=c++20", *includes, "example.cpp", *library, "-o", "example"], cwd=tmp_path, check=True)
    done = subprocess.run([str(tmp_path / "example")], cwd=tmp_path, text=True, capture_output=True, check=False)
    assert done.stderr == ""
    assert done.stdout == expected


@pytest.mark.skipif(not (BUILD / "tools/lento-opt/lento-opt").exists(), reason="needs the tools, built with the tests")
@pytest.mark.parametrize("code, expected", SHELL_EXAMPLES)
def test_shell_example_prints_what_the_page_says(code: str, expected: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": f"{BUILD / 'tools/lento-opt'}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-e", "-c", code], cwd=tmp_path, env=environment, text=True, capture_output=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout == expected


def test_the_table_of_contents_has_every_page() -> None:
    listed = re.findall(r"^\| \[([\w-]+\.md)\]\(\1\)", (ROOT / "docs" / "README.md").read_text(), flags=re.M)
    assert sorted(listed) == sorted(page.name for page in (ROOT / "docs").glob("*.md") if page.name != "README.md")


@functools.cache
def known_anchors(page: Path) -> set[str]:
    """The names that headings get: lower case, without punctuation, with dashes for blanks."""
    headings = re.findall(r"^#+ (.*)", page.read_text(), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_of_the_documentation_lead_somewhere() -> None:
    for page in PAGES:
        broken = set()
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", page.read_text()):
            if "://" in target:
                continue
            file = page.parent / target if target else page
            if not file.exists() or (anchor and anchor not in known_anchors(file)):
                broken.add(f"{target}#{anchor}")
        assert not broken, f"{page.name} has broken links"


@pytest.mark.parametrize("page", ["ops.md", "layers.md"])
def test_generated_reference_is_current(page: str) -> None:
    generated = BUILD / "generated" / "docs" / page
    assert (ROOT / "docs" / page).read_text() == generated.read_text(), "run make docs-tables"
