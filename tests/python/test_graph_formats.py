"""Clause M2: dumps are read by others: JSON by Python's reader, DOT by its structure, text by Lento's own parser."""

from __future__ import annotations

import json
import re
from typing import Any

import lento
import numpy as np
import pytest

NAMES = [
    "plain",
    'a "quoted" name',
    "back\\slash",
    "new\nline",
    "tab\t",
    "中文",
    "a/b",
    "{}[]()",
    "%0 = $1 # @",
    "\x01",
]


def network() -> list[Any]:
    x = lento.asarray(np.ones((2, 3), np.float32))
    with lento.scope("model"), lento.scope("layer1"):
        h = lento.tanh(x * 0.1 + 1)
    values, indices = lento.topk(lento.sum(h, axis=0), 2)
    return [h, values, indices]


def document(tensors: Any) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(lento.dump(tensors, format="json"))
    return result


def test_m2_json_fields() -> None:
    graph = document(network())
    assert graph["format"] == "lento-graph"
    assert graph["version"] == 1
    assert [each["name"] for each in graph["nodes"]] == [f"%{i}" for i in range(len(graph["nodes"]))]
    assert graph["inputs"] == [{"name": "%in0", "dtype": "float32", "shape": [2, 3]}]
    assert {(each["kind"], each["value"]) for each in graph["scalars"]} == {("float", "0.1"), ("int", "1")}
    assert len(graph["outputs"]) == 3
    known = {each["name"] for key in ("inputs", "scalars", "nodes") for each in graph[key]}
    for node in graph["nodes"]:
        assert set(node["operands"]) <= known
        assert node["file"] == "test_graph_formats.py"
        assert node["line"] > 0
    assert {each.get("scope") for each in graph["nodes"]} == {None, "model/layer1"}


def test_m2_json_and_text_agree() -> None:
    tensors = network()
    graph, text = document(tensors), lento.dump(tensors)
    lines = [line for line in text.splitlines() if line.startswith("  %")]
    assert len(lines) == len(graph["nodes"])
    for line, node in zip(lines, graph["nodes"], strict=True):
        match = re.match(r"  (%\d+) = (\w+)\((.*?)\) : (\w+)\((.*?)\)  ", line)
        assert match, line
        name, op, arguments, dtype, shape = match.groups()
        assert (name, op, dtype) == (node["name"], node["op"], node["dtype"])
        assert [int(n) for n in shape.split(",") if n.strip()] == node["shape"]
        assert re.findall(r"[%$]\w+", arguments) == node["operands"]
        assert f"@ {node['file']}:{node['line']}" in line


def test_m2_dot_has_every_edge() -> None:
    tensors = network()
    graph, dot = document(tensors), lento.dump(tensors, format="dot")
    edges = sum(not operand.startswith("$") for node in graph["nodes"] for operand in node["operands"])
    assert dot.count(" -> ") == edges
    assert dot.count("peripheries=2") == len(graph["outputs"])
    assert dot.count("shape=ellipse") == len(graph["inputs"])
    # Outside of quoted strings nothing is left but identifiers and punctuation.
    rest = re.sub(r'"(?:[^"\\\n]|\\.)*"', "", dot)
    assert re.fullmatch(r"[\w\s\[\]{}=,;>-]*", rest), rest


@pytest.mark.parametrize("name", NAMES)
def test_m2_names_are_escaped(name: str) -> None:
    x = lento.asarray([1.0, 2.0])
    with lento.scope(name):
        y = x + 1
    assert document(y)["nodes"][0]["scope"] == name
    text = lento.dump(y)
    assert len([line for line in text.splitlines() if line.startswith("  %")]) == 1
    assert lento._core.reprint_graph(text) == text
    assert json.loads(lento._core.reprint_graph(text, "json"))["nodes"][0]["scope"] == name
    assert '"' not in re.sub(r'"(?:[^"\\\n]|\\.)*"', "", lento.dump(y, format="dot"))


@pytest.mark.parametrize(
    "number", [0.1, -0.0, 1e300, float("inf"), float("-inf"), float("nan"), 3, True, 1 + 2j, 2**62]
)
def test_m2_numbers_survive(number: Any) -> None:
    x = (
        lento.asarray(np.ones(2, np.complex128))
        if isinstance(number, complex)
        else lento.asarray(np.ones(2, np.float64))
    )
    y = x * number
    text = lento.dump(y)
    assert lento._core.reprint_graph(text) == text
    (scalar,) = document(y)["scalars"]
    assert scalar["value"] == {
        "(1+2j)": "complex(1.0, 2.0)",
        "True": "true",
        "1e+300": "1e+300",
    }.get(str(number), str(number))


def test_m2_errors_name_line_column_and_the_nearest_word() -> None:
    text = lento.dump(network()).replace("tanh(", "tahn(")
    with pytest.raises(ValueError, match=r"line \d+, column \d+: unknown op 'tahn' \(did you mean 'tanh'\?\)"):
        lento._core.reprint_graph(text)
