"""lento.lazy: models that are recorded once and called with other inputs."""

from __future__ import annotations

import lento
import numpy as np
import pytest
from engine import Counts
from lento.lazy import metrics
from lento.lazy.extract_compiled_graph import extract_compiled_graph
from lento.lazy.extract_compiled_graph import get_fallback_ops as fallback_ops
from lento.lazy.tensor_factory_functions import tensor_factory_functions as factories


def test_a_model_is_compiled_for_its_examples() -> None:
    weight = lento.asarray(np.arange(6.0, dtype=np.float32).reshape(2, 3))
    calls = []

    def model(x: lento.Tensor, y: lento.Tensor) -> tuple[lento.Tensor, ...]:
        calls.append(1)
        z = lento.exp(x @ weight) + y
        return z, z.sum(), y, weight

    first = [lento.asarray(np.float32([[0.1, 0.2]])), lento.ones((1, 3))]
    second = [lento.asarray(np.float32([[0.3, -0.2]])), lento.zeros((1, 3))]
    compiled = extract_compiled_graph(model, first)
    expected = [model(*inputs) for inputs in (second, first)]
    lento.eval(*expected)
    calls.clear()
    counts = Counts()
    for inputs, wanted in zip((second, first), expected, strict=True):
        found = compiled(*inputs)
        assert isinstance(found, list)
        for mine, theirs in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(mine.numpy(), theirs.numpy(), strict=True)
    assert calls == []
    assert (counts["plan.miss"], counts["kernel.compile"]) == (0, 0)


def test_examples_may_be_pending_and_a_model_may_return_one_tensor() -> None:
    compiled = extract_compiled_graph(lambda x: x * 2, [lento.ones((3,)) + 1])
    assert compiled(lento.ones((3,)) * 5)[0].tolist() == [10.0] * 3
    with pytest.raises(ValueError, match="2 inputs were given, 1 were captured"):
        compiled(lento.ones((3,)), lento.ones((3,)))
    with pytest.raises(ValueError, match=r"input 0 is float32\(4,\); float32\(3,\) was captured"):
        compiled(lento.ones((4,)))
    with pytest.raises(TypeError, match=r"optimized_mod\(\): input 0 must be Tensor, not float"):
        compiled(1.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="input 0 must be Tensor, not str"):
        extract_compiled_graph(lambda x: "text", [lento.ones((3,))])


def test_an_input_that_a_model_changes_is_changed() -> None:
    def model(x: lento.Tensor, y: lento.Tensor) -> lento.Tensor:
        x += y
        return x * 10

    example = lento.ones((2,))
    compiled = extract_compiled_graph(model, [example, lento.ones((2,))])
    assert example.tolist() == [1.0, 1.0]  # a copy was changed
    with pytest.raises(ValueError, match="inputs 0 and 1 are the same tensor"):
        extract_compiled_graph(model, [example, example])
    x, y = lento.asarray([1.0, 2.0]), lento.asarray([5.0, 5.0])
    assert compiled(x, y)[0].tolist() == [60.0, 70.0]
    assert (x.tolist(), y.tolist()) == ([6.0, 7.0], [5.0, 5.0])


def test_captured_computations_outlive_their_plan() -> None:
    x = lento.asarray([1.0, 2.0])
    y = x + 1
    captured = lento.cache.capture([x], [y, y * y])
    assert isinstance(captured, lento.cache.Captured)
    assert captured.key != 0
    del y
    lento.cache.clear()
    assert [t.tolist() for t in captured(lento.asarray([2.0, 3.0]))] == [[3.0, 4.0], [9.0, 16.0]]
    with pytest.raises(ValueError, match="input 0 is pending"):
        pending = x + 1
        lento.cache.capture([pending], [pending * 2])
    with pytest.raises(TypeError):
        lento.cache.Captured()


@pytest.mark.falls_back
def test_fallbacks_are_named_with_their_count() -> None:
    metrics.reset()
    with lento.options(force_fallback="exp"):
        lento.eval(lento.exp(lento.ones((3,)) * 2), wait=True)
    assert fallback_ops() == ["aten::exp=1"]


def test_the_functions_that_make_tensors_are_listed() -> None:
    assert lento.zeros in factories and lento.random.normal in factories
    assert all(callable(function) for function in factories)
