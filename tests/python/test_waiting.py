"""E10: waits and compiles release the GIL and answer Ctrl-C. In processes of their own: a hang is a failure."""

from __future__ import annotations

import pytest
from engine import check_program

GATE = """
import os, signal, sys, threading
import lento
from lento import _core
_core._register_testing_devices()
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background job starts without
def gated(n=3):
    return lento.asarray([1.0] * n, device="gated")
def blocked(): ...
def signal_when_blocked(number=signal.SIGINT, arrived=_core._gate_wait_for_arrivals):
    # While the sender has the GIL, and nobody is asked to hand it over, the main thread can only be inside of Lento.
    main = threading.get_ident()
    def send():
        arrived(1)
        while sys._current_frames()[main].f_code is not blocked.__code__:
            os.sched_yield()  # without the GIL
        os.kill(os.getpid(), number)
    sys.setswitchinterval(1000)
    thread = threading.Thread(target=send)
    thread.start()
    return thread
"""

# --- E10: the GIL ---

WAITS = {
    "item": "x.item(0)",
    "numpy": "x.numpy()",
    "tolist": "x.tolist()",
    "float": "float(x[0])",
    "bool": "bool(x[0])",
    "int": "int(x[0])",
    "complex": "complex(x[0])",
    "index": "range(9)[x[0].astype(lento.int32)]",
    "in": "1.0 in x",
    "repr": "repr(x)",
    "str": "str(x)",
    "pickle": "x.__reduce__()",
    "nonzero": "lento.nonzero(x)",
    "unique": "lento.unique_values(x)",
    "mask": "x[x > 0]",
    "assignment by a mask": "x[x > 0] = gated()",
    "one_hot": "lento.nn.one_hot(x.astype(lento.int64))",
    "repeat": "lento.repeat(x, x.astype(lento.int64))",
    "wait": "lento.eval(x); lento.wait()",
    "wait for a device": "lento.step('gated'); lento.wait('gated')",
    "step": "lento.step('gated', wait=True)",
    "step with a closure that reads": (
        "lento.add_step_closure(lambda y: y.numpy(), (x,), device='gated'); lento.step('gated')"
    ),
    "run_step_closures": (
        "lento.add_step_closure(lambda y: y.numpy(), (x,), device='gated'); lento.eval(x);"
        "lento.run_step_closures('gated')"
    ),
    "wait_closures": (
        "lento.add_step_closure(lambda y: y.numpy(), (x,), run_async=True, device='gated'); lento.step('gated');"
        "lento.wait_closures()"
    ),
}


@pytest.mark.parametrize("name", WAITS)
def test_e10_waiting_releases_the_gil(name: str) -> None:
    """The gate is opened by a thread that needs the GIL for it, and nobody is asked to hand it over."""
    program = f"""
sys.setswitchinterval(1000)
x = gated() + 1
def keep_opening():
    while True:
        _core._gate_wait_for_arrivals(1)
        _core._gate_open(1)
threading.Thread(target=keep_opening, daemon=True).start()
{WAITS[name]}
print("through")
"""
    check_program(GATE + program, "through\n")


COMPILES = {
    "eval": "lento.eval(x)",
    "step": "lento.step('gated')",
    "read": "x.numpy()",
    "dump": "lento.dump(x, format='backend')",
    "nonzero": "lento.nonzero(x)",
}


@pytest.mark.parametrize("name", COMPILES)
def test_e10_compiling_releases_the_gil(name: str) -> None:
    program = f"""
sys.setswitchinterval(1000)
_core._gate_open_forever()
_core._gate_hold_compiles(True)
x = gated() + 1
def let_go():
    _core._gate_wait_for_compiles(1)
    _core._gate_hold_compiles(False)
threading.Thread(target=let_go).start()
{COMPILES[name]}
print("through")
"""
    check_program(GATE + program, "through\n")


# --- E10: Ctrl-C ---

INTERRUPTED_WAITS = {
    "wait": "lento.wait()",
    "read": "x.numpy()",
    "step": "lento.step('gated', wait=True)",
    "bool": "bool(x[0])",
    "print": "print(x)",
    "full pipeline": "for _ in range(4): kept.append(gated() + 1); lento.step('gated')",
}


@pytest.mark.parametrize("name", INTERRUPTED_WAITS)
def test_e10_ctrl_c_ends_a_wait_and_tensors_survive_it(name: str) -> None:
    program = f"""
lento.options(max_inflight_steps=1)
x, kept = gated() + 1, []
def blocked():
    {INTERRUPTED_WAITS[name]}
sender = signal_when_blocked()
lento.eval(x)
try:
    blocked()
except KeyboardInterrupt:
    print("interrupted")
sender.join()
_core._gate_open_forever()
assert x.tolist() == [2.0] * 3
lento.wait()
"""
    check_program(GATE + program, "interrupted\n")


@pytest.mark.parametrize("name", [name for name in COMPILES if name != "nonzero"])
def test_e10_ctrl_c_ends_waiting_for_a_compile(name: str) -> None:
    program = f"""
_core._gate_open_forever()
_core._gate_hold_compiles(True)
x = gated() + 1
def blocked():
    {COMPILES[name]}
sender = signal_when_blocked(arrived=_core._gate_wait_for_compiles)
try:
    blocked()
except KeyboardInterrupt:
    print("interrupted")
sender.join()
_core._gate_hold_compiles(False)
print(x.tolist())
"""
    check_program(GATE + program, "interrupted\n[2.0, 2.0, 2.0]\n")


def test_e10_ctrl_c_is_the_main_threads() -> None:
    program = """
x, seen = gated() + 1, []
reader = threading.Thread(target=lambda: seen.append(x.tolist()))
reader.start()
def blocked():
    lento.wait()
sender = signal_when_blocked()
lento.eval(x)
try:
    blocked()
except KeyboardInterrupt:
    print("interrupted")
_core._gate_open_forever()
reader.join()
print(seen)
"""
    check_program(GATE + program, "interrupted\n[[2.0, 2.0, 2.0]]\n")


def test_e10_a_signal_handler_may_use_lento_while_its_thread_waits() -> None:
    program = """
x = gated() + 1
def handler(number, frame):
    print((lento.ones((2,)) * 3).tolist())
    _core._gate_open_forever()
signal.signal(signal.SIGUSR1, handler)
def blocked():
    print(x.tolist())
signal_when_blocked(signal.SIGUSR1)
lento.eval(x)
blocked()
"""
    check_program(GATE + program, "[3.0, 3.0]\n[2.0, 2.0, 2.0]\n")


def test_e10_ctrl_c_while_waiting_for_closures() -> None:
    program = """
release, main = threading.Event(), threading.get_ident()
def blocked():
    lento.wait_closures()
def slow():
    while sys._current_frames()[main].f_code is not blocked.__code__:
        os.sched_yield()
    os.kill(os.getpid(), signal.SIGINT)
    release.wait()
    print("ran")
sys.setswitchinterval(1000)
lento.add_step_closure(slow, (), run_async=True)
lento.step()
try:
    blocked()
except KeyboardInterrupt:
    print("interrupted")
release.set()
"""
    check_program(GATE + program, "interrupted\nran\n")
