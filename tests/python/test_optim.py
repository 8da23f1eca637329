"""lento.optim: what updates compute, that they are one plan, and that training resumes bit for bit."""

from __future__ import annotations

import gc
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts
from lento import nn, optim
from on_device import not_on_another_device

OPTIMIZERS: dict[str, tuple[Callable[[Any], optim.Optimizer], str]] = {
    # name: (here, in torch)
    "sgd": (lambda p: optim.SGD(p, 0.1), "SGD(p, 0.1)"),
    "momentum": (lambda p: optim.SGD(p, 0.05, 0.9, weight_decay=0.01), "SGD(p, 0.05, 0.9, weight_decay=0.01)"),
    "nesterov": (lambda p: optim.SGD(p, 0.05, 0.9, nesterov=True), "SGD(p, 0.05, 0.9, nesterov=True)"),
    "adam": (lambda p: optim.Adam(p, 0.01), "Adam(p, 0.01)"),
    "adam-decay": (lambda p: optim.Adam(p, 0.01, weight_decay=0.1), "Adam(p, 0.01, weight_decay=0.1)"),
    "adamw": (lambda p: optim.AdamW(p, 0.01, (0.8, 0.99)), "AdamW(p, 0.01, (0.8, 0.99))"),
    "rmsprop": (lambda p: optim.RMSprop(p), "RMSprop(p)"),
    "rmsprop-centered": (
        lambda p: optim.RMSprop(p, 0.01, 0.9, 1e-6, 0.1, 0.5, True),
        "RMSprop(p, 0.01, 0.9, 1e-6, 0.1, 0.5, True)",
    ),
    "adagrad": (lambda p: optim.Adagrad(p), "Adagrad(p)"),
    "adagrad-decay": (lambda p: optim.Adagrad(p, 0.1, 0.5, 0.1, 0.2), "Adagrad(p, 0.1, 0.5, 0.1, 0.2)"),
    "adadelta": (lambda p: optim.Adadelta(p, weight_decay=0.1), "Adadelta(p, weight_decay=0.1)"),
    "adamax": (lambda p: optim.Adamax(p, weight_decay=0.1), "Adamax(p, weight_decay=0.1)"),
    "nadam": (lambda p: optim.NAdam(p, weight_decay=0.1), "NAdam(p, weight_decay=0.1)"),
    "nadamw": (
        lambda p: optim.NAdam(p, 0.01, weight_decay=0.1, momentum_decay=0.1, decoupled_weight_decay=True),
        "NAdam(p, 0.01, weight_decay=0.1, momentum_decay=0.1, decoupled_weight_decay=True)",
    ),
    "radam": (lambda p: optim.RAdam(p, weight_decay=0.1), "RAdam(p, weight_decay=0.1)"),
    "radamw": (
        lambda p: optim.RAdam(p, 0.01, (0.8, 0.9), weight_decay=0.1, decoupled_weight_decay=True),
        "RAdam(p, 0.01, (0.8, 0.9), weight_decay=0.1, decoupled_weight_decay=True)",
    ),
    "adafactor": (lambda p: optim.Adafactor(p), "Adafactor(p)"),
    "adafactor-decay": (
        lambda p: optim.Adafactor(p, 0.5, -0.5, (1e-5, 0.1), 2.0, 0.1),
        "Adafactor(p, 0.5, -0.5, (1e-5, 0.1), 2.0, 0.1)",
    ),
}


def mlp() -> nn.Sequential:
    return nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 4))


def loss(model: Any, x: lento.Tensor, y: lento.Tensor) -> lento.Tensor:
    return nn.cross_entropy(model(x), y)


def batch(size: int, seed: int = 0) -> tuple[lento.Tensor, lento.Tensor]:
    random = np.random.default_rng(seed)
    return lento.asarray(random.standard_normal((size, 12)).astype(np.float32)), lento.asarray(
        random.integers(0, 4, size)
    )


def train(model: nn.Module, optimizer: optim.Optimizer, size: int = 32, seed: int = 0) -> lento.Tensor:
    x, y = batch(size, seed)  # named, so that their memory is not donated
    value, gradients = lento.value_and_grad(loss)(model, x, y)
    optimizer.step(gradients)
    del gradients
    lento.step(wait=True)
    result: lento.Tensor = value
    return result


# --- what is computed ---


