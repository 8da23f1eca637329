"""The examples in docstrings print what they say: of modules, functions and classes, and of the catalogue's ops."""

from __future__ import annotations

import contextlib
import doctest
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import lento
import pytest


def modules() -> Iterator[Any]:
    yield lento
    for info in pkgutil.walk_packages(lento.__path__, "lento."):
        yield __import__(info.name, fromlist=["_"])


def documented() -> dict[str, Any]:
    """Everything of the package whose docstring has an example, once, by its name."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for module in modules():
        things = {module.__name__: module}
        for name, value in vars(module).items():
            if inspect.ismodule(value) or not str(getattr(value, "__module__", "")).startswith("lento"):
                continue
            things[f"{module.__name__}.{name}"] = value
            if inspect.isclass(value):
                things |= {f"{module.__name__}.{name}.{key}": each for key, each in vars(value).items()}
        for name, value in things.items():
            doc = getattr(value, "__doc__", None)
            if isinstance(doc, str) and ">>> " in doc and id(value) not in seen:
                seen.add(id(value))
                found[name] = value
    return found


DOCUMENTED = documented()


@pytest.mark.parametrize("name", DOCUMENTED)
def test_example_is_true(name: str) -> None:
    test = doctest.DocTestParser().get_doctest(DOCUMENTED[name].__doc__, {"lento": lento}, name, None, None)
    assert test.examples
    with contextlib.suppress(lento.errors.Error):
        lento.step()  # what other tests left pending is no part of the example's step
    lento.cache.clear()  # where all hashes are equal, a key names a plan only if it is the only one
    output: list[str] = []
    result = doctest.DocTestRunner().run(test, out=output.append)
    assert result.failed == 0, "".join(output)


def test_what_is_used_most_has_an_example() -> None:
    functions = {
        name.rpartition(".")[2] for name, value in DOCUMENTED.items() if callable(value) and not inspect.isclass(value)
    }
    ops = {"zeros", "arange", "sum", "mean", "exp", "matmul", "reshape", "where", "concat", "softmax", "solve"}
    engine = {"asarray", "eval", "step", "wait", "add_step_closure", "dump", "memory", "live_tensors", "graph_key"}
    assert ops | engine <= functions, (ops | engine) - functions


@pytest.mark.parametrize(
    "module", ["lento", "lento.cache", "lento.errors", "lento.metrics", "lento.lazy", "lento.random"]
)
def test_module_has_an_example(module: str) -> None:
    assert module in DOCUMENTED


def test_everything_public_that_is_written_by_hand_is_documented() -> None:
    missing = []
    for name, value in vars(lento).items():
        if name.startswith("_") or not callable(value) or isinstance(value, lento.DType):
            continue
        if not inspect.getdoc(value):
            missing.append(name)
    assert not missing
