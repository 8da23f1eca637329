"""linearize: a function's derivative, taken once for all directions."""

from __future__ import annotations

from typing import Any

import lento
import numpy as np
import pytest


def t(*values: float) -> lento.Tensor:
    return lento.asarray(np.array(values, np.float64))


def test_linearize_calls_the_function_once_for_all_directions() -> None:
    calls = 0

    def f(p: dict[str, Any], x: Any) -> tuple[Any, int]:
        nonlocal calls
        calls += 1
        return lento.sin(p["w"] * x) + p["b"], 3

    args = ({"w": t(0.5, 2.0), "b": t(1.0, 1.0)}, t(1.0, 3.0))
    (y, three), push = lento.linearize(f, *args)
    assert three == 3
    y += 100  # its own handle: the linear function does not see it
    for direction in (({"w": t(1, 0), "b": t(0, 0)}, t(0, 2)), ({"w": t(0, 1), "b": t(5, 6)}, t(1, 1))):
        change, nothing = push(*direction)
        np.testing.assert_allclose(change, lento.jvp(f, args, direction)[1][0], rtol=1e-6)
        assert nothing is None
    assert calls == 3  # once, and once in each jvp


def test_linearize_nests_with_the_other_transforms() -> None:
    f = lambda x: (x**3).sum()  # noqa: E731
    x = t(1, 2)
    _, hessian_times = lento.linearize(lento.grad(f), x)
    columns = lento.vmap(hessian_times)(lento.eye(2))
    np.testing.assert_allclose(columns, lento.hessian(f)(x))
    slope = lento.grad(lambda x: lento.linearize(f, x)[1](t(1, 0)))(x)
    np.testing.assert_allclose(slope, [6, 0])


def test_linearize_says_which_tangent_does_not_fit() -> None:
    _, push = lento.linearize(lambda x: x, lento.ones(3))
    with pytest.raises(lento.ShapeError, match=r"linearize\(\): tangent 0 has shape \(2,\), its input \(3,\)"):
        push(lento.ones(2))


def test_linearize_takes_numbers() -> None:
    y, push = lento.linearize(lambda x: x * x, 3.0)
    assert (float(y), float(push(2.0))) == (9, 12)
