"""What the generator writes: the same bytes each time, only where something changed, and nothing stale."""

from __future__ import annotations

import json
import re
from pathlib import Path

from workplace import GOOD, ROOT, Workplace

NEW_OP = """
- op: cube
  doc: The third power of each element.
  args: [x: Tensor]
  family: elementwise
  dtype: same(x) in floating
  compute: x * x * x
"""


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def times(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_the_whole_catalogue_gives_the_same_bytes_twice(tmp_path: Path) -> None:
    place = Workplace(tmp_path / "made")
    first, second = tmp_path / "first", tmp_path / "second"
    place.ops = ROOT / "ops"
    for out in (first, second):
        assert place.run("generate", "--out", str(out), "--quiet").status == 0
    assert contents(first) == contents(second)


def test_the_output_does_not_depend_on_where_the_catalogue_lies(tmp_path: Path) -> None:
    outputs = []
    for name in ("here", "some/where/else"):
        (tmp_path / name).mkdir(parents=True)
        place = Workplace(tmp_path / name)
        place.write("a.yaml", GOOD)
        assert place.generate().status == 0
        outputs.append(contents(place.out))
    assert outputs[0] == outputs[1]


def test_unchanged_files_keep_their_time(workplace: Workplace) -> None:
    assert workplace.generate().status == 0
    before = times(workplace.out)
    outcome = workplace.generate()
    assert times(workplace.out) == before
    assert re.search(r": 0 files written, \d+ unchanged, 0 removed", outcome.output)


def test_a_new_elementwise_op_changes_one_shard_of_each_kind(workplace: Workplace) -> None:
    assert workplace.generate().status == 0
    before = times(workplace.out)
    workplace.write("z_new.yaml", NEW_OP)
    assert workplace.generate().status == 0
    after = times(workplace.out)
    changed = {name for name in after if after[name] != before.get(name)}
    for kind in ("reference/elementwise_", "python/functions_"):
        assert len([name for name in changed if name.startswith(kind)]) == 1
    assert not [name for name in changed if name.startswith("ops/composites")]


def test_stale_files_go_and_foreign_files_stay(workplace: Workplace) -> None:
    assert workplace.generate().status == 0
    stale = workplace.out / "ir" / "forgotten.gen.cpp"
    stale.write_text("// of an older generator\n")
    foreign = workplace.out / "ir" / "notes.txt"
    foreign.write_text("mine\n")
    manifest = workplace.out / ".opgen-files"
    listed = workplace.out / "old" / "listed.txt"
    listed.parent.mkdir()
    listed.write_text("written by an older generator under a name of its own\n")
    manifest.write_text(manifest.read_text() + "old/listed.txt\n")
    outcome = workplace.generate()
    assert outcome.status == 0
    assert "removed ir/forgotten.gen.cpp" in outcome.output
    assert not stale.exists()
    assert not listed.parent.exists()
    assert foreign.read_text() == "mine\n"


def test_dry_run_says_what_it_would_do_and_does_nothing(workplace: Workplace) -> None:
    outcome = workplace.generate("--dry-run")
    assert outcome.status == 0
    assert "would write lento/ops.gen.h" in outcome.output
    assert not workplace.out.exists()


def compiled(folder: Path) -> set[str]:
    return {name for name in contents(folder) if name.endswith(".cpp")}


def test_the_list_of_compiled_files_is_the_same_for_every_catalogue(workplace: Workplace, tmp_path: Path) -> None:
    assert workplace.generate().status == 0
    files = compiled(workplace.out)
    workplace.ops = ROOT / "ops"
    whole = tmp_path / "whole"
    assert workplace.run("generate", "--out", str(whole), "--quiet").status == 0
    assert compiled(whole) == files


def test_depfile_names_every_input_and_output(workplace: Workplace) -> None:
    depfile = workplace.folder / "opgen.d"
    assert workplace.generate("--depfile", str(depfile)).status == 0
    outputs, inputs = depfile.read_text().replace("\\\n", " ").split(" :", 1)
    assert inputs.split() == [str(workplace.ops / "a_good.yaml"), str(workplace.math)]
    generated = {name for name in contents(workplace.out) if name != ".opgen-files"}
    assert {str(Path(name).relative_to(workplace.out)) for name in outputs.split()} == generated


def test_docs_are_also_written_where_asked(workplace: Workplace) -> None:
    docs = workplace.folder / "ops.md"
    assert workplace.generate("--docs", str(docs)).status == 0
    assert docs.read_bytes() == (workplace.out / "docs" / "ops.md").read_bytes()
    text = docs.read_text()
    assert "### lento.tanh\n\n`tanh(x)`\n\nHyperbolic tangent of each element.\n" in text
    assert "- also: `mul`, method `Tensor.multiply`" in text


def test_a_method_has_all_names_of_the_op_or_the_one_that_is_given(workplace: Workplace) -> None:
    entry = "- {op: %s, doc: D., args: [x: Tensor], family: composite, method: %s, aliases: [%s]}\n"
    workplace.write("b.yaml", entry % ("turn", "true", "rotate, spin") + entry % ("fold", "fold", "bend"))
    assert workplace.generate().status == 0
    stub = (workplace.out / "lento" / "_tensor_methods.pyi").read_text()
    declared = (workplace.out / "lento" / "tensor_methods.gen.inc").read_text()
    for name, is_method in {"turn": True, "rotate": True, "spin": True, "fold": True, "bend": False}.items():
        assert (f"def {name}(self) -> Tensor: ..." in stub) == is_method
        assert (f"Tensor {name}(std::source_location" in declared) == is_method


def test_examples_are_shown_in_docs_and_docstrings(workplace: Workplace) -> None:
    workplace.write(
        "b_example.yaml",
        """\
        - op: half
          doc: Half of each element.
          example: |
            >>> lento.half(x)
            tensor([1., 2.])
          args: [x: Tensor]
          family: composite
          dtype: same(x) in floating
        """,
    )
    assert workplace.generate().status == 0
    page = (workplace.out / "docs" / "ops.md").read_text()
    assert "Half of each element.\n\n```pycon\n>>> lento.half(x)\ntensor([1., 2.])\n```\n" in page
    functions = "".join(path.read_text() for path in sorted((workplace.out / "python").glob("functions_*.gen.cpp")))
    lines = [line.strip() for line in functions.splitlines()]
    at = lines.index(r'"Examples\n"')
    assert lines[at + 2 : at + 4] == [r'">>> lento.half(x)\n"', '"tensor([1., 2.])";']


def test_every_generated_function_names_its_entry(workplace: Workplace) -> None:
    assert workplace.generate().status == 0
    for name in (
        "ops/elementwise.gen.cpp",
        "ops/primitives.gen.cpp",
        "ops/methods.gen.cpp",
        "reference/kernels_gather.gen.h",
    ):
        lines = (workplace.out / name).read_text().splitlines()
        heads = [i for i, line in enumerate(lines) if re.match(r"(Tensor|void) (?!run\b)\S+\(.*", line)]
        assert heads
        for i in heads:
            assert re.match(r"// ops/a_good\.yaml: \w+", lines[i - 1]), (name, lines[i])
    rules = (workplace.out / "ir" / "elementwise_rules.gen.h").read_text()
    assert "// ops/a_good.yaml: tanh = float(x) in floating|complex" in rules


def numbers(workplace: Workplace) -> dict[str, str]:
    """What each op's number is made of."""
    found = {}
    for path in (workplace.out / "ir").glob("op_*.gen.h"):
        found |= dict(re.findall(r"inline constexpr Op (\w+) = (op_number\(.*\));", path.read_text()))
    return found


def test_numbers_stay_when_another_family_grows(workplace: Workplace) -> None:
    assert workplace.generate().status == 0
    before = numbers(workplace)
    assert before["take_axis"] == "op_number(Family::gather, 0)"
    workplace.write(
        "a_first.yaml",
        "- {op: half, doc: D., args: [x: Tensor], family: elementwise, dtype: same(x) in floating, compute: x / 2}\n",
    )
    assert workplace.generate().status == 0
    after = numbers(workplace)
    assert "half" in after
    assert after["take_axis"] == before["take_axis"]


def changed_by(workplace: Workplace, entry: str) -> set[str]:
    """The generated C++ files that change when the catalogue has this entry too."""
    assert workplace.generate().status == 0
    before = contents(workplace.out)
    workplace.write("a_good.yaml", entry + GOOD)
    assert workplace.generate().status == 0
    after = contents(workplace.out)
    return {name for name, text in after.items() if ".gen." in name and before.get(name) != text}


def test_a_new_composite_changes_what_it_is_part_of(workplace: Workplace) -> None:
    # In front of all others, where it moves every line below it.
    changed = changed_by(workplace, "- {op: cube, doc: D., args: [x: Tensor], family: composite}\n\n")
    shards = {name for name in changed if re.fullmatch(r"(ops/composites|python/functions)_\d\.gen\.cpp", name)}
    assert len(shards) == 2
    assert changed - shards == {"lento/ops/cube.gen.h", "lento/ops.gen.h"}


def callers(workplace: Workplace, **sources: str) -> Path:
    """A folder of files that call ops; their names have a dot instead of the first underscore."""
    folder = workplace.ops.parent / "callers"
    folder.mkdir()
    for name, text in sources.items():
        (folder / name.replace("_", ".", 1)).write_text(text)
    return folder


def test_a_file_gets_the_declarations_of_the_ops_it_names(workplace: Workplace) -> None:
    folder = callers(
        workplace,
        twice_cpp='#include "own/twice.calls.gen.h"\n// tanh\nauto text = "take_axis";\nsquare(mul(x, 100\'000));\n',
        none_cpp="int tanh;\n",
    )
    outcome = workplace.generate("--callers", f"own={folder}")
    assert outcome.status == 0, outcome.errors
    header = (workplace.out / "own" / "twice.calls.gen.h").read_text()
    assert re.findall(r"#include <lento/ops/(.*)\.gen\.h>", header) == ["multiply", "square"]
    assert "Tensor square(const Tensor& x);" in header
    assert not (workplace.out / "own" / "none.calls.gen.h").exists()


def test_a_header_and_its_source_share_their_declarations(workplace: Workplace) -> None:
    folder = callers(workplace, two_h='#include "own/two.calls.gen.h"\ntanh(x);\n', two_cpp="square(x);\n")
    assert workplace.generate("--callers", f"own={folder}").status == 0
    header = (workplace.out / "own" / "two.calls.gen.h").read_text()
    assert re.findall(r"#include <lento/ops/(.*)\.gen\.h>", header) == ["square", "tanh"]


def test_wrong_callers_are_told(workplace: Workplace) -> None:
    assert "--callers takes PREFIX=DIR, not 'x'" in workplace.generate("--callers", "x").errors
    assert "is no folder" in workplace.generate("--callers", "x=/no/such/folder").errors


def test_list_gives_the_ops_as_json(workplace: Workplace) -> None:
    outcome = workplace.run("list", "--math", str(workplace.math))
    ops = {op["name"]: op for op in json.loads(outcome.output)}
    assert ops["multiply"] == {
        "name": "multiply",
        "namespace": "lento",
        "family": "elementwise",
        "kind": "primitive",
        "also": [],
        "aliases": ["mul"],
        "method": "multiply",
        "origin": "ops/a_good.yaml:9",
    }
    assert ops["take_axis"]["namespace"] == "prim"
    assert ops["square"]["kind"] == "composite"


def test_samples_carry_what_the_tests_need(workplace: Workplace) -> None:
    assert workplace.generate().status == 0
    document = json.loads((workplace.out / "tests" / "op_samples.json").read_text())
    ops = {op["name"]: op for op in document["ops"]}
    assert ops["take_axis"]["samples"] == [{"x": "any[5,3]", "indices": "int64[4] in (-5, 4)", "axis": 0}]
    assert ops["tanh"]["dtype"]["dtypes"] == ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
    assert ops["multiply"]["args"] == [{"name": "x1", "type": "Operand"}, {"name": "x2", "type": "Operand"}]


def test_separate_tensors_are_shown_as_python_shows_them(workplace: Workplace) -> None:
    workplace.write(
        "b.yaml",
        '- {op: grid, doc: D., args: [arrays: "Tensor...", ij: bool = true, k: offset = 0], returns: "Tensor[]", '
        "family: composite}\n",
    )
    assert workplace.generate().status == 0
    stub = (workplace.out / "lento" / "_ops.pyi").read_text()
    assert (
        "def grid(*arrays: TensorLike, ij: builtins.bool = True, k: builtins.int = 0) -> tuple[Tensor, ...]: ..."
        in stub
    )
    functions = "".join(path.read_text() for path in (workplace.out / "python").glob("functions_*.gen.cpp"))
    assert '"(*arrays, ij=True, k=0)"' in functions
    assert "a.tensors(0), a.boolean(1, true), a.offset(2, 0)" in functions


def test_no_generated_line_is_longer_than_the_house_style_allows(tmp_path: Path) -> None:
    """Expressions and docs are taken as the catalogue has them; everything else is wrapped."""
    place = Workplace(tmp_path / "made")
    place.ops = ROOT / "ops"
    out = tmp_path / "out"
    assert place.run("generate", "--out", str(out), "--quiet").status == 0
    written = ["lento/tensor_methods.gen.inc", "ops/primitives.gen.cpp", "ops/methods.gen.cpp"]
    for path in [*(out / name for name in written), *(out / "lento" / "ops").rglob("*.gen.h")]:
        long = [line for line in path.read_text().splitlines() if len(line) > 120]
        assert long == [], path
