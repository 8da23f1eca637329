"""lento.optim and lento.nn.init beside the same programs in C++ (tests/optim/same_*.cpp): the same bits."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lento
import pytest
from cpp_programs import compiled
from lento import nn, optim
from on_device import not_on_another_device
from test_lr_scheduler import SCHEDULERS, SCHEDULES, made

pytestmark = not_on_another_device("the program in C++ runs on the CPU device, with other last places")

OPTIMIZERS: dict[str, Callable[[Any], optim.Optimizer]] = {
    "sgd": lambda net: optim.SGD(net, lr=0.1, weight_decay=0.01),
    "nesterov": lambda net: optim.SGD(net, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda net: optim.Adam(net, lr=0.01, eps=1e-6, weight_decay=0.1),
    "adamw": lambda net: optim.AdamW(net, lr=optim.warmup(optim.cosine(0.02, 7, 0.001), 3), betas=(0.9, 0.95)),
    "steps": lambda net: optim.AdamW(net, lr=optim.steps(0.03, 2, 0.7)),
    "rmsprop": lambda net: optim.RMSprop(net, weight_decay=0.1, momentum=0.5, centered=True),
    "adagrad": lambda net: optim.Adagrad(net, lr_decay=0.1, initial_accumulator_value=0.2),
    "adadelta": lambda net: optim.Adadelta(net, weight_decay=0.1),
    "adamax": lambda net: optim.Adamax(net, weight_decay=0.1),
    "nadam": lambda net: optim.NAdam(net, weight_decay=0.1),
    "radam": lambda net: optim.RAdam(net, betas=(0.8, 0.9), decoupled_weight_decay=True),
    "adafactor": lambda net: optim.Adafactor(net, weight_decay=0.1),
    "groups": lambda net: optim.AdamW(
        net,
        lr=0.02,
        groups=[
            {"params": lambda name, x: x.ndim == 1, "weight_decay": 0.0, "betas": (0.8, 0.9)},
            {"params": "second.weight", "lr": optim.linear(0.1, 0.0, 5)},
            {"params": [net.first.weight], "lr": 0.03, "eps": 1e-6},
        ],
    ),
    "lion": lambda net: optim.Lion(net, lr=optim.linear(0.03, 0.001, 7), weight_decay=0.1),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("optim/same_training.cpp", tmp_path_factory.mktemp("cpp"))


def run(program: Path, *arguments: str) -> list[str]:
    return subprocess.run([str(program), *arguments], check=True, capture_output=True, text=True).stdout.splitlines()


def line(name: str, x: lento.Tensor) -> str:
    return f"{name} {x.tobytes().hex()}"


class Net(nn.Module):
    def __init__(self, dtype: str) -> None:
        self.first = nn.Linear(3, 5, dtype=dtype)
        self.second = nn.Linear(5, 2, dtype=dtype)

    def forward(self, x: lento.Tensor) -> lento.Tensor:
        return self.second(lento.tanh(self.first(x)))


def loss(net: Net, x: lento.Tensor, y: lento.Tensor) -> lento.Tensor:
    return nn.mse_loss(net(x), y)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_in_both_languages_gives_the_same_bits(name: str, dtype: str, program: Path) -> None:
    lento.random.seed(7)
    net = Net(dtype)
    x = lento.random.normal((8, 3), dtype=dtype)
    y = lento.random.normal((8, 2), dtype=dtype)
    optimizer = OPTIMIZERS[name](net)
    rates, losses = [], []
    for _ in range(9):
        rates.append(optimizer.learning_rate())
        value, gradients = lento.value_and_grad(loss)(net, x, y)
        clipped, _ = optim.clip_grad_norm(gradients, 0.5)
        optimizer.step(optim.clip_grad_value(clipped, 0.2))
        losses.append(value)
        lento.step()
    lines = run(program, name, "9", dtype)
    assert [float.fromhex(text.split()[1]) for text in lines if text.startswith("rate ")] == rates
    assert [text for text in lines if text.startswith("loss ")] == [line("loss", value) for value in losses]
    # The names too: a checkpoint goes from one language to the other.
    states = {**net.state_dict(), **optimizer.state_dict()}
    assert lines[18:] == [line(key, tensor) for key, tensor in states.items()]


def test_schedules_in_both_languages_give_the_same_bits(tmp_path: Path) -> None:
    lines = {
        name: [float.fromhex(x) for x in rest]
        for name, *rest in map(str.split, run(compiled("optim/same_schedules.cpp", tmp_path)))
    }
    texts = {**SCHEDULERS, "plateau": "ReduceLROnPlateau(o, factor=0.3, patience=1, cooldown=1, min_lr=0.01)"}
    assert list(lines) == [*SCHEDULES, *texts]
    for name, (schedule, _) in SCHEDULES.items():
        assert lines[name] == [schedule(i) for i in range(20)], name
    for name, text in texts.items():
        group: dict[str, Any] = {"params": "1", "lr": 0.25, "betas": (0.7, 0.8)}
        optimizer = optim.Adam([lento.ones(1), lento.ones(1)], lr=0.5, groups=[group])
        scheduler = made(text, optimizer)
        rates = []
        for i in range(20):
            rates += scheduler.get_last_lr() + [own["betas"][0] for own in optimizer.param_groups]
            scheduler.step(*([1.0 / (i + 1) if i % 7 == 0 else 1.0] if name == "plateau" else []))
        assert lines[name] == rates, name


def test_initial_values_in_both_languages_have_the_same_bits(program: Path) -> None:
    lento.random.seed(3)
    init, shape = nn.init, (6, 4, 3)
    made = {
        "uniform": init.uniform(shape, -0.3, 0.7),
        "normal": init.normal(shape, 1.0, 0.1),
        "trunc_normal": init.trunc_normal(shape, 0.5, 2.0, -1.0, 3.0),
        "constant": init.constant(shape, 0.1),
        "xavier_uniform": init.xavier_uniform(shape, gain=2.0),
        "xavier_normal": init.xavier_normal(shape, gain=2.0),
        "kaiming_uniform": init.kaiming_uniform(shape, 0.2, mode="fan_out"),
        "kaiming_normal": init.kaiming_normal(shape, nonlinearity="relu"),
        "orthogonal": init.orthogonal(shape, gain=1.5),
    }
    assert run(program, "init") == [line(name, tensor) for name, tensor in made.items()]


def test_initial_values_have_the_size_that_is_asked_for() -> None:
    lento.random.seed(0)
    shape = (64, 32, 3, 3)  # fan in 288, fan out 576
    assert float(nn.init.xavier_normal(shape).std()) == pytest.approx(math.sqrt(2 / 864), rel=0.02)
    assert float(nn.init.kaiming_normal(shape, mode="fan_out").std()) == pytest.approx(math.sqrt(2 / 576), rel=0.02)
    q = nn.init.orthogonal((4, 6), dtype="float64")
    assert float(abs(q @ q.T - lento.eye(4, dtype="float64")).max()) < 1e-12
    assert nn.init.zeros(3).dtype == lento.float32
    assert nn.init.ones((2, 2), dtype="float64").tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.init.xavier_uniform(3), "xavier_uniform: a shape of less than two axes has no fan in"),
        (
            lambda: nn.init.kaiming_uniform((3, 3), mode="in"),
            "kaiming_uniform: mode is 'fan_in' or 'fan_out', not 'in'",
        ),
        (lambda: nn.init.calculate_gain("gelu"), "calculate_gain: nonlinearity is one of 'linear'"),
        (lambda: nn.init.trunc_normal(3, std=0.0), "trunc_normal: std is 0.0, which is not greater than 0"),
        (lambda: nn.init.uniform((2,), "a"), "uniform(): argument 'a' must be float, not str"),  # type: ignore[arg-type]
    ],
    ids=["fan", "mode", "gain", "std", "type"],
)
def test_wrong_arguments_of_initial_values_are_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert message in str(caught.value)
    assert ", at test_optim_cpp.py:" in str(caught.value)
