"""Examples of JAX beside their ports: the same data, weights, and random numbers, which JAX draws."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import lento
import numpy as np
from comparing import Pair, Results, program
from jax import numpy as jnp
from jax.example_libraries import optimizers, stax
from originals import Original
from ports import advi, dp_sgd, gp_regression

EXAMPLES = "jax/examples"
JAX = {"jnp": jnp, "random": jax.random, "vmap": jax.vmap, "jit": jax.jit, "grad": jax.grad, "partial": partial}


# float64; the covariance is inverted, whose condition is some 1e3, and divisions by the gradient's size follow.
@program("gp-regression", f"{EXAMPLES}/gaussian_process_regression.py", needs="jax", tolerance=1e-9)
def compare_gp(original: Original) -> Pair:
    random = np.random.default_rng(0)
    steps, points = 30, 7
    x = random.uniform(1, 5, (points, 1))
    y, places = np.sin(x) + 0.1 * random.standard_normal((points, 1)), np.linspace(0, 6, 25)[:, None]
    start = {"amplitude": np.zeros((1, 1)), "noise": np.full((1, 1), -5.0), "lengthscale": np.zeros((1, 1))}
    names = (
        "cov_map",
        "softplus",
        "exp_quadratic",
        "gp",
        "marginal_likelihood",
        "predict",
        "grad_fun",
        "lr",
        "train_step",
    )

    with jax.enable_x64(True):
        around = {"numpts": points, "eye": jnp.eye(points), "scipy": jax.scipy}
        space = original.run(*names, inside="main", **JAX, **around)

    def theirs() -> Results:
        with jax.enable_x64(True):
            parameters = {name: jnp.asarray(value) for name, value in start.items()}
            state = (
                parameters,
                {k: p * 0.0 for k, p in parameters.items()},
                {k: p * 0.0 + 1 for k, p in parameters.items()},
            )
            for _ in range(steps):
                state = space["train_step"](*state, x, y)
            mean, variance = space["predict"](state[0], x, y, places)
            return {"mean": mean, "variance": variance, **state[0]}

    def ours() -> Results:
        data = lento.asarray(x), lento.asarray(y)
        parameters = gp_regression.fit({k: lento.asarray(v) for k, v in start.items()}, *data, steps)
        mean, variance = gp_regression.predict(parameters, *data, lento.asarray(places))
        return {"mean": mean, "variance": variance, **parameters}

    return Pair(ours, theirs, steps)


def in_our_layout(parameters: Any) -> dict[str, np.ndarray]:
    """Weights of the original by the port's names: pictures are (channels, height, width) here."""
    kept = [[np.asarray(array) for array in layer] for layer in parameters if layer]
    result = {}
    for name, (weight, bias) in zip(("conv1", "conv2"), kept[:2], strict=True):
        result[f"{name}.weight"] = weight.transpose(3, 2, 0, 1)
        result[f"{name}.bias"] = bias.reshape(-1)
    for name, (weight, bias) in zip(("dense1", "dense2"), kept[2:], strict=True):
        if name == "dense1":  # its rows are the pixels of what the convolutions make
            weight = weight.reshape(4, 4, 32, 32).transpose(2, 0, 1, 3).reshape(512, 32)
        result[f"{name}.weight"] = weight.T
        result[f"{name}.bias"] = bias
    return result


# float32, SGD with a rate of 0.15 on clipped gradients.
@program("dp-sgd", f"{EXAMPLES}/differentially_private_sgd.py", needs="jax", tolerance=1e-4)
def compare_dp_sgd(original: Original) -> Pair:
    random = np.random.default_rng(0)
    steps, batch = 3, 8
    pictures = random.uniform(0, 1, (steps, batch, 28, 28)).astype(np.float32)
    digits = random.integers(0, 10, (steps, batch))
    trees = {"tree_flatten": jax.tree_util.tree_flatten, "tree_unflatten": jax.tree_util.tree_unflatten}
    space = original.run("init_random_params", "loss", "clipped_grad", "private_grad", **JAX, **trees, stax=stax)
    key = jax.random.key(0)
    _, start = space["init_random_params"](key, (-1, 28, 28, 1))

    def keys(i: int) -> Any:
        return jax.random.fold_in(key, i)

    def noise(i: int) -> dict[str, np.ndarray]:
        leaves, form = jax.tree_util.tree_flatten(start)
        split = jax.random.split(keys(i), len(leaves))
        drawn = [jax.random.normal(r, leaf.shape) for r, leaf in zip(split, leaves, strict=True)]
        return in_our_layout(jax.tree_util.tree_unflatten(form, drawn))

    noises = [noise(i) for i in range(steps)]

    first, update, current = optimizers.sgd(0.15)
    move = jax.jit(
        lambda i, state, batch: update(
            i, space["private_grad"](current(state), batch, keys(i), 1.0, 1.1, len(batch[0])), state
        )
    )

    def theirs() -> Results:
        state, losses = first(start), []
        for i in range(steps):
            picture, target = pictures[i].reshape(batch, 28, 28, 1), np.eye(10, dtype=np.float32)[digits[i]]
            losses.append(space["loss"](current(state), (picture, target)))
            # Every example is a batch of its own.
            state = move(i, state, (picture[:, None], target[:, None]))
        return {"losses": np.asarray(losses), **in_our_layout(current(state))}

    def with_values(values: dict[str, np.ndarray]) -> dp_sgd.Net:
        net = dp_sgd.Net()
        net.load_state_dict(values)
        return net

    def ours() -> Results:
        model = with_values(in_our_layout(start))
        batches = [
            (lento.asarray(pictures[i][:, None]), lento.asarray(digits[i]), with_values(noises[i]))
            for i in range(steps)
        ]
        losses = dp_sgd.train(model, batches)
        return {"losses": losses, **model.state_dict()}

    return Pair(ours, theirs, steps)


# float64. Steps are a tenth as long as the original's, with which the deviation is 1e-11 after five of them: the two
# halves of the gradient of the mean, of the size of its inverse, then leave nothing but rounding.
@program("advi", f"{EXAMPLES}/advi.py", needs="jax", tolerance=1e-10)
def compare_advi(original: Original) -> Pair:
    steps, samples = 20, 40
    with jax.enable_x64(True):
        normals = [
            np.asarray(jax.vmap(lambda key: jax.random.normal(key, (2,)))(jax.random.split(jax.random.key(i), samples)))
            for i in range(steps)
        ]

    names = ("diag_gaussian_sample", "diag_gaussian_logpdf", "elbo", "batch_elbo", "funnel_log_density")
    space = original.run(*names, **JAX, norm=jax.scipy.stats.norm)

    def objective(parameters: Any, i: int) -> Any:
        return -space["batch_elbo"](space["funnel_log_density"], jax.random.key(i), parameters, samples)

    first, update, current = optimizers.momentum(step_size=0.01, mass=0.9)
    move = jax.jit(lambda i, state: update(i, jax.grad(objective)(current(state), i), state))

    def theirs() -> Results:
        with jax.enable_x64(True):
            state = first((jnp.zeros(2), jnp.zeros(2)))
            for i in range(steps):
                state = move(i, state)
            mean, log_deviation = current(state)
            return {"mean": mean, "log deviation": log_deviation}

    def ours() -> Results:
        mean, log_deviation = advi.fit(advi.funnel, [lento.asarray(normal) for normal in normals], lr=0.01)
        return {"mean": mean, "log deviation": log_deviation}

    return Pair(ours, theirs, steps)
