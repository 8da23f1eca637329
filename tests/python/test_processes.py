"""E5, E10, C3, C5: fork, exit, full queues, threads. In processes of their own: a hang is a failure."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine import REFUSED, check_program, run_program

# --- C3, C5: the queue of asynchronous closures, whose length the environment sets ---

QUEUE_PROGRAM = """
import sys, threading, lento
entering, release, order = threading.Event(), threading.Event(), []
def slow(n):
    release.wait()
    order.append(n)
def submit(n):
    lento.add_step_closure(slow, (n,), run_async=True)
    lento.step()
def help():
    entering.wait()
    order.append("released")
    release.set()
for n in range(3):  # one runs, two wait: the queue is full
    submit(n)
threading.Thread(target=help).start()
sys.setswitchinterval(1000)  # from here on nobody is asked to hand over the GIL
entering.set()
submit(3)
assert order[0] == "released", order
lento.wait_closures()
print(order)
"""


def test_c3_submitting_to_a_full_queue_blocks_without_the_gil() -> None:
    check_program(QUEUE_PROGRAM, "['released', 0, 1, 2, 3]\n", LENTO_MAX_ASYNC_QUEUE="2")


BAD_QUEUE_PROGRAM = """
import lento
ran = []
lento.add_step_closure(lambda: ran.append("async"), (), run_async=True)
lento.add_step_closure(lambda: ran.append("sync"))
try:
    lento.step()
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("value", ["0", "-1", "many", "", "3x", "1.5"])
def test_c3_a_queue_limit_that_makes_no_sense_is_an_error(value: str) -> None:
    done = run_program(BAD_QUEUE_PROGRAM, LENTO_MAX_ASYNC_QUEUE=value)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"LENTO_MAX_ASYNC_QUEUE is '{value}'; it must be a whole number of at least 1" in done.stdout


BLOCKED_PROGRAM = """
import threading, lento
entering, release = threading.Event(), threading.Event()
def fail():
    release.wait()
    raise KeyError("worker")
def submit(f):
    lento.add_step_closure(f, (), run_async=True)
    lento.step()
submit(fail)
submit(print)  # the queue of one is full
threading.Thread(target=lambda: (entering.wait(), release.set())).start()
entering.set()
try:
    submit(print)
except RuntimeError as error:
    print(error, repr(error.__cause__))
ran = []
submit(lambda: ran.append("works again"))
lento.wait_closures()
print(ran, lento.metrics.counter("closure.dropped"))
"""


def test_c5_a_submitter_blocked_on_the_full_queue_wakes_and_raises() -> None:
    check_program(BLOCKED_PROGRAM, f"{REFUSED} KeyError('worker')\n['works again'] 2\n", LENTO_MAX_ASYNC_QUEUE="1")


# --- the end of the interpreter ---


def test_c3_interpreter_exit_drains_the_asynchronous_closures() -> None:
    program = """
import lento, atexit
x = lento.ones((3,))
for i in range(20):
    x = x + 1
    lento.add_step_closure(lambda y: print(float(y[0])), (x,), run_async=True)
    lento.step()
"""
    check_program(program, "".join(f"{i + 2:.1f}\n" for i in range(20)))


def test_exit_handlers_may_still_use_closures() -> None:
    program = """
import atexit
def late():
    import lento
    lento.add_step_closure(print, ("late",), run_async=True)
    lento.step()
    print((lento.ones((2,)) + 1).tolist())
atexit.register(late)
import lento
lento.add_step_closure(print, ("early",), run_async=True)
lento.step()
"""
    check_program(program, "early\nlate\n[2.0, 2.0]\n")


HANGING_PROGRAM = """
import os, lento
from lento import _core
_core._register_toy()
_core._set_patience(20)
x, here = lento.asarray([1.0, 2.0], device="toy:0"), lento.asarray([1.0])
lento.wait()
_core._toy_hold(True)
y = x + 1
lento.add_step_closure(print, (y,), run_async=True, device="toy:0")
lento.step("toy:0")
child = os.fork()
if child == 0:
    try:
        y.tolist()
    except lento.DeviceError as error:
        print(error)
    print((here + 1).tolist(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print("the parent ends")
"""


