"""Graph attention: nodes learn their class from their features and those of their neighbours."""

from __future__ import annotations

import lento
from lento import nn


class GraphAttention(nn.Module):
    """Every node takes the mean of its neighbours, weighted by scores; the mean over all heads."""

    def __init__(self, features: int, out_features: int, heads: int) -> None:
        self.heads = heads
        self.W = nn.init.xavier_normal((features, out_features * heads))
        self.a = nn.init.xavier_normal((heads, 2 * out_features, 1))

    def forward(self, x: lento.Tensor, edges: lento.Tensor) -> lento.Tensor:
        nodes = (x @ self.W).reshape(x.shape[0], self.heads, -1).swapaxes(0, 1)  # (heads, nodes, features)
        source, target = lento.split(self.a, 2, axis=1)
        scores = nn.leaky_relu(nodes @ source + (nodes @ target).mT, 0.2)
        attention = nn.softmax(lento.where(edges > 0, scores, -9e16), axis=-1)
        return (attention @ nodes).mean(axis=0)


class GAT(nn.Module):
    def __init__(self, features: int, hidden: int, heads: int, classes: int) -> None:
        self.gat1 = GraphAttention(features, hidden, heads)
        self.gat2 = GraphAttention(hidden, classes, 1)

    def forward(self, x: lento.Tensor, edges: lento.Tensor) -> lento.Tensor:
        return nn.log_softmax(self.gat2(nn.elu(self.gat1(x, edges)), edges), axis=1)


def loss(model: GAT, x: lento.Tensor, edges: lento.Tensor, classes: lento.Tensor, known: lento.Tensor) -> lento.Tensor:
    """Over the nodes whose numbers are in ``known``."""
    return nn.nll_loss(model(x, edges)[known], classes[known])
