"""prefetch: the next batches are loaded by a thread while the steps before them run."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import weakref
from collections.abc import Iterable, Iterator
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any

from . import _core, errors, tree
from ._fail import fail

__all__ = ["prefetch"]


def prefetch(iterable: Iterable[Any], size: int = 2) -> Prefetch:
    """Iterates over ``iterable`` in a thread of its own, which keeps up to ``size`` items ready.

    Arrays in an item (NumPy's, PyTorch's, others with DLPack; also in tuples, lists, dicts and dataclasses) arrive as
    tensors, everything else as it is. Items come in their order. What the iterable raises is raised where the item was
    asked for. The thread ends with the last item, with ``close()``, or when nobody holds the iterator any longer, as
    after leaving a loop.

        >>> batches = ([i, i + 1.0] for i in range(2))
        >>> for x in lento.prefetch(map(lento.asarray, batches)):
        ...     print(x * 2)
        [0. 2.]
        [2. 4.]
    """
    return Prefetch(iterable, size)


_MOST_ITEMS = 2**20


class _Feed:
    """What the iterator and its thread share. The thread has no reference to the iterator, so that it can become
    garbage; and there is no lock that a finalizer might need while its own thread holds it."""

    def __init__(self, size: int) -> None:
        self.process = os.getpid()
        self.stopped = False
        self.room: SimpleQueue[None] = SimpleQueue()
        self.ready: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        for _ in range(size):
            self.room.put(None)

    def stop(self) -> None:
        self.stopped = True
        self.room.put(None)

    def load(self, source: Iterator[Any]) -> None:
        """What the thread does."""
        try:
            while True:
                self.room.get()
                if self.stopped:
                    break
                try:
                    item = next(source)
                except StopIteration:
                    break
                self.ready.put(("item", _with_tensors(item)))
                del item
        except BaseException as error:  # whoever waits must hear of it, whatever it is
            self.ready.put(("error", error))
        self.ready.put(("end", None))


def _with_tensors(item: Any) -> Any:
    made = tree.map(_as_tensor, item)
    # What the iterable only recorded is this thread's: it starts here.
    _core.eval([leaf for leaf in tree.leaves(made) if isinstance(leaf, _core.Tensor) and leaf.is_pending])
    return made


def _as_tensor(leaf: Any) -> Any:
    if isinstance(leaf, _core.Tensor):
        return leaf.__copy__()  # the loader may change its own in place
    if not hasattr(leaf, "__dlpack__"):
        return leaf
    # NumPy's arrays of texts, objects and dates stay what they are.
    return leaf if getattr(getattr(leaf, "dtype", None), "kind", "f") in "OSUMm" else _core.asarray(leaf)


_running: weakref.WeakKeyDictionary[_Feed, threading.Thread] = weakref.WeakKeyDictionary()


class Prefetch:
    """An iterator whose items a thread prepares; see :func:`lento.prefetch`."""

    def __init__(self, iterable: Iterable[Any], size: int) -> None:
        if not isinstance(size, int) or not 1 <= size <= _MOST_ITEMS:
            raise fail(
                errors.ValueError, f"prefetch(): size is a number of items from 1 to {_MOST_ITEMS}, not {size!r}"
            )
        self._feed = _Feed(size)
        # A loader that hangs must not keep the program from ending.
        self._thread = threading.Thread(
            target=self._feed.load, args=(iter(iterable),), name="lento-prefetch", daemon=True
        )
        weakref.finalize(self, self._feed.stop).atexit = False
        _running[self._feed] = self._thread
        self._thread.start()

    def __iter__(self) -> Prefetch:
        return self

    def __next__(self) -> Any:
        if self._feed.process != os.getpid():
            raise fail(
                RuntimeError,
                "prefetch(): this iterator's thread is in the process that was forked; make another one here",
            )
        kind, value = self._feed.ready.get()
        if self._feed.stopped:
            kind, value = "end", None
        if kind == "item":
            self._feed.room.put(None)
            return value
        self._feed.ready.put(("end", None))  # for whoever asks again
        if kind == "error":
            try:
                raise value
            finally:
                del value  # its traceback holds this frame
        raise StopIteration

    def close(self) -> None:
        """Ends the thread, after the item it is at, and waits for that; later there are no items."""
        self._stop()
        if self._feed.process == os.getpid() and threading.current_thread() is not self._thread:
            self._thread.join()

    def _stop(self) -> None:
        self._feed.stop()
        with contextlib.suppress(Empty):
            while True:
                self._feed.ready.get_nowait()
        self._feed.ready.put(("end", None))  # for whoever waits already

    def __enter__(self) -> Prefetch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Closes it. With an error it does not wait for the thread, whose loader may be what hangs."""
        if error is None:
            self.close()
        else:
            self._stop()


@atexit.register
def _stop_all() -> None:
    """A thread that is inside the engine when the process ends would find it gone; one that hangs is left behind."""
    threads = [(feed, thread) for feed, thread in list(_running.items()) if feed.process == os.getpid()]
    for feed, _ in threads:
        feed.stop()
    for _, thread in threads:
        thread.join(timeout=1)
