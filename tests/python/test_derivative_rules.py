"""The derivative rules of the elementwise ops against finite differences, where they are smooth and at corners.

For a real loss L the gradient with respect to z is dL/dRe(z) + i dL/dIm(z); here L = Re(sum(conj(grad) * op(...))).
"""

from __future__ import annotations

import json
from typing import Any

import lento
import numpy as np
import pytest
from locations import BUILD

STEP = 1e-6

# Where the functions are smooth and real; (0.1, 0.9) of both signs when nothing is said.
DOMAINS: dict[str, tuple[float, float]] = {
    "general_pow": (0.1, 2),
    "sqrt": (0.1, 3),
    "rsqrt": (0.1, 3),
    "log": (0.1, 3),
    "log2": (0.1, 3),
    "log10": (0.1, 3),
    "log1p": (0.1, 3),
    "acosh": (1.1, 4),
    "lgamma": (0.2, 4),
    "digamma": (0.2, 4),
    "zeta": (2, 5),
}


def load_rules() -> list[tuple[dict[str, Any], str]]:
    ops = json.loads((BUILD / "generated" / "tests" / "op_samples.json").read_text())["ops"]
    rules = []
    for op in ops:
        if op["family"] == "elementwise" and op.get("vjp"):
            rules += [(op, dtype) for dtype in ("float64", "complex128") if dtype in op["dtype"]["dtypes"]]
    return rules


RULES = load_rules()


def function_of(name: str) -> Any:
    """The public function, or the hidden primitive."""
    return getattr(lento, name, None) or getattr(lento._core.prim, name)


def arguments_of(op: dict[str, Any], dtype: str, generator: np.random.Generator) -> dict[str, np.ndarray]:
    arguments = {}
    low, high = DOMAINS.get(op["name"], (0.1, 0.9))
    for arg in op["args"]:
        if arg["name"] not in op["dtype"]["args"]:
            arguments[arg["name"]] = generator.random(16) < 0.5
            continue
        values = generator.uniform(low, high, 16)
        if dtype == "complex128":
            values = values * np.exp(1j * generator.uniform(-3, 3, 16))
        elif op["name"] not in DOMAINS:
            values = values * generator.choice([-1, 1], 16)
        arguments[arg["name"]] = values
    return arguments


@pytest.mark.parametrize("op,dtype", RULES, ids=lambda value: value if isinstance(value, str) else value["name"])
def test_rule_agrees_with_finite_differences(op: dict[str, Any], dtype: str) -> None:
    generator = np.random.default_rng(0)
    function = function_of(op["name"])
    arguments = arguments_of(op, dtype, generator)

    def forward(values: dict[str, np.ndarray]) -> np.ndarray:
        return function(*[lento.asarray(value) for value in values.values()]).numpy()

    result = forward(arguments)
    grad = generator.normal(size=16)
    if np.iscomplexobj(result):
        grad = grad + 1j * generator.normal(size=16)
    for name in op["vjp"]:

        def of_one(x: lento.Tensor, name: str = name) -> lento.Tensor:
            others = {key: lento.asarray(value) for key, value in arguments.items()}
            return function(*(others | {name: x}).values())

        _, pull = lento.vjp(of_one, lento.asarray(arguments[name]))
        actual = pull(lento.asarray(grad))[0].numpy()

        def slope(name: str, direction: complex) -> np.ndarray:
            ends = [forward(arguments | {name: arguments[name] + sign * STEP * direction}) for sign in (1, -1)]
            return np.real(np.conj(grad) * (ends[0] - ends[1])) / (2 * STEP)

        expected = slope(name, 1)
        if np.iscomplexobj(arguments[name]):
            expected = expected + 1j * slope(name, 1j)
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-6, err_msg=f"{op['name']}, {name}")


def test_rules_are_safe_at_the_corners() -> None:
    """Where the formula divides by zero but the derivative exists, the rule gives the derivative."""

    def evaluate(op: str, name: str, **values: float) -> float:
        def of_one(x: lento.Tensor) -> lento.Tensor:
            return function_of(op)(
                *({key: lento.asarray(np.float64(v)) for key, v in values.items()} | {name: x}).values()
            )

        return float(lento.grad(of_one)(lento.asarray(np.float64(values[name]))))

    assert evaluate("general_pow", "x1", x1=0, x2=0) == 0
    assert evaluate("general_pow", "x1", x1=0, x2=1) == 1
    assert evaluate("general_pow", "x2", x1=0, x2=2) == 0
    assert evaluate("i1", "x", x=0) == 0.5
    assert evaluate("i1e", "x", x=0) == 0.5
    assert evaluate("sign", "x", x=0) == 0
    assert evaluate("maximum", "x1", x1=1, x2=1) == 0.5
    assert evaluate("copysign", "x1", x1=0, x2=-1) == 0
