"""Programs of pytorch/examples beside their ports: the originals' classes and functions, the same weights and data.

All is float32 unless said otherwise. After a few steps losses and all weights are compared. Both sum in another order,
so that a gradient is off by some 1e-6 of its size. SGD hands that on to the weights; Adam divides by the gradient's
size, so that a gradient near zero, which is nothing but rounding, may move a weight by as much as a large one: up to
the learning rate a step, which is the tolerance where Adam trains.
"""

from __future__ import annotations

import types
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import lento
import numpy as np
import torch
from comparing import Pair, Results, program
from lento import nn, optim
from originals import Original, Patched
from ports import actor_critic, dcgan, mnist, time_sequence, vae, word_language_model
from ports.training import train
from torch.nn import functional

torch.set_num_threads(1)  # as compare.py does for Lento

EXAMPLES = "examples"
TORCH = {"torch": torch, "nn": torch.nn, "F": functional}
LENTO = {"torch": lento, "nn": nn, "F": nn}


def arrays(state: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """The tensors of a state dict of either library."""
    plain = {name: value.detach() if hasattr(value, "detach") else value for name, value in state.items()}
    return {prefix + name: np.array(value) for name, value in plain.items()}


def same_weights(model: nn.Module, original: torch.nn.Module) -> nn.Module:
    model.load_state_dict(arrays(original.state_dict()))
    return model


def tensors(*values: np.ndarray) -> tuple[lento.Tensor, ...]:
    return tuple(lento.asarray(value) for value in values)


def normal(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.standard_normal(shape).astype(np.float32)


@program("vae", f"{EXAMPLES}/vae/main.py", needs="torch", tolerance=1e-3)
def compare_vae(original: Original) -> Pair:
    random = np.random.default_rng(0)
    steps, batch = 5, 16
    pictures = random.uniform(0, 1, (steps, batch, 784)).astype(np.float32)
    noises = normal(random, steps, batch, 20)

    def make(noise: Iterator[np.ndarray]) -> tuple[dict[str, Any], torch.nn.Module]:
        torch.manual_seed(0)
        given = Patched(torch, randn_like=lambda _: torch.from_numpy(next(noise)))
        space = original.run("VAE", "loss_function", **{**TORCH, "torch": given})
        return space, space["VAE"]()

    def theirs() -> Results:
        space, model = make(iter(noises))
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        losses = []
        for batch in torch.from_numpy(pictures):
            optimizer.zero_grad()
            found, mean, log_variance = model(batch)
            loss = space["loss_function"](found, batch, mean, log_variance)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return {"losses": losses, **arrays(model.state_dict())}

    def ours() -> Results:
        model = same_weights(vae.VAE(), make(iter(noises))[1])
        losses = train(model, optim.Adam(model, lr=1e-3), vae.loss, map(tensors, pictures, noises))
        return {"losses": losses, **arrays(model.state_dict())}

    def moved(text: Original) -> Results:
        noise = iter(noises)
        given = Patched(lento.random, normal_like=lambda _: lento.asarray(next(noise)))
        space = text.run("VAE", "loss_function", **{**LENTO, "torch": Patched(lento, random=given)})
        model = same_weights(space["VAE"](), make(iter(noises))[1])

        def loss(model: Any, batch: lento.Tensor) -> lento.Tensor:
            found, mean, log_variance = model(batch)
            return space["loss_function"](found, batch, mean, log_variance)

        losses = train(model, optim.Adam(model, lr=1e-3), loss, map(tensors, pictures))
        return {"losses": losses, **arrays(model.state_dict())}

    return Pair(ours, theirs, steps, moved)


@program("dcgan", f"{EXAMPLES}/dcgan/main.py", needs="torch", tolerance=2e-3)
def compare_dcgan(original: Original) -> Pair:
    random = np.random.default_rng(0)
    steps, batch, latent, features, channels = 3, 4, 10, 8, 1
    pictures, noises = normal(random, steps, batch, channels, 64, 64), normal(random, steps, batch, latent, 1, 1)

    def make() -> tuple[torch.nn.Module, torch.nn.Module]:
        torch.manual_seed(0)
        sizes = {"nz": latent, "ngf": features, "ndf": features, "nc": channels}
        space = original.run("Generator", "Discriminator", "weights_init", **TORCH, **sizes)
        return tuple(space[name](1).apply(space["weights_init"]) for name in ("Generator", "Discriminator"))

    def theirs() -> Results:
        generator, discriminator = make()
        adam = [torch.optim.Adam(net.parameters(), lr=0.0002, betas=(0.5, 0.999)) for net in (discriminator, generator)]
        criterion, losses = torch.nn.BCELoss(), []
        for picture, noise in zip(torch.from_numpy(pictures), torch.from_numpy(noises), strict=True):
            made = generator(noise)
            discriminator.zero_grad()
            loss = criterion(discriminator(picture), torch.ones(batch))
            loss = loss + criterion(discriminator(made.detach()), torch.zeros(batch))
            loss.backward()
            adam[0].step()
            generator.zero_grad()
            other = criterion(discriminator(made), torch.ones(batch))
            other.backward()
            adam[1].step()
            losses.append([loss.item(), other.item()])
        states = arrays(generator.state_dict(), "generator."), arrays(discriminator.state_dict(), "discriminator.")
        return {"losses": losses, **states[0], **states[1]}

    def ours() -> Results:
        models = dcgan.Generator(latent, features, channels), dcgan.Discriminator(features, channels)
        generator, discriminator = map(same_weights, models, make())
        losses = dcgan.train(generator, discriminator, list(map(tensors, pictures, noises)))
        states = arrays(generator.state_dict(), "generator."), arrays(discriminator.state_dict(), "discriminator.")
        return {"losses": losses, **states[0], **states[1]}

    return Pair(ours, theirs, steps)


# SGD with a rate of 20 on gradients clipped to 0.25: an error of 1e-6 of a gradient is 5e-6 of a weight.
@program("word-language-model", f"{EXAMPLES}/word_language_model/model.py", needs="torch", tolerance=1e-4)
def compare_words(original: Original) -> Pair:
    steps, length, batch, words, size, layers = 5, 12, 8, 50, 24, 2
    text = np.random.default_rng(0).integers(0, words, (steps * length + 1, batch))
    pieces = [(text[i : i + length], text[i + 1 : i + 1 + length]) for i in range(0, steps * length, length)]

    def make() -> torch.nn.Module:
        torch.manual_seed(0)
        return original.run("RNNModel", **TORCH)["RNNModel"]("LSTM", words, size, size, layers, dropout=0.0)

    def theirs() -> Results:
        model = make()
        state, losses = model.init_hidden(batch), []
        for inputs, following in pieces:
            model.zero_grad()
            state = tuple(part.detach() for part in state)
            scores, state = model(torch.from_numpy(inputs), state)
            loss = torch.nn.NLLLoss()(scores, torch.from_numpy(following).reshape(-1))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            for parameter in model.parameters():
                parameter.data.add_(parameter.grad, alpha=-20)
            losses.append(loss.item())
        return {"losses": losses, **arrays(model.state_dict())}

    def ours() -> Results:
        model = same_weights(word_language_model.WordModel(words, size, size, layers), make())
        losses = word_language_model.train(model, [tensors(*piece) for piece in pieces], batch)
        return {"losses": losses, **arrays(model.state_dict())}

    def moved(text: Original) -> Results:
        model = text.run("RNNModel", **LENTO)["RNNModel"]("LSTM", words, size, size, layers, dropout=0.0)
        same_weights(model, make())
        model.first_state = model.init_hidden  # as the loop of the port calls it
        losses = word_language_model.train(model, [tensors(*piece) for piece in pieces], batch)
        return {"losses": losses, **arrays(model.state_dict())}

    return Pair(ours, theirs, steps, moved)


# Adam with a rate of 0.03, see above. The same actions are taken, so states and returns are the same.
@program("actor-critic", f"{EXAMPLES}/reinforcement_learning/actor_critic.py", needs="torch", tolerance=1e-3)
def compare_actor_critic(original: Original) -> Pair:
    random = np.random.default_rng(0)
    episodes, steps = 4, 30
    starts, chances = list(random.uniform(-0.05, 0.05, (episodes, 4))), random.uniform(0, 1, 1000).tolist()

    def make(chance: Iterator[float]) -> dict[str, Any]:
        torch.manual_seed(0)

        class Choice(torch.distributions.Categorical):
            """Chooses by the given numbers."""

            def sample(self) -> torch.Tensor:
                return torch.tensor(int(next(chance) > self.probs[0].item()))

        space = original.run("Policy", **TORCH)
        model = space["Policy"]()
        around = {
            "model": model,
            "optimizer": torch.optim.Adam(model.parameters(), lr=3e-2),
            "args": types.SimpleNamespace(gamma=0.99),
            "eps": np.finfo(np.float32).eps.item(),
            "Categorical": Choice,
            "namedtuple": namedtuple,
        }
        return original.run("SavedAction", "select_action", "finish_episode", **TORCH, **around)

    def theirs() -> Results:
        space = make(iter(chances))
        for start in starts:
            pole = actor_critic.CartPole(start)
            for _ in range(steps):
                goes_on = pole.push(space["select_action"](pole.state))
                space["model"].rewards.append(1.0)
                if not goes_on:
                    break
            space["finish_episode"]()
        return arrays(space["model"].state_dict())

    def ours() -> Results:
        model = same_weights(actor_critic.Policy(), make(iter(chances))["model"])
        actor_critic.train(model, starts, iter(chances), steps)
        return arrays(model.state_dict())

    return Pair(ours, theirs, episodes)


# Adadelta divides by the size of the gradient as Adam does; its first steps are some 1e-3 long.
@program("mnist", f"{EXAMPLES}/mnist/main.py", needs="torch", tolerance=1e-3)
def compare_mnist(original: Original) -> Pair:
    random = np.random.default_rng(0)
    steps, batch = 3, 8
    pictures, digits = normal(random, steps, batch, 1, 28, 28), random.integers(0, 10, (steps, batch))

    class Batches(list):
        dataset = range(steps * batch)

    def make() -> tuple[dict[str, Any], torch.nn.Module]:
        torch.manual_seed(0)
        space = original.run("Net", "train", **TORCH)
        model = space["Net"]()
        model.dropout1.p = model.dropout2.p = 0.0  # what would be dropped differs between libraries
        return space, model

    def theirs() -> Results:
        space, model = make()
        batches = Batches(zip(torch.from_numpy(pictures), torch.from_numpy(digits), strict=True))
        settings = types.SimpleNamespace(log_interval=100, dry_run=False)
        space["train"](settings, model, "cpu", batches, torch.optim.Adadelta(model.parameters(), lr=1.0), 1)
        return arrays(model.state_dict())

    def ours() -> Results:
        model = same_weights(mnist.Net(), make()[1])
        train(model, mnist.Adadelta(model), mnist.loss, map(tensors, pictures, digits))
        return arrays(model.state_dict())

    def moved(text: Original) -> Results:
        model = same_weights(text.run("Net", **LENTO)["Net"](), make()[1])
        model.dropout1.p = model.dropout2.p = 0.0
        train(model, mnist.Adadelta(model), mnist.loss, map(tensors, pictures, digits))
        return arrays(model.state_dict())

    return Pair(ours, theirs, steps, moved)


# float64. The original's L-BFGS is not in Lento: both are trained by gradient descent.
@program("time-sequence", f"{EXAMPLES}/time_sequence_prediction/train.py", needs="torch", tolerance=1e-12)
def compare_time_sequence(original: Original) -> Pair:
    steps, length = 3, 20
    waves = np.sin((np.arange(length + 1) + np.random.default_rng(0).integers(-80, 80, (6, 1))) / 20)

    def make() -> torch.nn.Module:
        torch.manual_seed(0)
        return original.run("Sequence", **TORCH)["Sequence"]().double()

    def theirs() -> Results:
        model, data = make(), torch.from_numpy(waves)
        optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1), []
        for _ in range(steps):
            optimizer.zero_grad()
            loss = torch.nn.MSELoss()(model(data[:, :-1]), data[:, 1:])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        with torch.no_grad():
            future = model(data[:2, :-1], future=10).numpy()
        return {"losses": losses, "future": future, **arrays(model.state_dict())}

    def ours() -> Results:
        model, (data,) = same_weights(time_sequence.Sequence(), make()), tensors(waves)
        batches = [(data[:, :-1], data[:, 1:])] * steps
        losses = train(model, optim.SGD(model, lr=0.1), time_sequence.loss, batches)
        return {"losses": losses, "future": model(data[:2, :-1], future=10), **arrays(model.state_dict())}

    return Pair(ours, theirs, steps)
