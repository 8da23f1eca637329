"""EMA, MultiSteps and incremental_update: averages of parameters and of gradients."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts
from lento import nn, optim


class Net(nn.Module):
    def __init__(self) -> None:
        self.layer = nn.Linear(3, 2, dtype="float64")
        self.calls = nn.Buffer(lento.zeros((), dtype=lento.int64))


def test_an_average_is_its_formula() -> None:
    net = Net()
    average = optim.EMA(net, decay=0.75)
    expected: Any = None
    for i in range(4):
        net.layer.weight += float(i)
        net.calls += 1
        average.update(net)
        now = net.layer.weight.numpy()
        expected = now if expected is None else 0.75 * expected + 0.25 * now
        np.testing.assert_allclose(average.model.layer.weight.numpy(), expected, rtol=1e-12)
    assert average.model is not net
    assert int(average.model.calls) == 4
    assert average.n_averaged == 4


def test_the_model_is_not_the_average() -> None:
    net = Net()
    average = optim.EMA(net)
    average.update(net)
    before = average.model.layer.weight.numpy().copy()
    net.layer.weight += 1
    np.testing.assert_array_equal(average.model.layer.weight.numpy(), before)


def test_an_average_of_half_precision_keeps_its_dtype() -> None:
    w = lento.ones(2, dtype="bfloat16")
    average = optim.EMA([w], decay=0.5)
    average.update([w])
    average.update([w * 3])
    assert (average.model[0].dtype, average.model[0].tolist()) == (lento.bfloat16, [2, 2])


def test_an_average_is_saved(tmp_path: Path) -> None:
    net = Net()
    average = optim.EMA(net, decay=0.9)
    for _ in range(3):
        net.layer.weight += 1
        net.calls += 1
        average.update(net)
    assert list(average.state_dict()) == ["n_averaged", "model.layer.weight", "model.layer.bias", "model.calls"]
    path = tmp_path / "average.safetensors"
    lento.save(path, average.state_dict())
    again = optim.EMA(Net(), decay=0.9)
    again.load_state_dict(lento.load(path))
    assert int(again.model.calls) == 3
    average.update(net)
    again.update(net)
    assert again.n_averaged == 4
    np.testing.assert_array_equal(again.model.layer.weight.numpy(), average.model.layer.weight.numpy())
    with pytest.raises(ValueError, match=r"EMA.load_state_dict\(\): missing: n_averaged"):
        again.load_state_dict({})
    without = {name: tensor for name, tensor in average.state_dict().items() if name != "model.calls"}
    before = again.model.layer.weight.tolist()
    with pytest.raises(ValueError, match=r"EMA.load_state_dict\(\): missing: model.calls"):
        again.load_state_dict(without | {"model.layer.weight": lento.zeros((2, 3))})
    assert again.model.layer.weight.tolist() == before


def test_an_average_of_several_modules_has_their_buffers() -> None:
    nets = [Net(), {"a": Net()}]
    average = optim.EMA(nets)
    nets[0].calls += 2
    nets[1]["a"].calls += 3
    average.update(nets)
    again = optim.EMA([Net(), {"a": Net()}])
    again.load_state_dict(average.state_dict())
    assert (int(again.model[0].calls), int(again.model[1]["a"].calls)) == (2, 3)
    assert list(again.state_dict())[-2:] == ["model.0.calls", "model.1.a.calls"]


def test_t4_a_decay_that_changes_compiles_nothing() -> None:
    net = Net()
    average = optim.EMA(net)
    for _ in range(5):
        average.update(net)
        lento.step(wait=True)
    counts = Counts()
    for decay in (0.5, 0.9, 0.99):
        average.decay = decay
        average.update(net)
        lento.step(wait=True)
    assert (counts["plan.miss"], counts["kernel.compile"]) == (0, 0)


def loss(model: Any, x: lento.Tensor, y: lento.Tensor) -> lento.Tensor:
    return nn.mse_loss(model(x), y)


def test_accumulated_gradients_are_those_of_the_whole_batch() -> None:
    lento.random.seed(0)
    x, y = lento.random.normal((12, 3), dtype="float64"), lento.random.normal((12, 2), dtype="float64")
    one = nn.Linear(3, 2, dtype="float64")
    two = nn.Linear(3, 2, dtype="float64")
    two.load_state_dict(one.state_dict())
    whole, steps = optim.Adam(one, lr=0.1), optim.MultiSteps(optim.Adam(two, lr=0.1), every=4)
    for _ in range(3):
        whole.step(lento.grad(loss)(one, x, y))
        changed = []
        for i in range(0, 12, 3):
            changed.append(steps.step(lento.grad(loss)(two, x[i : i + 3], y[i : i + 3])))
            lento.step()
        assert changed == [False, False, False, True]
        np.testing.assert_allclose(two.weight.numpy(), one.weight.numpy(), rtol=1e-10)
    assert (steps.optimizer.step_count, steps.mini_step) == (3, 0)


def test_gradients_may_change_once_they_are_gathered() -> None:
    w, gradient = lento.zeros(1), lento.full(1, 1.0)
    steps = optim.MultiSteps(optim.SGD(w, lr=1.0), every=2)
    steps.step(gradient)
    gradient *= 0
    steps.step(lento.full(1, 3.0))
    assert w.tolist() == [-2.0]


def test_accumulation_compiles_once() -> None:
    model = nn.Linear(3, 2)
    steps = optim.MultiSteps(optim.SGD(model, lr=0.1), every=3)
    x, y = lento.ones((4, 3)), lento.ones((4, 2))

    def run() -> None:
        steps.step(lento.grad(loss)(model, x, y))
        lento.step(wait=True)

    for _ in range(9):
        run()
    counts = Counts()
    for _ in range(6):
        run()
    assert (counts["plan.miss"], counts["kernel.compile"]) == (0, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: optim.EMA(lento.ones(1), 1.5), "EMA(): decay is 1.5, which is not from 0 to 1"),
        (lambda: optim.EMA([lento.ones(1)]).update([]), "EMA.update(): the model has 0 parts, not 1"),
        (lambda: optim.MultiSteps(optim.SGD(lento.ones(1), 0.1), 0), "MultiSteps(): every is 0, which is less than 1"),
        (
            lambda: optim.incremental_update([lento.ones(1)], [lento.ones(2)], 0.1),
            "incremental_update(): shapes differ: (1,) and (2,)",
        ),
        (
            lambda: optim.incremental_update([lento.ones(1), None], [lento.ones(1), lento.ones(2)], 0.1),
            "incremental_update(): leaf 1 is no tensor, and was one before",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


@pytest.mark.peers
def test_averages_agree_with_torch() -> None:
    torch = pytest.importorskip("torch")
    utils = torch.optim.swa_utils
    theirs = torch.nn.Linear(3, 2)
    ours = nn.Linear(3, 2)
    ours.load_state_dict({key: p.detach().numpy().copy() for key, p in theirs.state_dict().items()})
    average = optim.EMA(ours, decay=0.9)
    other = utils.AveragedModel(theirs, multi_avg_fn=utils.get_ema_multi_avg_fn(0.9))
    for i in range(6):
        with torch.no_grad():
            theirs.weight += float(i)
        ours.weight += float(i)
        average.update(ours)
        other.update_parameters(theirs)
        np.testing.assert_allclose(average.model.weight.numpy(), other.module.weight.detach().numpy(), rtol=1e-5)


def test_an_average_of_a_list_of_parameters() -> None:
    layer = nn.Linear(2, 1)
    average = optim.EMA(layer.parameters().values(), 0.5)
    average.update(layer.parameters().values())
    assert [a.tolist() for a in average.model] == [p.tolist() for p in layer.parameters().values()]
