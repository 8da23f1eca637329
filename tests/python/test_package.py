"""The package itself: stubs that tell the truth, no leaks, imports, threads."""

from __future__ import annotations

import ast
import gc
import inspect
import os
import subprocess
import sys
import threading
import tracemalloc
from typing import Any

import lento
import numpy as np
import pytest
from locations import BUILD
from on_device import not_on_another_device

SPACES = {
    "_ops": lento,
    "_linalg": lento.linalg,
    "_fft": lento.fft,
    "_nn": lento.nn,
    "_random": lento.random,
    "_special": lento.special,
    "_stats": lento.stats,
}


def stub_functions(name: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse((BUILD / "generated" / "lento" / f"{name}.pyi").read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def parameters(node: ast.FunctionDef) -> list[str]:
    variadic = [node.args.vararg.arg] if node.args.vararg else []
    return [a.arg for a in node.args.posonlyargs + node.args.args] + variadic + [a.arg for a in node.args.kwonlyargs]


@pytest.mark.parametrize("stub", SPACES)
def test_stubs_and_functions_agree(stub: str) -> None:
    space = SPACES[stub]
    described = stub_functions(stub)
    exported = set(getattr(lento, stub).__all__)
    # These are written by hand and typed in _core.pyi.
    assert set(described) == exported - {"asarray", "from_dlpack"}
    for name, node in described.items():
        signature = inspect.signature(getattr(space, name))
        assert list(signature.parameters) == parameters(node), name
        assert inspect.getdoc(getattr(space, name)), f"{name} has no documentation"


def test_tensor_stub_and_type_agree() -> None:
    tree = ast.parse((BUILD / "generated" / "lento" / "_tensor_methods.pyi").read_text())
    (methods,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "TensorMethods")
    described = {node.name for node in methods.body if isinstance(node, ast.FunctionDef)}
    core = ast.parse((BUILD / "python" / "lento" / "_core.pyi").read_text())
    (tensor,) = (node for node in core.body if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    described |= {node.name for node in tensor.body if isinstance(node, ast.FunctionDef)}
    familiar = ast.parse((BUILD / "python" / "lento" / "_familiar_methods.pyi").read_text())
    described |= {node.name for node in ast.walk(familiar) if isinstance(node, ast.FunctionDef)}
    public = {name for name in vars(lento.Tensor) if not name.startswith("_") and hasattr(lento.Tensor, name)}
    assert public <= described, f"not in the stubs: {public - described}"
    missing = {name for name in described if not hasattr(lento.Tensor, name)}
    assert not missing, f"in the stubs only: {missing}"


def test_import_needs_no_numpy() -> None:
    program = (
        "import sys; sys.modules['numpy'] = None; import lento; x = lento.asarray([1.0, 2.0]) * 2; "
        "assert x.tolist() == [2.0, 4.0]; print(x)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={"PYTHONPATH": str(BUILD / "python")}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[2. 4.]"


EXIT_PROGRAM = """
import atexit, threading, time
import lento

pending = lento.zeros((10,)) + 1

class Cycle: pass

cycle = Cycle()
cycle.me, cycle.tensor = cycle, pending * 2
started = threading.Event()

def work():
    y = lento.ones((60, 60))
    while True:
        y = y @ y * 0.001
        lento.eval(y)
        started.set()

threading.Thread(target=work, daemon=True).start()
started.wait()
atexit.register(lambda: print(float(pending.sum())))
"""


def test_the_interpreter_ends_cleanly_in_the_middle_of_work() -> None:
    for _ in range(8):
        done = subprocess.run(
            [sys.executable, "-c", EXIT_PROGRAM],
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(BUILD / "python")},
            timeout=120,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "10.0\n", "")


@not_on_another_device("a child cannot use a device that its parent has used")
def test_a_forked_child_works() -> None:
    x = lento.ones((10,)) * 3
    lento.eval(x)
    y = x + 1
    child = os.fork()
    if child == 0:
        right = y.tolist() == [4.0] * 10 and float((x * 2).sum()) == 60
        os._exit(7 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert y.tolist() == [4.0] * 10


def churn() -> None:
    """A bit of everything, over and over."""
    x = lento.asarray(np.ones((3, 4), np.float32))
    y = x
    for i in range(20):
        y = y * 1.5 + x - i
    y += x
    y[0] = 2
    y[y > 3] = 0
    lento.linalg.qr(x)
    lento.concat([x, y], axis=0).sum(axis=(0, 1), keepdims=True)
    lento.split(x, 2, axis=1) if hasattr(lento, "split") else None
    y.numpy(), y.tolist(), repr(y), lento.dump(y * 2), list(y), y.T, y.shape, y.dtype, y.device
    for wrong in (
        lambda: x + "a",
        lambda: x @ y,
        lambda: lento.tanh("3"),
        lambda: lento.tanh(x, z=1),
        lambda: x[9],
        lambda: lento.asarray(["a"]),
    ):
        with pytest.raises((TypeError, ValueError, IndexError)):
            wrong()
    lento.eval(x, y)


def test_nothing_leaks() -> None:
    for _ in range(5):
        churn()
    gc.collect()
    live = lento.memory()["live"]
    objects = [None, True, lento.Tensor, lento.float32, lento.Error, ()]
    counts = [sys.getrefcount(o) for o in objects]
    tracemalloc.start()
    before = tracemalloc.take_snapshot()
    for _ in range(200):
        churn()
    gc.collect()
    after = tracemalloc.take_snapshot()
    tracemalloc.stop()
    grown = sum(
        stat.size_diff for stat in after.compare_to(before, "filename") if "tracemalloc" not in str(stat.traceback)
    )
    assert grown < 100_000, f"{grown} bytes more after 200 rounds"
    assert lento.memory()["live"] == live
    for o, old in zip(objects, counts, strict=True):
        assert sys.getrefcount(o) - old < 100, f"references to {o!r} leak"


def test_sources_of_endlessly_generated_code_are_bounded() -> None:
    """More code objects than the table holds: the newest lines are right, old ones are forgotten, not wrong."""
    kept: list[Any] = []
    for number in range(10_000):
        namespace: dict[str, Any] = {"lento": lento}
        exec(compile(f"{chr(10) * (number % 50)}def f(x): return x + 1", f"generated{number}.py", "exec"), namespace)
        y = namespace["f"](lento.asarray(1.0))
        if number in (0, 9_999):
            kept.append(y)
    assert "generated9999.py:50" in lento.dump(kept[1])
    text = lento.dump(kept[0])
    assert "generated" not in text or "generated0.py:1" in text


def test_handles_may_be_rebound_while_another_thread_reads() -> None:
    x = lento.zeros((64,))
    errors: list[BaseException] = []

    def read() -> None:
        try:
            for _ in range(300):
                values = x.numpy()
                assert (values == values[0]).all()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(600):
        x += 1
    for thread in threads:
        thread.join()
    assert not errors
    assert x.tolist() == [600.0] * 64
