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


def test_the_list_of_files_is_the_same_for_every_catalogue(workplace: Workplace, tmp_path: Path) -> None:
    assert workplace.generate().status == 0
    files = set(contents(workplace.out))
    workplace.ops = ROOT / "ops"
    whole = tmp_path / "whole"
    assert workplace.run("generate", "--out", str(whole), "--quiet").status == 0
    assert set(contents(whole)) == files


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
    for name in ("ops/elementwise.gen.cpp", "ops/primitives.gen.cpp", "ops/methods.gen.cpp", "reference/kernels.gen.h"):
        lines = (workplace.out / name).read_text().splitlines()
        heads = [i for i, line in enumerate(lines) if re.match(r"(Tensor|void) (?!run\b)\S+\(.*", line)]
        assert heads
        for i in heads:
            assert re.match(r"// ops/a_good\.yaml:\d+: \w+", lines[i - 1]), (name, lines[i])
    assert (
        "// ops/a_good.yaml:1: tanh = float(x) in floating|complex"
        in (workplace.out / "ir" / "infer.gen.h").read_text()
    )


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
    for parameter in ("*arrays: Sequence[TensorLike] | Tensor", "ij: builtins.bool = True", "k: builtins.int = 0"):
        assert f"    {parameter},\n" in stub
    functions = "".join(path.read_text() for path in (workplace.out / "python").glob("functions_*.gen.cpp"))
    assert '"(*arrays, ij=True, k=0)"' in functions
    assert "a.tensors(0), a.boolean(1, true), a.offset(2, 0)" in functions


def test_no_generated_line_is_longer_than_the_house_style_allows(tmp_path: Path) -> None:
    """Expressions and docs are taken as the catalogue has them; everything else is wrapped."""
    place = Workplace(tmp_path / "made")
    place.ops = ROOT / "ops"
    out = tmp_path / "out"
    assert place.run("generate", "--out", str(out), "--quiet").status == 0
    for name in ("lento/ops.gen.h", "lento/tensor_methods.gen.inc", "ops/primitives.gen.cpp", "ops/methods.gen.cpp"):
        long = [line for line in (out / name).read_text().splitlines() if len(line) > 120]
        assert long == []
