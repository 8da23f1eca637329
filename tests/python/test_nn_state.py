"""What lento.nn's modules hold: buffers of all kinds under transforms, states, dtypes, modules that point back."""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import Any

import lento
import numpy as np
import pytest
from arrays import array
from engine import Counts
from lento import nn


class Counting(nn.Module):
    """With buffers that are not marked as such: they are no floating tensors."""

    def __init__(self) -> None:
        self.norm = nn.BatchNorm(3)
        self.calls = lento.zeros((), dtype=lento.int64)
        self.seen = lento.zeros(3, dtype=lento.bool)
        self.history = [lento.zeros((), dtype=lento.int32)]

    def forward(self, x: lento.Tensor) -> lento.Tensor:
        self.calls = self.calls + 1
        self.seen = self.seen | (x > 0).any(axis=0)
        self.history[0] += 2
        return (self.norm(x) ** 2).sum()


# --- buffers ---


def transforms() -> list[Any]:
    one = lento.asarray(1.0)
    return [
        lambda m, x: m(x),
        lambda m, x: lento.grad(lambda m: m(x))(m),
        lambda m, x: lento.vjp(lambda m: m(x), m)[1](one),
        lambda m, x: lento.jvp(lambda x: m(x), (x,), (x,)),
        lambda m, x: lento.grad(lambda x: lento.grad(lambda m: m(x))(m).norm.bias.sum())(x),
        lambda m, x: lento.grad(lambda m: lento.checkpoint(m)(x))(m),
        lambda m, x: lento.grad(lambda p: lento.checkpoint(lambda p: p["m"](x))(p))({"m": m}),
    ]


@pytest.mark.parametrize("run", transforms())
def test_buffers_that_are_no_floating_tensors_reach_the_module(run: Any) -> None:
    model, x = Counting(), lento.asarray(array(5, 3))
    for _ in range(2):
        run(model, x)
    assert int(model.calls) == 2
    assert int(model.norm.num_batches_tracked) == 2
    assert model.seen.tolist() == [True] * 3
    assert int(model.history[0]) == 4


def test_an_assigned_buffer_is_not_written_over_outside_of_transforms() -> None:
    table = lento.arange(3)
    model = Counting()
    model.calls = table
    model.calls = table * 2
    assert table.tolist() == [0, 1, 2]


@pytest.mark.parametrize("under_grad", [False, True])
def test_batch_norm_averages_over_all_batches_without_a_momentum(under_grad: bool) -> None:
    norm = nn.BatchNorm(3, momentum=None)
    batches = [array(8, 3, seed=i) * (i + 1) + i for i in range(5)]
    for x in batches:
        if under_grad:
            lento.grad(lambda norm, x: norm(x).sum())(norm, lento.asarray(x))
        else:
            norm(lento.asarray(x))
    np.testing.assert_allclose(norm.running_mean.numpy(), np.mean([x.mean(0) for x in batches], 0), rtol=1e-5)
    np.testing.assert_allclose(norm.running_var.numpy(), np.mean([x.var(0, ddof=1) for x in batches], 0), rtol=1e-5)


def test_batch_norm_without_a_momentum_is_one_plan() -> None:
    norm, x = nn.BatchNorm(3, momentum=None), lento.asarray(array(8, 3))
    for _ in range(4):
        norm(x)
        lento.step(wait=True)
    counts = Counts()
    for _ in range(3):
        norm(x)
        lento.step(wait=True)
    assert (counts["plan.miss"], counts["sync.implicit"]) == (0, 0)


@pytest.mark.peers
def test_batch_norm_without_a_momentum_agrees_with_torch() -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = nn.BatchNorm2d(3, momentum=None), torch.nn.BatchNorm2d(3, momentum=None)
    for i in range(4):
        x = array(4, 3, 5, 5, seed=i) + i
        np.testing.assert_allclose(
            ours(lento.asarray(x)).numpy(), theirs(torch.tensor(x)).detach().numpy(), rtol=1e-4, atol=1e-5
        )
    for name, buffer in theirs.named_buffers():
        np.testing.assert_allclose(ours.buffers()[name].numpy(), buffer.numpy(), rtol=1e-5, atol=1e-6)


# --- states ---


def test_an_error_names_all_that_does_not_fit_and_nothing_is_changed() -> None:
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm(2), nn.Linear(2, 1))
    before = {name: tensor.tobytes() for name, tensor in net.state_dict().items()}
    state: dict[str, Any] = net.state_dict()
    state["0.weight"] = lento.ones((2, 3))  # fits, and comes first
    del state["0.bias"]
    state["1.weight"] = lento.ones(3)
    state["1.running_mean"] = lento.ones(2, dtype=lento.complex64)
    state["2.weight"] = object()
    state["gain"] = 1
    with pytest.raises(lento.errors.ValueError) as raised:
        net.load_state_dict(state)
    message = str(raised.value)
    assert message.startswith(
        "Sequential.load_state_dict(): missing: 0.bias; not known here: gain; "
        "1.weight has shape (2,), but the given value (3,); "
        "1.running_mean is float32, but the given value complex64; 2.weight cannot be taken: "
    )
    assert {name: tensor.tobytes() for name, tensor in net.state_dict().items()} == before
    with pytest.raises(lento.errors.ValueError, match=r"1\.weight has shape"):
        net.load_state_dict(state, strict=False)
    assert {name: tensor.tobytes() for name, tensor in net.state_dict().items()} == before


