"""A familiar name of torch, NumPy or JAX works, or says what to write (docs/coming-from-pytorch.md, "Names")."""

from __future__ import annotations

import importlib.util
import re
import sys
import types
from typing import Any

import lento
import numpy as np
import pytest
from familiar_names import JAX, NUMPY, TORCH, all_names, place_here
from hints import X, check_hint
from lento import _numpy_names
from lento._attribute_hints import _TENSOR
from lento._hints import _HINTS

# --- the list ---


def test_the_list_has_the_most_used_names() -> None:
    assert min(len(" ".join(group.values()).split()) for group in (TORCH, NUMPY, JAX)) >= 100
    assert len({name.rpartition(".")[2] for name in all_names()}) >= 300


@pytest.mark.parametrize("name", all_names())
def test_a_familiar_name_works_or_says_what_to_write(name: str) -> None:
    found: Any = lento
    for part in place_here(name).split(".")[1:]:
        try:
            found = X if part == "Tensor" and name.count(".") > 1 else getattr(found, part)
        except AttributeError as error:
            check_hint(str(error))
            return


# --- modules ---


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in _HINTS.items() for name in names])
def test_modules_answer_for_names_of_other_libraries(module: str, name: str) -> None:
    space = sys.modules[module]
    if name in vars(space):
        return  # it works
    assert not hasattr(space, name)
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute '{name}'; ") as caught:
        getattr(space, name)
    assert caught.value.name == name
    check_hint(str(caught.value))


@pytest.mark.parametrize(
    ("space", "name", "hint"),
    [
        (lento, "svd", "it is lento.linalg.svd"),
        (lento, "layer_norm", "it is lento.nn.layer_norm"),
        (lento, "bernoulli", "it is lento.random.bernoulli"),
        (lento.nn, "sigmoid", "it is lento.sigmoid"),
        (lento.linalg, "einsum", "it is lento.einsum"),
    ],
)
def test_a_name_of_another_module_here_says_where_it_is(space: types.ModuleType, name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=f"; {hint}$"):
        getattr(space, name)


def test_the_functions_alone_say_their_public_name() -> None:
    assert lento.nn.functional.__name__ == "lento.nn.functional"
    with pytest.raises(AttributeError, match=r"^module 'lento.nn.functional' has no attribute 'grid_sample'; write it"):
        _ = lento.nn.functional.grid_sample  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"; it is lento.nn.Linear$"):
        _ = lento.nn.functional.Linear  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("clip", r"use gradients = lento.optim.clip_grad_value\(gradients, limit\)"),
        ("clip_by_global_norm", r"use gradients, norm = lento.optim.clip_grad_norm\(gradients, max_norm\)"),
        ("adamw", r"use optimizer = lento.optim.AdamW\(model, lr=…\) and optimizer.step\(gradients\)"),
        ("swa_utils", r"use lento.optim.EMA\(model, decay\)"),
        ("masked", "use groups=, as in lento.optim.Adam"),
    ],
)
def test_names_of_optax_and_of_pytorchs_optimizers(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=hint):
        getattr(lento.optim, name)


def test_a_name_has_one_hint() -> None:
    for space in _numpy_names.ELSEWHERE.keys() | _numpy_names.ABSENT.keys():
        elsewhere, absent = _numpy_names.ELSEWHERE.get(space, {}), _numpy_names.ABSENT.get(space, {})
        others = _TENSOR if space == "Tensor" else _HINTS[f"lento.{space}".rstrip(".")]
        assert not elsewhere.keys() & absent.keys()
        assert not (elsewhere.keys() | absent.keys()) & others.keys(), space


def test_hints_of_other_libraries_modules() -> None:
    for name, hint in (("scipy", "use lento.special, lento.linalg and lento.stats"), ("distributions", "lento.stats")):
        with pytest.raises(AttributeError, match=hint):
            getattr(lento, name)
    with pytest.raises(AttributeError, match=r"it is lento.optim.Adam"):
        _ = lento.optim.lr_scheduler.Adam  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"it is lento.random.normal"):
        _ = lento.stats.normal  # type: ignore[attr-defined]


