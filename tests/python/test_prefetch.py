"""lento.prefetch: order, what arrives, how it ends. Threads are waited for by events, never by time."""

from __future__ import annotations

import gc
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import lento
import numpy as np
import pytest
from engine import Counts, check_program
from lento import nn, optim

LONG = 60.0  # seconds until a wait counts as a hang


class Batch(NamedTuple):
    x: Any
    y: Any


class Loader:
    """Endless numbers, with events for what a test waits for."""

    def __init__(self) -> None:
        self.closed = threading.Event()
        self.reached = {i: threading.Event() for i in range(10)}
        self.threads: set[int] = set()

    def __iter__(self) -> Iterator[int]:
        try:
            i = 0
            while True:
                self.threads.add(threading.get_ident())
                if i in self.reached:
                    self.reached[i].set()
                yield i
                i += 1
        finally:
            self.closed.set()


def prefetching() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "lento-prefetch"]


# --- what arrives ---


@pytest.mark.parametrize("size", [1, 2, 100])
def test_items_come_in_order(size: int) -> None:
    assert list(lento.prefetch(range(50), size)) == list(range(50))
    assert list(lento.prefetch([], size)) == []
    assert list(lento.prefetch((i * i for i in range(5)), size)) == [0, 1, 4, 9, 16]


def test_arrays_arrive_as_tensors_and_all_else_as_it_is() -> None:
    names = np.array(["a", "b"])
    item = {
        "batch": Batch(np.arange(6, dtype=np.float32).reshape(2, 3), [np.array([1, 2])]),
        "tensor": lento.ones(2),
        "name": "x",
        "names": names,
        "count": 3,
        "number": np.float64(2.5),
        "nothing": None,
    }
    (found,) = lento.prefetch([item])
    assert isinstance(found["batch"], Batch)
    assert isinstance(found["batch"].x, lento.Tensor)
    assert (found["batch"].x.dtype, found["batch"].x.tolist()) == (lento.float32, [[0, 1, 2], [3, 4, 5]])
    assert found["batch"].y[0].dtype == lento.int64
    assert found["tensor"].tolist() == [1, 1]
    assert found["names"] is names
    assert (found["name"], found["count"], found["number"], found["nothing"]) == ("x", 3, 2.5, None)
    assert type(found["number"]) is np.float64


def test_an_array_that_the_loader_fills_again_is_copied() -> None:
    def batches() -> Iterator[Any]:
        buffer = np.zeros(3, np.float32)
        for i in range(20):
            buffer[...] = i
            yield buffer

    assert [x.tolist() for x in lento.prefetch(batches(), 5)] == [[i] * 3 for i in range(20)]


def test_a_tensor_that_the_loader_changes_in_place_is_a_value_of_its_own() -> None:
    def batches() -> Iterator[Any]:
        x = lento.zeros(3)
        for _ in range(20):
            x += 1
            yield {"x": x}

    assert [item["x"].tolist() for item in lento.prefetch(batches(), 5)] == [[i + 1] * 3 for i in range(20)]


def test_what_the_loader_records_is_started_in_its_thread() -> None:
    def batches() -> Iterator[Any]:
        for i in range(3):
            yield lento.ones(2) * i + 1

    for i, x in enumerate(lento.prefetch(batches())):
        assert not x.is_pending
        assert x.tolist() == [i + 1, i + 1]


def test_items_are_loaded_ahead_in_another_thread_but_not_too_far() -> None:
    loader, asked, ahead = Loader(), 0, []

    def watched() -> Iterator[int]:
        for i in loader:
            ahead.append(i + 1 - asked)
            yield i

    with lento.prefetch(watched(), size=3) as items:
        assert loader.reached[2].wait(LONG)  # before anything was asked for
        for i in range(6):
            asked += 1
            assert next(items) == i
            assert loader.reached[i + 3].wait(LONG)
    assert max(ahead) <= 3
    assert threading.get_ident() not in loader.threads
    assert len(loader.threads) == 1


# --- how it ends ---


def broken() -> Iterator[int]:
    yield 1
    yield 2
    raise KeyError("the third is missing")


def test_an_error_of_the_loader_is_raised_where_the_item_was_asked_for() -> None:
    items = lento.prefetch(broken(), size=5)
    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(KeyError, match="the third is missing") as raised:
        next(items)
    assert traceback.extract_tb(raised.value.__traceback__)[-1].name == "broken"
    assert list(items) == []


def test_an_item_that_becomes_no_tensor_is_an_error_there_too() -> None:
    with pytest.raises(TypeError):
        list(lento.prefetch([np.zeros(2, dtype=[("a", "f4")])]))


def test_leaving_a_loop_ends_the_thread() -> None:
    loader = Loader()
    for i in lento.prefetch(loader):
        if i == 3:
            break
    assert loader.closed.wait(LONG)


