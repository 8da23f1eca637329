"""Attributes of other libraries' tensors, modules, optimizers and generators work, or say what to write."""

from __future__ import annotations

import pickle
import re
from typing import Any

import lento
import numpy as np
import pytest
from hints import MODEL, OPTIMIZER, RNG, X, check_hint, resolve
from lento._attribute_hints import _DEVICE, _DTYPE, _GENERATOR, _IN_PLACE, _MODULE, _OPTIMIZER, _TENSOR, Hint

DIR = dir(X)

# --- what there is a hint for ---


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
    with pytest.raises(IndexError, match=r"size\(\): axis 3 is out of range for 3 axes, at .*test_.*attributes.py:"):
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