def test_e5_c3_neither_a_fork_nor_the_end_waits_for_a_device_that_hangs() -> None:
    done = run_program(HANGING_PROGRAM)
    assert done.returncode == 0
    failed, computed, last = done.stdout.splitlines()
    assert failed.startswith("it was being computed when the process forked, and nothing went on")
    assert (computed, last) == ("[2.0]", "the parent ends")
    told = "lento: nothing has gone on on toy:0 for 0.02 seconds: the process "
    assert [line.removeprefix(told).split()[0] for line in done.stderr.splitlines()] == ["forks,", "ends"]


EXIT_IN_THE_MIDDLE = """
import os, threading, lento
started = threading.Event()
def work(number):
    x = lento.ones((50, 50))
    while True:
        x = x @ x * 0.02
        lento.add_step_closure(lambda y: float(y[0, 0]), (x,), run_async=True)
        lento.add_step_closure(lambda y: y.tolist(), (x,))
        lento.step()
        started.set()
for number in range(3):
    threading.Thread(target=work, args=(number,), daemon=True).start()
started.wait()
pending = lento.ones((10,)) + 1
lento.step()
"""


def test_the_interpreter_ends_in_the_middle_of_steps_and_closures() -> None:
    for _ in range(8):
        check_program(EXIT_IN_THE_MIDDLE, "")


def test_c5_a_failure_after_the_last_step_is_told_at_the_end() -> None:
    done = run_program("""
        import lento
        def fail(x):
            raise KeyError(x.tolist())
        lento.add_step_closure(fail, (lento.ones((3,)),), run_async=True)
        lento.step()
    """)
    assert (done.returncode, done.stdout) == (0, "")
    assert "KeyError: [1.0, 1.0, 1.0]" in done.stderr
    assert done.stderr.endswith("RuntimeError: an asynchronous step closure failed after the last step\n")


def test_e10_ctrl_c_ends_the_wait_for_closures_at_exit() -> None:
    """A closure that never ends keeps the process from ending until the user has had enough."""
    done = run_program("""
        import os, signal, sys, threading, lento
        signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background job starts without
        main = threading.get_ident()
        def endless():
            while main in sys._current_frames():  # until the main thread runs no Python any more
                os.sched_yield()
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait()
        lento.add_step_closure(endless, (), run_async=True)
        lento.step()
    """)
    assert (done.returncode, done.stdout) == (0, "")
    assert "KeyboardInterrupt" in done.stderr


def test_exit_with_closures_that_never_ran_is_clean() -> None:
    program = """
import lento
lento.add_step_closure(print, (lento.ones((3,)),))
lento.add_step_closure(print, (lento.ones((3,)),), run_async=True, device="reference:0")
"""
    check_program(program, "")


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_e5_exit_during_the_first_library_call_is_clean(dtype: str) -> None:
    program = f"""
import lento
x = lento.ones((600, 600), dtype="{dtype}")
lento.eval(x @ x)  # and nobody waits for it
"""
    for _ in range(3):
        check_program(program, "")


def test_e5_exit_during_a_long_reduction_is_clean() -> None:
    program = """
import lento
x = lento.ones((10_000_000,))
y = (lento.sin(x) * 2 + lento.exp(x) * lento.cos(x)).sum()
lento.step()
"""
    check_program(program, "")


def test_e5_exit_before_the_memory_of_somebody_else_is_let_go_is_clean() -> None:
    """The run ends when there is no interpreter any more to be asked to release the array."""
    program = """
import numpy
import lento
array = numpy.ones(20_000_000, numpy.float32)
array.flags.writeable = False
x = y = lento.asarray(array)
for _ in range(20):
    y = lento.tanh(y) + x
lento.eval(y)
"""
    check_program(program, "")


def test_e5_exit_while_a_kernel_is_compiled_better_is_clean(tmp_path: Path) -> None:
    """First code comes from disk, so that the compiler is used for the first time by the thread that the exit meets."""
    program = """
import lento
x = lento.ones((200_000,))
for i in range({}):
    (lento.sin(x) * 2 + lento.exp(x) * lento.cos(x) + lento.tanh(x) * lento.sqrt(x) + i).sum().item()
"""
    check_program(program.format(2), "", LENTO_CACHE_DIR=str(tmp_path))
    for _ in range(4):
        check_program(program.format(60), "", LENTO_CACHE_DIR=str(tmp_path))


