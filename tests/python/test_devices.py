"""Several devices, default devices, lost devices, and ops that a device has no code for: on the toy devices."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import lento
import pytest
from engine import check_program, counter, run_program, settle
from lento import _core

_core._register_toy()


@pytest.fixture(autouse=True)
def working_toys() -> Iterator[None]:
    yield
    _core._toy_hold(False)
    _core._toy_fail_at("none")
    _core._toy_support("all")
    settle()
    for index in range(2):
        if lento.Device(f"toy:{index}").is_lost:
            _core._toy_replace(index)
    settle()
    lento.cache.clear()


def on(device: str, *values: float) -> lento.Tensor:
    return lento.asarray(list(values), dtype=lento.float32, device=device)


# --- default devices ---


def test_a_scope_names_the_default_device_of_its_thread() -> None:
    before = lento.default_device()
    elsewhere: list[lento.Device] = []
    with lento.device("toy:0"):
        with lento.device(lento.Device("toy:1")):
            assert lento.ones((2,)).device == "toy:1"
            assert lento.asarray([1.0]).device == "toy:1"
        assert lento.zeros((2,)).device == "toy:0"
        thread = threading.Thread(target=lambda: elsewhere.append(lento.default_device()))
        thread.start()
        thread.join()
        x = lento.ones((2,)) + 1
        lento.step()
        assert not x.is_pending
    assert elsewhere == [before]
    assert lento.default_device() == before


def test_a_scope_ends_with_an_exception_and_decorates_functions() -> None:
    before = lento.default_device()

    @lento.device("toy:1")
    def make(depth: int) -> lento.Tensor:
        return lento.ones(()) if depth == 0 else make(depth - 1)

    assert make(3).device == "toy:1"
    with pytest.raises(ZeroDivisionError), lento.device("toy:0"):
        1 / 0  # noqa: B018
    assert lento.default_device() == before


@pytest.mark.parametrize(("wrong", "error"), [("abacus:1", lento.DeviceError), (3, TypeError), (None, TypeError)])
def test_a_scope_takes_devices_there_are(wrong: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        lento.device(wrong)


def test_the_environment_names_the_default_device() -> None:
    program = """
    import lento
    print(lento.ones((2,)).device, lento.default_device())
    lento.set_default_device("cpu")
    print(lento.ones((2,)).device)
    """
    check_program(program, "reference:0 reference:0\ncpu:0\n", LENTO_DEVICE="reference")


def test_an_environment_that_names_no_device_is_told_at_its_first_use() -> None:
    program = """
    import lento
    print(len(lento.devices()) > 0, lento.ones((2,), device="cpu").device)
    for _ in range(2):
        try:
            lento.ones((2,))
        except lento.DeviceError as error:
            print(error)
    lento.set_default_device("cpu")
    print(lento.ones((2,)).device)
    """
    done = run_program(program, LENTO_DEVICE="abacus:7")
    assert (done.returncode, done.stderr) == (0, "")
    first, *errors, last = done.stdout.splitlines()
    assert (first, last) == ("True cpu:0", "cpu:0")
    assert len(errors) == 2
    for text in errors:
        assert "LENTO_DEVICE is 'abacus:7', which is no device; the devices are: cpu:0, reference:0" in text


# --- what is of a device ---


def test_t2_operands_on_different_devices() -> None:
    with pytest.raises(lento.DeviceError, match="toy:0 and toy:1"):
        on("toy:0", 1) + on("toy:1", 1)


def test_e1_c3_steps_and_closures_are_of_a_device() -> None:
    called = []
    x, y = on("toy:0", 1) + 1, on("toy:1", 5) + 1
    lento.add_step_closure(lambda t: called.append(float(t)), (x,), device="toy:0")
    lento.add_step_closure(lambda t: called.append(float(t)), (y,), device="toy:1", run_async=True)
    lento.step("toy:1")
    lento.wait_closures()
    assert (called, x.is_pending) == ([6.0], True)
    lento.step("toy:0")
    assert called == [6.0, 2.0]


def test_e9_memory_and_tensors_of_a_device() -> None:
    there_before = {entry["id"] for entry in lento.live_tensors("toy:0")}
    x, y = on("toy:0", 1, 2), on("toy:1", 1)
    assert {entry["id"] for entry in lento.live_tensors("toy:0")} - there_before == {x.id}
    assert {str(entry["device"]) for entry in lento.live_tensors(device="toy:1")} == {"toy:1"}
    assert {x.id, y.id} <= {entry["id"] for entry in lento.live_tensors()}
    lento.set_memory_limit(lento.memory("toy:0")["live"] + 4, "toy:0")
    try:
        with pytest.raises(MemoryError):
            lento.concat([x, x]).numpy()
        assert lento.concat([y, y]).tolist() == [1, 1]
    finally:
        lento.set_memory_limit(0, "toy:0")


def test_t5_d7_random_numbers_are_the_same_on_every_device() -> None:
    def draw(device: str) -> list[float]:
        lento.random.seed(3)
        numbers: list[float] = lento.random.uniform(shape=(10,), device=device).tolist()
        return numbers

    assert draw("toy:0") == draw("toy:1") == draw("cpu")


# --- a lost device ---


def test_d5_everything_on_a_lost_device_raises() -> None:
    x = on("toy:0", 1, 2)
    assert x.tolist() == [1, 2]
    y = x + 1
    lento.step("toy:0")
    z = y * 2
    other = on("toy:1", 3)
    _core._toy_lose(0)
    doors: list[Callable[[], Any]] = [
        x.tolist,
        y.numpy,
        z.numpy,
        lambda: x + 1,
        lambda: x.to_device("cpu"),
        lambda: other.to_device("toy:0"),
        lambda: on("toy:0", 1),
        lambda: lento.ones((2,), device="toy:0"),
        lambda: lento.step("toy:0"),
        lambda: lento.eval(z),
        lambda: float(x[0]),
    ]
    for door in doors:
        for _ in range(2):
            with pytest.raises(
                lento.DeviceLostError, match=r"toy:0 is lost, with everything on it: .*test_devices.py:"
            ):
                door()
    assert "<failed: " in repr(x)
    assert {str(device): device.is_lost for device in lento.devices() if "toy" in str(device)} == {
        "toy:0": True,
        "toy:1": False,
    }
    assert {entry["state"] for entry in lento.live_tensors("toy:0")} == {"failed"}
    assert (other + 1).tolist() == [4]
    with pytest.raises(lento.DeviceLostError):
        lento.wait()
    lento.wait()


def test_d5_closures_meet_a_lost_device_as_any_failure() -> None:
    x = on("toy:0", 1)
    _core._toy_hold(True)
    y = x + 1
    caught: list[type[BaseException]] = []

    def read(t: lento.Tensor) -> None:
        try:
            float(t)
        except lento.Error as error:
            caught.append(type(error))

    lento.add_step_closure(read, (y,), run_async=True, device="toy:0")
    lento.step("toy:0")
    _core._toy_lose(0)
    lento.wait_closures()
    assert caught == [lento.DeviceLostError]
    assert issubclass(lento.errors.DeviceLostError, RuntimeError)
    assert issubclass(lento.errors.DeviceLostError, lento.Error)


# --- ops that a device has no code for ---


def test_d6_fallbacks_are_counted_and_explained() -> None:
    _core._toy_support("few")
    x = on("toy:0", 3, 1, 2)
    before = counter("fallback.sort_values")
    lento.explain()
    for _ in range(3):
        y = lento.sort(x) + 1
        lento.step("toy:0")
    lento.wait("toy:0")  # the steps do not read each other: the last one may end first
    assert y.tolist() == [2, 3, 4]
    assert counter("fallback.sort_values") == before + 3
    text = lento.explain()
    assert re.search(
        r"^Ran `sort` \(`sort_values`\) at test_devices.py:\d+ on the CPU device, since toy:0 has no code for it, "
        r"3 times\.$",
        text,
        re.M,
    ), text
    assert "Copied 6 times between toy:0 and the host for that.\n" in text
    assert "fallback.sort_values" in lento.metrics.report()


def test_d6_fallbacks_can_be_forbidden() -> None:
    _core._toy_support("few")
    x = on("toy:0", 3, 1, 2)
    y = lento.sort(x)
    called: list[list[float]] = []
    lento.add_step_closure(lambda t: called.append(t.tolist()), (y,), device="toy:0")
    with lento.options(fallback="error"):
        with pytest.raises(lento.BackendError, match=r"^step\(?\)?: toy:0 has no code for `sort` .*test_devices.py:"):
            lento.step("toy:0")
        assert (y.is_pending, called) == (True, [])
        assert (x + 1).tolist() == [4, 2, 3]
    lento.step("toy:0")
    assert called == [[1, 2, 3]]
    with pytest.raises(ValueError, match="fallback must be 'allow' or 'error'"):
        lento.options(fallback="warn")  # type: ignore[arg-type]


# --- a device that nobody has used, and children ---

UNTOUCHED = """
import os, lento
from lento import _core
_core._register_toy()
print([str(d) for d in lento.devices() if "toy" in str(d)], flush=True)
lento.memory("toy:0"), lento.set_memory_limit(0, "toy:0"), lento.live_tensors("toy:0"), lento.wait("toy:0")
lento.Device("toy:0").is_lost
if (child := os.fork()) == 0:
    print(lento.asarray([1.0, 2.0], device="toy:0").tolist(), flush=True)  # it would raise if the parent had used it
    raise SystemExit(0)
