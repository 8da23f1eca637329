"""T2: errors are raised by the call itself, name the op, the operands and the line, and leave no trace."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest


def f32(*shape: int) -> Any:
    return lento.zeros(shape, dtype=lento.float32)


# What is wrong, the exception, words that must stand in the message.
WRONG_CALLS: list[tuple[str, Callable[[], Any], type[Exception], list[str]]] = [
    ("matmul-inner", lambda: f32(128, 784) @ f32(512, 10), ValueError, ["matmul", "(128, 784)", "(512, 10)"]),
    ("add-broadcast", lambda: f32(2, 3) + f32(4), ValueError, ["add", "(2, 3)", "(4,)"]),
    ("reshape-size", lambda: lento.reshape(f32(2, 3), (4, 2)), ValueError, ["reshape", "(2, 3)", "(4, 2)"]),
    ("sum-axis", lambda: lento.sum(f32(2, 3), axis=2), (ValueError, IndexError), ["sum", "2"]),
    ("concat-shapes", lambda: lento.concat([f32(2, 3), f32(2, 4)], axis=0), ValueError, ["(2, 3)", "(2, 4)"]),
    ("bitwise-float", lambda: f32(2) & f32(2), TypeError, ["bitwise_and", "float32"]),
    ("subtract-bool", lambda: lento.asarray([True]) - lento.asarray([True]), TypeError, ["subtract", "bool"]),
    ("index-range", lambda: f32(3)[3], IndexError, ["3"]),
    ("index-many", lambda: f32(3)[0, 0], IndexError, []),
    ("index-float", lambda: f32(3)[1.5], IndexError, []),
    ("cholesky-square", lambda: lento.linalg.cholesky(f32(2, 3)), ValueError, ["cholesky"]),
]


@pytest.mark.parametrize(("call", "kind", "words"), [w[1:] for w in WRONG_CALLS], ids=[w[0] for w in WRONG_CALLS])
def test_t2_error_at_the_call(call: Callable[[], Any], kind: type[Exception], words: list[str]) -> None:
    with pytest.raises(kind) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def test_t2_message_ends_with_the_line_of_the_call() -> None:
    with pytest.raises(lento.ShapeError) as caught:
        f32(2, 3) @ f32(2, 3)
    assert re.search(r"at test_errors\.py:\d+$", str(caught.value))
    line = int(str(caught.value).rsplit(":", 1)[1])
    with open(__file__) as file:
        assert "f32(2, 3) @ f32(2, 3)" in file.readlines()[line - 1]


def test_t2_a_failed_call_leaves_no_trace() -> None:
    x = f32(2, 3) * 2
    before = lento.dump(x)
    count = len(lento.live_tensors())
    for _ in range(3):
        with pytest.raises(ValueError):
            x + f32(4, 7)
    assert lento.dump(x) == before
    assert len(lento.live_tensors()) == count


def test_t2_composites_name_the_function_that_was_called() -> None:
    with pytest.raises(ValueError, match=r"^layer_norm: "):
        lento.nn.layer_norm(f32(2, 3), (4,))
    with pytest.raises(ValueError, match=r"^where: float32\(\) has no axes"):
        lento.where(lento.zeros(()))


# --- arguments, as Python words them ---

WRONG_ARGUMENTS: list[tuple[Callable[[], Any], str]] = [
    (lambda: lento.tanh(), "tanh() missing 1 required positional argument: 'x'"),
    (lambda: lento.where(x1=f32(2)), "where() missing 2 required positional arguments: 'condition' and 'x2'"),
    (
        lambda: lento.tanh(f32(2), f32(2)),
        "tanh() takes 1 positional argument but 2 were given; a tensor that shall get the result is given by name, "
        "as out=y",
    ),
    (lambda: lento.tanh(f32(2), 1), "tanh() takes 1 positional argument but 2 were given"),
    (lambda: lento.tanh(x=f32(2), y=1), "tanh() got an unexpected keyword argument 'y'"),
    (lambda: lento.tanh(f32(2), x=f32(2)), "tanh() got multiple values for argument 'x'"),
    (lambda: lento.tanh("a"), "tanh(): argument 'x' must be Tensor, not str"),
    (lambda: lento.tanh(None), "tanh(): argument 'x' must be Tensor, not None"),
    (lambda: lento.nn.softmax(f32(2), axis="x"), "softmax(): argument 'axis' must be int, not str"),
    (lambda: lento.nn.softmax(f32(2), axis=True), "softmax(): argument 'axis' must be int, not bool"),
    (lambda: lento.add(f32(2), {1}), "add(): argument 'x2' must be Tensor or a number, not set"),
    (
        lambda: lento.random.randint(0, 9, (3,)),
        "randint(): argument 'high' must be a number, not tuple; the shape is the first argument",
    ),
    (
        lambda: lento.random.normal(0, 1, [3]),
        "normal(): argument 'scale' must be Tensor or a number, not list; the shape is the first argument, and after "
        "one that is no list or tuple (here int) a list is given by name: scale=…",
    ),
    (
        lambda: lento.random.normal(range(2, 4), [1, 2, 3], 0),
        "normal(): argument 'loc' must be Tensor or a number, not list; the shape is the first argument, and after "
        "one that is no list or tuple (here range) a list is given by name: loc=…",
    ),
    (
        lambda: lento.random.normal(np.array([2, 3]), [1, 2, 3], 0),
        "normal(): argument 'loc' must be Tensor or a number, not list; the shape is the first argument, and after "
        "one that is no list or tuple (here numpy.ndarray) a list is given by name: loc=…",
    ),
    (
        lambda: lento.random.randint(range(2, 4), 0, [3]),
        "randint(): argument 'high' must be a number, not list",
    ),
    (lambda: lento.where(condition="5"), "where(): argument 'condition' must be Tensor, not str"),
    (lambda: lento.where("5"), "where(): argument 'condition' must be Tensor, not str"),
    (
        lambda: lento.random.randint(3, low=0, high=[1, 2, 3]),
        "randint(): argument 'high' must be a number, not list",
    ),
    (
        lambda: lento.zeros(2, 3),
        "zeros(): argument 'dtype' must be a dtype or None, not int; the shape is one argument, a tuple",
    ),
    (lambda: lento.sum(f32(2), dim=0), "sum() got an unexpected keyword argument 'dim'; it is called 'axis' here"),
    (
        lambda: f32(2).mean(keepdim=True),
        "mean() got an unexpected keyword argument 'keepdim'; it is called 'keepdims' here",
    ),
    (
        lambda: lento.random.normal(size=(2,)),
        "normal() got an unexpected keyword argument 'size'; it is called 'shape' here, and comes first",
    ),
    (lambda: lento.exp(f32(2), dim=0), "exp() got an unexpected keyword argument 'dim'"),
    (
        lambda: f32(3) * [1, 2, 3],
        "only a 0-d integer tensor can be used as an index, or to repeat a list; to compute with the list, make it a "
        "tensor with lento.asarray",
    ),
    (lambda: lento.reshape(f32(2), "ab"), "reshape(): argument 'shape' must be int or a sequence of ints, not str"),
    (
        lambda: lento.reshape(f32(2), (1, 2.0)),
        "reshape(): argument 'shape' must be a sequence of ints, but element 1 is float",
    ),
    (lambda: lento.concat(3), "concat(): argument 'arrays' must be a sequence of tensors, not int"),
    (
        lambda: lento.concat([f32(2), "3"]),
        "concat(): argument 'arrays' must be a sequence of tensors, but element 1 is str",
    ),
    (lambda: lento.sum(f32(2), keepdims=1), "sum(): argument 'keepdims' must be bool, not int"),
    (lambda: lento.zeros((2,), dtype=3), "zeros(): argument 'dtype' must be a dtype or None, not int"),
    (lambda: lento.random.normal(dtype=3), "normal(): argument 'dtype' must be a dtype or None, not int"),
    (lambda: lento.zeros((2,), dtype="float99"), "zeros(): unknown dtype 'float99'"),
    (lambda: lento.zeros((2,), dtype=np.str_), "zeros(): Lento has no dtype for NumPy's <U0"),
    (lambda: lento.zeros((2,), device=3), "zeros(): argument 'device' must be Device or str or None, not int"),
]


@pytest.mark.parametrize(("call", "message"), WRONG_ARGUMENTS, ids=[w[1] for w in WRONG_ARGUMENTS])
def test_t2_argument_errors_read_like_pythons(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert re.fullmatch(re.escape(message) + r", at test_errors\.py:\d+", str(caught.value)), caught.value


def test_unknown_device_names_the_devices_there_are() -> None:
    with pytest.raises(ValueError) as caught:
        lento.zeros((2,), device="abacus:3")
    assert "abacus" in str(caught.value)
    assert str(lento.devices()[0]) in str(caught.value)


def test_errors_are_pythons_and_lentos() -> None:
    for name, builtin in {
        "ShapeError": ValueError,
        "DTypeError": TypeError,
        "DeviceError": ValueError,
        "ValueError": ValueError,
        "IndexError": IndexError,
        "OverflowError": OverflowError,
        "MemoryError": MemoryError,
        "LinAlgError": ValueError,
        "BackendError": RuntimeError,
        "FileError": OSError,
        "DeviceLostError": RuntimeError,
    }.items():
        kind = getattr(lento.errors, name)
        assert issubclass(kind, builtin)
        assert issubclass(kind, lento.Error)


def test_operators_leave_foreign_objects_to_python() -> None:
    x = f32(2)
    for other in ("a", None, object(), [1, 2], {}):
        with pytest.raises(TypeError, match="unsupported operand"):
            x + other  # type: ignore[operator]
        with pytest.raises(TypeError, match="unsupported operand"):
            other - x  # type: ignore[operator]
    assert (x == "a") is False
    assert (x != None) is True  # noqa: E711


class Reflected:
    def __radd__(self, other: Any) -> str:
        return "mine"


def test_operators_let_the_other_operand_try() -> None:
    assert f32(2) + Reflected() == "mine"


def test_bool_of_many_elements_is_ambiguous() -> None:
    with pytest.raises(ValueError, match="ambiguous"):
        bool(f32(2))
    with pytest.raises(TypeError):
        float(f32(2))
    with pytest.raises(TypeError):
        int(lento.asarray(1j))
    with pytest.raises(TypeError):
        [1, 2, 3][lento.asarray(1.0)]  # type: ignore[call-overload]
    with pytest.raises(ValueError):
        f32(2).item()


# --- errors that are known only when the value is computed (E7's beginning) ---


def test_index_tensor_out_of_range_poisons_its_dependents_only() -> None:
    table = lento.arange(5)
    wrong = table[lento.asarray([1, 9])]
    dependent = wrong + 1
    fine = table * 2
    for _ in range(2):
        with pytest.raises(IndexError, match="9"):
            dependent.numpy()
    assert fine.tolist() == [0, 2, 4, 6, 8]
    with pytest.raises(IndexError, match=r"test_errors\.py:\d+"):
        wrong.numpy()


def test_singular_matrix_is_a_linalg_error() -> None:
    x = lento.linalg.cholesky(lento.asarray([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(lento.LinAlgError):
        x.numpy()


# --- counts no memory could hold are refused at once, without counting up to them ---


@pytest.mark.parametrize(
    "call",
    [
        lambda: lento.tril_indices(2**62),
        lambda: lento.triu_indices(2**62, 1),
        lambda: lento.nn.adaptive_avg_pool1d(lento.ones((1, 2, 5)), 2**62),
        lambda: lento.nn.adaptive_max_pool2d(lento.ones((1, 2, 5, 5)), 2**62),
        lambda: lento.nn.pixel_shuffle(lento.ones((1, 4, 5, 5)), 2**32),
        lambda: lento.nn.conv1d(lento.ones((1, 1, 5)), lento.ones((1, 1, 2)), stride=2**62),
        lambda: lento.nn.conv_transpose1d(lento.ones((1, 1, 5)), lento.ones((1, 1, 2)), stride=2**62),
        lambda: lento.nn.avg_pool1d(lento.ones((1, 1, 5)), 2, padding=2**62),
        lambda: lento.nn.pixel_unshuffle(lento.ones((1, 4, 0, 0)), 2**62),
    ],
)
def test_t2_huge_counts_are_refused(call: Any) -> None:
    with pytest.raises((lento.ShapeError, ValueError), match=r"too large|at most"):
        call()


def test_triangle_indices_of_diagonals_outside_of_the_matrix() -> None:
    for rows in range(4):
        for columns in range(4):
            for k in (-(2**63), -5, -2, -1, 0, 1, 2, 5, 2**63 - 1):
                near = max(-5, min(k, 5))
                lower = lento.tril_indices(rows, columns, k=k).numpy()
                upper = lento.triu_indices(rows, columns, k=k).numpy()
                np.testing.assert_array_equal(lower, np.stack(np.tril_indices(rows, near, columns)))
                np.testing.assert_array_equal(upper, np.stack(np.triu_indices(rows, near, columns)))


def test_adaptive_windows_of_every_pair_of_lengths() -> None:
    for length in range(1, 13):
        data = np.random.default_rng(length).standard_normal((1, 1, length))
        for windows in range(1, 16):
            bounds = [(i * length // windows, -(-(i + 1) * length // windows)) for i in range(windows)]
            x = lento.asarray(data)
            average = [data[0, 0, low:high].mean() for low, high in bounds]
            largest = [data[0, 0, low:high].max() for low, high in bounds]
            np.testing.assert_allclose(lento.nn.adaptive_avg_pool1d(x, windows).numpy()[0, 0], average, rtol=1e-14)
            np.testing.assert_array_equal(lento.nn.adaptive_max_pool1d(x, windows).numpy()[0, 0], largest)
