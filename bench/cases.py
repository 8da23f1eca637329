"""The table of cases: what is computed, on what, and how fast Lento shall be.

Every peer runs the same function, which takes the peer (see peers/__init__.py) and its tensors.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from training import MODELS, Model

K, M = 1 << 10, 1 << 20


# ---- what is computed


def elementwise(p: Any, a: Any, b: Any, c: Any) -> Any:
    """Twenty ops, one of them each exp, tanh and a division."""
    x = a * b + c
    y = p.exp(x * -0.5)
    z = p.tanh(y + a)
    w = (z - b) / (y + 1.5)
    v = w * w + x * 0.25
    u = v * z - c
    r = (u + a) * 0.3 - w * y
    return r * b + u


def small_ops(p: Any, y: Any, a: Any, b: Any, c: Any) -> Any:
    for _ in range(SMALL_OPS // 4):
        y = y * a
        y = y + b
        y = y - c
        y = y * 0.5
    return y


SMALL_OPS = 500


def lorenz(p: Any, point: Any, linear: Any, product: Any) -> Any:
    """One step of Runge and Kutta's method for Lorenz' equations: a few ops on three numbers."""

    def slope(x: Any) -> Any:
        return p.matmul(linear, x) + x[0:1] * p.matmul(product, x)

    first = slope(point)
    second = slope(point + first * (LORENZ_STEP / 2))
    third = slope(point + second * (LORENZ_STEP / 2))
    fourth = slope(point + third * LORENZ_STEP)
    return point + (first + second * 2 + third * 2 + fourth) * (LORENZ_STEP / 6)


LORENZ_STEP = 0.01


def mandelbrot(p: Any, c: Any, near: Any) -> Any:
    """As in NumPy's books. The number of points that are still inside is another one in every round."""
    z, near = c * 0, near * 0
    for i in range(MANDELBROT_ROUNDS):
        inside = abs(z) < 2
        near[inside] = i
        z[inside] = z[inside] ** 2 + c[inside]
    return p.sum(near)


MANDELBROT_ROUNDS = 100


# ---- on what

Make = Callable[[np.random.Generator, Callable[[int], int]], list[np.ndarray]]


def uniform(*shapes: tuple[int, ...]) -> Make:
    def make(random: np.random.Generator, small: Callable[[int], int]) -> list[np.ndarray]:
        return [random.random([small(n) for n in shape], np.float32) * 2 - 1 for shape in shapes]

    return make


def whole_numbers(*shape: int) -> Make:
    """Small integers as float32: their sums are exact in whatever order they are taken, so every bit can be checked."""

    def make(random: np.random.Generator, small: Callable[[int], int]) -> list[np.ndarray]:
        return [random.integers(-8, 9, [small(n) for n in shape], np.int8).astype(np.float32)]

    return make


def normal(*shape: int) -> Make:
    """Hardly any two are equal, least of all the largest ones."""

    def make(random: np.random.Generator, small: Callable[[int], int]) -> list[np.ndarray]:
        return [random.standard_normal([small(n) for n in shape], np.float32)]

    return make


def plane(height: int, width: int) -> Make:
    """The complex numbers around the Mandelbrot set, and a whole number for each."""

    def make(random: np.random.Generator, small: Callable[[int], int]) -> list[np.ndarray]:
        rows, columns = np.linspace(-1.25, 1.25, small(height)), np.linspace(-2.25, 0.75, small(width))
        return [(columns + rows[:, None] * 1j).astype(np.complex64), np.zeros((small(height), small(width)), np.int64)]

    return make


def attractor(random: np.random.Generator, _: Callable[[int], int]) -> list[np.ndarray]:
    """A point, and the two matrices of Lorenz' equations."""
    linear = [[-10, 10, 0], [28, -1, 0], [0, 0, -8 / 3]]
    product = [[0, 0, 0], [0, 0, -1], [0, 1, 0]]
    return [np.array(values, np.float32) for values in ([1, 1, 20], linear, product)]


def vector_and_indices(elements: int) -> Make:
    def make(random: np.random.Generator, small: Callable[[int], int]) -> list[np.ndarray]:
        n = small(elements)
        return [random.random(n, np.float32), random.integers(0, n, n)]

    return make


def logits_and_labels(rows: int, classes: int) -> Make:
    def make(random: np.random.Generator, small: Callable[[int], int]) -> list[np.ndarray]:
        n, c = small(rows), small(classes)
        return [random.standard_normal((n, c), np.float32), random.integers(0, c, n)]

    return make


# ---- how fast


@dataclass(frozen=True)
class Faster:
    """Lento is at least this many times as fast as the fastest of these peers."""

    times: float
    peers: tuple[str, ...]


@dataclass(frozen=True)
class Within:
    """Lento takes at most this many of the case's units."""

    limit: float


@dataclass(frozen=True)
class Part:
    """Lento takes at most this part of what the best of these peers takes."""

    part: float
    peers: tuple[str, ...]


@dataclass(frozen=True)
class Bandwidth:
    """Lento moves at least this part of the bytes a second that a loop with non-temporal stores does."""

    part: float


