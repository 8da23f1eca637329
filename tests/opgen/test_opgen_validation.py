"""Each rule of the catalogue: the message with its place, the bad word and the nearest right one, and nothing written.

A case is an entry that is wrong in one way and the errors it must give, as (line, column, text).
"""

from __future__ import annotations

import pytest
from workplace import GOOD, Workplace

Errors = list[tuple[int, int, str]]

CASES: dict[str, tuple[str, Errors]] = {
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
    "unknown argument type": (
        "- {op: f, doc: D., args: [x: Tensr], family: composite}\n",
        [(1, 30, "unknown type 'Tensr' of argument 'x'; did you mean 'Tensor'?")],
    ),
    "separate arguments that are no tensors": (
        '- {op: f, doc: D., args: [axes: "int..."], family: composite}\n',
        [(1, 34, "type 'int...' of argument 'axes': '...' is for Tensor alone, and an offset is one int")],
    ),
    "several offsets": (
        '- {op: f, doc: D., args: [x: Tensor, k: "offset[]"], family: composite}\n',
        [(1, 42, "type 'offset[]' of argument 'k': '...' is for Tensor alone, and an offset is one int")],
    ),
    "malformed type": (
        "- op: f\n  doc: D.\n  args:\n    - x: Tensor\n    - axis: int[\n  family: composite\n",
        [
            (
                5,
                13,
                "malformed type 'int[' of argument 'axis'; a type is a name with an optional '{a,b}', '[]' "
                "or '...', and '?', such as "
                "'int[]? = null'",
            )
        ],
    ),
    "malformed argument": (
        "- {op: f, doc: D., args: [x], family: composite}\n",
        [(1, 27, "malformed argument 'x'; write 'name: type' or 'name: type = default'")],
    ),
    "args not a list": (
        "- {op: f, doc: D., args: x, family: composite}\n",
        [(1, 26, "'args' takes a list such as [x: Tensor, axis: int = -1]")],
    ),
    "argument name": (
        "- {op: f, doc: D., args: [xValue: Tensor], family: composite}\n",
        [(1, 27, "argument name 'xValue' is not in snake_case")],
    ),
    "reserved argument": (
        "- {op: f, doc: D., args: [site: Tensor], family: composite}\n",
        [(1, 27, "argument 'site' of op 'f': the name is reserved; try 'site_'")],
    ),
    "duplicate argument": (
        "- {op: f, doc: D., args: [x: Tensor, x: int], family: composite}\n",
        [(1, 38, "duplicate argument 'x' of op 'f'")],
    ),
    "default of the wrong kind: int": (
        "- {op: f, doc: D., args: [x: Tensor, axis: int = 1.5], family: composite}\n",
        [(1, 44, "default '1.5' of argument 'axis: int' has the wrong kind; expected an integer")],
    ),
    "default of the wrong kind: bool": (
        "- {op: f, doc: D., args: [x: Tensor, keepdims: bool = no], family: composite}\n",
        [(1, 48, "default 'no' of argument 'keepdims: bool' has the wrong kind; expected true or false")],
    ),
    "default of the wrong kind: dtype": (
        "- {op: f, doc: D., args: [x: Tensor, to: dtype = flot32], family: composite}\n",
        [
            (
                1,
                42,
                "default 'flot32' of argument 'to: dtype' has the wrong kind; expected a dtype; did you "
                "mean 'float32'?",
            )
        ],
    ),
    "default of the wrong kind: choice": (
        '- {op: f, doc: D., args: [x: Tensor, mode: "str{mean,sum} = maen"], family: composite}\n',
        [
            (
                1,
                45,
                "default 'maen' of argument 'mode: str{mean,sum}' has the wrong kind; expected one of "
                "mean, sum; did you "
                "mean 'mean'?",
            )
        ],
    ),
    "default of the wrong kind: null": (
        "- {op: f, doc: D., args: [x: Tensor, axis: int = null], family: composite}\n",
        [
            (
                1,
                44,
                "default 'null' of argument 'axis: int' has the wrong kind; expected a value: only "
                "optional types ('?') "
                "have null",
            )
        ],
    ),
    "default of the wrong kind: list": (
        '- {op: f, doc: D., args: [x: Tensor, axes: "int[] = [0, a]"], family: composite}\n',
        [(1, 45, "default '[0, a]' of argument 'axes: int[]' has the wrong kind; expected a list of an integer")],
    ),
    "argument without default behind one with": (
        "- {op: f, doc: D., args: [x: Tensor, a: int = 1, b: int], family: composite}\n",
        [(1, 50, "argument 'b' of op 'f' has no default but follows one that has")],
    ),
    "derivative for no argument": (
        "- {op: f, doc: D., args: [value: Tensor], family: composite, vjp: {valeu: grad}}\n",
        [(1, 68, "derivative for 'valeu', which is no argument of op 'f'; did you mean 'value'?")],
    ),
    "derivative for no tensor": (
        "- {op: f, doc: D., args: [x: Tensor, axis: int], family: composite, vjp: {axis: grad}}\n",
        [(1, 75, "derivative for 'axis', which is no tensor: its type is 'int'")],
    ),
    "derivative with an unknown name": (
        "- {op: f, doc: D., args: [x: Tensor], family: composite, vjp: {x: gard * x}}\n",
        [(1, 67, "unknown name 'gard' in 'vjp'; did you mean 'grad'?")],
    ),
    "derivative with an unknown op": (
        "- {op: f, doc: D., args: [x: Tensor], family: composite, vjp: {x: grad * squar(x)}}\n",
        [(1, 74, "unknown name 'squar' in 'vjp'; did you mean 'square'?")],
    ),
    "unbalanced expression": (
        "- {op: f, doc: D., args: [x: Tensor], family: composite, compose: multiply(x)) }\n",
        [(1, 78, "unbalanced ')' in 'compose'")],
    ),
    "unclosed expression": (
        "- op: f\n  doc: D.\n  args: [x: Tensor]\n  family: elementwise\n  dtype: float(x) in floating\n"
        "  compute: std::exp(x * (x + 1)\n",
        [(6, 20, "unbalanced '(' in 'compute'")],
    ),
    "unknown name in compute": (
        "- op: f\n  doc: D.\n  args: [value: Tensor]\n  family: elementwise\n  dtype: float(value) in floating\n"
        "  compute: 1 + valeu\n",
        [(6, 16, "unknown name 'valeu' in 'compute'; did you mean 'value'?")],
    ),
    "unknown standard function": (
        "- op: f\n  doc: D.\n  args: [x: Tensor]\n  family: elementwise\n  dtype: float(x) in floating\n"
        '  compute: "std::tahn(x)"\n',
        [(6, 18, "unknown name 'std::tahn' in 'compute'; did you mean 'tanh'?")],
    ),
    "unknown function of the math header": (
        "- op: f\n  doc: D.\n  args: [x: Tensor]\n  family: elementwise\n  dtype: float(x) in floating\n"
        "  compute: math::wraping(x, x)\n",
        [(6, 18, "unknown name 'math::wraping' in 'compute'; did you mean 'wrapping'?")],
    ),
    "unknown op in compose": (
        "- {op: f, doc: D., args: [x: Tensor], family: composite, compose: x * tnah(x)}\n",
        [(1, 71, "unknown name 'tnah' in 'compose'; did you mean 'tanh'?")],
    ),
    "missing operator": (
        "- op: f\n  doc: D.\n  args: [x: Tensor]\n  family: elementwise\n  dtype: float(x) in floating\n"
        "  compute: x 2\n",
        [(6, 14, "an operator is missing before '2' in 'compute'")],
    ),
    "trailing operator": (
        "- {op: f, doc: D., args: [x: Tensor], family: composite, vjp: {x: grad *}}\n",
        [(1, 72, "'vjp' ends with the operator '*'")],
    ),
    "foreign character": (
        "- {op: f, doc: D., args: [x: Tensor], family: composite, vjp: {x: grad $ x}}\n",
        [(1, 72, "unexpected character '$' in an expression")],
    ),
    "compute on an op that is not elementwise": (
        "- {op: f, doc: D., args: [x: Tensor], family: scan, compute: x, batch: shift}\n",
        [(1, 62, "op 'f' of family 'scan' has a 'compute' expression; only elementwise ops do")],
    ),
    "elementwise without compute": (
        "- {op: f, doc: D., args: [x: Tensor], family: elementwise, dtype: same(x) in any}\n",
        [(1, 8, "elementwise op 'f' has no 'compute' expression")],
    ),
    "elementwise without dtype": (
        "- {op: f, doc: D., args: [x: Tensor], family: elementwise, compute: x}\n",
        [(1, 8, "elementwise op 'f' has no 'dtype' rule")],
    ),
    "elementwise with a structural argument": (
        "- {op: f, doc: D., args: [x: Tensor, n: int], family: elementwise, dtype: same(x) in any, compute: x}\n",
        [
            (
                1,
                38,
                "argument 'n' of elementwise op 'f' is a 'int'; elementwise ops take Tensor and Operand only",
            ),
            (
                1,
                38,
                "argument 'n' of elementwise op 'f' is not in its dtype rule; only a leading Tensor may be "
                "left out, as a "
                "bool condition",
            ),
        ],
    ),
    "compute that leaves a dtype out": (
        "- {op: f, doc: D., args: [x: Tensor], family: elementwise, dtype: same(x) in real, compute: {floating: x}}\n",
        [(1, 104, "'compute' of op 'f' has no expression for int8, which its dtype rule allows")],
    ),
    "compute for an unknown class": (
        "- {op: f, doc: D., args: [x: Tensor], family: elementwise, dtype: same(x) in floating, "
        "compute: {flaoting: x}}\n",
        [(1, 98, "unknown dtype class 'flaoting' in 'compute'; did you mean 'floating'?")],
    ),
    "compose together with compute": (
        "- {op: f, doc: D., args: [x: Tensor], family: elementwise, dtype: same(x) in any, "
        "compute: x, compose: tanh(x)}\n",
        [(1, 104, "op 'f' has both 'compose' and 'compute'")],
    ),
    "compose on a primitive": (
        "- {op: f, doc: D., args: [x: Tensor], family: scan, compose: tanh(x), batch: shift}\n",
        [(1, 62, "op 'f' of family 'scan' has a 'compose' expression; only composites do")],
    ),
    "optional operand of a primitive": (
        '- {op: f, doc: D., args: [x: Tensor, w: "Tensor?"], family: scan, batch: shift}\n',
        [(1, 38, "argument 'w' of primitive 'f': operands of primitives are not optional")],
    ),
    "two lists of a primitive": (
        '- {op: f, doc: D., args: [x: "Tensor[]", w: "Tensor[]"], family: scan, batch: shift}\n',
        [(1, 8, "primitive 'f' has 2 lists of operands; at most one")],
    ),
    "sample that names no argument": (
        "- op: f\n  doc: D.\n  args: [value: Tensor]\n  family: composite\n  samples:\n"
        '    - {value: "any[3]"}\n    - {valeu: "any[3]"}\n',
        [
            (7, 7, "sample names 'valeu', which is no argument of op 'f'; did you mean 'value'?"),
            (7, 7, "sample gives no value for argument 'value' of op 'f'"),
        ],
    ),
    "sample with an unknown class": (
        '- {op: f, doc: D., args: [x: Tensor], family: composite, samples: [{x: "flaoting[3]"}]}\n',
        [
            (
                1,
                68,
                "malformed tensor 'flaoting[3]' for 'x': unknown dtype or class 'flaoting'; did you mean 'floating'?",
            )
        ],
    ),
    "sample with a malformed shape": (
        '- {op: f, doc: D., args: [x: Tensor], family: composite, samples: [{x: "any[3,,4]"}]}\n',
        [(1, 68, "malformed tensor 'any[3,,4]' for 'x': '[3,,4]' is no shape")],
    ),
    "sample with an unknown modifier": (
        '- {op: f, doc: D., args: [x: Tensor], family: composite, samples: [{x: "any[3] on (0, 1)"}]}\n',
        [
            (
                1,
                68,
                "malformed tensor 'any[3] on (0, 1)' for 'x': unknown modifier 'on (0, 1)'; write 'in (low, high)'",
            )
        ],
    ),
    "domain that is no interval": (
        "- {op: f, doc: D., args: [x: Tensor], family: elementwise, dtype: same(x) in any, "
        "compute: x, samples: {x: 3}}\n",
        [(1, 104, "malformed domain '3' of 'x': write an interval such as '(-0.9, 0.9)'")],
    ),
    "domain of an op that is not elementwise": (
        '- {op: f, doc: D., args: [x: Tensor], family: composite, samples: {x: "(0, 1)"}}\n',
        [(1, 67, "'samples' of op 'f' must be a list of calls; only elementwise ops have domains")],
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
    text, expected = CASES[name]
    workplace.write("b_bad.yaml", text)
    outcome = workplace.generate()
    lines = outcome.errors.splitlines()
    assert lines[:-1] == [f"b_bad.yaml:{line}:{column}: error: {message}" for line, column, message in expected]
    count = len(expected)
    assert lines[-1] == f"opgen: {count} error{'' if count == 1 else 's'}; nothing was written"
    assert outcome.status == 1
    assert not workplace.out.exists()


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