def test_a_state_is_a_dict() -> None:
    with pytest.raises(TypeError, match=r"Linear.load_state_dict\(\): a state is a dict of tensors by name, not list"):
        nn.Linear(1, 1).load_state_dict([])  # type: ignore[arg-type]


# --- modules that point back ---


class Child(nn.Module):
    def __init__(self, parent: nn.Module) -> None:
        self.parent = parent
        self.layer = nn.Linear(2, 2)

    def forward(self, x: lento.Tensor) -> Any:
        return self.layer(x) * self.parent.scale


class Parent(nn.Module):
    def __init__(self) -> None:
        self.scale = lento.full((), 3.0)
        self.children = [Child(self)]

    def forward(self, x: lento.Tensor) -> Any:
        return self.children[0](x)


def test_a_module_that_points_to_its_parent() -> None:
    net = Parent()
    assert list(net.parameters()) == ["scale", "children.0.layer.weight", "children.0.layer.bias"]
    assert list(net.state_dict()) == list(net.parameters())
    assert len(list(net.modules())) == 3
    assert repr(net) == "Parent(\n  (children.0): Child(\n    (parent): Parent(...)\n    (layer): Linear(2, 2)\n  )\n)"
    assert not net.eval().children[0].training
    x = lento.ones((1, 2))

    def loss(net: Parent) -> Any:
        assert net.children[0].parent is net
        return net(x).sum()

    gradient = lento.grad(loss)(net)
    assert gradient.children[0].parent is gradient
    np.testing.assert_array_equal(gradient.children[0].layer.bias.numpy(), [3, 3])
    net.load_state_dict(net.state_dict())
    assert net.to(lento.float64).children[0].parent is net


def test_a_list_that_contains_itself_is_an_error_or_no_matter() -> None:
    net = nn.Linear(2, 2)
    loop: list[Any] = [lento.ones(2)]
    loop.append(loop)
    net.loop = loop  # type: ignore[attr-defined]
    assert list(net.parameters()) == ["weight", "bias", "loop.0"]
    assert len(list(net.modules())) == 1
    with pytest.raises(ValueError, match="a module has a list that contains itself"):
        lento.grad(lambda net: net.weight.sum())(net)


def test_modules_and_tensors_in_dataclasses_count() -> None:
    @dataclasses.dataclass
    class Parts:
        layer: nn.Module
        scale: Any
        count: int = 2

    net = nn.Module()
    net.parts = Parts(nn.Linear(2, 2, bias=False), lento.ones(2))  # type: ignore[attr-defined]
    assert list(net.parameters()) == ["parts.layer.weight", "parts.scale"]
    gradient = lento.grad(lambda net: (net.parts.layer(net.parts.scale) * net.parts.count).sum())(net)
    assert isinstance(gradient.parts, Parts)
    assert gradient.parts.layer.weight.tolist() == [[2, 2], [2, 2]]


# --- dtypes ---

LAYERS = [
    "Linear(4, 4, dtype=dtype)", "Conv1d(4, 4, 1, dtype=dtype)", "Conv2d(4, 4, 1, dtype=dtype)",
    "Embedding(4, 4, 1, dtype=dtype)", "LayerNorm(4, dtype=dtype)", "RMSNorm(4, dtype=dtype)",
    "BatchNorm(4, dtype=dtype)", "GroupNorm(2, 4, dtype=dtype)", "MultiHeadAttention(4, 2, dtype=dtype)",
    "TransformerEncoderLayer(4, 2, 8, 0.0, dtype=dtype)", "GRU(4, 4, bidirectional=True, dtype=dtype)",
    "LSTM(4, 4, 2, dtype=dtype)",
]  # fmt: skip
SHAPES = {"Conv1d": (2, 4, 4), "Conv2d": (2, 4, 4, 4), "Embedding": (2,)}


@pytest.mark.parametrize("text", LAYERS, ids=lambda text: text.split("(")[0])
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_layers_of_another_dtype(text: str, dtype: str) -> None:
    layer = eval(text, {**vars(nn), "dtype": dtype})
    assert {str(p.dtype) for p in layer.parameters().values()} == {dtype}
    kind = text.split("(")[0]
    shape = SHAPES.get(kind, (2, 4) if kind.endswith("Norm") else (2, 3, 4))
    x = lento.ones(shape, dtype=lento.int64 if kind == "Embedding" else dtype)
    y = layer(x)
    assert str((y[0] if isinstance(y, tuple) else y).dtype) == dtype

    lento.random.seed(1)
    again = eval(text, {**vars(nn), "dtype": None}).to(dtype)
    assert {name: (t.shape, t.dtype) for name, t in again.state_dict().items()} == {
        name: (t.shape, t.dtype) for name, t in layer.state_dict().items()
    }


