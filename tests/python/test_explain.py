"""M3: what lento.explain tells: why steps compiled, and where the program waited."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts, closed_gate, ones
from lento import _core
from on_device import not_on_another_device


@pytest.fixture(autouse=True)
def a_clean_start() -> Iterator[None]:
    lento.step()
    lento.cache.clear()
    lento.explain()
    yield


def line_of(marker: str) -> int:
    with open(__file__) as file:
        return next(number for number, line in enumerate(file, 1) if line.rstrip().endswith("# " + marker))


def compiled(build: Callable[[], Any]) -> str:
    """What explain() says of the step that computes this."""
    kept = build()
    lento.step()
    del kept
    return lento.explain()


def test_m3_nothing_to_explain() -> None:
    assert lento.explain() == "Nothing was compiled and nothing waited since the last call.\n"


def test_m3_a_first_compile_says_so_and_names_its_line() -> None:
    text = compiled(lambda: ones() + 1)  # first compile
    assert "Compiled a step of 1 op" in text
    assert f"test_explain.py:{line_of('first compile')}" in text
    assert "nothing like it was in the cache" in text


def test_m3_a_changed_op_is_named_with_both_lines() -> None:
    x = ones()
    compiled(lambda: lento.tanh(x * 2))  # the sine before
    text = compiled(lambda: lento.sin(x * 2))  # the sine now
    assert "sin" in text and "tanh" in text
    assert f"test_explain.py:{line_of('the sine now')}" in text
    assert f"test_explain.py:{line_of('the sine before')}" in text


def test_m3_a_changed_attribute_is_named() -> None:
    x = lento.asarray(np.ones((2, 2), np.float32))
    compiled(lambda: lento.flip(x, axis=0))
    text = compiled(lambda: lento.flip(x, axis=1))
    assert "an attribute changed" in text


def test_m3_a_changed_shape_is_named() -> None:
    compiled(lambda: ones(3) + 1)
    text = compiled(lambda: ones(4) + 1)
    assert "(4,)" in text and "(3,)" in text


def test_m3_a_changed_argument_pattern_is_named() -> None:
    x, y = ones(), ones()
    compiled(lambda: (x + y) * 2)
    text = compiled(lambda: (x + x) * 2)
    assert "argument" in text


def test_m3_a_changed_output_is_named() -> None:
    x = ones()
    compiled(lambda: (x + 1) * 2)

    def keep_both() -> Any:
        y = x + 1  # kept now
        return y, y * 2

    text = compiled(keep_both)
    assert "is kept and was not" in text
    assert f"test_explain.py:{line_of('kept now')}" in text


def test_m3_implicit_syncs_are_listed_by_line_with_their_count() -> None:
    for _ in range(3):
        float((ones(1) * 2).sum()), float(ones(1) + 1)  # waits
    text = lento.explain()
    assert re.search(rf"6 times.*test_explain\.py:{line_of('waits')}\.", text)
    assert "Waited" not in lento.explain()


@not_on_another_device("it may have no cache of kernels, as the toy device")
def test_m3_what_repeats_is_one_finding_with_its_count_and_shapes() -> None:
    x = lento.asarray(np.ones((200, 3), np.float32))
    lento.eval(x)
    for n in range(2, 99):
        y = lento.asarray(np.ones((n, 3), np.float32)) * 2 + 1  # fitted
        lento.step()
    (fitted,) = [line for line in lento.explain().splitlines() if "Fitted" in line]
    line = f"test_explain.py:{line_of('fitted')}"
    assert fitted == (
        f"Fitted new shapes 96 times to a step of 2 ops that ends at {line}: argument 0 is float32(3 to 98, 3); "
        f"it is first read by `multiply(%in0, $0)` at {line}."
    )
    assert y.shape == (98, 3)


def test_m3_compiles_that_repeat_are_one_finding_too() -> None:
    x = lento.asarray(np.ones((3, 3, 3, 3), np.float32))
    for axis in range(4):
        kept = lento.flip(x, axis=axis)  # flipped
        lento.step()
    lines = lento.explain().splitlines()
    assert kept.shape == x.shape
    assert len(lines) == 2
    assert "nothing like it" in lines[0]
    assert lines[1].startswith("Compiled 3 times a step of 1 op that ends at ")
    assert ": the last time, an attribute changed: op 0 is `flip" in lines[1]


def test_m3_a_growing_step_is_one_finding() -> None:
    x = ones()
    kept = []
    for _ in range(6):
        kept.append(lento.tanh(x))
        for _ in kept:
            kept[-1] = kept[-1] + x  # grows
        lento.step()
    lines = lento.explain().splitlines()
    assert len(lines) == 2
    assert "Compiled 5 times a step of 3 to 7 ops" in lines[1]
    assert "the last time, the step has 7 ops and had 6" in lines[1]


@not_on_another_device("it may have no cache of kernels, as the toy device")
def test_m3_different_lines_are_different_findings() -> None:
    for n in (2, 3, 4):
        x = ones(n) + 1  # here
        lento.step()
        x = ones(n + 10) + 1  # there
        lento.step()
    del x
    lines = [line for line in lento.explain().splitlines() if "Fitted" in line]
    assert [f"test_explain.py:{line_of('there')}:" in line for line in lines] == [True, False]
    assert [f"test_explain.py:{line_of('here')}:" in line for line in lines] == [False, True]
    assert ["3 times" in lines[0], "2 times" in lines[1]] == [True, True]


def test_m3_the_op_that_was_called_is_named() -> None:
    x, rows = lento.asarray(np.ones((4, 4), np.float32)), lento.asarray([1, 2])
    text = compiled(lambda: lento.tanh(x))
    text = compiled(lambda: lento.take(x, rows, axis=0))  # called
    assert re.search(rf"op 0 is `take` \(`take_axis\(.*\)`\) at test_explain\.py:{line_of('called')}", text), text
    assert "was `tanh(%in0)` at" in text  # the user called the primitive itself
    compiled(lambda: lento.nn.softmax(x, axis=0))
    with lento.scope("model"):
        text = compiled(lambda: lento.nn.softmax(x, axis=1))
    assert text.count("`softmax` (`reduce_max(%in0, axes=[") == 2


def test_m3_scopes_are_not_disturbed_by_what_was_called() -> None:
    with lento.scope("model"), lento.scope("layer"):
        x = lento.nn.softmax(ones(4))
    text = lento.dump(x)
    assert "model/layer" in text
    assert text.count("model/layer") == text.count(" = ") - text.count("$0: float32 = ")


@contextmanager
def opened_once_somebody_waits(name: str) -> Iterator[None]:
    """The gate lets one run through when this counter has counted a wait."""
    counts = Counts()

    def open_gate() -> None:
        while counts[name] == 0:
            os.sched_yield()
        _core._gate_open(1)

    opener = threading.Thread(target=open_gate)
    opener.start()
    yield
    opener.join()


def test_m3_waits_for_started_work_are_listed_by_line_with_count_and_time() -> None:
    counts = Counts()
    with closed_gate():
        for _ in range(3):
            x = ones(1, "gated") + 1
            lento.step("gated")
            with opened_once_somebody_waits("sync.wait"):
                value = float(x)  # blocked
            assert value == 2.0
    assert counts["sync.wait"] == 3
    text = lento.explain()
    found = re.search(
        rf"Waited (\d+\.\d\d) (ms|s) for a value that was being computed, 3 times at "
        rf"test_explain\.py:{line_of('blocked')}\.\n",
        text,
    )
    assert found, text
    assert float(found[1]) > 0
    assert "being computed" not in lento.explain()


def test_m3_reading_what_is_there_waits_for_nothing() -> None:
    x = ones() + 1
    lento.step(wait=True)
    lento.explain()
    counts = Counts()
    assert x.tolist() == [2.0] * 3
    assert counts["sync.wait"] == 0
    assert lento.explain() == "Nothing was compiled and nothing waited since the last call.\n"


def test_m3_e1_a_step_that_waits_for_room_is_listed() -> None:
    counts = Counts()
    with closed_gate(), lento.options(max_inflight_steps=1):
        x = ones(1, "gated") + 1
        lento.step("gated")
        y = ones(1, "gated") + 1
        with opened_once_somebody_waits("sync.room"):
            lento.step("gated")  # no room
        _core._gate_open(1)
        assert (x.tolist(), y.tolist()) == ([2.0], [2.0])
    assert counts["sync.room"] == 1
    place = f"1 time at test_explain.py:{line_of('no room')}."
    assert f" for room, with max_inflight_steps steps under way, {place}\n" in lento.explain()
    assert lento.metrics.timing("sync.room")["count"] >= 1


def test_m3_a_hit_needs_no_explanation() -> None:
    for _ in range(2):
        text = compiled(lambda: ones() + 1)
    assert "Compiled" not in text
