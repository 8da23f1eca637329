"""Rules of what an entry computes: derivatives, `compute`, `compose`, and the samples of its tests."""

from __future__ import annotations

import pytest
from workplace import Case, Workplace, check_case

CASES: dict[str, Case] = {
    "derivative for no argument": (
        "- {op: f, doc: D., args: [value: Tensor], family: composite, vjp: {valeu: grad}}\n",
        [(1, 68, "derivative for 'valeu', which is no argument of op 'f'; did you mean 'value'?")],
    ),
    "derivative for no tensor": (
        "- {op: f, doc: D., args: [x: Tensor, axis: int], family: composite, vjp: {axis: grad}}\n",
        [(1, 75, "derivative for 'axis', which is no tensor: its type is 'int'")],
    ),
    "derivatives of several arguments, a list among them": (
        "- {op: f, doc: D., args: [x: Tensor, xs: 'Tensor[]'], family: composite, vjp: {'x, xs': grad}}\n",
        [(1, 81, "derivative for 'xs', a list, together with others")],
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
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_expression_is_reported_with_its_place_and_nothing_is_written(workplace: Workplace, name: str) -> None:
    check_case(workplace, CASES[name])