def test_adam_is_its_formula() -> None:
    p = lento.asarray([1.0, -2.0], dtype=lento.float64)
    optimizer = optim.Adam({"p": p}, lr=0.1)
    w, m, v = np.array([1.0, -2.0]), np.zeros(2), np.zeros(2)
    for t in range(1, 6):
        g = 2 * w
        optimizer.step({"p": 2 * p})
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        w = w - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        np.testing.assert_allclose(p.numpy(), w, rtol=1e-12)


def test_lion_is_its_formula() -> None:
    p = lento.asarray([1.0, -2.0], dtype=lento.float64)
    optimizer = optim.Lion([p], lr=0.1, weight_decay=0.3)
    w, m = np.array([1.0, -2.0]), np.zeros(2)
    for t in range(5):
        g = np.array([1.0, (-1.0) ** t])
        optimizer.step([lento.asarray(g)])
        w = w - 0.1 * (np.sign(0.9 * m + 0.1 * g) + 0.3 * w)
        m = 0.99 * m + 0.01 * g
        np.testing.assert_allclose(p.numpy(), w, rtol=1e-12)


def test_integers_of_a_tree_are_left_alone() -> None:
    tree = {"w": lento.ones(2), "n": lento.arange(3), "text": "x"}
    optimizer = optim.SGD(tree, 1.0)
    optimizer.step(lento.grad(lambda t: (t["w"] * 3).sum())(tree))
    np.testing.assert_array_equal(tree["w"].numpy(), [-2, -2])
    np.testing.assert_array_equal(tree["n"].numpy(), [0, 1, 2])


