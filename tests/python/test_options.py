"""lento.options."""

from __future__ import annotations

from typing import Any

import lento
import pytest
from lento import _core


def options_now() -> tuple[Any, ...]:
    old = _core.set_options(sync="allow", max_pending_nodes=2, max_inflight_steps=1, disk_cache=False)
    _core.set_options(**old)
    return tuple(old.values())


def test_options_are_put_back_also_nested_and_after_errors() -> None:
    start = options_now()
    assert start == ("allow", 100_000, 16, False)
    with lento.options(sync="warn", max_inflight_steps=3):
        assert options_now() == ("warn", 100_000, 3, False)
        with pytest.raises(KeyError), lento.options(sync="error", max_pending_nodes=50, disk_cache=True):
            assert options_now() == ("error", 50, 3, True)
            raise KeyError
        assert options_now() == ("warn", 100_000, 3, False)
    assert options_now() == start
    again = lento.options(max_inflight_steps=5)
    assert options_now() == ("allow", 100_000, 5, False)
    for _ in range(2):
        with again, again:
            assert options_now() == ("allow", 100_000, 5, False)
    assert options_now() == start


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"sync": "never"}, ValueError),
        ({"sync": 1}, TypeError),
        ({"max_pending_nodes": 1}, ValueError),
        ({"max_pending_nodes": 2**40}, ValueError),
        ({"max_inflight_steps": 0}, ValueError),
        ({"max_inflight_steps": -1}, ValueError),
        ({"max_inflight_steps": 2.5}, TypeError),
        ({"max_inflight_steps": True}, TypeError),
        ({"sync_wait": 1}, TypeError),
        ({"sync_wait": "warn"}, TypeError),
        ({"disk_cache": 1}, TypeError),
        ({"disk_cache": "on"}, TypeError),
        ({"unknown": 1}, TypeError),
    ],
)
def test_options_are_checked_before_anything_changes(wrong: dict[str, Any], error: type[Exception]) -> None:
    start = options_now()
    right = {"sync": "warn", "max_pending_nodes": 77, "max_inflight_steps": 7, "disk_cache": True}
    with pytest.raises(error):
        lento.options(**{**right, **wrong})
    assert options_now() == start


def test_e8_sync_wait_is_put_back() -> None:
    with lento.options(sync="warn", sync_wait=True):
        assert _core.set_options(sync_wait=True) == {"sync_wait": True}
        with lento.options(sync_wait=False):
            assert _core.set_options(sync_wait=False) == {"sync_wait": False}
        assert _core.set_options(sync_wait=True) == {"sync_wait": True}
    assert _core.set_options(sync_wait=False) == {"sync_wait": False}
