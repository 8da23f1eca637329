"""T2, T7: whatever public function refuses its arguments, the message names the function and the caller's line."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import harness
import lento
import numpy as np
import pytest
from samples import load_catalogue

HERE = Path(__file__).name
WRONG = object()  # is no argument of anything


def refusal(call: Callable[[], Any]) -> tuple[str, int]:
    """The message of the error that the call raises, and the line of this file that it was raised at."""
    with pytest.raises(
        (TypeError, ValueError, IndexError, OverflowError, MemoryError, OSError, RuntimeError)
    ) as caught:
        call()
    lines = [entry.lineno + 1 for entry in caught.traceback if Path(str(entry.path)).name == HERE]
    return str(caught.value), lines[-1]


def check(name: str, call: Callable[[], Any]) -> str:
    message, line = refusal(call)
    assert re.match(rf"{re.escape(name)}(\(\))?(: | )", message), message
    assert message.endswith(f", at {HERE}:{line}"), f"{message} (line {line})"
    return message


# --- everything that is public ---

MODULES = [
    lento,
    lento.cache,
    lento.fft,
    lento.linalg,
    lento.metrics,
    lento.nn,
    lento.random,
    lento.special,
    lento.stats,
]

# What takes anything, or nothing, and why.
TAKES_ANYTHING = {
    "grad": "the function is looked at when it is called",
    "value_and_grad": "as grad",
    "jacobian": "as grad",
    "hessian": "as grad",
    "vmap": "as grad",
    "custom_gradient": "as grad",
    "checkpoint": "as grad",
    "vjp": "calls its argument: Python says that it is not callable",
    "linearize": "as vjp",
    "show_versions": "prints to its argument",
    "Sequential": "takes no steps as well",
    "Identity": "stands for any layer",
    "prefetch": "iterates over its argument: Python says that it is not iterable",
    "DType": "cannot be made",
    "Buffer": "marks whatever it is given",
}
# nanobind refuses a wrong number of arguments by itself, and knows no line: those that take none, or more than one.
COUNTED_BY_NANOBIND = {
    "Captured",
    "capture",
    "clear",
    "counters",
    "default_device",
    "default_generator",
    "devices",
    "explain",
    "get_num_threads",
    "get_printoptions",
    "info",
    "live_tensors",
    "plans",
    "record",
    "report",
    "reset",
    "run",
    "set_printoptions",
    "timings",
    "wait_closures",
}


def public(module: ModuleType) -> list[tuple[str, Any]]:
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    found = [(name, getattr(module, name)) for name in names]
    return [
        (name, f)
        for name, f in found
        if callable(f)
        and getattr(f, "__module__", "").startswith("lento")
        and not (inspect.isclass(f) and issubclass(f, BaseException))
    ]


def wrong_arguments(function: Any) -> list[Any] | None:
    """As many wrong arguments as are needed, at least one; None when the function takes none."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [WRONG]  # nanobind's tell no signature
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = sum(p.default is p.empty for p in positional)
    if not positional and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    return [WRONG] * max(needed, 1)


PUBLIC = [
    pytest.param(name, function, id=f"{module.__name__}.{name}")
    for module in MODULES
    for name, function in public(module)
    if name not in TAKES_ANYTHING and name not in COUNTED_BY_NANOBIND and wrong_arguments(function) is not None
]


@pytest.mark.parametrize(("name", "function"), PUBLIC)
def test_t2_every_public_function_refuses_with_its_name_and_the_line(name: str, function: Any) -> None:
    arguments = wrong_arguments(function)
    assert arguments is not None
    message, line = refusal(lambda: function(*arguments))
    assert message.endswith(f", at {HERE}:{line}"), message
    # A second name of an op, as NumPy or PyTorch call it, is told by the first.
    assert name.split("_")[-1].lower() in message.lower() or re.match(r"[\w.]+\(\)(: | )", message), message


@pytest.mark.parametrize("op", load_catalogue(), ids=lambda op: op.qualified)
def test_t2_every_op_of_the_catalogue_names_the_line(op: Any) -> None:
    function = harness.find_function(op)
    for arguments in ([WRONG] * len(op.args), [], [WRONG] * 20):
        if not arguments and all(arg.has_default for arg in op.args):
            continue
        message, line = refusal(lambda given=arguments: function(*given))  # type: ignore[misc]
        assert message.endswith(f", at {HERE}:{line}"), message


# --- what was found without a place ---

x = lento.asarray([1.0, 2.0])
matrix = np.ones((2, 2), np.float32)


def test_t7_derivatives() -> None:
    check("grad", lambda: lento.grad(lambda v: v)(x))
    check("grad", lambda: lento.grad(lambda v: v)(1))
    check("grad", lambda: lento.grad(lambda v: 3)(x))
    check("grad", lambda: lento.grad(lambda v: v.sum(), argnums=3)(x))
    check("grad", lambda: lento.value_and_grad(lambda v: v.argmax())(x))
    check("jacobian", lambda: lento.jacobian(lambda v: v.argmax())(x))
    check("jacobian", lambda: lento.jacobian(lambda v: 3)(x))
    check("jacobian", lambda: lento.jacobian(lambda v: v, argnums=3)(x))
    check("vjp", lambda: lento.vjp(lambda v: v, x)[1](lento.ones(7)))
    check("jvp", lambda: lento.jvp(lambda v: v, x, x))
    check("jvp", lambda: lento.jvp(lambda v: v, (x,), (lento.ones(3),)))
    check("linearize", lambda: lento.linearize(lambda v: v, x)[1](lento.ones(3)))
    check("vmap", lambda: lento.vmap(lambda v: v, in_axes=4)(x))
    check("vmap", lambda: lento.vmap(lambda v: v)(1.0))
    check("vmap", lambda: lento.vmap(lambda v, w: v + w)(x, lento.ones(3)))
    check("vmap", lambda: lento.vmap(lambda v: v, out_axes=9)(x))
    check("vmap", lambda: lento.vmap(lambda v: v, randomness="some"))