def test_what_does_not_fit_is_an_error() -> None:
    w = lento.ones(2)
    with pytest.raises(ValueError, match=r"SGD\(\): there is no floating tensor to train"):
        optim.SGD([lento.arange(3)], 0.1)
    with pytest.raises(ValueError, match=r"SGD\(\): a tensor is there twice"):
        optim.SGD([w, w], 0.1)
    with pytest.raises(ValueError, match=r"SGD\(\): nesterov needs a momentum"):
        optim.SGD([w], 0.1, nesterov=True)
    with pytest.raises(ValueError, match=r"SGD.step\(\): what is given as gradients has 2 parts, not 1"):
        optim.SGD([w], 0.1).step([w, w])
    with pytest.raises(ValueError, match=r"SGD.step\(\): 0 has shape \(2,\), but its gradient \(3,\)"):
        optim.SGD([w], 0.1).step([lento.ones(3)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda w: optim.SGD(w, -0.1), "SGD(): lr is -0.1, which is less than 0"),
        (lambda w: optim.Lion(w, math.nan), "Lion(): lr is nan, which is less than 0 or no number"),
        (lambda w: optim.SGD(w, 0.1, momentum=-1.0), "SGD(): momentum is -1.0"),
        (lambda w: optim.AdamW(w, weight_decay=-1.0), "AdamW(): weight_decay is -1.0"),
        (lambda w: optim.Adam(w, eps=-1e-8), "Adam(): eps is -1e-08"),
        (lambda w: optim.Adam(w, betas=(0.9, 1.0)), "Adam(): betas are two numbers from 0 to less than 1"),
        (lambda w: optim.Lion(w, betas=(-0.1, 0.9)), "Lion(): betas are two numbers"),
        (lambda w: optim.RMSprop(w, alpha=1.5), "RMSprop(): alpha is 1.5, which is not from 0 to 1"),
        (lambda w: optim.Adadelta(w, rho=-0.1), "Adadelta(): rho is -0.1, which is not from 0 to 1"),
        (lambda w: optim.Adagrad(w, lr_decay=-1.0), "Adagrad(): lr_decay is -1.0"),
        (lambda w: optim.NAdam(w, momentum_decay=-1.0), "NAdam(): momentum_decay is -1.0"),
        (lambda w: optim.Adafactor(w, beta2_decay=0.8), "Adafactor(): beta2_decay is 0.8, which is more than 0"),
        (lambda w: optim.Adafactor(w, d=0.5), "Adafactor(): d is 0.5, which is less than 1"),
    ],
)
def test_settings_out_of_range_are_refused(make: Callable[[Any], optim.Optimizer], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        make(lento.ones(2))


def test_a_gradient_that_does_not_fit_changes_no_parameter() -> None:
    parameters = {"a": lento.ones(2), "b": lento.ones(2)}
    optimizer = optim.Adam(parameters)
    gradients = {"a": lento.ones(2), "b": lento.ones(2, dtype=lento.complex64)}
    with pytest.raises(lento.errors.DTypeError, match=r"Adam.step\(\): b is float32, but its gradient complex64"):
        optimizer.step(gradients)
    assert optimizer.step_count == 0
    assert [parameters["a"].tolist(), optimizer.state["exp_avg"]["a"].tolist()] == [[1, 1], [0, 0]]


def test_schedules() -> None:
    assert [optim.constant(0.5)(i) for i in (0, 99)] == [0.5, 0.5]
    cosine = optim.cosine(2.0, 4, floor=1.0)
    np.testing.assert_allclose([cosine(i) for i in range(6)], [2, 1.5 + math.sqrt(0.125), 1.5, 1.1464466, 1, 1])
    both = optim.warmup(optim.linear(1.0, 0.0, 4), 2)
    assert [both(i) for i in range(8)] == [0.5, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    assert [optim.steps(8.0, 3, 0.5)(i) for i in (0, 2, 3, 6)] == [8, 8, 4, 2]
    with pytest.raises(ValueError, match=r"steps\(\): every is 0, which is less than 1"):
        optim.steps(1.0, 0)
    for make in (lambda n: optim.linear(1.0, 0.0, n), lambda n: optim.cosine(1.0, n), lambda n: optim.warmup(1.0, n)):
        with pytest.raises(ValueError, match=r"(linear|cosine|warmup)\(\): steps is -1, which is less than 0"):
            make(-1)
    assert [optim.linear(1.0, 0.5, 0)(0), optim.cosine(1.0, 0, 0.25)(0), optim.warmup(2.0, 0)(0)] == [0.5, 0.25, 2.0]


def test_an_optimizer_follows_a_schedule() -> None:
    w = lento.asarray([0.0])
    optimizer = optim.SGD(w, optim.linear(1.0, 0.0, 4))
    values = []
    for _ in range(5):
        optimizer.step(-lento.ones(1))
        values.append(float(w))
    assert values == [1.0, 1.75, 2.25, 2.5, 2.5]


def test_clipping() -> None:
    tree = {"a": lento.asarray([3.0, 0.0]), "b": [lento.asarray([[4.0]])], "n": None}
    clipped, norm = optim.clip_grad_norm(tree, 2.5)
    assert float(norm) == 5
    np.testing.assert_allclose(clipped["a"].numpy(), [1.5, 0], rtol=1e-6)
    np.testing.assert_allclose(clipped["b"][0].numpy(), [[2]], rtol=1e-6)
    same, _ = optim.clip_grad_norm(tree, 100.0)
    np.testing.assert_array_equal(same["a"].numpy(), [3, 0])
    assert optim.clip_grad_value(tree, 3.5)["b"][0].tolist() == [[3.5]]
    layer = nn.Linear(2, 2)
    assert isinstance(optim.clip_grad_norm(layer, 1.0)[0], nn.Linear)
    in_a_list, norm = optim.clip_grad_norm(layer.parameters().values(), 1e-3)
    assert len(in_a_list) == 2 and norm.item() == optim.global_norm(layer).item()
    assert optim.global_norm(iter(in_a_list)).item() == pytest.approx(1e-3, rel=1e-5)
    assert len(optim.clip_grad_value(layer.parameters().values(), 0.1)) == 2  # type: ignore[type-var,arg-type]
    with pytest.raises(ValueError, match=r"^clip_grad_norm\(\): could not convert .*, at test_optim.py:"):
        optim.clip_grad_norm(tree, "a")  # type: ignore[arg-type]


def test_clipping_half_precision_does_not_overflow() -> None:
    for dtype in (lento.float16, lento.bfloat16):
        gradients = [lento.full((4,), 300.0, dtype=dtype), lento.full((2,), 30000.0, dtype=dtype)]
        clipped, norm = optim.clip_grad_norm(gradients, 0.01)
        assert norm.dtype == lento.float32
        expected = math.sqrt(sum(float(g.astype("float64").square().sum()) for g in gradients))
        assert abs(float(norm) / expected - 1) < 1e-6
        for g, c in zip(gradients, clipped, strict=True):
            assert c.dtype == dtype
            exact = g.astype("float64") * (0.01 / expected)
            assert c.tolist() == exact.astype(dtype).tolist()


def test_adam_takes_the_parts_of_complex_numbers_as_two() -> None:
    p = lento.asarray([1 + 2j, -3 + 0.1j], dtype=lento.complex128)
    parts = lento.asarray([[1, 2], [-3, 0.1]], dtype=lento.float64)
    optimizers = [optim.AdamW(x, 0.1, weight_decay=0.1) for x in (p, parts)]
    for i in range(5):
        g = lento.asarray([[1.0 + i, -0.5], [0.0, 3.0 * i]], dtype=lento.float64)
        optimizers[0].step(lento.complex(g[:, 0], g[:, 1]))
        optimizers[1].step(g)
    np.testing.assert_array_equal(p.numpy(), parts.numpy()[:, 0] + 1j * parts.numpy()[:, 1])


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda m: setattr(m[0], "weight", lento.zeros((16, 12))), "0.weight"),
        (lambda m: setattr(m[3], "extra", lento.zeros(2)), "3.extra"),
        (lambda m: setattr(m[3], "bias", None), "3.bias"),
        (lambda m: m.to("float64"), "0.weight, 0.bias, 3.weight"),
    ],
)
def test_a_model_with_other_tensors_needs_a_new_optimizer(change: Callable[[Any], None], name: str) -> None:
    model = mlp()
    optimizer = optim.Adam(model)
    change(model)
    x, y = batch(4)
    gradients = lento.grad(loss)(model, x.astype(model[0].weight.dtype), y)
    before = {key: p.tolist() for key, p in model.parameters().items()}
    with pytest.raises(ValueError, match=rf"Adam.step\(\): {name} is not as it was .* make a new optimizer"):
        optimizer.step(gradients)
    assert {key: p.tolist() for key, p in model.parameters().items()} == before
    assert optimizer.step_count == 0
    optim.Adam(model).step(gradients)


