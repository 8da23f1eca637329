"""What the site of the documentation is made of; `make docs` builds it, and needs more than the tests may ask for."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import lento
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "site"))
import charts  # noqa: E402
from doxygen_filter import filtered  # noqa: E402
from python_reference import catalogue, module_pages, public_names  # noqa: E402

OPS = (ROOT / "docs" / "ops.md").read_text()
MODULES = [lento, lento.linalg, lento.fft, lento.nn, lento.optim, lento.random, lento.special, lento.metrics]
MODULES += [lento.stats, lento.cache, lento.tree, lento.errors, lento.lazy]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_public_name_is_on_a_page(module: object) -> None:
    text = "\n".join(module_pages(MODULES, OPS).values())
    for name in public_names(module):
        full = f"{module.__name__}.{name}"
        if module is lento and name in {"Generator", *lento.errors.__all__}:
            continue  # with the module that has it too
        found = re.search(rf":: {re.escape(full)}(?![\w.])|``{re.escape(full)}``", text)
        assert found, f"{full} is on no page of the reference"


def test_other_names_lead_to_the_op_they_stand_for() -> None:
    page = module_pages(MODULES, OPS)["api/other-names.rst"]
    rows = dict(re.findall(r"\* - ``(.*?)``\n     - :func:`(.*?)`", page))
    assert rows["lento.concatenate"] == "lento.concat"
    assert rows["lento.relu"] == "lento.nn.relu"
    assert rows["lento.swish"] == "lento.nn.silu"


def test_the_catalogue_is_read_without_primitives() -> None:
    names = {op.name for op in catalogue(OPS)}
    assert {"lento.add", "lento.nn.conv2d", "lento.linalg.svd"} <= names
    assert not any(name.startswith("lento.prim.") for name in names)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("int f(int a, std::source_location site = std::source_location::current());\n", "int f(int a);\n"),
        ("int f(std::source_location site = std::source_location::current());\n", "int f();\n"),
        ("const std::source_location& site() const;\n", "const std::source_location& site() const;\n"),
        ("/// One\n/// - two.\nint f();\n", "/// One - two.\nint f();\n"),
        ("class T {\n public:\n  int a;\n private:\n  int b;\n};\n", "class T {\n public:\n  int a;\n};\n"),
        ("#define A(T) \\\n  T\nint a;\n", "int a;\n"),
        ("  int a;  // meant\n", "  int a;  ///< meant\n"),
        ("template <class T>\n  requires(!std::same_as<T, bool>)\nT f();\n", "template <class T>\nT f();\n"),
    ],
)
def test_headers_are_made_readable_for_doxygen(header: str, expected: str) -> None:
    assert filtered(header, ROOT) == expected


def test_methods_that_are_included_are_put_into_the_class(tmp_path: Path) -> None:
    (tmp_path / "lento").mkdir()
    (tmp_path / "lento" / "methods.inc").write_text("  int sum() const;\n")
    assert (
        filtered("class T {\n#include <lento/methods.inc>\n};\n", tmp_path) == "class T {\n  int sum() const;\n\n};\n"
    )


def test_the_plots_show_the_tables_of_the_page() -> None:
    assert charts.stale() == [], "run make docs-charts"


@pytest.mark.parametrize("name", charts.CHARTS)
def test_every_plot_is_shown_and_says_when_and_where_it_was_measured(name: str) -> None:
    assert f"(images/{name}.svg)" in (ROOT / "docs" / "performance.md").read_text()
    drawn = (ROOT / "docs" / "images" / f"{name}.svg").read_text()
    assert "AMD EPYC" in drawn
    assert "16 November 2026" in drawn


def test_a_plot_has_the_figures_of_its_table() -> None:
    drawn = (ROOT / "docs" / "images" / "training.svg").read_text()
    table = charts.tables("Training")[0]
    assert [row[0] for row in table.rows] == ["MLP", "GPT", "convolutions"]
    for row, *_ in table.rows:
        for cell in table.cells(row, charts.PEERS):
            assert f">{cell}</text>" in drawn
    slower = [row[0] for row in charts.tables("Beside the peers")[0].rows if float(row[3]) < 1]
    assert slower, "what is slower is shown, too"


def test_plots_come_first_on_the_page_of_results() -> None:
    page = (ROOT / "docs" / "performance.md").read_text()
    assert page.index("![") < page.index("\n|")
    assert "learnt" not in page


def test_a_function_with_several_forms_for_type_checkers_is_shown_in_one_line() -> None:
    text = "\n".join(module_pages(MODULES, OPS).values())
    expected = (
        ".. autofunction:: lento.grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = "
    )
    assert text.count(expected + "False) -> Callable[..., Any]\n") == 1
