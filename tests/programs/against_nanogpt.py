"""nanoGPT's model.py, with the lines changed that rules.py says, beside itself in PyTorch.

Here no port is run but the original's own text: what is compared is a program of somebody else's, moved to Lento.
"""

from __future__ import annotations

from typing import Any

import lento
import numpy as np
import torch
from against_torch import arrays
from comparing import Pair, Results, program
from originals import Original, rewritten
from rules import RULES

SIZES = {"block_size": 16, "vocab_size": 40, "n_layer": 2, "n_head": 4, "n_embd": 32, "dropout": 0.0, "bias": True}


# float32: logits are sums over 32 features in another order, gradients pass two layers; some 1e-6 of the largest.
@program("nanoGPT", "nanoGPT/model.py", needs="torch", tolerance=2e-5, limit=20)
def compare(original: Original) -> Pair:
    steps = 5
    moved = Original(original.path, rewritten(original.text, RULES["nanoGPT"]))
    words = np.random.default_rng(0).integers(0, SIZES["vocab_size"], (4, SIZES["block_size"] + 1))
    inputs, targets = words[:, :-1], words[:, 1:].copy()
    targets[0, :3] = -1  # which are not to be counted

    def make(program: Original) -> Any:
        space = program.run()
        return space["GPT"](space["GPTConfig"](**SIZES))

    torch.manual_seed(0)
    start = make(original)
    with torch.no_grad():
        for parameter in start.parameters():  # biases, too, and larger than they begin
            parameter += 0.1 * torch.randn(parameter.shape)
    weights = arrays(start.state_dict())

    def theirs() -> Results:
        model = make(original)
        model.load_state_dict(start.state_dict())
        for _ in range(steps):
            model.zero_grad()
            logits, loss = model(torch.from_numpy(inputs), torch.from_numpy(targets))
            loss.backward()
        gradients = {f"gradient of {name}": parameter.grad for name, parameter in model.named_parameters()}
        text = model.generate(torch.from_numpy(inputs[:, :8]), 12, top_k=1)
        return {"logits": logits.detach(), "loss": loss.detach(), "text": text, **named(gradients)}

    def ours() -> Results:
        model = make(moved)
        model.load_state_dict(weights)

        def loss(model: Any, inputs: lento.Tensor, targets: lento.Tensor) -> tuple[lento.Tensor, lento.Tensor]:
            logits, value = model(inputs, targets)
            return value, logits

        tensors = lento.asarray(inputs), lento.asarray(targets)
        for _ in range(steps):
            (value, logits), gradient = lento.value_and_grad(loss, has_aux=True)(model, *tensors)
            lento.step()
        gradients = {f"gradient of {name}": tensor for name, tensor in gradient.parameters().items()}
        text = model.generate(tensors[0][:, :8], 12, top_k=1)
        return {"logits": logits, "loss": value, "text": text, **named(gradients)}

    return Pair(ours, theirs, steps)


def named(gradients: dict[str, Any]) -> dict[str, Any]:
    """The weight that two layers share is one under one name in each library, but not the same one."""
    return {name.replace("transformer.wte", "lm_head"): value for name, value in gradients.items()}
