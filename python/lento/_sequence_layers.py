"""Layers over sequences: attention, a Transformer block, RNN, GRU, LSTM. Weights have PyTorch's names and layouts."""

from __future__ import annotations

import math
from typing import Any, Literal

from . import _nn, errors
from ._core import Tensor
from ._fail import fail, names_its_errors, warn
from ._layer_parts import (
    DTypeLike,
    check_choice,
    check_parts,
    check_probability,
    check_sizes,
    initial_fan_in,
    what_changed,
)
from ._layer_parts import initial_uniform as uniform
from ._layers import Dropout, LayerNorm, Linear
from ._module import Module
from ._ops import concat, stack, zeros

__all__ = ["GRU", "LSTM", "RNN", "LSTMCell", "MultiHeadAttention", "TransformerEncoderLayer"]


def check_input(caller: str, x: Tensor, axes: tuple[str, str], size: int) -> None:
    """An input has these two axes and one of ``size`` features."""
    if x.ndim != 3 or x.shape[2] != size:
        raise fail(errors.ShapeError, f"{caller}(): an input has shape ({axes[0]}, {axes[1]}, {size}), not {x.shape}")


@names_its_errors
class MultiHeadAttention(Module):
    """Attention of ``num_heads`` heads over (batch, length, embed_dim), with PyTorch's weights.

    A mask is that of ``scaled_dot_product_attention``: True where one may look, or numbers that are added.

        >>> lento.nn.MultiHeadAttention(8, 2)(lento.ones((1, 5, 8)), is_causal=True).shape
        (1, 5, 8)
    """

    in_proj_bias: Tensor | None

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, *, dtype: DTypeLike = None
    ) -> None:
        check_sizes("MultiHeadAttention", embed_dim=embed_dim)
        check_parts("MultiHeadAttention", "features", embed_dim, num_heads, "heads")
        self.num_heads = num_heads
        self.dropout = dropout
        self.in_proj_weight = uniform((3 * embed_dim, embed_dim), math.sqrt(6 / (4 * embed_dim)), dtype)
        self.in_proj_bias = zeros(3 * embed_dim, dtype=dtype) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias, dtype)
        if bias:
            self.out_proj.bias = zeros(embed_dim, dtype=dtype)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        *,
        attn_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        size = self.in_proj_weight.shape[1]
        for x in (query, key, value):
            if x is not None:
                check_input("MultiHeadAttention", x, ("batch", "length"), size)
        heads = _nn.multi_head_attention(
            query,
            key,
            value,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            attn_mask,
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=is_causal,
        )
        y: Tensor = self.out_proj(heads)
        return y

    def extra_repr(self) -> str:
        return f"{self.in_proj_weight.shape[1]}, {self.num_heads}"


