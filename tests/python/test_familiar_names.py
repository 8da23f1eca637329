"""A familiar name of torch, NumPy or JAX works, or says what to write (docs/coming-from-pytorch.md, "Names")."""

from __future__ import annotations

import importlib.util
import pickle
import re
import subprocess
import sys
import types
from typing import Any

import lento
import numpy as np
import pytest
from familiar_names import JAX, NUMPY, TORCH, all_names, place_here
from lento import _numpy_names
from lento._attribute_hints import _DEVICE, _DTYPE, _GENERATOR, _IN_PLACE, _MODULE, _OPTIMIZER, _TENSOR, Hint
from lento._hints import _HINTS
from locations import BUILD

X = lento.ones((2, 3))
MODEL = lento.nn.Linear(2, 3)
OPTIMIZER = lento.optim.SGD(MODEL, lr=0.1)
RNG = lento.Generator(7)
DIR = dir(X)
REASONS = {why for reasons in _numpy_names.ABSENT.values() for why in reasons.values()}


def resolve(path: str) -> Any:
    roots = {"lento": lento, "nn": lento.nn, "x": X, "w": X, "model": MODEL, "rng": RNG, "dtype": X.dtype}
    found: Any = roots[path.split(".")[0]]
    for part in path.split(".")[1:]:
        found = getattr(found, part)
    return found


def check_hint(message: str) -> None:
    """What follows the semicolon says what to write, with names that are there, or that nothing has to be written."""
    _, _, hint = message.partition("; ")
    assert hint, message
    names = re.findall(r"\b(?:lento|nn|x|model|rng|dtype)(?:\.[A-Za-z_]\w*)+", hint)
    for name in names:
        if not name.startswith("x.numpy."):
            resolve(name)
    assert names or hint.startswith(("use ", "write ")) or "not needed" in hint or hint in REASONS, message


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


# --- attributes of tensors, modules, optimizers ---


def hints_of(kind: type) -> list[str]:
    return [name for name, value in vars(kind).items() if isinstance(value, Hint)]


@pytest.mark.parametrize("name", hints_of(lento.Tensor))
def test_tensors_answer_for_attributes_of_other_libraries(name: str) -> None:
    assert not hasattr(X, name)
    assert not hasattr(lento.Tensor, name)
    assert name not in DIR
    with pytest.raises(AttributeError, match=f"'lento.Tensor' object has no attribute '{name}'; ") as caught:
        getattr(X, name)
    assert (caught.value.name, caught.value.obj) == (name, X) or caught.value.obj is X
    check_hint(str(caught.value))


def test_every_table_of_hints_is_used() -> None:
    for name in (*_TENSOR, *(f"{name}_" for name in _IN_PLACE)):
        assert hasattr(X, name) or name in hints_of(lento.Tensor), name
    for name in _MODULE:
        assert hasattr(MODEL, name) or name in hints_of(lento.nn.Module), name


