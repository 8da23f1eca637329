"""Ports of PyTorch programs by themselves: beside NumPy, or by what must hold of them."""

from __future__ import annotations

import itertools

import lento
import numpy as np
import pytest
from lento import nn, optim
from ports import actor_critic, dcgan, fast_neural_style, gat, mnist, time_sequence, vae, word_language_model
from ports.training import train


@pytest.fixture(autouse=True)
def same_numbers_each_time() -> None:
    lento.random.seed(0)


def test_vae_loss_beside_numpy() -> None:
    model = vae.VAE(6, 5, 2)
    x, noise = lento.random.uniform((4, 6)), lento.random.normal((4, 2))
    weights = {name: value.numpy() for name, value in model.state_dict().items()}

    def layer(name: str, x: np.ndarray) -> np.ndarray:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    hidden = np.maximum(layer("fc1", x.numpy()), 0)
    mean, log_variance = layer("fc21", hidden), layer("fc22", hidden)
    code = mean + noise.numpy() * np.exp(log_variance / 2)
    found = 1 / (1 + np.exp(-layer("fc4", np.maximum(layer("fc3", code), 0))))
    pixels = -(x.numpy() * np.log(found) + (1 - x.numpy()) * np.log(1 - found)).sum()
    divergence = 0.5 * (mean**2 + np.exp(log_variance) - log_variance - 1).sum()
    assert float(vae.loss(model, x, noise)) == pytest.approx(pixels + divergence, rel=1e-5)


def test_vae_learns_one_picture() -> None:
    model = vae.VAE(6, 16, 2)
    picture = lento.asarray([[1.0, 0.0, 1.0, 0.0, 0.0, 1.0]] * 8)
    batches = [(picture, lento.random.normal((8, 2))) for _ in range(60)]
    losses = train(model, optim.Adam(model, lr=0.02), vae.loss, batches)
    assert float(losses[-1]) < float(losses[0]) / 4


def test_dcgan_makes_pictures_and_both_networks_move() -> None:
    generator, discriminator = dcgan.Generator(4, 2, 1), dcgan.Discriminator(2, 1)
    pictures, noise = lento.random.normal((4, 1, 64, 64)), lento.random.normal((4, 4, 1, 1))
    before = {**generator.state_dict(), **discriminator.state_dict()}
    made = generator(noise)
    assert made.shape == (4, 1, 64, 64) and float(abs(made).max()) <= 1
    real, fake = discriminator(pictures).numpy(), discriminator(made).numpy()
    losses = dcgan.train(generator, discriminator, [(pictures, noise)] * 2).numpy()
    assert losses[0, 0] == pytest.approx(-np.log(real).mean() - np.log(1 - fake).mean(), rel=1e-5)
    assert losses.shape == (2, 2) and np.isfinite(losses).all()
    after = {**generator.state_dict(), **discriminator.state_dict()}
    assert all((after[name] != value).any() for name, value in before.items())


def test_a_gradient_through_a_shared_forward_is_that_of_both_networks_together() -> None:
    generator, discriminator = dcgan.Generator(3, 1, 1).eval(), dcgan.Discriminator(1, 1).eval()
    noise = lento.random.normal((2, 3, 1, 1))
    together = lento.grad(lambda net: dcgan.verdict(discriminator, net(noise), True))(generator)
    made, backward = lento.vjp(lambda net: net(noise), generator)
    apart = backward(lento.grad(lambda made: dcgan.verdict(discriminator, made, True))(made))[0]
    for name, value in together.parameters().items():
        np.testing.assert_allclose(apart.parameters()[name].numpy(), value.numpy(), rtol=1e-4, atol=1e-7)


def test_the_state_of_the_word_model_goes_on_from_piece_to_piece() -> None:
    model = word_language_model.WordModel(11, 6, 5, 2)
    text = lento.random.randint((8, 3), 0, 11)
    whole, _ = model(text, model.first_state(3))
    first, state = model(text[:5], model.first_state(3))
    second, _ = model(text[5:], state)
    np.testing.assert_allclose(lento.concat([first, second]).numpy(), whole.numpy(), rtol=1e-5, atol=1e-6)


def test_the_word_model_learns_a_text_that_repeats() -> None:
    model = word_language_model.WordModel(4, 8, 16, 1)
    text = np.arange(61)[:, None] % 4 + np.zeros((1, 2), dtype=np.int64)
    pieces = [(lento.asarray(text[i : i + 6]), lento.asarray(text[i + 1 : i + 7])) for i in range(0, 54, 6)]
    losses = word_language_model.train(model, pieces * 3, batch=2, lr=5.0)
    assert float(losses[-1]) < 0.1 < 1.3 < float(losses[0])


def test_returns_of_an_episode_beside_numpy() -> None:
    rewards = [1.0, 0.0, 2.0, 1.0]
    sums = np.array([sum(r * 0.5**k for k, r in enumerate(rewards[i:])) for i in range(4)])
    expected = (sums - sums.mean()) / sums.std(ddof=1)
    np.testing.assert_allclose(actor_critic.returns_of(rewards, 0.5).numpy(), expected, rtol=1e-5)


def test_the_pole_falls_to_the_side_from_which_the_cart_is_pushed() -> None:
    pole = actor_critic.CartPole(np.zeros(4))
    steps = next(i for i in itertools.count(1) if not pole.push(1))
    assert 5 < steps < 15 and pole.state[0] > 0 > pole.state[2]


