"""Layers of the catalogue: what is written for an entry, and each rule with its message and place."""

from __future__ import annotations

import ast

import pytest
from workplace import Workplace

OPS = """\
- op: scale
  namespace: nn
  doc: A product.
  args: [x: Tensor, weight: Tensor, bias: "Tensor?", factor: number = 1.0, axes: "int[] = 0", mode: "str{a,b} = a"]
  family: composite

- op: halves
  namespace: nn
  doc: Two halves.
  args: [x: Tensor]
  returns: [first, second]
  family: composite
"""

GOOD = """\
- layer: ScaleNorm
  doc: A product with `weight`.
  example: |
    >>> 1 + 1
    2
  args: [size: int, window: "int[2] = 1", axes: sizes = 0, p: float = 0.5, mode: "str{a,b} = a",
         bias: bool = true, dtype: "dtype?"]
  checks: ["at_least(1, size, window)", "even(size, size, 'rows', 'parts')", probability(p)]
  parameters:
    weight: fan_in((size, *window), size * prod(window))
    bias: zeros((size + 1,)) if bias and not size == 3
  forward: nn.scale(x, weight, bias, axes=axes, mode=mode) if training else x
  repr: size, p=, mode?, bias?
"""


def layer(**changes: str | None) -> str:
    """The entry of a layer that is right, with other values of some keys."""
    entry: dict[str, str | None] = {
        "layer": "Scale",
        "doc": "D.",
        "args": '[size: int, bias: bool = true, dtype: "dtype?"]',
        "parameters": '{weight: "ones((size,))"}',
        "forward": "nn.scale(x, weight)",
    }
    entry |= changes
    lines = [f"{key}: {value}" for key, value in entry.items() if value is not None]
    return "- " + "\n  ".join(lines) + "\n"