def test_a_dict_with_another_tensor_needs_a_new_optimizer() -> None:
    parameters = {"w": lento.ones(2), "n": 3}
    optimizer = optim.SGD(parameters, 0.1)
    parameters["w"] = parameters["w"] * 2
    with pytest.raises(ValueError, match=r"SGD.step\(\): w is not as it was"):
        optimizer.step({"w": lento.ones(2), "n": None})


def test_changes_in_place_and_loading_keep_the_optimizer() -> None:
    model = mlp()
    optimizer = optim.Adam(model)
    model[0].weight *= 2
    model[0].bias[0] = 1.0
    model.load_state_dict(mlp().state_dict())
    train(model, optimizer)
    assert optimizer.step_count == 1


# --- one plan ---


def test_a_training_step_is_one_plan() -> None:
    model = mlp()
    optimizer = optim.Adam(model, lr=1e-3)
    for i in range(4):
        train(model, optimizer, seed=i)
    counts = Counts()
    for i in range(5):
        optimizer.lr = 1e-3 / (i + 2)
        train(model, optimizer, seed=i)
    assert (counts["plan.miss"], counts["plan.hit"], counts["kernel.compile"], counts["plan.rebind"]) == (0, 5, 0, 0)


@pytest.mark.parametrize("bias", [False, True])
def test_weights_and_moments_are_donated(bias: bool) -> None:
    model = nn.Sequential(nn.Linear(12, 16, bias), nn.ReLU(), nn.Linear(16, 4, bias))
    optimizer = optim.Adam(model)
    for _ in range(4):
        train(model, optimizer)
    counts = Counts()
    for _ in range(5):
        train(model, optimizer)
    # A bias is updated by the kernel that sums its gradient, and a sum is not written over what is read beside it.
    donated = 3 * len(model.parameters()) - (2 if bias else 0)
    assert counts["donation"] >= 5 * donated


