"""The suite on another device than the default one: `make test-python DEVICE=toy`.

LENTO_TEST_DEVICE names the device. A plugin of pytest makes it the default and, for each test that passed, writes a
line into the file LENTO_TEST_REPORT that says where its ops ran; scripts/device-report adds up. LENTO_TEST_SAMPLE=8
runs about every 8th test; LENTO_TEST_SUPPORT=kernels or few takes the rest of the ops from the toy device.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator

import pytest

DEVICE = os.environ.get("LENTO_TEST_DEVICE", "")


def not_on_another_device(reason: str) -> pytest.MarkDecorator:
    """For tests that are about the host's memory, about the CPU device, or about a device that they name."""
    return pytest.mark.skipif(bool(DEVICE), reason=f"not on {DEVICE}: {reason}")


def _settle() -> None:
    """Everything that was started on the device has ended, so that what it counts belongs to this test."""
    import lento

    for _ in range(1000):
        with contextlib.suppress(lento.Error):
            lento.wait(DEVICE)
            return


class OnDevice:
    def __init__(self) -> None:
        import lento
        from lento import _core

        _core._register_toy()
        if seed := os.environ.get("LENTO_TEST_DELAYS"):
            _core._toy_delays(int(seed))
        if support := os.environ.get("LENTO_TEST_SUPPORT"):
            _core._toy_support(support)
        lento.set_default_device(DEVICE)
        self._counters = lento.metrics.counters
        self._before: dict[str, int] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        self._before = self._counters()
        yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        outcome = yield
        path = os.environ.get("LENTO_TEST_REPORT")
        if path is None or outcome.excinfo is not None:
            return
        _settle()
        grown = [name for name, count in self._counters().items() if count != self._before.get(name, 0)]
        fallbacks = [name.removeprefix("fallback.") for name in grown if name.startswith("fallback.")]
        launched = "launch.device" in grown
        if fallbacks and item.get_closest_marker("falls_back"):
            where = "asked"
        else:
            where = ("partly" if fallbacks else "device") if launched else ("fallback" if fallbacks else "nothing")
        with open(path, "a") as report:  # one write, which processes do not mix
            report.write(f"{where}\t{item.nodeid}\t{' '.join(fallbacks)}\n")

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        part = int(os.environ.get("LENTO_TEST_SAMPLE", "1"))
        sample, others = [], []
        for item in items:
            (others if zlib.crc32(item.nodeid.encode()) % part else sample).append(item)
        config.hook.pytest_deselected(items=others)
        items[:] = sample


def pytest_configure(config: pytest.Config) -> None:
    if DEVICE and not config.pluginmanager.has_plugin("lento-on-device"):
        config.pluginmanager.register(OnDevice(), "lento-on-device")
