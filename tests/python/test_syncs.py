"""E8: reads that force evaluation or wait for it."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import harness
import lento
import numpy as np
import pytest
from engine import Counts, closed_gate, ones, settle
from lento import _core
from samples import calls_of, load_catalogue


@pytest.fixture(autouse=True)
def a_clean_start() -> Iterator[None]:
    lento.step()
    settle()
    yield
    _core._inject_fault("none")
    lento.options(sync="allow", max_pending_nodes=100_000, max_inflight_steps=16)


READS: dict[str, Callable[[Any], Any]] = {
    "item": lambda x: x.item(),
    "item at a place": lambda x: x.item(0),
    "bool": bool,
    "int": int,
    "float": float,
    "complex": complex,
    "index": lambda x: [10, 11][x.astype(lento.int32).reshape(())],
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(),
    "array": np.asarray,
    "repr": repr,
    "str": str,
    "in": lambda x: 1.0 in x,
    "pickle": lambda x: x.__reduce__(),
    "data dependent shape": lento.nonzero,
}


@pytest.mark.parametrize("name", READS)
def test_e8_reads_that_force_evaluation_are_counted(name: str) -> None:
    x = ones(1) * 1
    counts = Counts()
    READS[name](x)
    assert counts["sync.implicit"] == 1


@pytest.mark.parametrize("name", [name for name in READS if name not in ("repr", "str")])
def test_e8_under_error_reads_raise_and_name_the_line(name: str) -> None:
    x = ones(1) * 1
    with lento.options(sync="error"):
        with pytest.raises(RuntimeError, match=r"test_syncs\.py:\d+") as caught:
            READS[name](x)
        assert "step" in str(caught.value) or "closure" in str(caught.value)
        assert x.is_pending
        lento.step()
        READS["tolist"](x)


def test_e8_under_error_printing_shows_that_it_is_pending() -> None:
    x = ones(2) + 1
    with lento.options(sync="error"):
        assert repr(x) == "tensor(<pending>, shape=(2,), dtype=float32)"
        assert str(x) == f"{x}" == "<pending>"
        assert x.is_pending
    assert str(x) == "[2. 2.]"


def test_e8_waiting_for_launched_work_is_counted_apart() -> None:
    counts = Counts()

    def open_when_somebody_waits() -> None:
        while counts["sync.wait"] == 0:
            os.sched_yield()
        _core._gate_open(1)

    with closed_gate(), lento.options(sync="error"):  # waiting is no error
        x = ones(device="gated") + 1
        lento.step("gated")
        opener = threading.Thread(target=open_when_somebody_waits)
        opener.start()
        assert x.tolist() == [2.0] * 3
        opener.join()
    assert (counts["sync.wait"], counts["sync.implicit"]) == (1, 0)


def test_e8_warnings_come_once_a_line_with_the_users_line() -> None:
    def read() -> None:
        for _ in range(3):
            float((ones(1) * 2).sum())  # this line
        bool(ones(1) > 0), bool(ones(1) < 0)  # that line

    with lento.options(sync="warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read()
    assert [w.category for w in caught] == [lento.SyncWarning] * 2
    with open(__file__) as file:
        lines = file.readlines()
    assert [w.filename for w in caught] == [__file__] * 2
    assert [lines[w.lineno - 1].split("# ")[1].strip() for w in caught] == ["this line", "that line"]


def test_e8_waits_for_launched_work_are_warned_of_where_asked() -> None:
    counts = Counts()

    def open_at_each_wait(times: int) -> None:
        for n in range(times):
            while counts["sync.wait"] <= n:
                os.sched_yield()
            _core._gate_open(1)

    def read() -> None:
        x = ones(1, "gated") + 1
        lento.step("gated")
        assert float(x) == 2.0  # waits

    found = []
    opener = threading.Thread(target=open_at_each_wait, args=(5,))
    opener.start()
    with closed_gate():
        for mode, waits in (("allow", True), ("warn", False), ("warn", True), ("warn", True), ("error", True)):
            with lento.options(sync=mode, sync_wait=waits), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                read()
            found.append(caught)
        opener.join()
    assert [len(caught) for caught in found] == [0, 0, 1, 1, 0]
    assert found[2][0].category is lento.SyncWarning
    assert "read it some steps later, or in a step closure" in str(found[2][0].message)
    with open(__file__) as file:
        assert file.readlines()[found[2][0].lineno - 1].rstrip().endswith("# waits")
    assert counts["sync.implicit"] == 0


def test_e8_a_warning_that_is_an_error_comes_out_of_the_read() -> None:
    x = ones(1) * 2
    with lento.options(sync="warn"), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(lento.SyncWarning):
            float(x)
    assert float(x) == 2.0


def test_e10_functions_that_read_values_are_known_to_release_the_gil() -> None:
    """A function of the catalogue that waits must say so: then it holds its arguments meanwhile."""
    readers = set()
    with lento.options(sync="error"):
        for op in load_catalogue():
            for call in calls_of(op):
                try:
                    harness.run(call)
                except RuntimeError as error:
                    if "reading a pending tensor" in str(error):
                        readers.add(op.name)
                except Exception:
                    pass  # a sample that shows an error
    assert readers == {op.name for op in load_catalogue() if op.waits}