@pytest.mark.parametrize(
    ("owner", "name"),
    [(MODEL, name) for name in _MODULE] + [(OPTIMIZER, name) for name in _OPTIMIZER],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_modules_and_optimizers_answer_for_attributes(owner: Any, name: str) -> None:
    if hasattr(owner, name):
        return  # it works
    with pytest.raises(AttributeError, match=f"'{type(owner).__name__}' object has no attribute '{name}'; ") as caught:
        getattr(owner, name)
    check_hint(str(caught.value))


@pytest.mark.parametrize(
    ("owner", "name"),
    [(owner, name) for owner in (RNG, X.device, X.dtype) for name in hints_of(type(owner))],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_generators_devices_and_dtypes_answer_for_attributes(owner: Any, name: str) -> None:
    assert not hasattr(owner, name) and not hasattr(type(owner), name) and name not in dir(owner)
    with pytest.raises(AttributeError, match=f"'{type(owner).__name__}' object has no attribute '{name}'; ") as caught:
        getattr(owner, name)
    check_hint(str(caught.value))
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; "):
        setattr(owner, name, 3)


def test_every_attribute_of_other_libraries_generators_devices_and_dtypes_has_a_hint() -> None:
    methods = "normal uniform choice exponential poisson binomial beta gamma".split()  # noqa: SIM905
    for kind, names in ((lento.Generator, [*_GENERATOR, *methods]), (lento.Device, _DEVICE), (lento.DType, _DTYPE)):
        assert set(names) <= set(hints_of(kind)), kind


@pytest.mark.parametrize("name", hints_of(lento.Generator))
def test_the_draw_that_a_hint_names_takes_its_arguments_and_the_generator(name: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(RNG, name)
    for function, arguments in re.findall(r"(lento\.random\.\w+)\((.*?)\)", str(caught.value)):
        positional, _, _ = resolve(function).__text_signature__[1:].partition(", *, ")
        *given, generator = arguments.split(", ")
        assert generator == "generator=rng"
        assert given == [one.partition("=")[0] for one in positional.split(", ")][: len(given)]


@pytest.mark.parametrize("name", ["normal", "integers", "random", "uniform", "permutation", "choice", "shuffle"])
def test_what_a_generators_hint_says_draws_from_it(name: str) -> None:
    before = RNG.state
    text = re.search(r"lento\.random\.\w+\(.*?\)", vars(type(RNG))[name].hint)
    assert text
    values = {"shape": (2, 3), "loc": 0, "scale": 1, "low": 0, "high": 9, "n": 5, "x": X, "axis": 0, "p": None}
    eval(text[0], {**values, "replace": True, "rng": RNG, "lento": lento})
    assert RNG.state != before


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("backward", "gradients are results: use lento.grad"),
        ("cuda", "not needed"),
        ("add_", r"use x \+= y"),
        ("clamp_", r"use x = x.clamp\(…\)"),
        ("relu_", r"use x = lento.relu\(x, …\)"),
        ("at", r"use x\[i\] = v"),
        ("median", r"it is a function: lento.median\(x\)"),
        ("outer", r"it is a function: lento.outer\(x\)"),
        ("layer_norm", r"it is a function: lento.nn.layer_norm\(x\)"),
        ("det", r"it is a function: lento.linalg.det\(x\)"),
    ],
)
def test_hints_say_what_to_write(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=hint):
        getattr(X, name)


def test_names_of_parameters_say_where_the_tensors_are() -> None:
    """``for p in model.parameters()`` of PyTorch's programs goes through names here."""
    hint = r"^'str' object has no attribute '{}'; .* write for p in model.parameters\(\).values\(\)$"
    for name in ("numel", "requires_grad", "data", "grad", "shape", "dim"):
        with pytest.raises(AttributeError, match=hint.format(name)):
            [getattr(p, name) for p in MODEL.parameters()]
    with pytest.raises(AttributeError, match=hint.format("requires_grad")):
        for p in MODEL.parameters():
            p.requires_grad = False  # type: ignore[attr-defined]
    first = next(iter(MODEL.parameters()))
    with pytest.raises(AttributeError, match=r"^'str' object has no attribute 'nothing'$"):
        _ = first.nothing  # type: ignore[attr-defined]
    assert first == "weight" and MODEL.parameters()["weight"] is MODEL.weight
    assert type(pickle.loads(pickle.dumps(first))) is str


def test_an_attribute_without_a_hint_is_a_plain_error() -> None:
    with pytest.raises(AttributeError, match=r"^'lento.Tensor' object has no attribute 'nothing'$"):
        _ = X.nothing  # type: ignore[attr-defined]
    assert getattr(X, "backward", 3) == 3


def test_assigning_to_a_hinted_attribute_says_the_same() -> None:
    with pytest.raises(AttributeError, match="gradients are results"):
        X.grad = None  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="not needed"):
        X.requires_grad = True  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="use x itself"):
        del X.data  # type: ignore[attr-defined]


def test_a_modules_own_attributes_come_before_hints() -> None:
    class Net(lento.nn.Module):
        half = 2

        def __init__(self) -> None:
            self.type = "net"

        def cuda(self) -> str:
            return "own"

    net = Net()
    assert (net.half, net.type, net.cuda()) == (2, "net", "own")
    assert {"half", "type", "cuda"} <= set(dir(net))
    assert "zero_grad" not in dir(net) + dir(OPTIMIZER)
    assert not hasattr(net, "zero_grad")


def test_what_is_there_is_found_without_a_hook() -> None:
    """A hook would keep the interpreter from remembering where an attribute was found."""
    assert "__getattr__" not in vars(lento.Tensor)
    assert "__getattribute__" not in vars(lento.Tensor)
    assert "__getattr__" not in vars(lento.nn.Module)
    for kind in (lento.Generator, lento.Device, lento.DType):
        assert "__getattr__" not in vars(kind) and kind.__getattribute__ is object.__getattribute__
    assert lento.Tensor.__getattribute__ is object.__getattribute__


