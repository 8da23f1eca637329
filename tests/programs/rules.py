"""What a user has to change in a public program by hand, as rules that are applied to its text.

A rule whose ``until`` is true is left out: Lento can do by now what the program has. So the number of changed lines
goes down by itself as Lento learns manners.
"""

from __future__ import annotations

from originals import Rule

# Lines of the branch for libraries without scaled_dot_product_attention stay as they are: they never run.
NANO_GPT = [
    Rule(r"^import torch$", "import lento as torch"),
    Rule(r"^import torch\.nn as nn$", "import lento.nn as nn"),
    Rule(r"^from torch\.nn import functional as F$", "from lento.nn import functional as F"),
    # Names of nn.
    Rule(
        r"in self\.parameters\(\)\)",
        "in self.parameters().values())",
        until="all(p.ndim for p in nn.Linear(1, 1).parameters())",
    ),
    # Methods of tensors.
    Rule(
        r"self\.c_attn\(x\)\.split\(self\.n_embd, dim=2\)",
        "torch.split(self.c_attn(x), 3, axis=2)",
        until="[part.shape for part in x.split(2, dim=2)] == [(2, 3, 2), (2, 3, 2)]",
    ),
    Rule(r" if p\.requires_grad\}", "}", until="x.requires_grad in (True, False)"),
    Rule(r"dtype=torch\.long", "dtype=torch.int64", until="torch.long == torch.int64"),
    Rule(r"(softmax\(logits), dim=-1\)", r"\1, axis=-1)", until="nn.softmax(x, dim=-1).shape == x.shape"),
    Rule(r"(torch\.cat\(.*), dim=1\)", r"\1, axis=1)", until="torch.cat((x, x), dim=1).shape == (2, 6, 4)"),
    Rule(r"torch\.multinomial\(", "torch.random.multinomial(", until="hasattr(torch, 'multinomial')"),
    # Gradients are taken of functions, so there is nothing to switch off.
    Rule(r"^ *@torch\.no_grad\(\)\n", "", until="hasattr(torch, 'no_grad')"),
    Rule(r"with torch\.no_grad\(\):", "if True:", until="hasattr(torch, 'no_grad')"),
    # A state dict is a snapshot: it is changed, then loaded.
    Rule(r"sd\[k\]\.copy_\((.*)\)$", r"sd[k] = \1"),
    Rule(r"^( *)return model$", r"\1model.load_state_dict(sd)\n\1return model"),
]

NUMPY = Rule(r"^import numpy as np$", "import lento as np")

LIFE = [
    NUMPY,
    Rule(
        r"randint\(0, 2, (\(.*\))\)", r"randint(\1, 0, 2)", until="torch.random.randint(0, 2, (3, 4)).shape == (3, 4)"
    ),
    # What is assigned to a part of a part changes nothing: there are no views.
    Rule(r"Z\[1:-1, 1:-1\]\[birth \| survive\] = 1", "Z[1:-1, 1:-1] = birth | survive"),
]

GRAY_SCOTT = [
    NUMPY,
    # No structured dtypes and no views: two grids, whose inner part is named where it is changed.
    Rule(r"^Z = np\.zeros\(\(n\+2, n\+2\).*\n.*$", "U = np.zeros((n+2, n+2), np.float64)\nV = np.zeros_like(U)"),
    Rule(r"^U, V = Z.*\n", ""),
    Rule(r"^u, v = U.*\n", ""),
    Rule(r"^u\[\.\.\.\] = 1\.0$", "U[1:-1, 1:-1] = 1.0"),
    Rule(r"^( *)uvv = ", r"\1u, v = U[1:-1, 1:-1], V[1:-1, 1:-1]\n\1uvv = "),
    Rule(r"^( *)u \+= ", r"\1U[1:-1, 1:-1] += "),
    Rule(r"^( *)v \+= ", r"\1V[1:-1, 1:-1] += "),
    Rule(r"np\.random\.uniform\(-1, \+1, \(n, n\)\)", "np.random.uniform((n, n), -1, 1)"),
]

MANDELBROT = [NUMPY]

LORENZ = [NUMPY]

BOIDS = [
    NUMPY,
    Rule(
        r"^( *position [+%]= )(\(.*\))$",
        r"\1np.asarray(\2)",
        until="(x[0, 0, :2] + (1, 2)).tolist() == [2, 3]",
    ),
    # An operator in place changes the name on its left alone: it is assigned to where it is kept.
    Rule(r"^( *)(position %= .*)$", r"\1\2\n\1self.position, self.velocity = position, velocity"),
]

TORCH = [
    Rule(r"^import torch$", "import lento as torch"),
    Rule(r"^import torch\.nn as nn$", "import lento.nn as nn"),
    Rule(r"^from torch import nn", "from lento import nn"),
    Rule(r"^from torch\.nn import functional as F$", "from lento.nn import functional as F"),
    Rule(r"^import torch\.nn\.functional as F$", "import lento.nn.functional as F"),
]
DIM = [
    Rule(r"((?<!Softmax)\(|, )dim=", r"\1axis=", until="nn.softmax(x, dim=-1).shape == x.shape"),
    Rule(r"keepdim=", "keepdims=", until="x.sum(axis=1, keepdim=True).shape == (2, 1, 4)"),
]

VAE = [
    *TORCH,
    Rule(r"torch\.randn_like\(", "torch.random.normal_like(", until="hasattr(torch, 'randn_like')"),
]

MNIST = [*TORCH, *DIM]

WORDS = [
    *TORCH,
    *DIM,
    Rule(r"next\(self\.parameters\(\)\)", "self.decoder.weight"),
    Rule(r"weight\.new_zeros\((.*?)\)", r"torch.zeros((\1))", until="x.new_zeros(2, 3).shape == (2, 3)"),
]

GAT = [
    *TORCH,
    Rule(r"torch\.empty\(size=", "torch.empty(", until="torch.empty(size=(2, 3)).shape == (2, 3)"),
    *DIM,
]

RULES: dict[str, list[Rule]] = {
    "nanoGPT": NANO_GPT,
    "life": LIFE,
    "gray-scott": GRAY_SCOTT,
    "mandelbrot": MANDELBROT,
    "boids": BOIDS,
    "lorenz": LORENZ,
    "vae": VAE,
    "mnist": MNIST,
    "word-language-model": WORDS,
    "gat": GAT,
}
