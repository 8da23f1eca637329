"""Little room for memory: whatever a library does when it finds none, the call raises MemoryError, and soon (E6, E7).

OpenBLAS maps a large buffer at its first call and tries for ever when that fails, LAPACK tells of missing memory by a
number, LLVM ends the process: each case runs in a process of its own, which an alarm ends when it hangs.
"""

from __future__ import annotations

import sys

import pytest
from engine import run_program

# Each case is a program's line that gives a tensor or several; n is the size of its matrices.
CASES = {
    "cholesky": "lento.linalg.cholesky(spd)",
    "qr": "lento.linalg.qr(a)",
    "svd": "lento.linalg.svd(a)",
    "svdvals": "lento.linalg.svdvals(a)",
    "eigh": "lento.linalg.eigh(spd)",
    "eigvalsh": "lento.linalg.eigvalsh(spd)",
    "eig": "lento.linalg.eig(a)",
    "inv": "lento.linalg.inv(spd)",
    "det": "lento.linalg.det(spd)",
    "slogdet": "lento.linalg.slogdet(spd)",
    "solve": "lento.linalg.solve(spd, a)",
    "triangular solve": "lento.linalg.solve_triangular(spd, a)",
    "pinv": "lento.linalg.pinv(a)",
    "lstsq": "lento.linalg.lstsq(a, a)",
    "matrix_rank": "lento.linalg.matrix_rank(a)",
    "matrix_norm": "lento.linalg.matrix_norm(a, ord=2)",
    "matrix_power": "lento.linalg.matrix_power(a, 3)",
    "matmul": "a @ a",
    "matmul of float32": "lento.astype(a, 'float32') @ lento.astype(a, 'float32')",
    "matmul of float16": "lento.astype(a, 'float16') @ lento.astype(a, 'float16')",
    "matmul of complex64": "lento.astype(a, 'complex64') @ lento.astype(a, 'complex64')",
    "matmul of complex128": "lento.astype(a, 'complex128') @ lento.astype(a, 'complex128')",
    "matmul of int32": "lento.astype(a, 'int32') @ lento.astype(a, 'int32')",
    "matrix times vector": "a @ a[0]",
    "batched matmul": "lento.stack([a] * 8) @ lento.stack([a] * 8)",
    "einsum": "lento.einsum('ij,kj->ik', a, a)",
    "convolution": "lento.nn.conv2d(lento.ones((2, 3, n, n)), lento.ones((4, 3, 3, 3)))",
    "elementwise": "lento.exp(a) + 1",
    "a reduction": "lento.softmax(a).sum(axis=0)",
    "sort": "lento.sort(a, axis=0)",
    "fft": "lento.fft.fft(a)",
}

PROGRAM = """
import os, resource, signal, sys, time
import numpy as np
import lento

cases = {cases!r}
n = {n}
host = np.random.default_rng(0).normal(size=(n, n))
symmetric = host @ host.T + n * np.eye(n)


def used():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def child(line, room):
    # An alarm that nobody handles ends the process, wherever it hangs.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, {deadline})
    lento.options(disk_cache=False)  # so that code is compiled
    a, spd = lento.asarray(host), lento.asarray(symmetric)
    limit = used() + room
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    try:
        results = eval(line)
        lento.eval(results if isinstance(results, (tuple, list)) else [results], wait=True)
    except MemoryError:
        pass
    # Memory is back: nothing was broken, and the same call works.
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    results = eval(line)
    for result in results if isinstance(results, (tuple, list)) else [results]:
        assert not np.isnan(np.asarray(result)).any()


failed = []
for name, line in cases.items():
    for room in {rooms!r}:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                child(line, room << 20)
                code = 0
            except BaseException as error:
                sys.stderr.write(f"{{name}} with {{room}} MiB: {{type(error).__name__}}: {{error}}\\n")
            finally:
                os._exit(code)
        status = os.waitpid(pid, 0)[1]
        if status:
            failed.append((name, room, os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)))
print(failed)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are Linux's")
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize(("n", "rooms"), [(48, [1, 8, 40, 150]), (200, [20, 120, 300])], ids=["small", "large"])
def test_e6_missing_memory_is_a_memory_error_soon(part: int, n: int, rooms: list[int]) -> None:
    chosen = {name: line for at, (name, line) in enumerate(CASES.items()) if at % 4 == part}
    # Less than a thread's stack, less than OpenBLAS's buffer, a bit more than it, two buffers.
    source = PROGRAM.format(cases=chosen, n=n, deadline=60, rooms=rooms)
    done = run_program(source, timeout=600, OMP_NUM_THREADS="2")
    assert (done.returncode, done.stdout.strip().splitlines()[-1:]) == (0, ["[]"]), done.stdout + done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are Linux's")
def test_e7_a_failed_work_array_is_not_called_a_failure_to_converge() -> None:
    """LAPACK's work arrays of a large matrix do not fit, OpenBLAS's buffer does."""
    done = run_program(
        """
        import resource
        import numpy as np
        import lento

        small = lento.asarray(np.eye(8))
        lento.eval(*lento.linalg.svd(small), wait=True)  # OpenBLAS has its buffer, and all code is there
        x = lento.asarray(np.random.default_rng(0).normal(size=(600, 600)))
        lento.eval(x, wait=True)
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        for room in (4, 8, 12, 16, 20, 24):
            limit = used + (room << 20)
            resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
            try:
                lento.eval(*lento.linalg.svd(x), wait=True)
                print("computed")
            except MemoryError:
                print("MemoryError")
        """
    )
    words = set(done.stdout.split())
    assert done.returncode == 0, done.stderr
    assert "MemoryError" in words
    assert words <= {"MemoryError", "computed", "Not", "enough", "memory", "to", "allocate", "work", "array", "in"} | {
        word for word in words if word.startswith("LAPACKE")
    }, done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are Linux's")
def test_e6_a_process_with_600_mb_in_all_ends_well() -> None:
    """As `ulimit -v 600000` does it: the limit is there before anything is loaded."""
    done = run_program(
        """
        import os, resource, signal
        resource.setrlimit(resource.RLIMIT_AS, (600_000 << 10, 600_000 << 10))
        signal.setitimer(signal.ITIMER_REAL, 60)
        import numpy as np
        import lento

        x = lento.asarray(np.random.default_rng(0).normal(size=(300, 300)))
        for function in (lento.linalg.inv, lento.linalg.svd, lento.linalg.eigh, lambda x: x @ x):
            try:
                result = function(x)
                lento.eval(result, wait=True)
            except MemoryError:
                pass
        print("done")
        """,
        OPENBLAS_NUM_THREADS="1",
    )
    assert (done.returncode, done.stdout.split()[-1:]) == (0, ["done"]), done.stderr