def test_an_entry_is_a_class_in_both_languages(workplace: Workplace) -> None:
    workplace.write("b_ops.yaml", OPS)
    workplace.write("c_layers.yaml", GOOD)
    outcome = workplace.generate()
    assert outcome.status == 0, outcome.errors
    python = (workplace.out / "lento" / "_layers.py").read_text()
    tree = ast.parse(python)
    (made,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert ast.get_docstring(made) == "A product with ``weight``.\n\n>>> 1 + 1\n2"
    assert [each.name for each in made.body if isinstance(each, ast.FunctionDef)] == [
        "__init__",
        "forward",
        "extra_repr",
    ]
    assert "self.weight = initial_fan_in((size, *window), size * math.prod(window), dtype)" in python
    assert "self.bias = initial_zeros((size + 1,), dtype) if bias and not size == 3 else None" in python
    header = (workplace.out / "lento" / "nn" / "scale_norm.gen.h").read_text()
    assert "explicit ScaleNorm(std::int64_t size, const ScaleNormOptions& options = {}," in header
    assert 'std::string mode = "a";' in header
    assert "void fields(tree::Visitor& visitor) override;" in header
    assert "#include <lento/nn/scale_norm.gen.h>" in (workplace.out / "lento" / "nn" / "layers.gen.h").read_text()
    source = (workplace.out / "nn" / "layers.gen.cpp").read_text()
    assert "weight = initial::fan_in(joined(size, this->window), size * element_count(this->window)" in source
    assert "if (options.bias && !(size == 3)) bias = initial::zeros({size + 1}, options.dtype);" in source
    assert "if (!(training)) return x;" in source
    assert "return lento::nn::scale(x, weight, bias, 1.0, axes, mode, site);" in source
    assert 'visit_members(visitor, "weight, bias", weight, bias);' in source
    assert "## lento.nn.ScaleNorm" in (workplace.out / "docs" / "layers.md").read_text()


def test_a_tensor_is_a_buffer_and_what_may_be_missing_is_optional(workplace: Workplace) -> None:
    workplace.write("b_ops.yaml", OPS)
    entry = layer(
        args='[gain: "Tensor?", axes: "sizes?", factors: "number[] = []", flag: bool = true]',
        parameters=None,
        inputs="[x: Tensor, weight: Tensor]",
        forward="nn.scale(x, weight, gain, axes=axes)",
        repr="axes?, factors?",
    )
    workplace.write("c_layers.yaml", entry)
    outcome = workplace.generate()
    assert outcome.status == 0, outcome.errors
    python = (workplace.out / "lento" / "_layers.py").read_text()
    assert "gain: Tensor | None = None" in python
    assert "axes: int | Sequence[int] | None = None" in python
    assert "factors: float | Sequence[float] = ()" in python
    assert "self.gain = buffer_of(gain)" in python
    kinds = 'axes=(axes, "ints?"), factors=(factors, "floats"), flag=(flag, "bool")'
    assert f"check_kinds(caller, {kinds})" in python
    header = (workplace.out / "lento" / "nn" / "scale.gen.h").read_text()
    assert "std::optional<Tensor> gain = std::nullopt;" in header
    assert "std::optional<Buffer> gain;" in header
    assert "std::optional<Sizes> axes = std::nullopt;" in header
    assert "std::vector<Scalar> factors = {};" in header
    source = (workplace.out / "nn" / "layers.gen.cpp").read_text()
    assert "return lento::nn::scale(x, weight, gain, 1.0, numbers_in(axes)" in source
    assert 'visit_members(visitor, "gain", gain);' in source
    assert '.changed("factors", factors, std::vector<Scalar>{})' in source


def test_a_catalogue_without_layers_has_an_empty_module(workplace: Workplace) -> None:
    assert workplace.generate().status == 0
    python = (workplace.out / "lento" / "_layers.py").read_text()
    assert not [node for node in ast.parse(python).body if isinstance(node, ast.ClassDef)]
    assert (workplace.out / "nn" / "layers.gen.cpp").exists()


Errors = list[tuple[int, int, str]]

CASES: dict[str, tuple[str, Errors]] = {
    "name": (layer(layer="scale_norm"), [(1, 10, "layer name 'scale_norm' is not in CamelCase")]),
    "missing keys": (
        layer(doc=None, forward=None),
        [(1, 10, "layer 'Scale' has no 'doc'"), (1, 10, "layer 'Scale' has no 'forward'")],
    ),
    "unknown key": (layer(forwrad="x"), [(6, 3, "unknown key 'forwrad' of a layer; did you mean 'forward'?")]),
    "example": (layer(example="nn.Scale()"), [(6, 12, "'example' is a dialogue with Python that starts with '>>> '")]),
    "type": (
        layer(args='[size: int, x1: Tensor, dtype: "dtype?"]'),
        [
            (
                3,
                25,
                "argument 'x1' of a layer cannot have type 'Tensor'; it is an int, float, bool, dtype, Generator, "
                "Tensor?, str{a,b}, int[], int[2], number[], sizes or padding",
            )
        ],
    ),
    "reserved name": (
        layer(args='[size: int, training: bool = true, dtype: "dtype?"]'),
        [(3, 21, "argument 'training' of layer 'Scale': the name is reserved; try 'training_'")],
    ),
    "no dtype": (
        layer(args="[size: int]"),
        [(1, 10, "layer 'Scale' has parameters but no argument 'dtype: dtype?'")],
    ),
    "default before none": (
        layer(args='[bias: bool = true, size: int, dtype: "dtype?"]'),
        [(3, 29, "argument 'size' has no default but follows one that has")],
    ),
    "parameter with an argument's name": (
        layer(parameters='{size: "ones((size,))"}', forward="nn.scale(x, size)"),
        [
            (
                4,
                16,
                "parameter 'size' has the name of an argument, which must then be a bool that says whether it is there "
                "('if size')",
            )
        ],
    ),
    "unknown start": (
        layer(parameters='{weight: "onse((size,))"}'),
        [(4, 25, "unknown 'onse' in 'parameters'; did you mean 'ones'?")],
    ),
    "start with too much": (
        layer(parameters='{weight: "ones((size,), 3)"}'),
        [(4, 25, "'ones' in 'parameters' is written ones(shape)")],
    ),
    "shape that is none": (
        layer(parameters='{weight: "ones(size)"}'),
        [(4, 30, "the shape of parameter 'weight' is a tuple such as (rows, columns), or an argument of type int[]")],
    ),
    "unknown size": (
        layer(parameters='{weight: "ones((sise,))"}'),
        [(4, 31, "'sise' in 'parameters' is no argument of layer 'Scale'; did you mean 'size'?")],
    ),
    "else of a parameter": (
        layer(parameters='{weight: "ones((size,)) if bias else 3"}'),
        [(4, 52, "parameter 'weight' is there or not: 'if' without 'else'")],
    ),
    "bad expression": (
        layer(parameters='{weight: "ones((size,)"}'),
        [(4, 37, "'parameters' ends too early")],
    ),
    "two operands": (
        layer(parameters='{weight: "ones((size size,))"}'),
        [(4, 36, "'size' does not belong here in 'parameters'")],
    ),
    "unknown check": (
        layer(checks='["at_lest(1, size)"]'),
        [(6, 13, "unknown 'at_lest' in 'checks'; did you mean 'at_least'?")],
    ),
    "check of nothing": (
        layer(checks='["at_least(size, 1)"]'),
        [
            (6, 22, "'at_least' in 'checks' is written at_least(number, argument, ...)"),
            (6, 28, "'1' in 'checks' is no argument of layer 'Scale'; known are size, bias, dtype"),
        ],
    ),
    "unknown op": (
        layer(forward="nn.scael(x, weight)"),
        [(5, 12, "unknown op 'nn.scael' in 'forward'; did you mean 'nn.scale'?")],
    ),
    "op with several results": (
        layer(forward="nn.halves(x)"),
        [(5, 12, "op 'nn.halves' in 'forward' does not return one Tensor")],
    ),
    "no call": (layer(forward="x"), [(5, 12, "'forward' is a call of one op, such as nn.linear(x, weight, bias)")]),
    "missing argument": (
        layer(forward="nn.scale(x)"),
        [(5, 12, "argument 'weight' of op 'nn.scale' is missing in 'forward'")],
    ),
    "unknown argument": (
        layer(forward="nn.scale(x, weight, fctor=1)"),
        [(5, 38, "op 'nn.scale' has no argument 'fctor'; did you mean 'factor'?")],
    ),
    "unknown name": (
        layer(forward="nn.scale(x, wieght)"),
        [(5, 24, "'wieght' in 'forward' is no input, parameter or argument of layer 'Scale'; did you mean 'weight'?")],
    ),
    "number for a tensor": (
        layer(forward="nn.scale(x, size)"),
        [(5, 24, "'size' is no tensor, but argument 'weight' of op 'nn.scale' is of type 'Tensor'")],
    ),
    "tensor for a number": (
        layer(forward="nn.scale(x, weight, factor=weight)"),
        [(5, 39, "'weight' is a tensor, but argument 'factor' of op 'nn.scale' is of type 'number'")],
    ),
    "unused input": (
        layer(inputs="[x: Tensor, y: Tensor]"),
        [(5, 12, "input 'y' is not given to op 'nn.scale' in 'forward'")],
    ),
    "unused parameter": (
        layer(parameters='{weight: "ones((size,))", gain: "ones((size,))"}'),
        [(4, 41, "parameter 'gain' is not given to op 'nn.scale' in 'forward'")],
    ),
    "condition without else": (
        layer(forward="nn.scale(x, weight) if training"),
        [(5, 12, "a conditional 'forward' ends with 'else' and one of the inputs")],
    ),
    "unknown in repr": (
        layer(repr="size, bais?"),
        [(6, 15, "'bais' in 'repr' is no argument of layer 'Scale'; did you mean 'bias'?")],
    ),
    "no default in repr": (layer(repr="size?"), [(6, 9, "'size' in 'repr': it has no default, so no '?'")]),
    "duplicate": (layer() + layer(), [(6, 10, "duplicate layer 'Scale': it is already at line 1")]),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_layer_is_reported_with_its_place_and_nothing_is_written(workplace: Workplace, name: str) -> None:
    workplace.write("b_ops.yaml", OPS)
    text, expected = CASES[name]
    workplace.write("c_bad.yaml", text)
    outcome = workplace.generate()
    assert outcome.status == 1
    *lines, last = outcome.errors.splitlines()
    assert lines == [f"c_bad.yaml:{line}:{column}: error: {message}" for line, column, message in expected]
    assert last.endswith("nothing was written")
    assert not workplace.out.exists()
