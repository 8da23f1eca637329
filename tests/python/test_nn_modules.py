"""lento.nn's modules: names, state, what a transform sees; every layer beside NumPy and, in the peers' run, torch."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest
from arrays import array
from engine import check_program
from lento import nn


class Net(nn.Module):
    def __init__(self) -> None:
        self.first = nn.Linear(3, 4)
        self.blocks = [nn.LayerNorm(4), nn.Linear(4, 4, bias=False)]
        self.heads = {"a": nn.Linear(4, 2)}
        self.scale = lento.ones(4)
        self.seen = nn.Buffer(lento.zeros(()))
        self.table = lento.arange(3)
        self.name = "net"

    def forward(self, x: lento.Tensor) -> Any:
        y = self.first(x) * self.scale
        self.seen = self.seen + y.sum() * 0 + 1
        for block in self.blocks:
            y = block(y)
        return self.heads["a"](y)


# --- names and state ---


def test_parameters_have_dotted_names() -> None:
    net = Net()
    assert list(net.parameters()) == [
        "scale",
        "first.weight",
        "first.bias",
        "blocks.0.weight",
        "blocks.0.bias",
        "blocks.1.weight",
        "heads.a.weight",
        "heads.a.bias",
    ]
    assert list(net.buffers()) == ["seen", "table"]
    assert set(net.state_dict()) == set(net.parameters()) | set(net.buffers())
    assert net.parameters()["scale"] is net.scale


def test_a_shared_parameter_is_one_parameter_with_two_names_in_the_state() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    assert list(net.parameters()) == ["0.weight", "0.bias", "1.bias"]
    assert "1.weight" in net.state_dict()
    w, x = array(2, 2), array(3, 2)
    net[0].weight[...] = w

    def loss(net: Any, x: lento.Tensor) -> lento.Tensor:
        assert net[1].weight is net[0].weight
        return (net[0].weight @ net[1].weight).sum()

    gradient = lento.grad(loss)(net, lento.asarray(x))
    ones = np.ones((2, 2), np.float32)
    np.testing.assert_allclose(gradient[1].weight.numpy(), ones @ w.T + w.T @ ones, rtol=1e-5)
    assert gradient[1].weight is gradient[0].weight


def test_a_state_dict_is_a_snapshot() -> None:
    layer = nn.Linear(2, 2)
    state = layer.state_dict()
    before = state["weight"].numpy()
    layer.weight += 1
    np.testing.assert_array_equal(state["weight"].numpy(), before)
    layer.load_state_dict(state)
    np.testing.assert_array_equal(layer.weight.numpy(), before)


def test_loading_keeps_the_handles() -> None:
    layer = nn.Linear(2, 2)
    weight = layer.weight
    layer.load_state_dict({"weight": np.eye(2), "bias": [1.0, 2.0]})
    assert layer.weight is weight
    assert weight.dtype == lento.float32
    np.testing.assert_array_equal(weight.numpy(), np.eye(2))


@pytest.mark.parametrize(
    "state, message",
    [
        ({"weight": np.ones((2, 3))}, "Linear.load_state_dict(): missing: bias"),
        ({"weight": np.ones((2, 3)), "bias": [1, 2], "gain": 1}, "Linear.load_state_dict(): not known here: gain"),
        (
            {"weight": np.ones((3, 2)), "bias": [1, 2]},
            "Linear.load_state_dict(): weight has shape (2, 3), but the given value (3, 2)",
        ),
    ],
)
def test_a_state_that_does_not_fit_changes_nothing(state: dict[str, Any], message: str) -> None:
    layer = nn.Linear(3, 2)
    before = layer.weight.numpy()
    with pytest.raises(lento.errors.ValueError) as raised:
        layer.load_state_dict(state)
    assert re.fullmatch(re.escape(message) + r", at test_nn_modules\.py:\d+", str(raised.value)), raised.value
    np.testing.assert_array_equal(layer.weight.numpy(), before)


def test_loading_a_part() -> None:
    layer = nn.Linear(3, 2)
    assert layer.load_state_dict({"bias": [5, 6], "gain": 1}, strict=False) == (["weight"], ["gain"])
    assert layer.bias is not None
    assert layer.bias.tolist() == [5, 6]


def test_train_and_eval_reach_every_module() -> None:
    net = Net()
    assert net.eval() is net
    assert not any(module.training for module in net.modules())
    assert len(list(net.modules())) == 5
    assert all(module.training for module in net.train().modules())


def test_repr_is_a_tree() -> None:
    assert repr(Net()) == (
        "Net(\n  (first): Linear(3, 4)\n  (blocks.0): LayerNorm((4,), eps=1e-05)\n"
        "  (blocks.1): Linear(4, 4, bias=False)\n  (heads.a): Linear(4, 2)\n)"
    )


def test_functions_are_not_hidden_by_modules() -> None:
    from lento import _composed_layers, _layers, _module, _nn, _norm_layers, _sequence_layers

    files = (_composed_layers, _layers, _module, _norm_layers, _sequence_layers)
    classes = {name for file in files for name in file.__all__}
    assert not classes & set(_nn.__all__)
    assert all(getattr(nn, name) is getattr(_nn, name) for name in _nn.__all__)


def test_the_import_stays_light() -> None:
    check_program(
        "import sys, lento\nprint([m for m in ('json', 'numpy', 'zipfile', 'inspect') if m in sys.modules])", "[]\n"
    )


# --- what a transform sees ---


def test_the_gradient_has_the_form_of_the_module() -> None:
    net = Net()
    gradient = lento.grad(lambda net, x: net(x).sum())(net, lento.asarray(array(5, 3)))
    assert isinstance(gradient, Net)
    assert {name: g.shape for name, g in gradient.parameters().items()} == {
        name: p.shape for name, p in net.parameters().items()
    }
    np.testing.assert_allclose(gradient.heads["a"].bias.numpy(), [5, 5])
    assert gradient.name == "net"


def test_buffers_changed_inside_a_transform_are_not_lost() -> None:
    net = Net()
    x = lento.asarray(array(5, 3))
    for _ in range(3):
        lento.grad(lambda net, x: net(x).sum())(net, x)
    assert float(net.seen) == 3


def test_parameters_changed_inside_a_transform_are_the_copys_own() -> None:
    layer = nn.Linear(2, 1)
    before = layer.weight.numpy()

    def f(layer: nn.Linear) -> lento.Tensor:
        layer.weight *= 2
        return layer.weight.sum()

    np.testing.assert_array_equal(lento.grad(f)(layer).weight.numpy(), [[2, 2]])
    np.testing.assert_array_equal(layer.weight.numpy(), before)


def test_gradients_of_a_module_inside_a_tree() -> None:
    layer = nn.Linear(2, 2)
    gradient = lento.grad(lambda p: p["layer"](p["x"]).sum())({"layer": layer, "x": lento.ones((1, 2)), "n": 3})
    np.testing.assert_array_equal(gradient["layer"].bias.numpy(), [1, 1])
    np.testing.assert_allclose(gradient["x"].numpy(), layer.weight.numpy().sum(0)[None], rtol=1e-6)
    assert gradient["n"] is None


def test_batch_norm_keeps_statistics_in_training_only() -> None:
    norm = nn.BatchNorm(3, momentum=0.5)
    x = array(8, 3) * 2 + 1
    y, _ = lento.value_and_grad(lambda norm, x: (norm(x) ** 2).mean())(norm, lento.asarray(x))
    assert abs(float(y) - 1) < 1e-4
    np.testing.assert_allclose(norm.running_mean.numpy(), 0.5 * x.mean(0), rtol=1e-5)
    np.testing.assert_allclose(norm.running_var.numpy(), 0.5 + 0.5 * x.var(0, ddof=1), rtol=1e-5)
    assert int(norm.num_batches_tracked) == 1
    norm.eval()
    expected = (x - norm.running_mean.numpy()) / np.sqrt(norm.running_var.numpy() + 1e-5)
    np.testing.assert_allclose(norm(lento.asarray(x)).numpy(), expected, rtol=1e-4, atol=1e-5)
    assert int(norm.num_batches_tracked) == 1


def test_a_checkpointed_module_has_the_same_gradients_buffers_and_random_numbers() -> None:
    x = lento.asarray(array(8, 3))

    def results(wrap: Callable[[Any], Any]) -> list[bytes]:
        lento.random.seed(4)
        block = nn.Sequential(nn.Linear(3, 16), nn.BatchNorm(16), nn.Dropout(0.5), nn.Linear(16, 2))

        def loss(block: Any, x: lento.Tensor) -> lento.Tensor:
            return (wrap(block)(x) ** 2).sum() + lento.random.uniform(())

        value, gradient = lento.value_and_grad(loss)(block, x)
        found = [value, *gradient.parameters().values(), *block.buffers().values(), lento.random.uniform((2,))]
        return [tensor.tobytes() for tensor in found]

    assert results(lento.checkpoint) == results(lambda block: block)


def test_a_checkpointed_module_stands_in_the_place_of_the_module() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            self.norm, self.dropout, self.scale = nn.BatchNorm(3), nn.Dropout(0.5), lento.ones(3)

        def forward(self, x: lento.Tensor, *, factor: float = 1.0) -> Any:
            return self.dropout(self.norm(x)) * self.scale * factor

    def built(wrap: Callable[[Any], Any]) -> nn.Sequential:
        lento.random.seed(1)
        return nn.Sequential(wrap(nn.Linear(3, 3)), wrap(Scaled()), nn.Linear(3, 2))

    plain, model = built(lambda module: module), built(lento.checkpoint)
    assert list(model.parameters()) == list(plain.parameters())
    assert list(model.state_dict()) == list(plain.state_dict())
    x = lento.asarray(array(8, 3))
    for each in (plain, model):
        lento.random.seed(2)
        optimizer = lento.optim.Adam(each, lr=0.1)
        for _ in range(3):
            optimizer.step(lento.grad(lambda m: (m(x) ** 2).sum())(each))
    for name, tensor in plain.state_dict().items():
        assert model.state_dict()[name].tobytes() == tensor.tobytes(), name
    assert not any(module.training for module in model.eval().modules())
    assert (model(x) == plain.eval()(x)).all()
    assert (model[1](x, factor=2.0) == plain[1](x, factor=2.0)).all()
    assert built(lento.checkpoint).load_state_dict(plain.state_dict()) == ([], [])
    assert model.to("float64").parameters()["1.scale"].dtype == lento.float64


def test_a_method_may_be_checkpointed() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            self.weight = lento.asarray([2.0])

        @lento.checkpoint
        def forward(self, x: lento.Tensor) -> Any:
            return lento.sin(x * self.weight).sum()

    x = lento.asarray([0.5])
    assert float(lento.grad(lambda m: m(x))(Twice()).weight) == pytest.approx(0.5 * math.cos(1.0))


def test_dropout_draws_anew_and_stops_in_eval() -> None:
    dropout = nn.Dropout(0.5)
    x = lento.ones(1000)
    first, second = dropout(x).numpy(), dropout(x).numpy()
    assert set(first) == {0, 2}
    assert (first != second).any()
    np.testing.assert_array_equal(dropout.eval()(x).numpy(), np.ones(1000))


# --- initial values ---


@pytest.mark.parametrize(
    "make, bounds",
    [
        (lambda: nn.Linear(64, 50), {"weight": 1 / 8, "bias": 1 / 8}),
        (lambda: nn.Conv2d(8, 32, 3, groups=2), {"weight": 1 / 6, "bias": 1 / 6}),
        (lambda: nn.Conv1d(4, 32, 4), {"weight": 1 / 4, "bias": 1 / 4}),
        (lambda: nn.GRU(5, 16), dict.fromkeys(["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"], 1 / 4)),
        (lambda: nn.MultiHeadAttention(24, 2), {"in_proj_weight": math.sqrt(6 / 96), "in_proj_bias": 0}),
    ],
)
def test_initial_values_fill_their_bounds(make: Callable[[], nn.Module], bounds: dict[str, float]) -> None:
    lento.random.seed(3)
    parameters = make().parameters()
    for name, bound in bounds.items():
        largest = np.abs(parameters[name].numpy()).max()
        assert 0.8 * bound <= largest <= bound, name


def test_initial_values_follow_the_seed() -> None:
    made = []
    for _ in range(2):
        lento.random.seed(11)
        made.append(nn.Linear(3, 3).weight.numpy())
    np.testing.assert_array_equal(*made)
    assert (nn.Linear(3, 3).weight.numpy() != made[0]).any()


def test_padding_row_of_an_embedding() -> None:
    layer = nn.Embedding(5, 3, padding_idx=2)
    assert not layer.weight.numpy()[2].any()
    gradient = lento.grad(lambda e, i: e(i).sum())(layer, lento.asarray([1, 2, 2]))
    np.testing.assert_array_equal(gradient.weight.numpy()[:3], [[0] * 3, [1] * 3, [0] * 3])


# --- layers by formula ---


def test_linear_is_its_formula() -> None:
    layer, x = nn.Linear(3, 2), array(5, 3)
    assert layer.bias is not None
    np.testing.assert_allclose(
        layer(lento.asarray(x)).numpy(), x @ layer.weight.numpy().T + layer.bias.numpy(), rtol=1e-5, atol=1e-6
    )


def test_attention_is_its_formula() -> None:
    layer, x = nn.MultiHeadAttention(6, 2), array(1, 4, 6)
    q, k, v = np.split(x[0] @ layer.in_proj_weight.numpy().T, 3, axis=1)
    heads = []
    for part in (slice(0, 3), slice(3, 6)):
        scores = np.where(np.tri(4, dtype=bool), q[:, part] @ k[:, part].T / math.sqrt(3), -np.inf)
        weights = np.exp(scores - scores.max(1, keepdims=True))
        heads.append(weights / weights.sum(1, keepdims=True) @ v[:, part])
    expected = np.concatenate(heads, axis=1) @ layer.out_proj.weight.numpy().T
    y = lento.asarray(x)
    np.testing.assert_allclose(layer(y, is_causal=True).numpy()[0], expected, rtol=1e-4, atol=1e-5)
    mask = lento.asarray(np.tri(4, dtype=bool))
    np.testing.assert_allclose(layer(y, y, y, attn_mask=mask).numpy()[0], expected, rtol=1e-4, atol=1e-5)


def test_wrong_settings_are_refused() -> None:
    for make in (
        lambda: nn.Conv2d(3, 4, 3, groups=2),
        lambda: nn.GroupNorm(2, 3),
        lambda: nn.MultiHeadAttention(5, 2),
        lambda: nn.Dropout(1.5),
    ):
        with pytest.raises(ValueError, match=r"come out even|probability"):
            make()


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: nn.Linear(-1, 2), "Linear(): in_features is -1, which is less than 0"),
        (lambda: nn.Conv2d(0, 2, 3), "Conv2d(): in_channels is 0, which is less than 1"),
        (lambda: nn.Conv2d(2, 2, (3, 0)), "Conv2d(): kernel_size is 0"),
        (lambda: nn.Conv2d(2, 2, (3,)), "Conv2d(): kernel_size (3,) has 1 numbers, not 2"),
        (lambda: nn.Conv1d(2, 2, (3, 3)), "Conv1d(): kernel_size (3, 3) has 2 numbers, not 1"),
        (lambda: nn.GRU(3, 0), "GRU(): hidden_size is 0"),
        (lambda: nn.LSTM(3, 4, 0), "LSTM(): num_layers is 0"),
        (lambda: nn.MultiHeadAttention(-4, 2), "MultiHeadAttention(): embed_dim is -4"),
        (
            lambda: nn.TransformerEncoderLayer(4, 2, activation="tahn"),  # type: ignore[arg-type]
            "TransformerEncoderLayer(): activation is one of 'relu', 'gelu', 'silu', not 'tahn'",
        ),
        (lambda: nn.GELU("tahn"), "GELU(): approximate is one of 'none', 'tanh', not 'tahn'"),  # type: ignore[arg-type]
        (lambda: nn.GRU(3, 4)(lento.ones((5, 3))), "GRU(): an input has shape (length, batch, 3), not (5, 3)"),
        (
            lambda: nn.LSTM(3, 4, batch_first=True)(lento.ones((5, 2, 4))),
            "LSTM(): an input has shape (batch, length, 3), not (5, 2, 4)",
        ),
        (lambda: nn.GRU(3, 4)(lento.ones((0, 2, 3))), "GRU(): the input has length 0"),
        (
            lambda: nn.GRU(3, 4, 2)(lento.ones((5, 2, 3)), lento.ones((2, 4))),
            "GRU(): a state has shape (2, 2, 4), not (2, 4)",
        ),
        (
            lambda: nn.MultiHeadAttention(4, 2)(lento.ones((3, 4))),
            "MultiHeadAttention(): an input has shape (batch, length, 4), not (3, 4)",
        ),
    ],
)
def test_wrong_sizes_and_inputs_are_named(run: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        run()


def test_a_list_of_steps_and_a_state_that_is_no_pair_are_refused() -> None:
    with pytest.raises(TypeError, match=r"Sequential\(\): step 0 is a list, .*Sequential\(\*steps\)"):
        nn.Sequential([nn.ReLU()])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"LSTM\(\): the state is a pair of tensors"):
        nn.LSTM(3, 4)(lento.ones((5, 2, 3)), lento.ones((1, 2, 4)))


def test_arguments_whose_place_is_another_in_torch_are_given_by_name() -> None:
    x = lento.ones((1, 5, 4))
    for run in (
        lambda: nn.CrossEntropyLoss(None, None),  # type: ignore[misc]
        lambda: nn.MaxPool2d(2, 2, 0, 1, False),  # type: ignore[misc]
        lambda: nn.TransformerEncoderLayer(4, 2, 8, 0.0, "relu", 1e-5),  # type: ignore[misc, arg-type]
        lambda: nn.MultiHeadAttention(4, 2, 0.0, True, False),  # type: ignore[misc, arg-type]
        lambda: nn.MultiHeadAttention(4, 2)(x, x, x, None),
        lambda: nn.TransformerEncoderLayer(4, 2, 8)(x, None, None),
        lambda: lento.optim.SGD(x, 0.1, 0.9, 0.0, 5e-4, True),  # type: ignore[misc]
    ):
        with pytest.raises(TypeError, match="positional arguments"):
            run()


def test_batch_norm_does_not_count_what_it_refuses() -> None:
    norm = nn.BatchNorm(3)
    with pytest.raises(lento.errors.ShapeError):
        norm(lento.ones((2, 4)))
    assert int(norm.num_batches_tracked) == 0