# --- what works though it is only there for habit ---


def test_other_names_of_methods_are_methods() -> None:
    x = lento.arange(6, dtype=lento.float32).reshape(2, 3)
    assert x.view(-1, 2).shape == x.view((3, 2)).shape == (3, 2)
    assert x.unsqueeze(0).shape == (1, 2, 3)
    assert x.permute(1, 0).shape == x.permute((1, 0)).shape == (3, 2)
    assert x.clamp(1, 4).tolist() == [[1, 1, 2], [3, 4, 4]]
    assert x.clamp(min=4).tolist() == [[4, 4, 4], [4, 4, 5]]
    assert x.contiguous().tolist() == x.clone().tolist() == x.tolist()
    assert x.mul(2).sub(1).div(2).tolist() == (x - 0.5).tolist()
    assert x.eq(x).all()
    assert x.ge(3).tolist() == (x >= 3).tolist()
    assert x.neg().amax() == 0
    assert [part.shape for part in x.unbind()] == [(3,), (3,)]


def test_shapes_by_pytorchs_names() -> None:
    x = lento.ones((2, 3, 4))
    assert (x.numel(), x.dim(), x.size()) == (24, 3, (2, 3, 4))
    assert (x.size(0), x.size(-1)) == (2, 4)
    batch, time, channels = x.size()
    assert (batch, time, channels) == (2, 3, 4)
    with pytest.raises(IndexError, match=r"size\(\): axis 3 is out of range for 3 axes, at .*test_familiar_names.py:"):
        x.size(3)
    assert lento.ones((2, 3)).t().shape == (3, 2)
    assert lento.ones(3).t().shape == (3,)
    with pytest.raises(lento.ShapeError, match=r"t\(\): a tensor of shape \(2, 3, 4\) has more than two axes; use"):
        x.t()


def test_size_is_a_number_like_any_other() -> None:
    x = lento.ones((2, 3))
    assert isinstance(x.size, int)
    assert (x.size, x.size + 1, repr(x.size), f"{x.size:03d}", hash(x.size)) == (6, 7, "6", "006", hash(6))
    assert type(x.size + 1) is type(pickle.loads(pickle.dumps(x.size))) is int
    assert (x.sum() / x.size).item() == 1
    assert lento.zeros(x.size).shape == lento.arange(x.size).shape == np.zeros(x.size).shape == (6,)
    assert list(range(x.size))[x.size - 1] == 5


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("float", lento.float32),
        ("double", lento.float64),
        ("half", lento.float16),
        ("bfloat16", lento.bfloat16),
        ("int", lento.int32),
        ("long", lento.int64),
        ("bool", lento.bool),
    ],
)
def test_dtypes_by_pytorchs_names(name: str, dtype: lento.DType) -> None:
    assert getattr(lento.asarray([1, 0]), name)().dtype == dtype


def test_to_takes_dtypes_devices_and_tensors() -> None:
    x = lento.asarray([1, 2])
    assert x.cpu().tolist() == x.to("cpu").tolist() == x.to(x.device).tolist() == [1, 2]
    assert x.to(lento.float16).dtype == x.to("float16").dtype == x.to(dtype=lento.float16).dtype == lento.float16
    assert x.to(lento.ones(1)).dtype == x.to("cpu", lento.float32, non_blocking=True).dtype == lento.float32
    with pytest.raises(lento.DeviceError, match="cuda"):
        x.to("cuda")
    with pytest.raises(TypeError, match=r"to\(\) got an unexpected keyword argument 'dtpe', at "):
        x.to(dtpe=1)


def test_derivatives_pass_through_familiar_methods() -> None:
    gradient = lento.grad(lambda x: (x.view(3, 2).permute(1, 0).clamp(0, 2).float().t() ** 2).sum())(X)
    assert gradient.tolist() == (2 * X).tolist()


# --- functions of two operands ---


def test_an_attribute_that_no_function_has_is_said_by_the_public_name() -> None:
    with pytest.raises(AttributeError, match=r"^lento.subtract has no attribute 'nothing'$") as caught:
        _ = lento.subtract.nothing  # type: ignore[attr-defined]
    assert caught.value.name == "nothing" and caught.value.obj is lento.subtract
    assert not hasattr(lento.add, "_nothing")


# --- where things say they are from ---


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