def test_an_error_in_the_loop_ends_the_thread() -> None:
    loader = Loader()

    def run() -> None:
        for i in lento.prefetch(loader):
            if i == 3:
                raise ArithmeticError

    with pytest.raises(ArithmeticError):
        run()
    assert loader.closed.wait(LONG)


def test_an_iterator_that_becomes_garbage_ends_its_thread() -> None:
    loader, items = Loader(), lento.prefetch([])
    items = lento.prefetch(loader)
    assert next(items) == 0
    cycle: list[Any] = [items]
    cycle.append(cycle)
    del items, cycle
    gc.collect()
    assert loader.closed.wait(LONG)


def test_closing_waits_for_the_thread() -> None:
    loader = Loader()
    items = lento.prefetch(loader)
    assert next(items) == 0
    (thread,) = [thread for thread in prefetching() if thread.ident in loader.threads]
    items.close()
    assert not thread.is_alive()
    assert loader.closed.is_set()
    assert list(items) == []
    items.close()


def ends(run: Callable[[], object], release: threading.Event) -> bool:
    """Whether ``run`` ends while nobody releases what its loader waits for."""
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(LONG)
    ended = not thread.is_alive()
    release.set()
    thread.join(LONG)
    return ended


def test_an_error_in_a_with_block_does_not_wait_for_a_loader_that_hangs() -> None:
    release, raised = threading.Event(), []

    def stuck() -> Iterator[int]:
        yield 0
        release.wait()

    def run() -> None:
        try:
            with lento.prefetch(stuck()) as items:
                raise ArithmeticError(next(items))
        except ArithmeticError as error:
            raised.append(error.args)

    assert ends(run, release)
    assert raised == [(0,)]


def test_a_loader_that_closes_its_own_iterator_ends_the_loop() -> None:
    release, found, made = threading.Event(), [], []

    def loader() -> Iterator[int]:
        yield 0
        release.wait()  # until somebody waits for the next one, or nearly
        made[0].close()
        yield 1

    def run() -> None:
        made.append(lento.prefetch(loader()))
        found.append(next(made[0]))
        release.set()
        found.extend(made[0])

    assert ends(run, release)
    assert found == [0]


def test_several_threads_share_the_items() -> None:
    items = lento.prefetch(range(200), 4)
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.extend(items)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert sorted(found) == list(range(200))


def test_wrong_calls() -> None:
    for size in (0, -1, 1.5, None):
        with pytest.raises(ValueError, match=r"prefetch\(\): size is a number of items from 1 to 1048576"):
            lento.prefetch([], size)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not iterable"):
        lento.prefetch(3)  # type: ignore[arg-type]


def test_a_program_ends_beside_an_unfinished_iterator() -> None:
    check_program(
        """
        import itertools, lento
        items = lento.prefetch(lento.ones(1000) * i for i in itertools.count())
        print(next(items).shape)
        """,
        "(1000,)\n",
    )


def test_a_forked_child_is_told_and_makes_its_own() -> None:
    check_program(
        """
        import itertools, os, lento
        items = lento.prefetch(itertools.count())
        print(next(items), flush=True)
        child = os.fork()
        if child == 0:
            try:
                next(items)
            except RuntimeError as error:
                print(error)
            items.close()
            print([x.tolist() for x in lento.prefetch(lento.ones(1) * i for i in range(3))])
        else:
            assert os.waitpid(child, 0)[1] == 0
            print(next(items))
        """,
        "0\nprefetch(): this iterator's thread is in the process that was forked; make another one here, "
        "at <string>:8\n[[0.0], [1.0], [2.0]]\n1\n",
    )


# --- training ---


def test_training_from_prefetched_batches_is_one_plan() -> None:
    model = nn.Linear(4, 1)
    optimizer = optim.SGD(model, 0.1)
    random = np.random.default_rng(0)
    data = [(random.standard_normal((8, 4)).astype(np.float32), np.ones((8, 1), np.float32)) for _ in range(8)]
    losses = []
    counts = Counts()
    for i, (x, y) in enumerate(lento.prefetch(data)):
        if i == 4:
            counts = Counts()
        value, gradients = lento.value_and_grad(lambda model, x, y: nn.mse_loss(model(x), y))(model, x, y)
        optimizer.step(gradients)
        del gradients
        lento.step()
        losses.append(value)
    assert (counts["plan.miss"], counts["kernel.compile"]) == (0, 0)
    assert float(losses[-1]) < float(losses[0])


@pytest.mark.peers
@pytest.mark.parametrize("workers", [0, 2])
def test_a_torch_loader(workers: int) -> None:
    torch = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.arange(20.0).reshape(10, 2), torch.arange(10))
    loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=workers)
    for _ in range(2):  # epochs
        batches = list(lento.prefetch(loader))
        assert [x.shape for x, _ in batches] == [(4, 2), (4, 2), (2, 2)]
        assert all(isinstance(leaf, lento.Tensor) for batch in batches for leaf in batch)
        assert lento.concat([y for _, y in batches]).tolist() == list(range(10))
