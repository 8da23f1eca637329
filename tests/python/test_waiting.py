"""E10: waits and compiles release the GIL and answer Ctrl-C. In processes of their own: a hang is a failure."""

from __future__ import annotations

import pytest
from engine import check_program

GATE = """
import copy, io, os, pickle, signal, sys, tempfile, threading, time
import lento
import numpy as np
from lento import _core
_core._register_testing_devices()
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background job starts without
def gated(n=3):
    return lento.asarray([1.0] * n, device="gated")
folder = tempfile.mkdtemp()
def file(name):
    return os.path.join(folder, name)
def blocked(): ...
sent = []  # when
def signal_when_blocked(number=signal.SIGINT, arrived=_core._gate_wait_for_arrivals):
    # While the sender has the GIL, and nobody is asked to hand it over, the main thread can only be inside of Lento.
    main = threading.get_ident()
    def inside():
        frame = sys._current_frames()[main]
        while frame is not None and frame.f_code is not blocked.__code__:
            frame = frame.f_back
        return frame is not None
    def send():
        arrived(1)
        while not inside():
            os.sched_yield()  # without the GIL
        sent.append(time.monotonic())
        os.kill(os.getpid(), number)
    sys.setswitchinterval(1000)
    thread = threading.Thread(target=send)
    thread.start()
    return thread
def was_interrupted():
    # The promise is 100 ms. A machine that has other things to do gets ten times that; what never answers hangs, for
    # nobody opens the gate.
    waited = time.monotonic() - sent[0]
    assert waited < 5, waited  # a wait that nothing interrupts ends never; a loaded machine may take its time
    print("interrupted")
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
    "format": "f'{x}'",
    "format of a number": "f'{x[0]:.3f}'",
    "notebook": "x._repr_html_()",
    "tobytes": "x.tobytes()",
    "bytes": "bytes(x)",
    "pickle": "x.__reduce__()",
    "pickle 2": "pickle.dumps(x, 2)",
    "pickle 5": "pickle.dumps(x, 5)",
    "pickle beside": "pickle.dumps(x, 5, buffer_callback=[].append)",
    "memoryview": "memoryview(x)",
    "bytearray": "bytearray(x)",
    "np.asarray": "np.asarray(x)",
    "np.array": "np.array(x)",
    "np.array without a copy": "np.array(x, copy=False)",
    "np.array of another type": "np.asarray(x, dtype=np.float64)",
    "np.array of several": "np.array([x, x])",
    "np.frombuffer": "np.frombuffer(x, np.float32)",
    "np.exp": "np.exp(x)",
    "np.stack": "np.stack([x, x])",
    "array assignment": "np.zeros(3)[:] = x",
    "__array__": "x.__array__()",
    "np.from_dlpack": "np.from_dlpack(x)",
    "__dlpack__": "x.__dlpack__()",
    "__dlpack__ with a copy": "x.__dlpack__(max_version=(1, 0), copy=True)",
    "from_dlpack": "lento.from_dlpack(x, device='cpu').numpy()",
    "bfloat16": "np.asarray(x.astype(lento.bfloat16))",
    "save npy": "lento.save(file('x.npy'), x)",
    "save npz": "lento.save(file('x.npz'), {'x': x})",
    "save safetensors": "lento.save(file('x.safetensors'), {'x': x})",
    "to_device": "x.to_device('cpu').numpy()",
    "asarray on a device": "lento.asarray(x, device='cpu').numpy()",
    "sorting": "sorted([x[0], x[1]])",
    "if": "1 if x[0] else 2",
    "while": "all(x)",
    "max": "max(x)",
    "eval": "lento.eval(x, wait=True)",
    "where": "lento.where(x)",
    "argwhere": "lento.argwhere(x)",
    "unique_all": "lento.unique_all(x)",
    "bincount": "lento.bincount(x.astype(lento.int64))",
    "prefetch": "next(iter(lento.prefetch([x.numpy() for _ in range(1)])))",
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
    "np.asarray": "np.asarray(x)",
    "trimming": "lengthen(x)",
    "trimming in place": "lengthen_in_place(x)",
    "trimming by methods": "lengthen(x, lambda y: y.exp())",
    "trimming by rows": "rows(x)",
    "trimming in a derivative": "lento.grad(long_function)(x)",
    "trimming by vmap": "lento.vmap(long_function)(x)",
    "another thread's operand": "theirs + 1",
    "another thread's second operand": "x * theirs",
    "another thread's operand in place": "y = x + 0; y += theirs",
    "another thread's operand of a function": "lento.maximum(x, theirs)",
    "another thread's operand in a list": "lento.concat([x, theirs])",
    "another thread's operands, one after another": "lento.broadcast_arrays(x, theirs)",
    "another thread's operand of a method": "theirs.sum()",
    "another thread's operand of a getter": "theirs.T",
    "another thread's operand of @": "x @ theirs",
    "another thread's operand of -": "-theirs",
    "another thread's operand of in": "1.0 in theirs",
    "another thread's operand of round": "round(theirs)",
    "another thread's operand in an index": "theirs[0]",
    "another thread's operand assigned": "y = x + 0; y[0] = theirs[0]",
    "another thread's operand in a derivative": "lento.grad(lambda v: (v * theirs).sum())(x)",
}
COMPILED = """
def record():
    global theirs
    theirs = gated() * 3
thread = threading.Thread(target=record)
thread.start()
thread.join()
kept = []
def lengthen(x, f=lambda y: y + 1):
    with lento.options(max_pending_nodes=8):
        for _ in range(20):
            kept.append(x := f(x))
