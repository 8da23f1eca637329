"""Rules of entries and of the catalogue as a whole: names, families, dtypes, YAML. Cases are in `workplace.py`."""

from __future__ import annotations

import pytest
from workplace import GOOD, Case, Workplace, check_case

CASES: dict[str, Case] = {
    "unknown key": (
        "- {op: f, doc: D., args: [x: Tensor], famly: composite}\n",
        [(1, 8, "op 'f' has no 'family'"), (1, 39, "unknown key 'famly'; did you mean 'family'?")],
    ),
    "missing field": (
        "- op: f\n  args: [x: Tensor]\n  family: composite\n",
        [(1, 7, "op 'f' has no 'doc'")],
    ),
    "example without a prompt": (
        "- op: f\n  doc: D.\n  example: lento.f(x)\n  args: [x: Tensor]\n  family: composite\n",
        [(3, 12, "'example' is a dialogue with Python that starts with '>>> '")],
    ),
    "missing name": (
        "- doc: D.\n  args: [x: Tensor]\n  family: composite\n",
        [(1, 3, "an entry has no 'op'")],
    ),
    "duplicate key": (
        "- op: f\n  doc: D.\n  args: [x: Tensor]\n  family: composite\n  doc: E.\n",
        [(5, 3, "duplicate key 'doc'")],
    ),
    "duplicate op": (
        "- {op: tanh, doc: D., args: [x: Tensor], family: composite}\n",
        [(1, 8, "duplicate op 'tanh': it is already at a_good.yaml:1")],
    ),
    "duplicate alias": (
        "- op: f\n  doc: D.\n  args: [x: Tensor]\n  family: composite\n  aliases: [g, mul]\n",
        [(5, 16, "duplicate alias 'mul': it is already at a_good.yaml:15")],
    ),
    "alias of another op's name": (
        "- {op: f, doc: D., args: [x: Tensor], family: composite, aliases: [tanh]}\n",
        [(1, 68, "duplicate alias 'tanh': it is already at a_good.yaml:1")],
    ),
    "duplicate primitive": (
        "- {op: tanh, hidden: true, doc: D., args: [x: Tensor], family: scan, batch: shift}\n",
        [(1, 8, "duplicate primitive 'tanh': it is already at a_good.yaml:1")],
    ),
    "duplicate method": (
        "- {op: f, doc: D., args: [x: Tensor], family: composite, method: multiply}\n",
        [(1, 8, "duplicate method 'multiply': it is already at a_good.yaml:9")],
    ),
    "method of Tensor's own": (
        "- {op: f, doc: D., args: [x: Tensor], family: composite, method: shape}\n",
        [(1, 8, "method 'shape' of op 'f': Tensor has its own 'shape'")],
    ),
    "method without a tensor": (
        "- {op: f, doc: D., args: [n: int], family: composite, method: true}\n",
        [(1, 8, "op 'f' cannot be a method: its first argument is no Tensor")],
    ),
    "op name": (
        "- {op: Softmax, doc: D., args: [x: Tensor], family: composite}\n",
        [(1, 8, "op name 'Softmax' is not in snake_case")],
    ),
    "keyword as name": (
        "- {op: lambda, doc: D., args: [x: Tensor, default: int], family: composite}\n",
        [
            (1, 8, "op 'lambda' has the name of a Python keyword; try 'lambda_'"),
            (1, 43, "argument 'default' has the name of a C++ keyword; try 'default_'"),
        ],
    ),
    "unknown family": (
        "- {op: f, doc: D., args: [x: Tensor], family: reducton}\n",
        [(1, 47, "unknown family 'reducton'; did you mean 'reduction'?")],
    ),
    "batch rule of a composite": (
        "- {op: f, doc: D., args: [x: Tensor], family: composite, batch: shift}\n",
        [(1, 65, "op 'f' of family 'composite' has a 'batch' rule; only primitives that are not elementwise do")],
    ),
    "batch rule of an elementwise op": (
        "- {op: f, doc: D., args: [x: Tensor], family: elementwise, dtype: same(x) in any, compute: x, batch: shift}\n",
        [(1, 102, "op 'f' of family 'elementwise' has a 'batch' rule; only primitives that are not elementwise do")],
    ),
    "no batch rule": (
        "- {op: f, doc: D., args: [x: Tensor], family: sort, hidden: true}\n",
        [(1, 8, "primitive 'f' of family 'sort' has no 'batch' rule")],
    ),
    "drawing batch rule of what draws nothing": (
        "- {op: f, doc: D., args: [x: Tensor], family: sort, hidden: true, batch: draw}\n",
        [
            (
                1,
                74,
                "op 'f' of family 'sort' cannot have the batch rule 'draw': 'draw' is that of random primitives, and "
                "of no others",
            )
        ],
    ),
    "unknown batch rule": (
        "- {op: f, doc: D., args: [x: Tensor], family: sort, hidden: true, dtype: same(x) in any, batch: shft}\n",
        [(1, 97, "unknown batch rule 'shft'; did you mean 'shift'?")],
    ),
    "a primitive that waits": (
        "- {op: f, doc: D., args: [x: Tensor], family: sort, hidden: true, batch: shift, waits: true}\n",
        [(1, 8, "primitive 'f' cannot have 'waits': primitives only record")],
    ),
    "a composite that updates": (
        "- {op: f, doc: D., args: [x: Tensor], family: composite, updates: true}\n",
        [
            (
                1,
                8,
                "op 'f' cannot have 'updates': only primitives that are not elementwise and begin with a Tensor do",
            )
        ],
    ),
    "unknown extent": (
        "- {op: f, doc: D., args: [x: Tensor, shape: 'int[]'], family: index_map, batch: shift, extents: [shap]}\n",
        [(1, 98, "'extents' names 'shap', which is no argument of op 'f'; did you mean 'shape'?")],
    ),
    "an extent that is a tensor": (
        "- {op: f, doc: D., args: [x: Tensor], family: index_map, batch: shift, extents: [x]}\n",
        [(1, 82, "'extents' names 'x', which is no int or list of ints of a primitive")],
    ),
    "unknown namespace": (
        "- {op: f, doc: D., args: [x: Tensor], family: composite, namespace: lianlg}\n",
        [(1, 69, "unknown namespace 'lianlg'; did you mean 'linalg'?")],
    ),
    "unknown namespace in also": (
        "- {op: f, doc: D., args: [x: Tensor], family: composite, namespace: nn, also: [lentoo]}\n",
        [(1, 80, "unknown namespace 'lentoo'; did you mean 'lento'?")],
    ),
    "unknown dtype class": (
        "- {op: f, doc: D., args: [x: Tensor], family: composite, dtype: same(x) in floating|complx}\n",
        [(1, 85, "unknown dtype class 'complx'; did you mean 'complex'?")],
    ),
    "unknown dtype rule": (
        "- {op: f, doc: D., args: [x: Tensor], family: composite, dtype: promte(x) in any}\n",
        [(1, 65, "unknown dtype rule 'promte'; did you mean 'promote'?")],
    ),
    "malformed dtype rule": (
        "- {op: f, doc: D., args: [x: Tensor], family: composite, dtype: floating}\n",
        [
            (
                1,
                65,
                "malformed dtype rule 'floating'; a rule is '<result>(<arguments>) in <class>|<class>', such as "
                "'float(x) in floating|complex'",
            )
        ],
    ),
    "dtype rule without such an argument": (
        "- {op: f, doc: D., args: [value: Tensor], family: composite, dtype: same(valeu) in any}\n",
        [(1, 69, "dtype rule names 'valeu', which is no argument of op 'f'; did you mean 'value'?")],
    ),
    "dtype rule of an argument without dtype": (
        "- {op: f, doc: D., args: [axis: int], family: composite, dtype: same(axis) in any}\n",
        [(1, 65, "dtype rule names 'axis', which has no dtype: its type is 'int'")],
    ),
    "unknown return type": (
        "- {op: f, doc: D., args: [x: Tensor], family: composite, returns: Tensr}\n",
        [
            (
                1,
                67,
                "unknown return type 'Tensr'; did you mean 'Tensor'?; several results are a list of names",
            )
        ],
    ),
    "bad YAML": (
        "- op: f\n  doc: [unclosed\n",
        [(3, 1, "bad YAML: end of sequence flow not found")],
    ),
    "not a list": (
        "op: f\ndoc: D.\n",
        [(1, 1, "a catalogue file is a list of entries, each starting with '- op: name'")],
    ),
    "entry not a map": (
        "- tanh\n",
        [(1, 3, "an entry is a map that starts with 'op: name' or 'layer: Name'")],
    ),
    "second document": (
        "- {op: f, doc: D., args: [x: Tensor], family: composite}\n---\n- {op: g}\n",
        [(3, 1, "a second document ('---') in the file; a catalogue file is one list")],
    ),
    "tolerance": (
        "- {op: f, doc: D., args: [x: Tensor], family: composite, tolerance: small}\n",
        [(1, 69, "'tolerance' takes a number")],
    ),
    "hidden with a namespace": (
        "- {op: f, doc: D., args: [x: Tensor], family: scan, hidden: true, namespace: nn, batch: shift}\n",
        [(1, 78, "a hidden op has no 'namespace': it lives in 'prim'")],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_entry_is_reported_with_its_place_and_nothing_is_written(workplace: Workplace, name: str) -> None:
    check_case(workplace, CASES[name])


def test_the_good_catalogue_is_good(workplace: Workplace) -> None:
    outcome = workplace.check()
    assert (outcome.status, outcome.errors) == (0, "")


def test_errors_of_all_files_come_in_one_run_in_file_order(workplace: Workplace) -> None:
    workplace.write("c.yaml", "- {op: g, doc: D., args: [x: Tensr], family: composite}\n")
    workplace.write(
        "b.yaml", "- {op: f, doc: D., args: [x: Tensor], famly: x}\n- {op: h, dok: D., args: [], family: scan}\n"
    )
    places = [line.split(": error:")[0] for line in workplace.check().errors.splitlines()[:-1]]
    assert places == ["b.yaml:1:8", "b.yaml:1:39", "b.yaml:2:8", "b.yaml:2:11", "c.yaml:1:30"]


def test_what_was_generated_before_survives_a_wrong_edit(workplace: Workplace) -> None:
    assert workplace.generate().status == 0
    before = {path: path.stat().st_mtime_ns for path in workplace.out.rglob("*") if path.is_file()}
    workplace.write("a_good.yaml", GOOD.replace("std::tanh", "std::tahn"))
    assert workplace.generate().status == 1
    assert {path: path.stat().st_mtime_ns for path in workplace.out.rglob("*") if path.is_file()} == before


def test_wrong_usage_names_the_nearest_word(workplace: Workplace) -> None:
    outcome = workplace.run("generat")
    assert outcome.status == 2
    assert outcome.errors.startswith("opgen: unknown command 'generat'; did you mean 'generate'?\nusage: ")
    outcome = workplace.run("check", "--mth", "x")
    assert outcome.status == 2
    assert outcome.errors.startswith("opgen: unknown option '--mth'; did you mean '--math'?")


def test_a_folder_without_a_catalogue_is_an_error(workplace: Workplace) -> None:
    for path in workplace.ops.iterdir():
        path.unlink()
    outcome = workplace.generate()
    assert outcome.status == 1
    assert "no catalogue file (*.yaml) in this folder" in outcome.errors


def test_a_family_that_needs_more_numbers_than_it_has_is_an_error(workplace: Workplace) -> None:
    entry = "- {{op: pick_{}, doc: D., args: [x: Tensor], family: sort, batch: each, dtype: same(x) in any}}\n"
    workplace.write("b.yaml", "".join(entry.format(i) for i in range(33)))
    outcome = workplace.check()
    assert outcome.status == 1
    assert "b.yaml:33:8: error: primitive 'pick_32' is one too many: family 'sort' has 32 numbers" in outcome.errors
