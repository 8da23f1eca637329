"""The smaller examples: what they compute is right, and their loops wait for nothing and compile once."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import gaussian_process
import image_filters
import lento
import ltc_loop
import nbody
import numpy as np
import numpy_script
import pytest
from matplotlib.image import imread
from scipy import ndimage, optimize

EXAMPLES = Path(numpy_script.__file__).parent


class Growth:
    """How much a counter has grown since it was made."""

    def __init__(self) -> None:
        self._before = lento.metrics.counters()

    def __getitem__(self, name: str) -> int:
        return lento.metrics.counter(name) - self._before.get(name, 0)


@contextlib.contextmanager
def no_implicit_syncs() -> Iterator[Growth]:
    growth = Growth()
    yield growth
    assert growth["sync.implicit"] == 0


# --- N-body ---


def test_nbody_keeps_energy_and_momentum() -> None:
    with no_implicit_syncs() as growth:
        energies, momentum = nbody.simulate(bodies=60, steps=200, seed=1, every=20)
    assert len(energies) == 11
    assert energies[0] < 0  # bound
    np.testing.assert_allclose(energies, energies[0], rtol=1e-5)
    np.testing.assert_allclose(momentum.numpy(), 0, atol=1e-15)
    # With and without the energy, each first with and then without what begins the simulation.
    assert growth["plan.miss"] <= 4 and growth["plan.hit"] >= 197


def test_nbody_forces_are_newtons() -> None:
    position = lento.asarray([[0.0, 0, 0], [2.0, 0, 0], [0, 3.0, 0]], dtype=lento.float64)
    mass = lento.asarray([1.0, 4.0, 9.0], dtype=lento.float64)
    soft = nbody.SOFTENING**2
    expected = [4 * 2 / (4 + soft) ** 1.5, 9 * 3 / (9 + soft) ** 1.5, 0]
    np.testing.assert_allclose(nbody.acceleration(position, mass)[0].numpy(), expected, rtol=1e-14)


def test_nbody_orbit_closes() -> None:
    # Two bodies on a circle around each other are back after one period.
    mass = lento.asarray([0.5, 0.5], dtype=lento.float64)
    pull = 0.5 / (1 + nbody.SOFTENING**2) ** 1.5
    speed = np.sqrt(pull * 0.5)  # pull = speed**2 / radius
    period, steps = 2 * np.pi * 0.5 / speed, 400
    position = lento.asarray([[0.5, 0, 0], [-0.5, 0, 0]], dtype=lento.float64)
    velocity = lento.asarray([[0, speed, 0], [0, -speed, 0]], dtype=lento.float64)
    force = nbody.acceleration(position, mass)
    for _ in range(steps):
        position, velocity, force = nbody.leapfrog(position, velocity, force, mass, period / steps)
        lento.step()
    np.testing.assert_allclose(position.numpy(), [[0.5, 0, 0], [-0.5, 0, 0]], atol=1e-3)


# --- Gaussian process ---


def test_gaussian_process_finds_the_most_likely_parameters() -> None:
    lento.random.seed(3)
    x, y = gaussian_process.draw(120)
    lento.eval(x, y)
    with no_implicit_syncs() as growth:
        found, values = gaussian_process.fit(x, y, steps=300)
    assert growth["plan.miss"] <= 3 and growth["plan.hit"] >= 297
    assert values[-1] < values[0]

    # The same likelihood in NumPy, climbed by SciPy.
    a, b = x.numpy(), y.numpy()

    def negative_log_likelihood(logs: np.ndarray) -> float:
        length, amplitude, noise = np.exp(logs)
        matrix = amplitude**2 * np.exp(-0.5 * ((a[:, None] - a) / length) ** 2) + noise**2 * np.eye(len(a))
        _, logdet = np.linalg.slogdet(matrix)
        return 0.5 * (b @ np.linalg.solve(matrix, b) + logdet + len(a) * np.log(2 * np.pi))

    best = optimize.minimize(negative_log_likelihood, np.zeros(3), method="BFGS")
    np.testing.assert_allclose(values[-1], best.fun, rtol=1e-5)
    np.testing.assert_allclose([float(found[name]) for name in gaussian_process.TRUTH], np.exp(best.x), rtol=5e-3)
    # What 120 points tell of the truth: noise and smoothness well, the amplitude of so few waves roughly.
    assert abs(float(found["noise"]) / gaussian_process.TRUTH["noise"] - 1) < 0.2
    assert abs(float(found["length"]) / gaussian_process.TRUTH["length"] - 1) < 0.3


def test_gaussian_process_predicts_within_its_own_error() -> None:
    lento.random.seed(5)
    x, y = gaussian_process.draw(150)
    mean, deviation = gaussian_process.predict(gaussian_process.TRUTH, x[::2], y[::2], x[1::2])
    error = (y[1::2] - mean).numpy() / np.sqrt(deviation.numpy() ** 2 + gaussian_process.TRUTH["noise"] ** 2)
    assert 0.8 < error.std() < 1.25  # standard normal numbers, 75 of them


# --- image filters ---


@pytest.mark.parametrize("shape", [(40, 40), (33, 57)])
def test_filters_are_those_of_scipy(shape: tuple[int, int]) -> None:
    array = np.random.default_rng(0).random(shape, np.float32)
    picture = lento.asarray(array)
    with no_implicit_syncs():
        pairs = [
            (image_filters.box_blur(picture, 5), ndimage.uniform_filter(array, 5, mode="reflect")),
            (image_filters.gaussian_blur(picture, 2.0), ndimage.gaussian_filter(array, 2.0, mode="reflect")),
            (image_filters.sobel(picture, 0), ndimage.sobel(array, 0, mode="reflect")),
            (image_filters.sobel(picture, 1), ndimage.sobel(array, 1, mode="reflect")),
        ]
        lento.eval([ours for ours, _ in pairs])
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours.numpy(), theirs, atol=2e-6)


def test_filters_write_the_pictures_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["image_filters.py", "--size", "24", "--output", str(tmp_path / "filters.png")])
    image_filters.main()
    written = np.rint(255 * imread(tmp_path / "filters.png"))
    assert written.shape == (24, 5 * 24, 4)
    gray = image_filters.contact_sheet([image_filters.scene(24, 0)]).numpy()
    for colour in range(3):
        np.testing.assert_array_equal(written[:, :24, colour], gray)


# --- the loop for LTC, the script for NumPy ---


def test_ltc_loop_learns_in_two_plans_without_waiting() -> None:
    logged, weights, bias = ltc_loop.train(steps=201, seed=0, every=50)
    # The loop sets the metrics to zero when it begins.
    assert ltc_loop.metrics.counter_value("MarkStep") == 201
    assert ltc_loop.metrics.counter_value("UncachedCompile") == 2  # with and without what is logged
    assert lento.metrics.counter("sync.implicit") == 0
    assert [step for step, _, _ in logged] == [1, 50, 100, 150, 200]
    losses = [loss for _, loss, _ in logged]
    assert losses[0] == pytest.approx(np.log(2), rel=1e-6)  # knows nothing yet
    assert losses == sorted(losses, reverse=True) and losses[-1] < 0.2
    assert logged[-1][2] > 0.9
    # The line between the clouds is across the line between their centres, through the middle of it.
    direction = weights.numpy() / np.linalg.norm(weights.numpy())
    assert direction @ np.array([2, 1]) / np.sqrt(5) > 0.95
    assert abs(float(bias)) < 0.5


def numpy_itself() -> ModuleType:
    """The script with the import that it had before."""
    source = (EXAMPLES / "numpy_script.py").read_text()
    old, new = "import lento as np  # was: import numpy as np\n", "import numpy as np\n"
    assert source.count(old) == 1 and "lento." not in source.split('"""')[2]
    module = ModuleType("numpy_script_before")
    exec(compile(source.replace(old, new), "numpy_script_before.py", "exec"), module.__dict__)
    return module


def test_numpy_script_computes_the_same_with_either_import() -> None:
    with no_implicit_syncs():
        ours = numpy_script.simulate(48, 60)
    theirs = numpy_itself().simulate(48, 60)
    for a, b in zip(ours, theirs, strict=True):
        assert isinstance(a, lento.Tensor) and isinstance(b, np.ndarray)
        np.testing.assert_allclose(a.numpy(), b, atol=1e-6)


def test_numpy_script_prints_the_same_with_either_import() -> None:
    texts = []
    for module in (numpy_script, numpy_itself()):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            module.show(module.simulate(24, 10)[0])
        texts.append(text.getvalue())
    assert texts[0] == texts[1]
    assert len(texts[0].splitlines()) == 12
