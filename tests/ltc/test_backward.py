"""The backward tests of the Lazy Tensor Core: each op's gradient with the arguments that are tried there.

The truth is the op's definition in NumPy, differentiated numerically: Lento computes nothing of it. Gradients in
float64 are compared with its slopes in random directions, those in float32 with those in float64.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
from typing import Any

import harness
import lento
import numpy as np
import pytest
from backward_cases import CASES, OPS, Arguments
from locations import ROOT
from samples import Call, OpInfo

STEP = 1e-6
DIRECTIONS = 4


def complete(op: OpInfo, arguments: Arguments) -> Arguments:
    unknown = set(arguments) - {arg.name for arg in op.args}
    assert not unknown, unknown
    return {arg.name: arguments.get(arg.name, arg.default) for arg in op.args}


def subjects(arguments: Arguments) -> list[tuple[str, int | None]]:
    """The arrays that the derivative is by."""
    found: list[tuple[str, int | None]] = []
    for name, value in arguments.items():
        for place, each in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(each, np.ndarray) and each.dtype == np.float64 and each.flags.writeable:
                found.append((name, place))
    return found


def put(arguments: Arguments, places: list[tuple[str, int | None]], values: list[Any]) -> Arguments:
    changed = {name: list(value) if isinstance(value, list) else value for name, value in arguments.items()}
    for (name, place), value in zip(places, values, strict=True):
        if place is None:
            changed[name] = value
        else:
            changed[name][place] = value
    return changed


def gradients(op: OpInfo, arguments: Arguments, dtype: Any, weights: np.ndarray | None) -> tuple[list[Any], Any]:
    """The gradient of the sum of the op's result times weights, by each subject; and the result."""
    places = subjects(arguments)
    function = harness.find_function(op)

    def as_given(value: Any) -> Any:
        if isinstance(value, list):
            return [as_given(each) for each in value]
        if not isinstance(value, np.ndarray):
            return value
        return lento.asarray(value.astype(dtype) if value.dtype == np.float64 else value)

    constant = {name: as_given(value) for name, value in arguments.items()}

    def apply(*tensors: lento.Tensor) -> lento.Tensor:
        given = put(constant, places, list(tensors))
        if "subscripts" in given:
            return function(given["subscripts"], given["arrays"])
        result = function(**given)
        return result if isinstance(result, lento.Tensor) else result[0]

    found = [constant[name] if place is None else constant[name][place] for name, place in places]
    result, pull = lento.vjp(apply, *found)
    cotangent = np.ones(result.shape) if weights is None else weights
    return [g.numpy() for g in pull(lento.asarray(cotangent.astype(dtype)))], result


def check(op: OpInfo, arguments: Arguments, rng: np.random.Generator) -> None:
    arguments = complete(op, arguments)
    places = subjects(arguments)
    assert places
    arrays = [arguments[name] if place is None else arguments[name][place] for name, place in places]

    def definition(values: list[Any]) -> Any:
        result = harness.evaluate_oracle(Call(op, "backward", "float64", put(arguments, places, values)))
        return np.asarray(result[0] if isinstance(result, tuple) else result)

    expected = definition(arrays)
    weights = rng.normal(size=expected.shape)
    found, result = gradients(op, arguments, np.float64, weights)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-9, atol=1e-9)
    assert [g.shape for g in found] == [array.shape for array in arrays]
    for _ in range(DIRECTIONS):
        directions = [rng.normal(size=array.shape) for array in arrays]
        ahead, behind = (
            definition([a + sign * STEP * d for a, d in zip(arrays, directions, strict=True)]) for sign in (1, -1)
        )
        slope = np.sum(weights * (ahead - behind)) / (2 * STEP)
        mine = sum(float(np.sum(g * d)) for g, d in zip(found, directions, strict=True))
        scale = max(sum(float(np.sum(np.abs(g * d))) for g, d in zip(found, directions, strict=True)), 1e-3)
        assert abs(mine - slope) <= 1e-6 * scale, (mine, slope)
    narrow, _ = gradients(op, arguments, np.float32, weights)
    for single, double in zip(narrow, found, strict=True):
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, double, rtol=2e-4, atol=2e-4 * max(np.abs(double).max(), 1e-3))


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_the_definition(name: str) -> None:
    op, cases = CASES[name]
    rng = np.random.default_rng(len(name))
    tried = 0
    for arguments in cases(rng):
        check(OPS[op], arguments, rng)
        tried += 1
    assert tried > 0


def test_rrelu_gradients_have_the_slopes_that_were_drawn() -> None:
    x = lento.asarray(np.linspace(-2, 2, 40))

    def apply(x: lento.Tensor) -> lento.Tensor:
        return lento.nn.rrelu(x, 0.1, 0.2, training=True, generator=lento.random.Generator(3))

    result, pull = lento.vjp(apply, x)
    (slopes,) = pull(lento.ones(40, dtype=lento.float64))
    np.testing.assert_allclose(slopes.numpy(), result.numpy() / x.numpy(), rtol=1e-12)
    assert len(set(slopes.tolist()[:20])) == 20  # drawn for each
    assert all(0.1 <= slope <= 0.2 for slope in slopes.tolist()[:20])


def test_the_row_of_padding_gets_no_gradient() -> None:
    rng = np.random.default_rng(0)
    weight = lento.asarray(rng.normal(size=(6, 3)))
    x = lento.asarray([2, 4, 2, 0])
    _, pull = lento.vjp(lambda w: lento.nn.embedding(x, w, padding_idx=2), weight)
    (gradient,) = pull(lento.ones((4, 3), dtype=lento.float64))
    expected = np.zeros((6, 3))
    expected[[4, 0]] = 1
    np.testing.assert_array_equal(gradient.numpy(), expected)


def test_every_backward_test_of_ltc_has_cases() -> None:
    """What the coverage page says is covered by this file is in its table."""
    spec = importlib.util.spec_from_loader(
        "ltc_coverage",
        importlib.machinery.SourceFileLoader("ltc_coverage", str(ROOT / "scripts" / "ltc-coverage")),
    )
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    mapping = script.load_mapping()
    this = "tests/ltc/test_backward.py::test_gradients_are_those_of_the_definition"
    claimed = {name: entry for name, entry in mapping.items() if this in script.as_list(entry.get("test"))}
    assert set(claimed) == set(CASES)
    assert {name: entry["op"] for name, entry in claimed.items()} == {name: op for name, (op, _) in CASES.items()}
    assert len(CASES) == 58