def test_actor_and_critic_take_the_gradient_of_what_they_say() -> None:
    """The actor's part leaves the critic alone, so its gradient is that of the squared or absolute error."""
    model = actor_critic.Policy(8)
    states, actions = lento.random.normal((5, 4)), lento.asarray([0, 1, 1, 0, 1])
    returns = lento.asarray([0.1, -0.4, 0.2, 0.0, 0.3])
    gradient = lento.grad(actor_critic.loss)(model, states, actions, returns)
    error = model(states)[1].numpy()[:, 0] - returns.numpy()
    expected = np.clip(error, -1, 1).sum()  # of the smooth absolute value
    assert float(gradient.value_head.bias[0]) == pytest.approx(expected, rel=1e-5)
    chances = iter(np.random.default_rng(0).uniform(0, 1, 1000).tolist())
    losses = actor_critic.train(model, [np.zeros(4)] * 3, chances, steps=20)
    assert np.isfinite(losses.numpy()).all()


def test_digits_are_told_by_probabilities_and_learned() -> None:
    model = mnist.Net()
    pictures, digits = lento.random.normal((4, 1, 28, 28)), lento.asarray([3, 1, 4, 1])
    np.testing.assert_allclose(lento.exp(model(pictures)).sum(axis=1).numpy(), 1, rtol=1e-5)
    losses = train(model, mnist.Adadelta(model), mnist.loss, [(pictures, digits)] * 4)
    assert float(losses[-1]) < float(losses[0])


def test_adadelta_beside_numpy() -> None:
    model = nn.Linear(3, 1, bias=False)
    x, start = lento.ones((1, 3)), model.weight.numpy().copy()
    optimizer = mnist.Adadelta(model, lr=0.5)
    weight, square, past = start, np.zeros((1, 3)), np.zeros((1, 3))
    for _ in range(3):
        train(model, optimizer, lambda model, x: (model(x) ** 2).sum(), [(x,)])
        gradient = 2 * weight.sum() * np.ones((1, 3))
        square = 0.9 * square + 0.1 * gradient**2
        change = np.sqrt(past + 1e-6) / np.sqrt(square + 1e-6) * gradient
        past = 0.9 * past + 0.1 * change**2
        weight = weight - 0.5 * change
    np.testing.assert_allclose(model.weight.numpy(), weight, rtol=1e-5)


def filled(model: time_sequence.Sequence) -> time_sequence.Sequence:
    for value in model.parameters().values():
        value[...] = 0.5 * lento.random.normal(value.shape, dtype=lento.float64)
    return model


def test_a_cell_is_a_step_of_an_lstm() -> None:
    cell = time_sequence.Cell(2, 3)
    layer = nn.LSTM(2, 3, dtype=lento.float64)
    cell.load_state_dict({name.removesuffix("_l0"): value for name, value in layer.state_dict().items()})
    x = lento.random.normal((4, 5, 2), dtype=lento.float64)
    state = (lento.zeros((5, 3), dtype=lento.float64),) * 2
    outputs = []
    for step in x:
        state = cell(step, state)
        outputs.append(state[0])
    np.testing.assert_allclose(lento.stack(outputs).numpy(), layer(x)[0].numpy(), rtol=1e-12)


def test_the_future_of_a_sequence_is_made_of_what_was_made() -> None:
    model = filled(time_sequence.Sequence(4))
    x = lento.random.normal((2, 3), dtype=lento.float64)
    future = model(x, future=2)
    again = model(lento.concat([x, future[:, 2:4]], axis=1))
    np.testing.assert_allclose(again.numpy(), future.numpy(), rtol=1e-12)


def test_a_node_sees_its_neighbours_and_theirs_alone() -> None:
    model = gat.GAT(3, 4, 2, 5)
    x = lento.random.normal((6, 3))
    chain = np.eye(6, dtype=np.float32) + np.eye(6, k=1, dtype=np.float32) + np.eye(6, k=-1, dtype=np.float32)
    edges = lento.asarray(chain)
    before = model(x, edges).numpy()
    x[5] = 10.0
    after = model(x, edges).numpy()
    np.testing.assert_array_equal(before[:3], after[:3])  # of node 5, two steps away is node 3
    assert (before[3:] != after[3:]).any(axis=1).all()


def test_the_order_of_nodes_is_of_no_matter() -> None:
    model = gat.GAT(3, 4, 2, 5)
    random = np.random.default_rng(0)
    x, edges = random.standard_normal((6, 3)).astype(np.float32), np.eye(6) + (random.uniform(0, 1, (6, 6)) < 0.4)
    order = random.permutation(6)
    plain = model(lento.asarray(x), lento.asarray(edges)).numpy()
    moved = model(lento.asarray(x[order]), lento.asarray(edges[order][:, order])).numpy()
    np.testing.assert_allclose(moved, plain[order], rtol=1e-4, atol=1e-5)


def test_style_keeps_the_size_and_is_learned() -> None:
    model = fast_neural_style.StyleNet()
    pictures, style = 255 * lento.random.uniform((1, 3, 12, 12)), 255 * lento.random.uniform((1, 3, 12, 12))
    assert model(pictures).shape == pictures.shape
    losses = train(model, optim.Adam(model, lr=1e-3), fast_neural_style.loss, [(pictures, style)] * 3)
    assert float(losses[-1]) < float(losses[0])


def test_the_gram_matrix_beside_numpy() -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 5))
    expected = np.einsum("nchw,ndhw->ncd", x, x) / 60
    np.testing.assert_allclose(fast_neural_style.gram(lento.asarray(x)).numpy(), expected, rtol=1e-12)