def test_the_hint_for_bernoulli_works() -> None:
    with pytest.raises(AttributeError, match=r"use lento.random.bernoulli\(p=x\)"):
        _ = X.bernoulli  # type: ignore[attr-defined]
    assert lento.random.bernoulli(p=X).tolist() == [[True] * 3] * 2


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("vecmat", ((3,), (3, 2))),
        ("vecmat", ((4, 3), (4, 3, 2))),
        ("vecmat", ((5, 1, 3), (4, 3, 2))),
        ("matvec", ((2, 3), (3,))),
        ("matvec", ((4, 2, 3), (4, 3))),
        ("matvec", ((2, 3), (5, 3))),
        ("spacing", ((20,),)),
        ("polyder", ((5,),)),
    ],
)
def test_what_a_hint_says_is_what_numpy_does(name: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    if not hasattr(np, name):
        pytest.skip(f"this NumPy has no {name}")
    with pytest.raises(AttributeError) as caught:
        getattr(lento, name)
    text = re.search(r"; write (.*?)(?:, with .*|, at .*)?$", str(caught.value))
    assert text, caught.value
    arrays = [np.random.default_rng(i).normal(size=shape) for i, shape in enumerate(shapes)]
    tensors = [lento.asarray(a) for a in arrays]
    found = eval(text[1], {"lento": lento, "x": tensors[0], "p": tensors[0], "y": tensors[-1]})
    expected = getattr(np, name)(*arrays)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_other_missing_names_are_plain_errors() -> None:
    with pytest.raises(AttributeError, match=r"^module 'lento' has no attribute 'nothing'$"):
        _ = lento.nothing  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match=r"^cannot import name 'nothing' from 'lento' \("):
        exec("from lento import nothing")
    for module in ("lento.nn", "lento.optim", "lento.linalg"):
        assert not hasattr(sys.modules[module], "__wrapped__")


@pytest.mark.parametrize(
    ("module", "name", "hint"),
    [
        ("lento", "tensor", "use lento.asarray"),
        ("lento", "randn", "use lento.random.normal"),
        ("lento", "jit", "it is not needed"),
        ("lento", "svd", "it is lento.linalg.svd"),
        ("lento.nn", "MultiheadAttention", "use nn.MultiHeadAttention"),
        ("lento.nn.functional", "grid_sample", "write it"),
        ("lento.random", "split", "it is not needed"),
        ("lento.optim", "LBFGS", "use scipy.optimize.minimize"),
    ],
)
@pytest.mark.parametrize("before", ["", "".join(f"name{i} = 0\n" for i in range(300))], ids=["short", "many names"])
def test_an_import_of_such_a_name_says_the_same(module: str, name: str, hint: str, before: str) -> None:
    with pytest.raises(ImportError, match=f"^cannot import name '{name}' from '{module}'; {hint}") as caught:
        exec(f"{before}from {module} import {name} as other")
    assert caught.value.name == module
    with pytest.raises(AttributeError):
        getattr(sys.modules[module], name)
    assert not hasattr(sys.modules[module], name)
    assert getattr(sys.modules[module], name, None) is None


def test_an_import_after_a_missing_name_was_looked_for_works() -> None:
    program = "try:\n    from lento import tensor\nexcept ImportError:\n    from lento import asarray as tensor"
    names: dict[str, Any] = {}
    exec(program, names)
    assert names["tensor"] is lento.asarray


@pytest.mark.parametrize(
    ("module", "hint"),
    [
        ("lento.numpy", "write import lento as np"),
        ("lento.utils.data", "use lento.prefetch"),
        ("lento.utils.checkpoint", "use lento.prefetch for a DataLoader's work, lento.checkpoint"),
        ("lento.nn.utils.rnn", "use lento.optim.clip_grad_norm"),
        ("lento.nn.parameter", "use lento.nn.Parameter"),
        ("lento.autograd", "use lento.grad"),
        ("lento.distributions", "use lento.stats"),
        ("lento.scipy.stats", "use lento.special"),
        ("lento.tree_util", "use lento.tree"),
        ("lento.optim.swa_utils", "use lento.optim.EMA"),
        ("lento.cuda", "it is not needed"),
    ],
)
def test_an_import_of_such_a_module_says_the_same(module: str, hint: str) -> None:
    missing = ".".join(module.split(".")[: 3 if module.startswith(("lento.nn", "lento.optim")) else 2])
    with pytest.raises(ModuleNotFoundError, match=f"^No module named '{missing}'; {hint}") as caught:
        importlib.import_module(module)
    assert caught.value.name == missing
    check_hint(str(caught.value))
    assert missing not in sys.modules


def test_an_import_of_another_missing_module_is_a_plain_error() -> None:
    for module in ("lento.nothing", "lento.nn.nothing", "lento.optim.nothing"):
        with pytest.raises(ModuleNotFoundError, match=f"^No module named '{module}'$"):
            importlib.import_module(module)
    assert importlib.util.find_spec("lento.nothing") is None
    assert importlib.import_module("lento.nn.functional") is lento.nn.functional
