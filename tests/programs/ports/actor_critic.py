"""A pole on a cart, kept upright by a policy that learns from its own estimate of the rewards to come.

The numbers by which actions are chosen are given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import lento
import numpy as np
from lento import nn, optim


class CartPole:
    """The cart is pushed to the left (0) or right (1); the episode ends when it is far away or the pole leans."""

    def __init__(self, start: np.ndarray) -> None:
        self.state = start.astype(np.float32)

    def push(self, action: int) -> bool:
        """Moves on by 0.02 s; whether the episode goes on."""
        _, speed, angle, turn = (float(value) for value in self.state)
        force = 10.0 if action == 1 else -10.0
        cart, pole, half = 1.0, 0.1, 0.5
        total = cart + pole
        sine, cosine = math.sin(angle), math.cos(angle)
        pushed = (force + pole * half * turn**2 * sine) / total
        turning = (9.8 * sine - cosine * pushed) / (half * (4 / 3 - pole * cosine**2 / total))
        moving = pushed - pole * half * turning * cosine / total
        change = np.array([speed, moving, turn, turning])
        self.state = (self.state + 0.02 * change).astype(np.float32)
        return bool(abs(self.state[0]) < 2.4 and abs(self.state[2]) < 0.2095)


class Policy(nn.Module):
    """Probabilities of both actions (the actor), and the rewards to come (the critic), for one state or many."""

    def __init__(self, hidden: int = 128) -> None:
        self.affine1 = nn.Linear(4, hidden)
        self.action_head = nn.Linear(hidden, 2)
        self.value_head = nn.Linear(hidden, 1)

    def forward(self, state: lento.Tensor) -> tuple[lento.Tensor, lento.Tensor]:
        hidden = nn.relu(self.affine1(state))
        return nn.softmax(self.action_head(hidden), axis=-1), self.value_head(hidden)


def returns_of(rewards: list[float], discount: float) -> lento.Tensor:
    """The discounted sum of the rewards from each step on, with mean 0 and deviation 1."""
    sums = np.zeros(len(rewards))
    total = 0.0
    for i in reversed(range(len(rewards))):
        total = sums[i] = rewards[i] + discount * total
    returns = lento.asarray(sums, dtype=lento.float32)
    return (returns - returns.mean()) / (returns.std(correction=1) + float(np.finfo(np.float32).eps))


def loss(model: Policy, states: lento.Tensor, actions: lento.Tensor, returns: lento.Tensor) -> lento.Tensor:
    probabilities, values = model(states)
    values = values[:, 0]
    taken = lento.take_along_axis(probabilities, actions[:, None], axis=1)[:, 0]
    advantage = returns - lento.stop_gradient(values)
    return -(lento.log(taken) * advantage).sum() + nn.smooth_l1_loss(values, returns, reduction="sum")


def play(model: Policy, pole: CartPole, chances: Iterator[float], steps: int) -> tuple[list[np.ndarray], list[int]]:
    """An episode: the states that were seen and the actions taken in them."""
    states, actions = [], []
    for _ in range(steps):
        probabilities, _ = model(lento.asarray(pole.state))
        states.append(pole.state)
        actions.append(int(next(chances) > float(probabilities[0])))
        if not pole.push(actions[-1]):
            break
    return states, actions


def train(
    model: Policy, starts: list[np.ndarray], chances: Iterator[float], steps: int, discount: float = 0.99
) -> lento.Tensor:
    """An episode from each start, after each a step; the losses."""
    optimizer = optim.Adam(model, lr=3e-2)
    losses = []
    for start in starts:
        states, actions = play(model, CartPole(start), chances, steps)
        returns = returns_of([1.0] * len(states), discount)
        value, gradients = lento.value_and_grad(loss)(
            model, lento.asarray(np.stack(states)), lento.asarray(actions), returns
        )
        optimizer.step(gradients)
        losses.append(value)
        lento.step()
    return lento.stack(losses)