def test_the_old_weights_memory_takes_the_new_ones() -> None:
    model = nn.Linear(1024, 512, bias=False)  # 2 MiB, and as much for each moment
    optimizer = optim.Adam(model)
    x, y = lento.asarray(np.ones((4, 1024), np.float32)), lento.asarray([1, 2, 3, 4])

    def run() -> None:
        _, gradients = lento.value_and_grad(loss)(model, x, y)
        optimizer.step(gradients)
        del gradients
        lento.step(wait=True)

    for _ in range(4):
        run()
    held = {"weight": model.weight, **{name: kept["weight"] for name, kept in optimizer.state.items()}}

    def addresses() -> list[int]:
        # In any order: a moment may take the other's memory. The views are gone before the next step, and so keep
        # nothing from being reused.
        exporters: list[Any] = list(held.values())
        return sorted(np.asarray(memoryview(tensor)).ctypes.data for tensor in exporters)

    before = addresses()
    assert addresses() == before
    gc.collect()  # what other tests left behind
    live = lento.memory()["live"]
    for _ in range(3):
        run()
    assert addresses() == before
    assert lento.memory()["live"] == live
    lento.reset_peak_memory()
    run()
    # Beside them there is room for one gradient of that size, and for no second weight.
    assert lento.memory()["peak"] < live + 1.5 * model.weight.nbytes


def test_the_last_smaller_batch_compiles_no_kernel() -> None:
    model = mlp()
    optimizer = optim.AdamW(model, lr=optim.warmup(optim.cosine(1e-3, 50), 4))
    for i in range(4):
        train(model, optimizer, seed=i)
    counts = Counts()
    train(model, optimizer, size=13)
    assert counts["kernel.compile"] == 0


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_learning_rates_of_all_kinds_compile_nothing(name: str) -> None:
    model = nn.Linear(12, 4)
    optimizer = OPTIMIZERS[name][0](model)
    for _ in range(4):
        train(model, optimizer)
    counts = Counts()
    for lr in (0.0, 1.0, 0.5, 3.0, 2.0, 1e-9):
        optimizer.lr = lr
        train(model, optimizer)
    assert (counts["plan.miss"], counts["kernel.compile"]) == (0, 0)


def test_a_training_step_leaves_nothing_behind() -> None:
    model = mlp()
    optimizer = optim.Adam(model)
    train(model, optimizer)
    before = len(lento.live_tensors())
    gc.disable()  # what only the collector frees would be a result of the step
    try:
        train(model, optimizer)
        assert len(lento.live_tensors()) == before
    finally:
        gc.enable()


# --- resuming ---


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_resumes_bit_for_bit_from_one_file(name: str, tmp_path: Path) -> None:
    make, path = OPTIMIZERS[name][0], tmp_path / "checkpoint.safetensors"
    lento.random.seed(5)
    model = mlp()
    optimizer = make(model)
    values = []
    for i in range(10):
        if i == 5:
            states = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            lento.save(path, {**states, "random": lento.random.state_dict()})
        values.append(float(train(model, optimizer, seed=i)))

    lento.random.seed(99)
    resumed = mlp()
    again = make(resumed)
    resumed.load_state_dict(lento.load(path, "model."))
    again.load_state_dict(lento.load(path, "optimizer."))
    lento.random.load_state_dict(lento.load(path, "random."))
    assert again.step_count == 5
    assert [float(train(resumed, again, seed=i)) for i in range(5, 10)] == values[5:]
    for key, tensor in {**model.state_dict(), **optimizer.state_dict()}.items():
        other = {**resumed.state_dict(), **again.state_dict()}[key]
        assert tensor.tobytes() == other.tobytes(), key


def test_moments_are_named_by_the_path_to_their_parameter(tmp_path: Path) -> None:
    # The order of a file is another than that of the dict: names have to bring each moment to its parameter.
    parameters = {"w": lento.zeros(2), "b": lento.zeros(2), "inner": [lento.zeros(1), {"c": lento.zeros(1)}]}
    optimizer = optim.Lion(parameters)
    names = ["w", "b", "inner.0", "inner.1.c"]
    assert list(optimizer.state_dict()) == ["step_count", "lr", *(f"exp_avg.{name}" for name in names)]
    optimizer.step({"w": lento.full(2, 3.0), "b": lento.ones(2), "inner": [lento.zeros(1), {"c": lento.ones(1)}]})
    path = tmp_path / "checkpoint.safetensors"
    lento.save(path, {"parameters": {"w": parameters["w"], "b": parameters["b"]}, "optimizer": optimizer.state_dict()})
    loaded = lento.load(path, "parameters.")
    assert list(loaded) == ["b", "w"]
    again = optim.Lion({**loaded, "inner": [lento.zeros(1), {"c": lento.zeros(1)}]})
    again.load_state_dict(lento.load(path, "optimizer."))
    for name in names:
        assert again.state["exp_avg"][name].tolist() == optimizer.state["exp_avg"][name].tolist(), name