def lengthen_in_place(x):
    y = x + 0
    with lento.options(max_pending_nodes=8):
        for _ in range(20):
            kept.append(y + 0)
            y += 1
def rows(x):
    with lento.options(max_pending_nodes=8):
        for _ in range(20):
            kept.extend(x)
def long_function(x):
    for _ in range(3):
        x = lento.exp(x)
        kept.append(x)
    lento.options(max_pending_nodes=8)
    return x.sum()
"""


@pytest.mark.parametrize("name", COMPILES)
def test_e10_compiling_releases_the_gil(name: str) -> None:
    program = f"""
sys.setswitchinterval(1000)
_core._gate_open_forever()
_core._gate_hold_compiles(True)
x = gated() + 1
{COMPILED}
def let_go():
    _core._gate_wait_for_compiles(1)
    _core._gate_hold_compiles(False)
threading.Thread(target=let_go).start()
{COMPILES[name]}
print("through")
"""
    check_program(GATE + program, "through\n")


# --- E10: Ctrl-C ---


@pytest.mark.parametrize("name", [name for name in WAITS if name != "assignment by a mask"])  # waits for nothing
def test_e10_ctrl_c_ends_every_wait_and_tensors_survive_it(name: str) -> None:
    """The gate stays closed until the wait has ended: the value that is waited for does not exist."""
    program = f"""
x = gated() + 1
def blocked():
    {WAITS[name]}
sender = signal_when_blocked()
try:
    blocked()
except KeyboardInterrupt:
    was_interrupted()
sender.join()
_core._gate_open_forever()
assert x.tolist() == [2.0] * 3
assert np.asarray(x).tolist() == [2.0] * 3
{WAITS[name]}
lento.wait()
"""
    check_program(GATE + program, "interrupted\n")


STARTED_WAITS = {
    "wait": "lento.wait()",
    "read": "x.numpy()",
    "np.asarray": "np.asarray(x)",
    "step": "lento.step('gated', wait=True)",
    "bool": "bool(x[0])",
    "print": "print(x)",
    "full pipeline": "for _ in range(4): kept.append(gated() + 1); lento.step('gated')",
    "eval in a full pipeline": "for _ in range(4): kept.append(gated() + 1); lento.eval(kept[-1])",
    "trimming in a full pipeline": "lento.options(max_pending_nodes=4); kept.append([x := x + 1 for _ in range(20)])",
    "operand in a full pipeline": "kept.append(theirs + 1)",
}


@pytest.mark.parametrize("name", STARTED_WAITS)
def test_e10_ctrl_c_ends_a_wait_for_started_work(name: str) -> None:
    program = f"""
lento.options(max_inflight_steps=1)
x, kept = gated() + 1, []
first = x
def record():
    global theirs
    theirs = gated() * 3
thread = threading.Thread(target=record)
thread.start()
thread.join()
def blocked():
    global x
    {STARTED_WAITS[name]}
sender = signal_when_blocked()
lento.eval(x)
try:
    blocked()
except KeyboardInterrupt:
    was_interrupted()
sender.join()
_core._gate_open_forever()
assert first.tolist() == [2.0] * 3
assert theirs.tolist() == [3.0] * 3
lento.wait()
"""
    check_program(GATE + program, "interrupted\n")


def test_e10_an_interrupted_buffer_stops_nothing_later() -> None:
    """NumPy drops what getting a buffer raises, so ``__array__`` raises it again: in the same call, and once."""
    program = """
x = gated() + 1
def blocked():
    memoryview(x)
sender = signal_when_blocked()
try:
    blocked()
except KeyboardInterrupt:
    was_interrupted()
sender.join()
_core._gate_open_forever()
print(x.__array__().tolist())
"""
    check_program(GATE + program, "interrupted\n[2.0, 2.0, 2.0]\n")


def test_e10_ctrl_c_while_a_full_queue_of_closures_blocks() -> None:
    program = """
release = threading.Event()
def slow():
    started.set()
    release.wait()
def blocked():
    for _ in range(3):
        lento.add_step_closure(slow, (), run_async=True)
        lento.step()
started = threading.Event()
main = threading.get_ident()
def send():
    started.wait()
    while lento.metrics.counter("step") < 3:  # the third hands over one more than fits
        os.sched_yield()
    while sys._current_frames()[main].f_code is not blocked.__code__:
        os.sched_yield()
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
sys.setswitchinterval(1000)
sender = threading.Thread(target=send)
sender.start()
try:
    blocked()
except KeyboardInterrupt:
    was_interrupted()
release.set()
sender.join()
lento.wait_closures()
"""
    check_program(GATE + program, "interrupted\n", LENTO_MAX_ASYNC_QUEUE="1")


@pytest.mark.parametrize("name", COMPILES)
def test_e10_ctrl_c_ends_waiting_for_a_compile(name: str) -> None:
    program = f"""
_core._gate_open_forever()
_core._gate_hold_compiles(True)
x = gated() + 1
{COMPILED}
def blocked():
    {COMPILES[name]}
sender = signal_when_blocked(arrived=_core._gate_wait_for_compiles)
try:
    blocked()
except KeyboardInterrupt:
    was_interrupted()
sender.join()
_core._gate_hold_compiles(False)
print(x.tolist(), theirs.tolist())
{COMPILES[name]}
"""
    check_program(GATE + program, "interrupted\n[2.0, 2.0, 2.0] [3.0, 3.0, 3.0]\n")


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
    was_interrupted()
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