# --- fork ---

FORK = """
import os, threading, lento
from lento import _core
_core._register_testing_devices()
def child(function):
    pid = os.fork()
    if pid == 0:
        try:
            function()
        except BaseException as error:
            os.write(2, repr(error).encode())
            os._exit(1)
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
def everything():
    assert (ready + 1).tolist() == [2.0] * 3
    assert pending.tolist() == [3.0] * 3
    x = ready
    for _ in range(5):
        x = x * 2
        lento.step()
    lento.wait()
    assert x.tolist() == [32.0] * 3
    ran = []
    lento.add_step_closure(lambda y: ran.append(("sync", y.tolist())), (x + 1,))
    lento.add_step_closure(lambda y: ran.append(("async", y.tolist())), (x + 2,), run_async=True)
    lento.step()
    lento.wait_closures()
    assert sorted(ran) == [("async", [34.0] * 3), ("sync", [33.0] * 3)], ran
    big = lento.ones((200, 200))
    assert float((big @ big).sum()) == 200.0**3
    lento.explain(), lento.metrics.report(), lento.live_tensors(), repr(big)
ready = lento.asarray([1.0] * 3)
pending = ready + 2
"""


def test_e5_a_forked_child_works() -> None:
    check_program(FORK + "print(child(everything)); everything()", "7\n")


def test_e5_a_child_of_a_process_that_used_everything_works() -> None:
    program = """
everything()
pending = ready + 2
print(child(everything), flush=True)
pending = ready + 2
print(child(lambda: (everything(), print(child(everything), flush=True))))
"""
    check_program(FORK + program, "7\n7\n7\n")


def test_e5_a_child_works_while_other_threads_are_busy() -> None:
    program = """
stop = threading.Event()
def work():
    x = lento.ones((30, 30))
    while not stop.is_set():
        x = x @ x * 0.03
        lento.add_step_closure(lambda y: float(y[0, 0]), (x,), run_async=True)
        lento.step()
        repr(x)
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
print({child(everything) for _ in range(20)})
stop.set()
for thread in threads:
    thread.join()
"""
    check_program(FORK + program, "{7}\n")


def test_e5_a_fork_lets_runs_end_that_hold_the_last_reference_to_an_array() -> None:
    program = """
import numpy
for _ in range(5):
    x = lento.asarray(numpy.ones((600, 600), "float32"), copy=False)
    y = x @ x
    lento.step()
    del x  # the run lets go of the array, which takes the GIL
    print(child(everything), float(y[0, 0]), flush=True)
"""
    check_program(FORK + program, "7 600.0\n" * 5)


def test_e5_a_thread_may_fork() -> None:
    program = """
everything()
pending = ready + 2
result = []
thread = threading.Thread(target=lambda: result.append(child(everything)))
thread.start()
thread.join()
print(result)
"""
    check_program(FORK + program, "[7]\n")


def test_e5_multiprocessing_by_fork_works() -> None:
    program = """
import multiprocessing, lento
x = lento.ones((3,)) * 2
lento.step()
def work(n):
    y = x * n
    lento.step()
    return float(y.sum())
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(work, range(6)))
print(work(10))
"""
    check_program(program, "[0.0, 6.0, 12.0, 18.0, 24.0, 30.0]\n60.0\n")


# --- threads ---


def test_e10_threads_trace_step_and_read_each_others_tensors() -> None:
    program = """
import queue, threading, lento
lines = [queue.Queue() for _ in range(4)]
results = []
def work(number):
    for _ in range(150):
        x = lines[number].get()
        y = x + 1
        if number % 2:
            lento.step()
        lines[(number + 1) % 4].put(y)
    if number == 0:
        results.append(lines[0].get().tolist())
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for thread in threads:
    thread.start()
lines[0].put(lento.zeros((3,)))
for thread in threads:
    thread.join()
print(results)
"""
    check_program(program, "[[600.0, 600.0, 600.0]]\n")