def test_the_state_of_a_module_is_that_of_its_parameters() -> None:
    model = mlp()
    named = list(optim.Adam(model).state_dict())
    assert "exp_avg_sq.3.bias" in named
    assert list(optim.Adam(model.parameters()).state_dict()) == named
    assert list(optim.SGD({"m": model}, 0.1, 0.9).state_dict())[2] == "momentum_buffer.m.0.weight"
    assert list(optim.SGD(lento.ones(2), 0.1, 0.9).state_dict()) == ["step_count", "lr", "momentum_buffer.0"]
    with pytest.raises(ValueError, match=r"two tensors to train would be named 'a\.b'"):
        optim.SGD({"a.b": lento.ones(2), "a": {"b": lento.ones(2)}}, 0.1)


def test_a_state_of_another_optimizer_is_refused() -> None:
    model = mlp()
    adam = optim.Adam(model)
    with pytest.raises(lento.errors.ValueError, match=r"Adam.load_state_dict\(\): missing: exp_avg.0.weight, "):
        adam.load_state_dict(optim.SGD(model, 0.1).state_dict())
    assert adam.step_count == 0
    state = {**adam.state_dict(), "step_count": lento.asarray(-1), "exp_avg.0.bias": lento.ones(16)}
    with pytest.raises(ValueError, match="a step_count of -1 is less than none"):
        adam.load_state_dict(state)
    assert adam.step_count == 0
    assert not adam.state["exp_avg"]["0.bias"].numpy().any()


def test_gradients_are_matched_by_their_keys() -> None:
    parameters = {"a": lento.zeros(1), "b": lento.zeros(1)}
    optim.SGD(parameters, lr=1.0).step({"b": lento.ones(1), "a": lento.zeros(1)})
    assert [float(parameters[name][0]) for name in "ab"] == [0, -1]
    with pytest.raises(ValueError, match="keys"):
        optim.SGD(parameters, lr=1.0).step({"b": lento.ones(1)})
    with pytest.raises(TypeError, match="instead of a tensor"):
        optim.SGD(parameters, lr=1.0).step({"a": 3.0, "b": lento.ones(1)})


@not_on_another_device("how many launches a step is depends on the device")
# Lion moves its mean in a kernel of its own: after the one that reads it.
@pytest.mark.parametrize(
    ("optimizer", "launches"), [(optim.Adam, 1), (optim.AdamW, 1), (optim.SGD, 1), (optim.Lion, 2)]
)
def test_small_parameters_share_a_launch(optimizer: Callable[..., optim.Optimizer], launches: int) -> None:
    weights = {f"w{n}": lento.asarray(np.full((n, 3), 0.5, np.float32)) for n in range(2, 102)}
    gradients = {name: lento.asarray(np.full(w.shape, 0.25, np.float32)) for name, w in weights.items()}
    training = optimizer(weights, lr=0.1)
    for _ in range(2):
        training.step(gradients)
        lento.step(wait=True)
    counts = Counts()
    training.step(gradients)
    lento.step(wait=True)
    assert counts["kernel.launch"] == launches
    assert counts["kernel.compile"] == 0


@pytest.mark.parametrize("threads", [1, 2])
def test_bits_do_not_depend_on_parameters_that_share_a_launch(threads: int) -> None:
    """D7: with fusion off every op is a launch of its own."""

    def train() -> list[bytes]:
        random = np.random.default_rng(0)
        sizes = [1, 7, 64, 1000, 4096, 5, 30000, 12]
        weights = {str(n): lento.asarray(random.standard_normal(n, np.float32)) for n in sizes}
        gradients = {str(n): lento.asarray(random.standard_normal(n, np.float32)) for n in sizes}
        optimizer = optim.Adam(weights, lr=0.1)
        for _ in range(3):
            optimizer.step(optim.clip_grad_norm(gradients, 1.0)[0])
            lento.step(wait=True)
        return [np.asarray(w).tobytes() for w in weights.values()]

    before = lento.get_num_threads()
    lento.set_num_threads(threads)
    try:
        with lento.options(fusion=False):
            apart = train()
        assert train() == apart
    finally:
        lento.set_num_threads(before)