def test_t7_seeing() -> None:
    check("dump", lambda: lento.dump(3))
    check("dump", lambda: lento.dump(x, "pdf"))
    check("dump", lambda: lento.dump(x, 3))
    check("graph_key", lambda: lento.graph_key(3))
    check("len", lambda: len(x.sum()))
    check("Device", lambda: lento.Device("gpu"))
    check("Device", lambda: lento.Device(3))
    check("zeros", lambda: lento.zeros(2, device="gpu"))
    check("step", lambda: lento.step("gpu"))
    check("step", lambda: lento.step(wait="yes"))
    check("memory", lambda: lento.memory("gpu"))
    check("to_device", lambda: x.to_device("gpu"))
    check("options", lambda: lento.options(force_fallback="no_such_op"))
    check("options", lambda: lento.options(sync="loud"))
    check("Generator", lambda: lento.Generator("seven"))


def test_t7_printing_what_cannot_be_computed_names_the_line() -> None:
    lento.set_memory_limit(1)
    try:
        shown = repr(lento.ones((1000, 1000)) * 2)  # this line
    finally:
        lento.set_memory_limit(0)
    line = inspect.currentframe().f_lineno - 3  # type: ignore[union-attr]
    assert re.match(rf"tensor\(<pending: repr: .*, at {HERE}:{line}>, ", shown), shown


def test_t7_sizes() -> None:
    check("zeros", lambda: lento.zeros((2**40, 2**40)))
    check("zeros", lambda: lento.zeros(-1))
    check("Linear", lambda: lento.nn.Linear(-1, 3))
    check("Linear", lambda: lento.nn.Linear(2**40, 2**40))
    check("Linear", lambda: lento.nn.Linear("3", 3))  # type: ignore[arg-type]
    check("Linear", lambda: lento.nn.Linear(3, 3.5))  # type: ignore[arg-type]
    check("Conv2d", lambda: lento.nn.Conv2d(3, 8, -1))
    check("Conv2d", lambda: lento.nn.Conv2d(3, 8, (1, 2, 3)))
    check("Conv2d", lambda: lento.nn.Conv2d(2**40, 2**40, 3))
    check("Conv2d", lambda: lento.nn.Conv2d(3, 8, "3"))
    check("Conv2d", lambda: lento.nn.Conv2d(3, 8, 3, groups=0))
    check("Embedding", lambda: lento.nn.Embedding(-1, 4))
    check("Embedding", lambda: lento.nn.Embedding(2**40, 2**40))
    check("LayerNorm", lambda: lento.nn.LayerNorm(-1))
    check("BatchNorm", lambda: lento.nn.BatchNorm(-1))
    check("GroupNorm", lambda: lento.nn.GroupNorm(0, 4))
    check("LSTM", lambda: lento.nn.LSTM(-1, 4))
    check("MultiHeadAttention", lambda: lento.nn.MultiHeadAttention(2**40, 1))


def test_t2_einsum_takes_numpy_arrays() -> None:
    assert lento.einsum("ij,jk->ik", matrix, matrix).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert lento.einsum("ij,jk->ik", lento.asarray(matrix), matrix).shape == (2, 2)
    assert lento.einsum("ij->ji", np.asarray([[1.0, 2.0]])).tolist() == [[1.0], [2.0]]
    assert lento.einsum("ij->ji", [matrix]).shape == (2, 2)
    assert lento.concat(matrix).shape == (4,)  # a sequence of its rows, as for NumPy


def test_t2_einsum_tells_what_subscripts_may_be() -> None:
    message = check("einsum", lambda: lento.einsum("äj->j", x))
    assert "contain 'ä'" in message
    assert "contain '漢'" in check("einsum", lambda: lento.einsum("漢->", x))
    check("einsum", lambda: lento.einsum(b"i->", x))
    check("einsum", lambda: lento.einsum("i,j", matrix))


def test_paths_may_be_bytes(tmp_path: Path) -> None:
    path = str(tmp_path / "x.npz").encode()
    lento.save(path, {"x": x})
    assert lento.load(path)["x"].tolist() == [1.0, 2.0]
    assert check("load", lambda: lento.load(b"x.txt")).startswith("load(): the path must end with .safetensors")
    check("load", lambda: lento.load(b"nowhere.npy"))
    check("load", lambda: lento.load(3))  # type: ignore[arg-type]
    check("save", lambda: lento.save("x.npz", 3))  # type: ignore[arg-type]
    check("load_metadata", lambda: lento.load_metadata("x.npz"))


# --- by construction ---


def raised_plainly(tree: ast.AST) -> list[tuple[int, str]]:
    """Statements that raise a class of errors by themselves, and not what ``fail`` gives."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            called = ast.unparse(node.exc.func)
            if called.split(".")[-1].endswith("Error"):
                found.append((node.lineno, called))
    return found


# Python and its tools ask for names and modules that are not there, and look at the error's class alone.
MISSING = ("AttributeError", "ImportError", "ModuleNotFoundError")


@pytest.mark.parametrize("file", sorted(Path(lento.__file__).parent.rglob("*.py")), ids=lambda file: file.stem)
def test_t7_the_package_raises_by_fail_alone(file: Path) -> None:
    plain = raised_plainly(ast.parse(file.read_text()))
    assert [entry for entry in plain if entry[1] not in MISSING] == []
