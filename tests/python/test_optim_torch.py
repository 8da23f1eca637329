"""lento.optim beside torch, step by step: all optimizers, and clipping."""

from __future__ import annotations

import math

import lento
import numpy as np
import pytest
from lento import nn, optim
from test_optim import OPTIMIZERS, batch, loss

pytestmark = pytest.mark.peers


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_trajectories_agree_with_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    make, text = OPTIMIZERS[name]
    torch.manual_seed(0)
    theirs = torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
    ours = nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 4))
    ours.load_state_dict({key: p.detach().numpy().copy() for key, p in theirs.state_dict().items()})
    optimizer = make(ours)
    other = eval("torch.optim." + text, {"torch": torch, "p": theirs.parameters()})
    for i in range(20):
        x, y = batch(16, seed=i)
        value, gradients = lento.value_and_grad(loss)(ours, x, y)
        optimizer.step(gradients)
        other.zero_grad()
        expected = torch.nn.functional.cross_entropy(theirs(torch.tensor(x.numpy())), torch.tensor(y.numpy()))
        expected.backward()
        other.step()
        np.testing.assert_allclose(float(value), expected.item(), rtol=1e-5)
        for key, p in theirs.named_parameters():
            np.testing.assert_allclose(ours.parameters()[key].numpy(), p.detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_updates_agree_with_torch_in_double_precision(name: str) -> None:
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(1)
    start = [random.standard_normal(shape) for shape in ((), (3,), (2, 3), (2, 3, 4))]
    ours = [lento.asarray(x) for x in start]
    theirs = [torch.nn.Parameter(torch.tensor(x)) for x in start]
    optimizer = OPTIMIZERS[name][0](ours)
    other = eval(OPTIMIZERS[name][1], {**vars(torch.optim), "p": theirs})
    # torch keeps one of NAdam's numbers in float32.
    tolerance = 1e-6 if "nadam" in name else 1e-11
    for _ in range(30):
        gradients = [random.standard_normal(x.shape) for x in start]
        for p, g in zip(theirs, gradients, strict=True):
            p.grad = torch.tensor(g)
        other.step()
        optimizer.step([lento.asarray(g) for g in gradients])
        for p, q in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0, math.inf])
def test_clipping_agrees_with_torch(norm_type: float) -> None:
    torch = pytest.importorskip("torch")
    values = [np.array([3.0, -7.0], np.float32), np.array([[0.5]], np.float32)]
    parameters = [torch.nn.Parameter(torch.zeros(v.shape)) for v in values]
    for p, v in zip(parameters, values, strict=True):
        p.grad = torch.tensor(v)
    expected = torch.nn.utils.clip_grad_norm_(parameters, 2.0, norm_type).item()
    clipped, norm = optim.clip_grad_norm([lento.asarray(v) for v in values], 2.0, norm_type)
    np.testing.assert_allclose(float(norm), expected, rtol=1e-6)
    for p, g in zip(parameters, clipped, strict=True):
        np.testing.assert_allclose(g.numpy(), p.grad.numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in OPTIMIZERS if "adafactor" not in name])
def test_complex_parameters_agree_with_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    start = np.array([1 + 2j, -3 + 0.1j], np.complex64)
    factor = np.array([0.5 - 1j, 2j], np.complex64)
    ours, theirs = lento.asarray(start), torch.nn.Parameter(torch.tensor(start))
    optimizer = OPTIMIZERS[name][0](ours)
    other = eval(OPTIMIZERS[name][1], {**vars(torch.optim), "p": [theirs]})
    for _ in range(6):
        optimizer.step(lento.grad(lambda p: abs(p * factor - 1).sum())(ours))
        other.zero_grad()
        (theirs * torch.tensor(factor) - 1).abs().sum().backward()
        other.step()
        np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-6)
