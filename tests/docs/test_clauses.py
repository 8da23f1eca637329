"""Every promise of docs/clauses.md has a test that names it, and the page's table is current."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from script_modules import load_script

ROOT = Path(__file__).resolve().parents[2]


clauses = load_script("clauses")


def test_every_clause_has_a_test_and_the_table_is_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "clauses", "--check"], text=True, capture_output=True, check=False
    )
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("TEST(Tracing, T6_Name) {}", ["T6"]),
        ("TEST_F(Failures, E6_E7_Name) {}", ["E6", "E7"]),
        ("TEST_P(\n    Closures,\n    C5_Name) {}", ["C5"]),
        ("// Clause T9: bounded.\nTEST(Tracing, Name) {}", ["T9"]),
        ("TEST(Tracing, T6) {}", ["T6"]),
        ("TEST(Tracing, T60s_Name) {}", []),
        ("TEST(Tracing, Name_T6_Middle) {}", []),
        ("// T6 and more.\n\nTEST(Tracing, Name) {}", []),
    ],
)
def test_citations_of_google_tests(text: str, cited: list[str]) -> None:
    assert [found for _, found in clauses.google_tests(text)] == [cited]


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("def test_t10_name(): ...", ["T10"]),
        ("def test_e6_e7_name(): ...", ["E6", "E7"]),
        ("def test_name():\n    'T10: never clamped.'", ["T10"]),
        ("def test_name():\n    'Never clamped (clause T10).'", ["T10"]),
        ("def test_name():\n    'Never clamped (clauses T2 and T10).'", ["T2", "T10"]),
        ("# E9. A limit holds.\n@mark\ndef test_name(): ...", ["E9"]),
        ("def test_name():\n    'As T10 says.'", []),
        ("def test_t100_name(): ...", []),
    ],
)
def test_citations_of_python_tests(text: str, cited: list[str]) -> None:
    assert [found for _, found in clauses.python_tests(text)] == [cited]


def test_a_clause_without_a_test_and_an_unknown_clause_are_named(tmp_path: Path) -> None:
    (tmp_path / "tests" / "deep").mkdir(parents=True)
    (tmp_path / "tests" / "deep" / "some_test.cpp").write_text("TEST(Some, T1_Name) {}\nTEST(Some, T3_Name) {}\n")
    text, found = clauses.table(["T1", "T2"], tmp_path)
    assert "| T1 | `tests/deep/some_test.cpp`: `Some.T1_Name` |" in text
    assert "| T2 | none |" in text
    assert found == [
        "tests/deep/some_test.cpp: Some.T3_Name cites T3, which clauses.md does not have",
        "T2 has no test",
    ]
