"""Errors are those that Python users catch: what is wrong decides the class, whatever finds it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest
from engine import check_program
from lento import _core, errors


def singular() -> Any:
    return lento.linalg.inv(lento.zeros((2, 2))).numpy()


def too_large() -> Any:
    before = lento.memory()["limit"]
    lento.set_memory_limit(lento.memory()["live"] + 1_000_000)
    try:
        return (lento.ones((1000, 1000)) + 1).numpy()
    finally:
        lento.set_memory_limit(before)


def failing_backend() -> Any:
    _core._register_testing_devices()
    x = lento.ones((3,), device="faulty:0") + 1
    _core._inject_fault("launch")
    try:
        return x.numpy()
    finally:
        _core._inject_fault("none")


CASES: dict[str, tuple[Callable[[], Any], type[Exception], type[Exception] | None]] = {
    "shapes that do not broadcast": (lambda: lento.ones(2) + lento.ones(3), ValueError, errors.ShapeError),
    "shapes that do not multiply": (lambda: lento.ones((2, 3)) @ lento.ones((2, 3)), ValueError, errors.ShapeError),
    "an array of another shape": (lambda: lento.ones(2) + np.ones(3), ValueError, errors.ShapeError),
    "an axis there is not": (lambda: lento.ones(2).sum(axis=1), IndexError, None),
    "a dtype that does not fit": (lambda: ~lento.ones(2), TypeError, errors.DTypeError),
    "a word for a tensor": (lambda: lento.exp("a"), TypeError, None),
    "a keyword there is not": (lambda: lento.exp(lento.ones(2), y=1), TypeError, None),
    "an operand of another kind": (lambda: lento.ones(2) + "a", TypeError, None),
    "a device there is not": (lambda: lento.ones(2, device="abacus"), ValueError, errors.DeviceError),
    "an index out of range": (lambda: lento.ones(2)[5], IndexError, errors.IndexError),
    "an index tensor out of range": (lambda: lento.ones(2)[lento.asarray([5])].numpy(), IndexError, errors.IndexError),
    "an index of another kind": (lambda: lento.ones(2)["a"], IndexError, None),
    "a number that does not fit": (lambda: lento.ones(2, dtype=lento.int8) + 300, OverflowError, errors.OverflowError),
    "a number of more than 64 bits": (lambda: lento.asarray(2**70), OverflowError, None),
    "infinity as an int": (lambda: int(lento.asarray(float("inf"))), OverflowError, None),
    "more memory than there may be": (too_large, MemoryError, errors.MemoryError),
    "a matrix without an inverse": (singular, ValueError, errors.LinAlgError),
    "a fault of the backend": (failing_backend, RuntimeError, errors.BackendError),
    "a truth value of many": (lambda: bool(lento.ones(2)), ValueError, None),
    "a number of many": (lambda: float(lento.ones(2)), TypeError, None),
    "memory to write to": (lambda: np.frombuffer(memoryview(lento.ones(2, dtype=lento.bfloat16))), BufferError, None),
    "a plan that makes no sense": (lambda: lento.options(max_pending_nodes=1), ValueError, None),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_decides_the_class(name: str) -> None:
    call, builtin, own = CASES[name]
    with pytest.raises(builtin) as caught:
        call()
    if own is not None:
        assert isinstance(caught.value, own)
        assert isinstance(caught.value, lento.Error)
    assert str(caught.value)


def test_a_linalg_error_is_numpys_too() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        singular()
    with pytest.raises(lento.LinAlgError) as caught:
        singular()
    assert type(caught.value).__name__ == "LinAlgError"
    assert type(caught.value).__module__ == "lento.errors"
    back = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(back, lento.LinAlgError)
    assert back.args == caught.value.args


def test_a_linalg_error_needs_no_numpy() -> None:
    program = """
    import sys
    sys.modules["numpy"] = None
    import lento
    try:
        lento.linalg.inv(lento.zeros((2, 2))).tolist()
    except lento.LinAlgError as error:
        print(type(error) is lento.LinAlgError, isinstance(error, ValueError))
    """
    check_program(program, "True True\n")


@pytest.mark.parametrize("name", errors.__all__)
def test_errors_survive_pickling(name: str) -> None:
    kind = getattr(errors, name)
    back = pickle.loads(pickle.dumps(kind("what was wrong")))
    assert type(back) is kind
    assert str(back) == "what was wrong"
