"""What layers are made of: checks of what they are given, the values that parameters start as, and what repr shows.

``src/nn/layer_parts.h`` has the same for C++.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from . import _init
from ._core import DType, Tensor, asarray
from ._fail import fail
from ._module import Buffer

DTypeLike: TypeAlias = DType | str | None
PaddingLike: TypeAlias = int | Sequence[int] | Literal["same", "valid"]


# --- checks ---


def _is_whole(value: object) -> bool:
    return hasattr(value, "__index__")


def _is_list(value: object, right: Callable[[object], bool]) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(map(right, value))


_KINDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "int": (_is_whole, "a whole number"),
    "ints": (lambda value: _is_whole(value) or _is_list(value, _is_whole), "a whole number or a list of them"),
    "padding": (
        lambda value: isinstance(value, str) or _KINDS["ints"][0](value),
        "a whole number, a list of them, 'same' or 'valid'",
    ),
    "float": (lambda value: hasattr(value, "__float__"), "a number"),
    "floats": (
        lambda value: hasattr(value, "__float__") or _is_list(value, _KINDS["float"][0]),
        "a number or a list of them",
    ),
    "bool": (lambda value: hasattr(value, "__bool__"), "True or False"),
}


def check_kinds(caller: str, **given: tuple[object, str]) -> None:
    """Each argument, given with its kind, must be of that kind; one whose kind ends with "?" may be None."""
    for name, (value, kind) in given.items():
        right, words = _KINDS[kind.removesuffix("?")]
        if not right(value) and not (value is None and kind.endswith("?")):
            raise fail(TypeError, f"{caller}(): {name} is {words}, not a {type(value).__name__}")


def check_sizes(caller: str, least: int = 1, **sizes: int) -> None:
    """Each of the settings must be ``least`` or more."""
    for name, size in sizes.items():
        if not hasattr(size, "__index__"):
            raise fail(TypeError, f"{caller}(): {name} is a whole number, not a {type(size).__name__}")
        if size < least:
            raise fail(ValueError, f"{caller}(): {name} is {size}, which is less than {least}")


def check_parts(caller: str, what: str, count: int, parts: int, kind: str) -> None:
    """``count`` of something must come out even in ``parts``."""
    if parts < 1 or count % parts:
        raise fail(ValueError, f"{caller}(): {count} {what} in {parts} {kind} do not come out even")


def check_probability(caller: str, name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise fail(ValueError, f"{caller}(): {name} is a probability, not {value}")


def check_choice(caller: str, what: str, given: str, choices: Sequence[str]) -> None:
    if given not in choices:
        raise fail(ValueError, f"{caller}(): {what} is one of {', '.join(map(repr, choices))}, not {given!r}")


def numbers_of(caller: str, name: str, sizes: int | Sequence[int], count: int) -> tuple[int, ...]:
    """``count`` numbers, or as many as there are for 0; a single number stands for all of them."""
    numbers = (sizes,) * (count or 1) if isinstance(sizes, int) else tuple(sizes)
    if count and len(numbers) != count:
        raise fail(ValueError, f"{caller}(): {name} {numbers} has {len(numbers)} numbers, not {count}")
    return numbers


def row_of(caller: str, name: str, row: int | None, rows: int) -> int | None:
    """A row counted from the front."""
    if row is None:
        return None
    if not -rows <= row < rows:
        raise fail(ValueError, f"{caller}(): {name} {row} is no row of {rows}")
    return row % rows


def padding_numbers(padding: PaddingLike) -> int | Sequence[int]:
    return 0 if isinstance(padding, str) else padding


def padding_word(padding: PaddingLike) -> Literal["none", "same", "valid"]:
    return padding if isinstance(padding, str) else "none"


def buffer_of(tensor: Any) -> Any:
    """A tensor that a layer is given and that is not trained; None stays None."""
    return None if tensor is None else Buffer(asarray(tensor))


# --- what parameters start as: float32 where no dtype is given ---


def initial_zeros(shape: Sequence[int], dtype: DTypeLike) -> Tensor:
    return _init.zeros(shape, dtype=dtype)


def initial_ones(shape: Sequence[int], dtype: DTypeLike) -> Tensor:
    return _init.ones(shape, dtype=dtype)


def initial_full(shape: Sequence[int], value: float, dtype: DTypeLike) -> Tensor:
    return _init.constant(shape, value, dtype=dtype)


def initial_normal(shape: Sequence[int], dtype: DTypeLike) -> Tensor:
    return _init.normal(shape, dtype=dtype)


def initial_normal_rows(shape: Sequence[int], zeros: int | None, dtype: DTypeLike) -> Tensor:
    """Normal, except for one row of zeros."""
    rows = initial_normal(shape, dtype)
    if zeros is not None:
        rows[zeros] = 0.0
    return rows


def initial_uniform(shape: Sequence[int], bound: float, dtype: DTypeLike) -> Tensor:
    return _init.uniform(shape, -bound, bound, dtype=dtype)


def initial_fan_in(shape: Sequence[int], inputs: int, dtype: DTypeLike) -> Tensor:
    """Uniform between -b and b, where b is 1 / sqrt(inputs)."""
    return initial_uniform(shape, 1 / math.sqrt(inputs) if inputs else 0.0, dtype)


# --- what repr shows ---


def what_changed(text: str, **settings: tuple[Any, Any]) -> str:
    """``text`` and the settings, given with their defaults, that differ from those."""
    changed = [f"{name}={value}" for name, (value, usual) in settings.items() if value != usual]
    return ", ".join(filter(None, [text, *changed]))
