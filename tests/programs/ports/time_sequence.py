"""Two LSTM cells, one on the other, learn to go on with sine waves; in float64."""

from __future__ import annotations

import lento
from lento import nn


class Cell(nn.Module):
    """One step of an LSTM."""

    def __init__(self, inputs: int, hidden: int) -> None:
        self.weight_ih = lento.zeros((4 * hidden, inputs), dtype=lento.float64)
        self.weight_hh = lento.zeros((4 * hidden, hidden), dtype=lento.float64)
        self.bias_ih = lento.zeros(4 * hidden, dtype=lento.float64)
        self.bias_hh = lento.zeros(4 * hidden, dtype=lento.float64)

    def forward(self, x: lento.Tensor, state: tuple[lento.Tensor, lento.Tensor]) -> tuple[lento.Tensor, lento.Tensor]:
        h, c = state
        gates = nn.linear(x, self.weight_ih, self.bias_ih) + nn.linear(h, self.weight_hh, self.bias_hh)
        let_in, forget, content, let_out = lento.split(gates, 4, axis=1)
        c = lento.sigmoid(forget) * c + lento.sigmoid(let_in) * lento.tanh(content)
        return lento.sigmoid(let_out) * lento.tanh(c), c


class Sequence(nn.Module):
    def __init__(self, hidden: int = 51) -> None:
        self.lstm1 = Cell(1, hidden)
        self.lstm2 = Cell(hidden, hidden)
        self.linear = nn.Linear(hidden, 1, dtype=lento.float64)
        self.hidden = hidden

    def forward(self, x: lento.Tensor, future: int = 0) -> lento.Tensor:
        """The next value after each of (batch, length), and ``future`` more, each made from the one before."""
        nothing = lento.zeros((x.shape[0], self.hidden), dtype=x.dtype)
        first = second = (nothing, nothing)
        outputs: list[lento.Tensor] = []
        for i in range(x.shape[1] + future):
            value = x[:, i : i + 1] if i < x.shape[1] else outputs[-1]
            first = self.lstm1(value, first)
            second = self.lstm2(first[0], second)
            outputs.append(self.linear(second[0]))
        return lento.concat(outputs, axis=1)


def loss(model: Sequence, x: lento.Tensor, following: lento.Tensor) -> lento.Tensor:
    return nn.mse_loss(model(x), following)
