"""Graph attention and fast neural style of pytorch/examples beside their ports; see against_torch.py."""

from __future__ import annotations

import re
import time
from typing import Any

import lento
import numpy as np
import torch
from against_torch import EXAMPLES, LENTO, TORCH, arrays, normal, same_weights, tensors
from comparing import Pair, Results, program
from lento import optim
from originals import Original
from ports import fast_neural_style, gat
from ports.training import train


# Adam with a rate of 0.005, see against_torch.py.
@program("gat", f"{EXAMPLES}/gat/main.py", needs="torch", tolerance=1e-3)
def compare_gat(original: Original) -> Pair:
    random = np.random.default_rng(0)
    steps, nodes, features, hidden, heads, classes = 5, 30, 12, 8, 4, 3
    data = normal(random, nodes, features)
    edges = ((random.uniform(0, 1, (nodes, nodes)) < 0.1) | np.eye(nodes, dtype=bool)).astype(np.float32)
    labels, known = random.integers(0, classes, nodes), np.arange(0, nodes, 2)

    def make() -> tuple[dict[str, Any], torch.nn.Module]:
        torch.manual_seed(0)
        space = original.run("GraphAttentionLayer", "GAT", "train_iter", "test", **TORCH, time=time)
        return space, space["GAT"](features, hidden, heads, classes, dropout=0.0)

    def theirs() -> Results:
        space, model = make()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=5e-4)
        inputs = torch.from_numpy(data), torch.from_numpy(edges)
        criterion, target, rows = torch.nn.NLLLoss(), torch.from_numpy(labels), torch.from_numpy(known)
        for epoch in range(steps):
            space["train_iter"](epoch, model, optimizer, criterion, inputs, target, rows, rows)
        return {"result": model(*inputs).detach().numpy(), **arrays(model.state_dict())}

    def ours() -> Results:
        model = same_weights(gat.GAT(features, hidden, heads, classes), make()[1])
        batch = tensors(data, edges, labels, known)
        train(model, optim.Adam(model, lr=0.005, weight_decay=5e-4), gat.loss, [batch] * steps)
        return {"result": model(*batch[:2]), **arrays(model.state_dict())}

    def moved(text: Original) -> Results:
        space = text.run("GraphAttentionLayer", "GAT", **LENTO)
        model = same_weights(space["GAT"](features, hidden, heads, classes, dropout=0.0), make()[1])
        batch = tensors(data, edges, labels, known)
        train(model, optim.Adam(model, lr=0.005, weight_decay=5e-4), gat.loss, [batch] * steps)
        return {"result": model(*batch[:2]), **arrays(model.state_dict())}

    return Pair(ours, theirs, steps, moved)


# In float64: the network is deep, and what Adam makes of gradients near zero adds up. A constant that is added before
# an instance norm has no effect: the gradients of such biases are nothing but rounding, so they are left out.
WITHOUT_EFFECT = re.compile(r"((?<!deconv3\.)conv2d|res\d\.in2)\.bias$")


@program(
    "fast-neural-style",
    f"{EXAMPLES}/fast_neural_style/neural_style/transformer_net.py",
    needs="torch",
    tolerance=1e-6,
)
def compare_style(original: Original) -> Pair:
    random = np.random.default_rng(0)
    steps, size = 2, 16
    pictures = random.uniform(0, 255, (steps, 2, 3, size, size))
    style = random.uniform(0, 255, (1, 3, size, size))
    utils = Original.read(original.path.with_name("utils.py")).run("gram_matrix", "normalize_batch", **TORCH)

    def make() -> torch.nn.Module:
        torch.manual_seed(0)
        return original.run()["TransformerNet"]().double()

    def results(losses: Any, state: Any) -> Results:
        weights = {name: value for name, value in arrays(state).items() if not WITHOUT_EFFECT.search(name)}
        return {"losses": losses, **weights}

    def theirs() -> Results:
        model, losses, mse = make(), [], torch.nn.MSELoss()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        gram, normalized = utils["gram_matrix"], utils["normalize_batch"]
        wanted = gram(normalized(torch.from_numpy(style.copy()))).expand(2, 3, 3)
        for batch in torch.from_numpy(pictures.copy()):
            optimizer.zero_grad()
            made = normalized(model(batch))
            loss = mse(made, normalized(batch)) + 100 * mse(gram(made), wanted)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return results(losses, model.state_dict())

    def ours() -> Results:
        model = same_weights(fast_neural_style.StyleNet().to(lento.float64), make())
        batches = [tensors(batch, style) for batch in pictures]
        losses = train(model, optim.Adam(model, lr=1e-3), fast_neural_style.loss, batches)
        return results(losses, model.state_dict())

    return Pair(ours, theirs, steps)