@names_its_errors
class TransformerEncoderLayer(Module):
    """A Transformer block: attention and two linear layers, each with a residual and a layer norm.

    ``norm_first`` normalises before each part (as in GPT-2), else after it. Input is (batch, length, d_model).
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Literal["relu", "gelu", "silu"] = "relu",
        *,
        norm_first: bool = False,
        bias: bool = True,
        dtype: DTypeLike = None,
    ) -> None:
        check_choice("TransformerEncoderLayer", "activation", activation, ("relu", "gelu", "silu"))
        check_sizes("TransformerEncoderLayer", d_model=d_model, dim_feedforward=dim_feedforward)
        self.self_attn = MultiHeadAttention(d_model, nhead, dropout, bias, dtype=dtype)
        self.linear1 = Linear(d_model, dim_feedforward, bias, dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, dtype)
        self.norm1 = LayerNorm(d_model, bias=bias, dtype=dtype)
        self.norm2 = LayerNorm(d_model, bias=bias, dtype=dtype)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = activation
        self.norm_first = norm_first

    def forward(self, x: Tensor, attn_mask: Tensor | None = None, *, is_causal: bool = False) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            y: Tensor = self.dropout1(self.self_attn(x, attn_mask=attn_mask, is_causal=is_causal))
            return y

        def feed(x: Tensor) -> Tensor:
            hidden = getattr(_nn, self.activation)(self.linear1(x))
            y: Tensor = self.dropout2(self.linear2(self.dropout(hidden)))
            return y

        if self.norm_first:
            x = x + attend(self.norm1(x))
            return x + feed(self.norm2(x))
        x = self.norm1(x + attend(x))
        y: Tensor = self.norm2(x + feed(x))
        return y


@names_its_errors
class _Recurrent(Module):
    gates = 0

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        dtype: DTypeLike = None,
    ) -> None:
        check_sizes(type(self).__name__, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        check_probability(type(self).__name__, "dropout", dropout)
        if dropout and num_layers == 1:
            warn(
                f"{type(self).__name__}(): dropout={dropout} has no effect with num_layers=1, as it is between layers; "
                "put an nn.Dropout after it"
            )
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.batch_first = batch_first
        self.dropout = dropout
        self.bidirectional = bidirectional
        bound = 1 / math.sqrt(hidden_size)
        rows = self.gates * hidden_size
        for layer in range(num_layers):
            size = input_size if layer == 0 else hidden_size * len(self._directions())
            for end in self._directions():
                name = f"_l{layer}{end}"
                setattr(self, "weight_ih" + name, uniform((rows, size), bound, dtype))
                setattr(self, "weight_hh" + name, uniform((rows, hidden_size), bound, dtype))
                if bias:
                    setattr(self, "bias_ih" + name, uniform((rows,), bound, dtype))
                    setattr(self, "bias_hh" + name, uniform((rows,), bound, dtype))

    def _directions(self) -> tuple[str, ...]:
        return ("", "_reverse") if self.bidirectional else ("",)

    def _layer(self, x: Tensor, state: list[Tensor], weights: list[Any], **how: Any) -> tuple[Tensor, ...]:
        """The outputs of one layer in one direction, and the last states."""
        raise NotImplementedError

    def _run(
        self, x: Tensor, states: tuple[Tensor, ...] | None, count: int, lengths: Tensor | None
    ) -> tuple[Tensor, list[Tensor]]:
        """The outputs, and the last of each of the ``count`` states: (layers * directions, batch, hidden_size)."""
        caller = type(self).__name__
        axes = ("batch", "length") if self.batch_first else ("length", "batch")
        check_input(caller, x, axes, getattr(self, "weight_ih_l0").shape[1])  # noqa: B009 (a name made by setattr)
        if self.batch_first:
            x = x.permute_dims((1, 0, 2))
        length, batch, _ = x.shape
        if length == 0:
            raise fail(errors.ShapeError, f"{caller}(): the input has length 0")
        if states is not None:
            needed = (self.num_layers * len(self._directions()), batch, self.hidden_size)
            if len(states) != count or not all(isinstance(each, Tensor) for each in states):
                raise fail(TypeError, f"{caller}(): the state is {'a tensor' if count == 1 else 'a pair of tensors'}")
            for each in states:
                if each.shape != needed:
                    raise fail(errors.ShapeError, f"{caller}(): a state has shape {needed}, not {each.shape}")
        last: list[list[Tensor]] = []
        for layer in range(self.num_layers):
            columns = []
            for end in self._directions():
                name = f"_l{layer}{end}"
                row = len(last)
                if states is None:
                    state = [zeros((batch, self.hidden_size), dtype=x.dtype) for _ in range(count)]
                else:
                    state = [each[row] for each in states]
                weights = [
                    getattr(self, part + name, None) for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
                ]
                outputs, *state = self._layer(x, state, weights, reverse=bool(end), lengths=lengths)
                last.append(state)
                columns.append(outputs)
            x = columns[0] if len(columns) == 1 else concat(columns, axis=-1)
            if self.training and self.dropout != 0 and layer + 1 < self.num_layers:
                x = _nn.dropout(x, self.dropout)
        y = x.permute_dims((1, 0, 2)) if self.batch_first else x
        return y, [stack([state[i] for state in last]) for i in range(count)]

    def extra_repr(self) -> str:
        size: int = getattr(self, "weight_ih_l0").shape[1]  # noqa: B009 (a name made by setattr)
        return what_changed(
            f"{size}, {self.hidden_size}, num_layers={self.num_layers}",
            batch_first=(self.batch_first, False),
            dropout=(self.dropout, 0.0),
            bidirectional=(self.bidirectional, False),
        )


@names_its_errors
class RNN(_Recurrent):
    """A plain recurrent network over (length, batch, features), or (batch, length, features) with ``batch_first``.

    Gives the outputs and the last hidden state. In training ``dropout`` is the probability that an output of a layer,
    except the last one, is dropped; GRU and LSTM have it too.

    Sequences of a batch may have different ``lengths``, given as integers (batch,): outputs behind the end of one are
    0, its last state is that of its own last step, and the other direction begins at its own end. So it is for GRU and
    LSTM.
    """

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: Literal["tanh", "relu"] = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, dtype=dtype)
        check_choice("RNN", "nonlinearity", nonlinearity, ("tanh", "relu"))
        self.nonlinearity: Literal["tanh", "relu"] = nonlinearity

    def forward(self, x: Tensor, h: Tensor | None = None, lengths: Tensor | None = None) -> tuple[Tensor, Tensor]:
        y, (last,) = self._run(x, None if h is None else (h,), 1, lengths)
        return y, last

    def _layer(self, x: Tensor, state: list[Tensor], weights: list[Any], **how: Any) -> tuple[Tensor, ...]:
        return _nn.rnn(x, state[0], weights[0], weights[1], weights[2], weights[3], self.nonlinearity, **how)

    def extra_repr(self) -> str:
        return what_changed(super().extra_repr(), nonlinearity=(self.nonlinearity, "tanh"))


class GRU(_Recurrent):
    """Gated recurrent units over (length, batch, features), or (batch, length, features) with ``batch_first``.

    Gives the outputs and the last hidden state.

        >>> y, h = lento.nn.GRU(3, 4)(lento.ones((5, 2, 3)))
        >>> y.shape, h.shape
        ((5, 2, 4), (1, 2, 4))
    """

    gates = 3

    def forward(self, x: Tensor, h: Tensor | None = None, lengths: Tensor | None = None) -> tuple[Tensor, Tensor]:
        y, (last,) = self._run(x, None if h is None else (h,), 1, lengths)
        return y, last

    def _layer(self, x: Tensor, state: list[Tensor], weights: list[Any], **how: Any) -> tuple[Tensor, ...]:
        return _nn.gru(x, state[0], weights[0], weights[1], weights[2], weights[3], **how)


class LSTM(_Recurrent):
    """Long short-term memory over (length, batch, features), or (batch, length, features) with ``batch_first``.

    Gives the outputs and the pair of the last hidden and cell states.

        >>> y, (h, c) = lento.nn.LSTM(3, 4)(lento.ones((5, 2, 3)), lengths=lento.asarray([5, 2]))
        >>> (y[2:, 1] == 0).all(), (h[0, 1] == y[1, 1]).all()
        (tensor(True), tensor(True))
    """

    gates = 4

    def forward(
        self, x: Tensor, state: tuple[Tensor, Tensor] | None = None, lengths: Tensor | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        y, (h, c) = self._run(x, state, 2, lengths)
        return y, (h, c)

    def _layer(self, x: Tensor, state: list[Tensor], weights: list[Any], **how: Any) -> tuple[Tensor, ...]:
        return _nn.lstm(x, state[0], state[1], weights[0], weights[1], weights[2], weights[3], **how)


@names_its_errors
class LSTMCell(Module):
    """One step of an LSTM for (batch, features) or (features,), from the pair of states, or from zeros, to the next.

    >>> h, c = lento.nn.LSTMCell(3, 4)(lento.ones((2, 3)))
    >>> h.shape, c.shape
    ((2, 4), (2, 4))
    """

    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, dtype: DTypeLike = None) -> None:
        check_sizes("LSTMCell", input_size=input_size, hidden_size=hidden_size)
        self.input_size = input_size
        self.hidden_size = hidden_size
        rows = 4 * hidden_size
        self.weight_ih = initial_fan_in((rows, input_size), hidden_size, dtype)
        self.weight_hh = initial_fan_in((rows, hidden_size), hidden_size, dtype)
        self.bias_ih = initial_fan_in((rows,), hidden_size, dtype) if bias else None
        self.bias_hh = initial_fan_in((rows,), hidden_size, dtype) if bias else None

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        h, c = (None, None) if state is None else state
        hidden, cell = _nn.lstm_cell(x, h, c, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return hidden, cell

    def extra_repr(self) -> str:
        return what_changed(f"{self.input_size}, {self.hidden_size}", bias=(self.bias_ih is not None, True))
