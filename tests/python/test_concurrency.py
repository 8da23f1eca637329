"""Threads, processes and event loops as Python programs use them (clauses E5 and E10)."""

from __future__ import annotations

import asyncio
import concurrent.futures
import multiprocessing
import os
import threading
from typing import Any

import lento
import numpy as np
import pytest
from engine import check_program
from on_device import DEVICE, not_on_another_device

# --- threads ---


def norm_of(n: int) -> float:
    x = lento.arange(100, dtype=lento.float32) * n
    return float(lento.sqrt((x * x).sum()))


def test_e10_a_pool_of_threads_computes_what_one_does() -> None:
    expected = [norm_of(n) for n in range(200)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(norm_of, range(200))) == expected


def test_e10_tensors_pass_through_queues_of_threads() -> None:
    """One thread records, another computes, a third reads: each with tensors of the one before."""
    recorded: list[lento.Tensor] = []
    ready = threading.Semaphore(0)
    sums: list[float] = []

    def record() -> None:
        for n in range(100):
            recorded.append(lento.ones((50,)) * n + 1)
            ready.release()

    def read() -> None:
        for n in range(100):
            ready.acquire()
            sums.append(float((recorded[n] * 2).sum()))

    threads = [threading.Thread(target=record), threading.Thread(target=read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [(n + 1) * 100.0 for n in range(100)]


def test_e1_each_thread_steps_what_it_recorded() -> None:
    barrier = threading.Barrier(4)
    wrong: list[Any] = []

    def train(seed: int) -> None:
        generator = lento.random.Generator(seed)
        w = lento.zeros((16,))
        x = lento.random.normal((16,), generator=generator)
        barrier.wait()
        for _ in range(200):
            w -= (w - x) * 0.5
            lento.step()
        if not np.allclose(w.numpy(), x.numpy(), atol=1e-5):
            wrong.append(seed)

    threads = [threading.Thread(target=train, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# --- processes ---


def double(x: lento.Tensor) -> lento.Tensor:
    return x * 2


def total(n: int) -> tuple[int, float]:
    return os.getpid(), float((lento.arange(n, dtype=lento.float32) + 1).sum())


# By spawn a worker imports the module by its name, which pytest's way of importing does not give: a program of its own.
SPAWNED = """
import multiprocessing, os, sys
sys.path.insert(0, {folder!r})
import lento
from pooled import double, factor, total

if __name__ == "__main__":
    x = lento.arange(4, dtype=lento.float32) + 1
    lento.eval(x)
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        print(pool.apply(double, (x,)).tolist())
        results = pool.map(total, range(1, 6))
        print([value for _, value in results], os.getpid() in {{pid for pid, _ in results}})
        try:
            pool.apply(factor, (lento.zeros((2, 2)) - 1,))
        except lento.LinAlgError as error:
            print("LinAlgError")
    print((x * 3).tolist())
"""

POOLED = """
import os
import lento

def double(x):
    return x * 2

def total(n):
    return os.getpid(), float((lento.arange(n, dtype=lento.float32) + 1).sum())

def factor(x):
    return lento.linalg.cholesky(x).tolist()
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_e5_multiprocessing(method: str, tmp_path: Any) -> None:
    (tmp_path / "pooled.py").write_text(POOLED)
    program = tmp_path / "program.py"
    program.write_text(SPAWNED.format(folder=str(tmp_path), method=method))
    check_program(
        f"import runpy, sys; sys.argv = [{str(program)!r}]; runpy.run_path({str(program)!r}, run_name='__main__')",
        "[2.0, 4.0, 6.0, 8.0]\n[1.0, 3.0, 6.0, 10.0, 15.0] False\nLinAlgError\n[3.0, 6.0, 9.0, 12.0]\n",
    )


@not_on_another_device("a child cannot use a device that its parent has used")
def test_e5_a_process_pool_by_fork() -> None:
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        assert pool.submit(double, lento.asarray([1.5])).result().tolist() == [3.0]
        assert {value for _, value in pool.map(total, [10] * 8)} == {55.0}


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_joblib(backend: str) -> None:
    if backend == "multiprocessing" and DEVICE:
        pytest.skip("a child cannot use a device that its parent has used")
    joblib = pytest.importorskip("joblib", reason="not among the packages that the tests need")
    expected = [norm_of(n) for n in range(6)]
    assert joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(norm_of)(n) for n in range(6)) == expected


# --- event loops ---


def test_a_read_in_an_executor_lets_the_loop_go_on() -> None:
    async def main() -> tuple[list[float], int]:
        loop = asyncio.get_running_loop()
        turns = 0

        async def tick(done: asyncio.Event) -> None:
            nonlocal turns
            while not done.is_set():
                turns += 1
                await asyncio.sleep(0)

        done = asyncio.Event()
        ticking = asyncio.create_task(tick(done))
        x = lento.ones((300, 300))
        for _ in range(20):
            x = x @ x * (1 / 300)
        values = await asyncio.gather(
            *(loop.run_in_executor(None, float, (x * n).mean()) for n in range(4)),
        )
        done.set()
        await ticking
        return values, turns

    values, turns = asyncio.run(main())
    assert np.allclose(values, [0, 1, 2, 3], rtol=1e-4)
    assert turns > 1


def test_c2_closures_talk_to_an_event_loop() -> None:
    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        losses: asyncio.Queue[float] = asyncio.Queue()

        def report(loss: lento.Tensor) -> None:
            loop.call_soon_threadsafe(losses.put_nowait, float(loss))

        def train() -> None:
            w = lento.ones((4,))
            for _ in range(5):
                w *= 0.5
                lento.add_step_closure(report, (w.sum(),), run_async=True)
                lento.step()

        await asyncio.to_thread(train)
        return [await asyncio.wait_for(losses.get(), 30) for _ in range(5)]

    assert asyncio.run(main()) == [2.0, 1.0, 0.5, 0.25, 0.125]
