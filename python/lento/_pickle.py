"""What pickled objects name: plain functions that make them again. Do not move them: old pickles would not load."""

from __future__ import annotations

from typing import Any

from . import _core


def dtype(name: str) -> _core.DType:
    return _core.as_dtype(name)


def generator(seed: int, counter: int) -> _core.Generator:
    made = _core.Generator(seed)
    made.state = (seed, counter)
    return made


def tensor(dtype: str, shape: tuple[int, ...], content: Any) -> _core.Tensor:
    return _core._rebuild(dtype, shape, content)
