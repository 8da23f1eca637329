"""A small GPT learns to write like Lento's documentation, a character at a time, and then writes.

    python examples/char_gpt.py --steps 1500

The text is the prose of the pages in docs. Writing is a lazy loop as well: each new character stays a
tensor that the next step looks at, and a closure prints it when it is known.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import lento
from lento import nn, optim
from progress import Progress, print_table

PAGES = Path(__file__).resolve().parents[1] / "docs"


def prose() -> str:
    """The sentences of all pages, in ASCII: no code, no headings, no tables."""
    sentences = []
    for page in sorted(PAGES.glob("*.md")):
        in_code = False
        for line in page.read_text(encoding="utf-8").splitlines(keepends=True):
            in_code ^= line.startswith("```")
            if not in_code and not line.startswith(("```", "|", "#", "<")):
                sentences.append(line)
    return "".join(sentences).encode("ascii", "ignore").decode()


class GPT(nn.Module):
    def __init__(self, characters: int, length: int, size: int, heads: int, layers: int) -> None:
        self.length = length
        self.token = nn.Embedding(characters, size)
        self.position = nn.Embedding(length, size)
        self.blocks = [
            nn.TransformerEncoderLayer(size, heads, 4 * size, dropout=0.0, activation="gelu", norm_first=True)
            for _ in range(layers)
        ]
        self.norm = nn.LayerNorm(size)
        self.head = nn.Linear(size, characters, bias=False)
        # Small first guesses, so that the loss begins at log(characters).
        self.token.weight *= 0.1
        self.position.weight *= 0.1

    def forward(self, tokens: lento.Tensor) -> lento.Tensor:
        x = self.token(tokens) + self.position.weight
        for block in self.blocks:
            x = block(x, is_causal=True)
        return self.head(self.norm(x))


def loss_of(model: GPT, tokens: lento.Tensor) -> lento.Tensor:
    """Of guessing each character from those before it; tokens are (batch, length + 1)."""
    guesses = model(tokens[:, :-1])
    return nn.cross_entropy(guesses.reshape((-1, guesses.shape[-1])), tokens[:, 1:].flatten())


class Text:
    """A text as tokens, and back."""

    def __init__(self, text: str) -> None:
        self.characters = sorted(set(text))
        number = {character: i for i, character in enumerate(self.characters)}
        self.tokens = lento.asarray([number[character] for character in text])

    def decode(self, tokens: list[int]) -> str:
        return "".join(self.characters[token] for token in tokens)


def train(
    steps: int = 1500, batch: int = 16, length: int = 64, size: int = 96, layers: int = 2, seed: int = 0
) -> tuple[GPT, Text, Progress]:
    lento.random.seed(seed)
    text = Text(prose())
    model = GPT(len(text.characters), length, size, heads=4, layers=layers)
    rate = optim.warmup(optim.cosine(3e-3, steps, floor=1e-4), min(20, steps))
    optimizer = optim.AdamW(model, lr=rate, betas=(0.9, 0.99), weight_decay=0.1)
    window = lento.arange(length + 1)

    def train_step() -> lento.Tensor:
        starts = lento.random.randint((batch, 1), 0, text.tokens.size - length)
        loss, gradients = lento.value_and_grad(loss_of)(model, text.tokens[starts + window])
        gradients, _ = optim.clip_grad_norm(gradients, 1.0)
        optimizer.step(gradients)
        return loss

    with Progress("gpt", steps) as progress:
        for step in range(steps):
            loss = train_step()
            lento.add_step_closure(progress.log, args=(step, loss), run_async=True)
            lento.step()
    return model, text, progress


def write(model: GPT, text: Text, count: int, temperature: float = 0.7, show: bool = True) -> str:
    """So many new characters after the beginning of the text, shown as they come."""
    written: list[str] = []

    def print_token(token: lento.Tensor) -> None:
        written.append(text.decode(token.tolist()))
        if show:
            print(written[-1], end="", flush=True)

    tokens = text.tokens[: model.length].reshape((1, -1))
    for _ in range(count):
        token = lento.random.categorical(model(tokens)[:, -1] / temperature)
        tokens = lento.concat([tokens[:, 1:], token[:, None]], axis=1)
        lento.add_step_closure(print_token, args=(token,), run_async=True)
        lento.step()
    lento.wait_closures()
    if show:
        print()
    return "".join(written)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--length", type=int, default=64, help="how many characters it sees")
    parser.add_argument("--write", type=int, default=400, help="how many characters it writes in the end")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    model, text, progress = train(options.steps, length=options.length, seed=options.seed)
    write(model, text, options.write)
    print_table({"gpt": progress.summary})


if __name__ == "__main__":
    main()