def test_to_keeps_what_is_shared_and_what_is_not_floating() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.BatchNorm(2))
    net[1].weight = net[0].weight
    net.table = [lento.arange(3), lento.ones(2), lento.ones(1, dtype=lento.complex64)]  # type: ignore[attr-defined]
    values = net[0].weight.numpy()
    assert net.to("float64") is net
    assert net[1].weight is net[0].weight
    np.testing.assert_array_equal(net[0].weight.numpy(), values)
    assert [str(t.dtype) for t in net.table] == ["int64", "float64", "complex64"]  # type: ignore[attr-defined]
    assert str(net[2].num_batches_tracked.dtype) == "int64"
    x = lento.asarray(array(4, 2)).astype("float64")
    lento.grad(lambda net: net(x).sum())(net)
    assert str(net[2].running_mean.dtype) == "float64"
    assert net[2].running_mean.numpy().any()  # still a buffer
    with pytest.raises(lento.DTypeError, match=r"Sequential.to\(\): weights need a floating dtype, not int32"):
        net.to(lento.int32)


# --- settings ---


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Conv2d(4, 4, 3, groups=0),
        lambda: nn.Conv1d(4, 4, 3, groups=-2),
        lambda: nn.GroupNorm(0, 4),
        lambda: nn.MultiHeadAttention(4, 0),
    ],
)
def test_no_parts_at_all_are_refused(make: Any) -> None:
    with pytest.raises(ValueError, match=r"(Conv.d|GroupNorm|MultiHeadAttention)\(\): 4 .* do not come out even"):
        make()


@pytest.mark.parametrize(
    "held",
    [
        lambda: {1: lento.ones(2), "1": lento.zeros(2)},
        lambda: {1: nn.Linear(2, 2), "1": nn.Linear(2, 2)},
        lambda: {1: lento.arange(2), "1": lento.arange(2)},
    ],
)
def test_two_tensors_of_one_name_are_refused(held: Any) -> None:
    module = nn.Module()
    module.layers = held()  # type: ignore[attr-defined]
    for read in (
        lambda: (module.parameters(), module.buffers()),
        module.state_dict,
        lambda: module.load_state_dict({}),
    ):
        with pytest.raises(ValueError, match=r"Module: two tensors would be named 'layers\.1"):
            read()


# --- what is no tensor yet ---


@pytest.mark.parametrize("value", [np.ones(3, np.float32), [1.0, 2.0], (1, 2), 3.0, np.float64(2), np.arange(4), True])
@pytest.mark.parametrize("registered", [False, True])
def test_what_is_made_a_buffer_becomes_a_tensor(value: Any, registered: bool) -> None:
    model = nn.Module()
    if registered:
        model.register_buffer("b", value)
    else:
        model.b = nn.Buffer(value)
    assert isinstance(model.b, lento.Tensor)
    assert list(model.buffers()) == list(model.state_dict()) == ["b"]
    np.testing.assert_array_equal(model.b.numpy(), lento.asarray(value).numpy())


@pytest.mark.parametrize("value", [np.ones(2), [1.0, 2.0], 1.5])
def test_what_is_registered_as_a_parameter_becomes_a_tensor(value: Any) -> None:
    model = nn.Module()
    model.register_parameter("w", value)
    assert isinstance(model.w, lento.Tensor)
    assert list(model.parameters()) == list(model.state_dict()) == ["w"]
    assert model.w.tolist() == lento.asarray(value).tolist()


def test_none_stays_none() -> None:
    model = nn.Module()
    model.a = nn.Buffer(None)
    model.register_buffer("b", None)
    model.register_parameter("w", None)
    assert model.a is model.b is model.w is None
    assert model.state_dict() == {}


@pytest.mark.parametrize("value", ["text", {"a": 1}, object(), nn.Linear(1, 1), [[1], [1, 2]]])
def test_what_cannot_become_a_tensor_is_no_buffer_and_no_parameter(value: Any) -> None:
    model = nn.Module()
    for name, make in {
        "Buffer()": nn.Buffer,
        "Parameter()": nn.Parameter,
        "register_buffer()": functools.partial(model.register_buffer, "b"),
        "register_parameter()": functools.partial(model.register_parameter, "w"),
    }.items():
        with pytest.raises(TypeError, match=rf"^{re.escape(name)}: .*, at test_nn_state.py:\d+$"):
            make(value)
    assert vars(model) == {}
    with pytest.raises(lento.DTypeError, match=r"register_parameter\(\): w is int64, and not floating"):
        model.register_parameter("w", [1, 2])
