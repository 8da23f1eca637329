"""Where things say they are from: public names alone."""

from __future__ import annotations

import re
import subprocess
import sys
import types
from typing import Any

import lento
import pytest
from hints import MODEL, X
from locations import BUILD


def test_an_attribute_that_no_function_has_is_said_by_the_public_name() -> None:
    with pytest.raises(AttributeError, match=r"^lento.subtract has no attribute 'nothing'$") as caught:
        _ = lento.subtract.nothing  # type: ignore[attr-defined]
    assert caught.value.name == "nothing" and caught.value.obj is lento.subtract
    assert not hasattr(lento.add, "_nothing")


def public_modules() -> list[types.ModuleType]:
    names = ("cache", "errors", "fft", "lazy", "linalg", "metrics", "nn", "optim", "random", "special", "stats", "tree")
    return [lento, *(sys.modules[f"lento.{name}"] for name in names)]


def test_public_classes_and_functions_name_a_public_module() -> None:
    for module in public_modules():
        for name in getattr(module, "__all__", vars(module)):
            value = getattr(module, name)
            home = getattr(value, "__module__", None) or ""
            kinds = type | types.FunctionType | types.BuiltinFunctionType
            if name.startswith("_") or not home.startswith("lento") or not isinstance(value, kinds):
                continue
            assert "._" not in home, f"{module.__name__}.{name} is of {home}"
            found: Any = sys.modules[home]
            assert getattr(found, value.__name__) is value, f"{module.__name__}.{name} is not in {home}"


def test_messages_have_no_private_names() -> None:
    for wrong in (
        lambda: lento.eval(3),
        lambda: lento.nn.Linear(2),  # type: ignore[call-arg]
        lambda: lento.nn.LSTM(3, 4, proj_size=2),  # type: ignore[call-arg]
        lambda: lento.nn.functional.nothing,  # type: ignore[attr-defined]
        lambda: lento.optim.lr_scheduler.OneCycleLR(3, 0.1, 5),  # type: ignore[arg-type]
        lambda: lento.nn.Linear(2, 3)(lento.ones((4, 5))),
        lambda: lento.nn.Linear(2, 3).nothing,  # type: ignore[attr-defined]
        lambda: lento.optim.SGD(3, lr=0.1),
        lambda: lento.Generator("a"),  # type: ignore[arg-type]
        lambda: lento.Device(3),  # type: ignore[arg-type]
        lambda: lento.Tensor(),
        lambda: lento.cache.Captured(),
        lambda: lento.set_num_threads("a"),  # type: ignore[arg-type]
        lambda: lento.metrics.counter(3),  # type: ignore[arg-type]
        lambda: lento.step(3),  # type: ignore[arg-type]
        lambda: lento.float32.nothing,  # type: ignore[attr-defined]
        lambda: lento.random.seed("a"),  # type: ignore[arg-type]
        lambda: lento.load_metadata(3),  # type: ignore[arg-type]
    ):
        with pytest.raises(Exception) as caught:
            wrong()
        message = str(caught.value)
        assert not re.search(r"\b_(core|layers|module|nn|ops|[A-Z]\w+)\b|lento\._", message), message
    for value in (X, MODEL, lento.float32, X.device, lento.Generator(1), lento.nn.Linear, lento.DType, lento.Tensor):
        assert "._" not in repr(value)


def test_a_traceback_names_the_public_class() -> None:
    program = "import lento\nclass Net(lento.nn.Module): pass\nprint(lento.nn.Linear, lento.nn.LSTM.__mro__[-2])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={"PYTHONPATH": str(BUILD / "python")}
    )
    assert done.stdout == "<class 'lento.nn.Linear'> <class 'lento.nn.Module'>\n", done.stderr
