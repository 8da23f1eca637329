"""M2: dumps in every format; the text form parses back."""

from __future__ import annotations

import json
import random
from typing import Any

import lento
import numpy as np
import pytest


def sample() -> Any:
    x = lento.asarray(np.ones((2, 3), np.float32))
    w = lento.asarray(np.ones((3, 4), np.float32))
    return lento.nn.softmax(x @ w * 0.5 + 1, axis=-1)


def test_m2_text_has_one_node_a_line_with_types_and_sources() -> None:
    text = lento.dump(sample())
    assert "float32" in text
    assert "(2, 4)" in text or "2, 4" in text
    assert "test_dump.py:" in text
    assert text == lento.dump([sample()]) or text.count("\n") == lento.dump([sample()]).count("\n")


def test_m2_numbering_is_stable() -> None:
    def build() -> Any:
        return sample()

    first, second = [lento.dump(build()) for _ in range(2)]
    assert first == second


def test_m2_dumping_computes_nothing() -> None:
    y = sample()
    for format in ("text", "dot", "json"):
        lento.dump(y, format=format)
    assert y.is_pending


def test_m2_dot_is_a_digraph() -> None:
    text = lento.dump(sample(), format="dot")
    assert text.startswith("digraph")
    assert text.count("{") == text.count("}")
    assert "->" in text


def test_m2_json_is_json() -> None:
    document = json.loads(lento.dump(sample(), format="json"))
    assert isinstance(document, dict)
    assert document["nodes"]


def test_m2_unknown_format() -> None:
    with pytest.raises(ValueError, match="'text', 'dot', 'json' or 'backend'"):
        lento.dump(sample(), format="pdf")
    with pytest.raises(TypeError):
        lento.dump(3)


def test_m2_text_round_trip() -> None:
    text = lento.dump(sample())
    assert lento._core.reprint_graph(text) == text


def random_graph(seed: int) -> list[Any]:
    rng = random.Random(seed)
    pool: list[Any] = [
        lento.asarray(np.ones((2, 3), np.float32)),
        lento.asarray(np.arange(6).reshape(2, 3)),
        lento.full((2, 3), 2.5),
    ]
    actions = [
        lambda a, b: a + b,
        lambda a, b: lento.where(a > b, a, b),
        lambda a, b: lento.reshape(a, (2, 3)) * rng.choice([2, 0.5, -1]),
        lambda a, b: lento.concat([a[:1], b[1:]], axis=0),
        lambda a, b: lento.sum(a, axis=1, keepdims=True) - b,
        lambda a, b: a.T.T,
        lambda a, b: lento.sort(a, axis=-1),
        lambda a, b: lento.take(a, lento.asarray([1, 0]), axis=0),
        lambda a, b: lento.astype(a, rng.choice([lento.float32, lento.int32, lento.float64])),
        lambda a, b: lento.cumulative_sum(a, axis=0),
        lambda a, b: lento.topk(a, 3)[0],
    ]
    for _ in range(rng.randint(3, 25)):
        pool.append(rng.choice(actions)(rng.choice(pool), rng.choice(pool)))
    return pool[-rng.randint(1, 3) :]


@pytest.mark.parametrize("seed", range(60))
def test_m2_random_graphs_round_trip(seed: int) -> None:
    with lento.scope(f"seed{seed}"):
        outputs = random_graph(seed)
    text = lento.dump(outputs)
    assert lento._core.reprint_graph(text) == text
    json.loads(lento.dump(outputs, format="json"))


def test_m2_parse_errors_have_a_place() -> None:
    with pytest.raises(ValueError, match=r"\d"):
        lento._core.reprint_graph("this is no graph")


def test_m2_a_long_chain_prints() -> None:
    with lento.options(max_pending_nodes=200_000):
        x = lento.zeros((2,))
        for _ in range(100_000):
            x = x + 1
        text = lento.dump(x)
    assert text.count("\n") >= 100_000
