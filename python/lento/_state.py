"""Values of a state dict, copied into the tensors that have their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _core, errors
from ._fail import fail


def load_into(
    caller: str, here: Mapping[str, _core.Tensor], state: Mapping[str, Any], strict: bool
) -> tuple[list[str], list[str]]:
    """Copies the values of ``state`` into the tensors of the same names; all is checked before anything is changed."""
    if not isinstance(state, Mapping):
        raise fail(TypeError, f"{caller}: a state is a dict of tensors by name, not {type(state).__name__}")
    missing = [name for name in here if name not in state]
    unexpected = [name for name in state if name not in here]
    problems = []
    if strict and missing:
        problems.append("missing: " + ", ".join(missing))
    if strict and unexpected:
        problems.append("not known here: " + ", ".join(map(str, unexpected)))
    values: dict[str, _core.Tensor] = {}
    for name, held in here.items():
        if name not in state:
            continue
        try:
            value = _core.asarray(state[name])
            if value.shape != held.shape:
                problems.append(f"{name} has shape {held.shape}, but the given value {value.shape}")
            elif value.dtype.kind == "c" and held.dtype.kind != "c":
                problems.append(f"{name} is {held.dtype}, but the given value {value.dtype}")
            else:
                values[name] = value if value.dtype == held.dtype else value.astype(held.dtype)
        except MemoryError:
            raise
        except Exception as error:  # asarray of anything may raise anything
            problems.append(f"{name} cannot be taken: {error}")
    if problems:
        raise fail(errors.ValueError, f"{caller}: {'; '.join(problems)}")
    for name, value in values.items():
        if value is not here[name]:
            here[name][...] = value
    return missing, unexpected