Target = Faster | Within | Part | Bandwidth


@dataclass(frozen=True)
class Case:
    name: str
    title: str
    function: Callable[..., Any]
    make: Make
    targets: tuple[Target, ...] = ()
    unit: str = "ms"
    # Ops that one call stands for, when the unit is "ns/op".
    ops: int = 1
    # Bytes that one call has to move at least; 0: not a matter of bandwidth.
    bytes: int = 0
    # How far from NumPy's float64 result, relative to the largest element. Zero for what only moves or compares.
    tolerance: float = 2e-5
    # "warm", or which first time in a process is measured: "first", "shape", "disk". Of training "warm", "first" or
    # "memory".
    kind: str = "warm"
    # What is trained: then there is no function, and a call is a step.
    model: Model | None = None
    # How often one call runs the function, each time on its last result, as in a loop that waits only at its end.
    steps: int = 1
    # At how many places the inputs lie in a round, one after the other: how fast a large array is read depends on which
    # pages it got.
    places: int = 1
    # What the sizes are divided by in quick runs.
    shrink: int = field(default=16, compare=False)

    def inputs(self, quick: bool = False) -> list[np.ndarray]:
        """The same in every process."""

        def small(n: int) -> int:
            return max(n // self.shrink, 4) if quick else n

        return self.make(np.random.default_rng(len(self.name)), small)

    def run(self, peer: Any, function: Callable[..., Any], inputs: list[Any]) -> Any:
        """One call of what the peer has made of the function; the result may still be on its way."""
        result = function(*inputs)
        for _ in range(self.steps - 1):
            peer.step(result)
            result = function(result, *inputs[1:])
        return result


N = 16 * M
SIDE = 4 * K
BEST = Faster(1.0, ("numpy", "torch", "jax"))


def whole(name: str, make: Make, function: Callable[..., Any], *, suffix: str = "16 M elements", **more: Any) -> Case:
    return Case(name, f"{name.split('-')[0]}, {suffix}", function, make, (BEST,), shrink=256, **more)


def matmul(n: int) -> Case:
    return Case(
        f"matmul-{n}",
        f"matmul {n}³",
        lambda p, x, y: p.matmul(x, y),
        uniform((n, n), (n, n)),
        (Faster(1.0, ("torch",)),),
    )


def reduction(name: str, make: Callable[..., Make], **more: Any) -> list[Case]:
    return [
        whole(name, make(N), lambda p, x: getattr(p, name)(x), places=4, **more),
        whole(
            f"{name}-rows",
            make(SIDE, SIDE),
            lambda p, x: getattr(p, name)(x, axis=1),
            suffix="rows of 4096²",
            places=4,
            **more,
        ),
        whole(
            f"{name}-columns",
            make(SIDE, SIDE),
            lambda p, x: getattr(p, name)(x, axis=0),
            suffix="columns of 4096²",
            places=4,
            **more,
        ),
    ]


def cross_entropy(rows: int, classes: int) -> list[Case]:
    target = (Faster(1.0, ("torch.compile", "jax")),)
    make, size = logits_and_labels(rows, classes), f"{rows}×{classes}"
    return [
        Case(
            f"cross-entropy-{classes}",
            f"cross-entropy {size}",
            lambda p, x, labels: p.cross_entropy(x, labels),
            make,
            target,
        ),
        Case(
            f"cross-entropy-{classes}-gradient",
            f"its gradient, {size}",
            lambda p, x, labels: p.cross_entropy_slope(x, labels),
            make,
            target,
        ),
    ]


def attention(batch: int, length: int) -> Case:
    """Of 4 causal heads with 64 features each."""
    shape = (batch, 4, length, 64)
    return Case(
        f"attention-{length}",
        f"attention {batch}×4×{length}×64, causal",
        lambda p, q, k, v: p.causal_attention(q, k, v),
        uniform(shape, shape, shape),
        (Faster(1.0, ("torch", "torch.compile", "jax")),),
    )


def first(name: str, title: str, kind: str, limit: float) -> Case:
    return Case(name, title, elementwise, uniform((K,), (K,), (K,)), (Within(limit),), kind=kind, shrink=1)


def nothing(*_: Any) -> Any:
    raise AssertionError("a model has a loss instead")


def training(name: str, times: float) -> list[Case]:
    model = MODELS[name]

    def case(ending: str, title: str, *targets: Target, **more: Any) -> Case:
        return Case(f"train-{name}{ending}", title, nothing, uniform(), targets, model=model, tolerance=1e-4, **more)

    return [
        case("", f"{model.name}: {model.title}", Faster(times, TRAINERS)),
        case("-first", f"{model.name}: first step", Part(0.1, ("torch.compile",)), Part(1 / 3, ("jax",)), kind="first"),
        case(
            "-memory", f"{model.name}: memory", Part(1.0, ("torch", "torch.compile", "jax")), kind="memory", unit="MB"
        ),
    ]


TRAINERS = ("torch", "torch.compile", "ltc", "jax", "mlx")

CASES = [
    Case(
        "elementwise-64k",
        "20-op elementwise, 64 K",
        elementwise,
        uniform((64 * K,), (64 * K,), (64 * K,)),
        (Faster(1.3, ("drjit",)),),
        unit="µs",
    ),
    Case(
        "elementwise-16m",
        "20-op elementwise, 16 M",
        elementwise,
        uniform((N,), (N,), (N,)),
        (Faster(1.3, ("drjit",)), Bandwidth(0.9)),
        bytes=16 * N,
        shrink=256,
    ),
    Case(
        "softmax",
        "softmax 4096×1024",
        lambda p, x: p.softmax(x),
        uniform((SIDE, K)),
        (Faster(1.3, ("torch.compile", "jax")),),
    ),
    Case(
        "layer-norm",
        "layer norm 4096×1024",
        lambda p, x, weight, bias: p.layer_norm(x, weight, bias),
        uniform((SIDE, K), (K,), (K,)),
        (Faster(1.3, ("torch.compile", "jax")),),
    ),
    Case(
        "layer-norm-gradient",
        "gradient of layer norm by its input, 4096×1024",
        lambda p, x, weight, bias, cotangent: p.layer_norm_slope(x, weight, bias, cotangent),
        uniform((SIDE, K), (K,), (K,), (SIDE, K)),
        (Faster(1.0, ("torch.compile", "jax")),),
    ),
    *cross_entropy(4096, 10),
    *cross_entropy(512, 32000),
    matmul(256),
    matmul(2048),
    attention(4, 128),
    attention(4, 1024),
    attention(1, 4096),
    Case(
        "small-ops",
        "500 small ops, 1024 elements",
        small_ops,
        uniform((K,), (K,), (K,), (K,)),
        (Within(100), Faster(1.0, ("torch.compile",))),
        unit="ns/op",
        ops=SMALL_OPS,
    ),
    # Without a target: libraries that compute while the next step is recorded do better here than in the case above.
    Case(
        "small-ops-loop",
        "the same, 20 steps in a row",
        small_ops,
        uniform((K,), (K,), (K,), (K,)),
        unit="ns/op",
        ops=SMALL_OPS * 20,
        steps=20,
    ),
    Case(
        "lorenz",
        "Lorenz RK4, 3 elements, 20 steps",
        lorenz,
        attractor,
        unit="µs",
        steps=20,
        tolerance=1e-4,
        shrink=1,
    ),
    first("first-call", "first call, 20 ops", "first", 10),
    first("new-shape", "the same at a new shape", "shape", 0.3),
    first("from-disk", "first call, from disk", "disk", 1.5),
    *reduction("sum", whole_numbers, tolerance=1e-7),
    *reduction("mean", whole_numbers, tolerance=1e-6),
    *reduction("max", normal, tolerance=0.0),
    *reduction("argmax", normal, tolerance=0.0),
    whole("cumsum", whole_numbers(N), lambda p, x: p.cumsum(x, axis=0), tolerance=1e-7),
    whole(
        "cumsum-rows",
        whole_numbers(SIDE, SIDE),
        lambda p, x: p.cumsum(x, axis=1),
        suffix="rows of 4096²",
        tolerance=1e-7,
    ),
    whole("sort", normal(N), lambda p, x: p.sort(x, axis=0), tolerance=0.0),
    whole("sort-rows", normal(SIDE, SIDE), lambda p, x: p.sort(x, axis=1), suffix="rows of 4096²", tolerance=0.0),
    whole("gather", vector_and_indices(N), lambda p, x, i: p.take(x, i), tolerance=0.0),
    whole("transpose", normal(SIDE, SIDE), lambda p, x: p.transpose(x), suffix="4096²", tolerance=0.0),
    whole(
        "concatenate",
        uniform((N // 2,), (N // 2,)),
        lambda p, x, y: p.concatenate((x, y)),
        suffix="2 × 8 M",
        tolerance=0.0,
    ),
    # A few points at the edge leave earlier or later when a last bit differs.
    Case(
        "mandelbrot",
        "Mandelbrot set, 512², 100 rounds",
        mandelbrot,
        plane(512, 512),
        (Faster(1.0, ("numpy", "torch")),),
        tolerance=1e-3,
    ),
    *training("mlp", 1.15),
    *training("gpt", 1.15),
    *training("conv", 1.0),
    *training("lstm", 1.2),
    Case(
        "train-adam-100",
        "Adam: 100 weights of 64 to 4096 elements",
        nothing,
        uniform(),
        (Faster(1.0, TRAINERS),),
        unit="µs",
        model=MODELS["adam-100"],
        tolerance=1e-4,
    ),
]


def select(patterns: str) -> list[Case]:
    """The cases whose name starts with or matches one of these, separated by commas. ValueError when one names none."""
    chosen = []
    for pattern in patterns.split(","):
        found = [case for case in CASES if case.name.startswith(pattern) or fnmatch.fnmatch(case.name, pattern)]
        if not found:
            raise ValueError(f"no case is named {pattern!r}. The cases are: {', '.join(case.name for case in CASES)}")
        chosen += found
    return [case for case in CASES if case in chosen]