print(os.waitpid(child, 0)[1])
"""


def test_d2_listing_devices_touches_none() -> None:
    check_program(UNTOUCHED, "['toy:0', 'toy:1']\n[1.0, 2.0]\n0\n")


FIRST_USE = """
import threading, lento
from lento import _core
_core._register_toy()
start = threading.Barrier(8)
results = []
def use(n):
    start.wait()
    results.append((lento.asarray([float(n)], device="toy:1") * 2).tolist()[0])
threads = [threading.Thread(target=use, args=(n,)) for n in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(results))
"""


def test_d2_the_first_use_may_come_from_any_thread() -> None:
    check_program(FIRST_USE, "[0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0]\n")


CHILD = """
import os, lento
from lento import _core
_core._register_toy()
x = lento.asarray([1.0, 2.0], device="toy:0")
y = x + 1
lento.step("toy:0")
z = y * 2
here = lento.ones((2,), device="cpu")
lento.add_step_closure(print, (z,), device="toy:0")
if (child := os.fork()) == 0:
    doors = [y.numpy, z.numpy, lambda: x + 1, lambda: y.to_device("cpu"), lambda: here.to_device("toy:0"),
             lambda: lento.asarray([1.0], device="toy:0"), lambda: lento.step("toy:0"), lambda: lento.eval(z)]
    for door in doors:
        try:
            door()
            print("nothing was raised", flush=True)
        except lento.DeviceError as error:
            assert "toy:0 was in use when the process forked: the child cannot use it" in str(error), error
    lento.memory("toy:0"), lento.set_memory_limit(0, "toy:0"), lento.wait(), lento.wait_closures()
    print(len(lento.live_tensors("toy:0")), (here * 3).tolist(), flush=True)
    raise SystemExit(0)  # with all that is done at the end of a process
print(os.waitpid(child, 0)[1], y.tolist())
"""


def test_d2_every_door_to_a_device_is_closed_in_a_child() -> None:
    check_program(CHILD, "3 [3.0, 3.0]\n0 [2.0, 3.0]\n")
