"""Every test of PyTorch's Lazy Tensor Core is accounted for, and what is claimed exists."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load_script() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("ltc_coverage", str(ROOT / "scripts" / "ltc-coverage"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


script = load_script()


def test_every_name_is_mapped_to_what_exists() -> None:
    assert script.problems(script.load_mapping()) == []


def test_page_is_current() -> None:
    assert script.PAGE.read_text() == script.page(script.load_mapping()), "run make docs-tables"


def test_there_are_573_names() -> None:
    names = script.NAMES.read_text().split()
    assert len(names) == len(set(names)) == 573


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"TestAdd": None}, "TestAdd: missing in the mapping"),
        ({"TestNew": {"op": "add"}}, "TestNew: not one of the names in names.txt"),
        ({"TestAdd": {"op": "ad"}}, "TestAdd: no op 'ad' in the catalogue"),
        ({"TestAdd": {"test": "tests/ltc/test_coverage.py::test_no_such_test"}}, "TestAdd: no test 'tests/ltc/"),
        ({"TestAdd": {"test": "tests/no_such_file.py::test_x"}}, "TestAdd: no test 'tests/no_such_file.py"),
        ({"TestAdd": {"ops": "add"}}, "TestAdd: unknown key 'ops'"),
        ({"TestAdd": {}}, "TestAdd: neither op, test nor none"),
    ],
)
def test_wrong_mappings_are_caught(change: dict[str, object], expected: str) -> None:
    mapping = {**script.load_mapping(), **change}
    mapping = {name: entry for name, entry in mapping.items() if entry is not None}
    assert any(problem.startswith(expected) for problem in script.problems(mapping))
