"""A user's program that `mypy --strict` accepts, with the types it then knows; test_typing.py checks and runs it.

What is wrong in it on purpose is marked with the error that mypy must find there: an ignored error that is none is one.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import lento
from lento import Tensor

if TYPE_CHECKING:
    from typing_extensions import assert_type
else:

    def assert_type(value: Any, kind: Any) -> Any:
        return value


class Net(lento.nn.Module):
    def __init__(self, features: int) -> None:
        self.first = lento.nn.Linear(features, 4)
        self.rest = [lento.nn.Linear(4, 4), lento.nn.Linear(4, 1)]

    def forward(self, x: Tensor, scale: float = 1.0) -> Tensor:
        y = self.first(x)
        for layer in self.rest:
            y = lento.tanh(layer(y))
        return y * scale


class Pair(lento.nn.Module):
    def forward(self, x: Tensor, *, flip: bool) -> tuple[Tensor, int]:
        return (-x if flip else x), x.ndim


@dataclasses.dataclass
class Weights:
    w: Tensor
    b: Tensor


def loss_of(net: Net, x: Tensor, y: Tensor) -> Tensor:
    return ((net(x) - y) ** 2).mean()


def loss_and_guess(weights: Weights, x: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    guess = (weights.w * x).sum() + weights.b
    return guess * guess, {"guess": guess}


def modules(net: Net, x: Tensor) -> None:
    assert_type(net(x), Tensor)
    assert_type(net(x, scale=2.0), Tensor)
    assert_type(Pair()(x, flip=True), tuple[Tensor, int])
    assert_type(lento.nn.LSTM(2, 3)(lento.ones((5, 1, 2))), tuple[Tensor, tuple[Tensor, Tensor]])
    assert_type(lento.nn.Sequential(net, lento.nn.ReLU())(x), Tensor)
    assert_type(lento.nn.init.xavier_normal((2, 3)), Tensor)
    assert_type(lento.nn.init.zeros_(net.first.weight.copy()), Tensor)
    assert_type(lento.nn.functional.relu(x), Tensor)
    assert_type(len(lento.nn.ModuleList(net.rest)[1:]), int)
    assert_type(net.train(False), Net)
    again = lento.checkpoint(net)
    assert_type(again(x, 2.0), Tensor)
    assert_type(again.parameters(), dict[str, Tensor])


def refused(net: Net, x: Tensor) -> None:
    net("text")  # type: ignore[arg-type]
    net(x, scales=2.0)  # type: ignore[call-arg]
    Pair()(x)  # type: ignore[call-arg]
    lento.checkpoint(net)("text")  # type: ignore[arg-type]
    lento.grad(loss_of)(x, x, x)  # type: ignore[arg-type]
    lento.grad(loss_of)(net, x)  # type: ignore[call-arg]
    lento.vmap(loss_of)(net, x)  # type: ignore[call-arg]
    lento.vjp(loss_of, net, x)  # type: ignore[arg-type]


def derivatives(net: Net, x: Tensor, y: Tensor) -> None:
    assert_type(lento.grad(loss_of)(net, x, y), Net)
    assert_type(lento.grad(loss_of, argnums=1)(net, x, y), Tensor)
    assert_type(lento.grad(loss_of, argnums=(0, 1))(net, x, y), tuple[Net, Tensor])
    assert_type(lento.grad(loss_of, argnums=(2,))(net, x, y), tuple[Any, ...])
    assert_type(lento.value_and_grad(loss_of)(net, x, y=y), tuple[Tensor, Net])
    assert_type(lento.value_and_grad(loss_of, (0, 1))(net, x, y), tuple[Tensor, tuple[Net, Tensor]])

    weights = Weights(lento.ones(3), lento.asarray(0.5))
    assert_type(lento.grad(loss_and_guess, has_aux=True)(weights, x[0, 0]), tuple[Weights, dict[str, Tensor]])
    (value, aux), slopes = lento.value_and_grad(loss_and_guess, has_aux=True)(weights, x[0, 0])
    assert_type(value, Tensor)
    assert_type(aux, dict[str, Tensor])
    assert_type(slopes, Weights)

    def cube(x: Tensor) -> Tensor:
        return x**3

    assert_type(lento.grad(lento.grad(cube))(x[0, 0]), Tensor)
    assert_type(lento.vmap(lento.grad(cube))(x[0]), Tensor)
    assert_type(lento.vmap(loss_and_guess, in_axes=(None, 0))(weights, x[0]), tuple[Tensor, dict[str, Tensor]])
    assert_type(lento.checkpoint(cube)(x), Tensor)
    assert_type(lento.jvp(cube, (x,), (x,)), tuple[Tensor, Tensor])
    assert_type(lento.linearize(cube, x)[1](x), Tensor)
    result, pull = lento.vjp(loss_of, net, x, y)
    assert_type(result, Tensor)
    assert_type(pull(lento.ones_like(result)), tuple[Net, Tensor, Tensor])
    assert_type(lento.vjp(lambda x: x * x, x)[0], Tensor)
    clipped = lento.custom_gradient(cube, lambda inputs, outputs, cotangents: [lento.clip(cotangents[0], -1, 1)])
    assert_type(clipped(x), Tensor)


def training(net: Net, x: Tensor, y: Tensor) -> float:
    optimizer = lento.optim.Adam(net, lr=0.01)
    step = lento.value_and_grad(loss_of)
    loss, gradients = step(net, x, y)
    gradients, norm = lento.optim.clip_grad_norm(gradients, 1.0)
    assert_type(gradients, Net)
    assert_type(norm, Tensor)
    optimizer.step(lento.optim.clip_grad_value(gradients, 0.5))
    return float(loss)


def main() -> None:
    net, x, y = Net(2), lento.ones((3, 2)), lento.ones((3, 1))
    modules(net, x)
    derivatives(net, x, y)
    print(training(net, x, y) > 0)


if __name__ == "__main__":
    main()
