"""A language model of words: an embedding, an LSTM, and a score for each next word. Trained on pieces of a text."""

from __future__ import annotations

from collections.abc import Iterable

import lento
from lento import nn, optim

State = tuple[lento.Tensor, lento.Tensor]


class WordModel(nn.Module):
    def __init__(self, words: int, features: int, hidden: int, layers: int) -> None:
        self.encoder = nn.Embedding(words, features)
        self.rnn = nn.LSTM(features, hidden, layers)
        self.decoder = nn.Linear(hidden, words)

    def forward(self, text: lento.Tensor, state: State) -> tuple[lento.Tensor, State]:
        """Logarithms of the probabilities of each next word, one row per word, and the state at the end."""
        hidden, state = self.rnn(self.encoder(text), state)
        scores = self.decoder(hidden)
        return nn.log_softmax(scores.reshape(-1, scores.shape[-1]), axis=1), state

    def first_state(self, batch: int) -> State:
        shape = (self.rnn.num_layers, batch, self.rnn.hidden_size)
        return lento.zeros(shape), lento.zeros(shape)


def train(
    model: WordModel,
    pieces: Iterable[tuple[lento.Tensor, lento.Tensor]],
    batch: int,
    lr: float = 20.0,
    clip: float = 0.25,
) -> lento.Tensor:
    """Goes through pieces of text and what follows each word; the state goes on from piece to piece."""
    optimizer = optim.SGD(model, lr=lr)

    def loss(model: WordModel, text: lento.Tensor, following: lento.Tensor, state: State) -> tuple[lento.Tensor, State]:
        scores, state = model(text, state)
        return nn.nll_loss(scores, following.reshape(-1)), state

    def advance(text: lento.Tensor, following: lento.Tensor, state: State) -> tuple[lento.Tensor, State]:
        (value, state), gradients = lento.value_and_grad(loss, has_aux=True)(model, text, following, state)
        optimizer.step(optim.clip_grad_norm(gradients, clip)[0])
        return value, state

    losses, state = [], model.first_state(batch)
    for text, following in pieces:
        value, state = advance(text, following, state)
        losses.append(value)
        lento.step()
    return lento.stack(losses)
