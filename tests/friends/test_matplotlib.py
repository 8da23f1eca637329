"""matplotlib: a figure of tensors has the pixels of the same figure of arrays, and reads each tensor once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lento
import matplotlib
import numpy as np
import pytest
from friend_calls import counted_syncs, pending
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

pytestmark = pytest.mark.peers

matplotlib.rcParams["figure.max_open_warning"] = 0

RNG = np.random.default_rng(12)
X, Y, SIZES = np.arange(1000.0), RNG.standard_normal(1000), RNG.random(1000) * 30
IMAGE, COLOURS, COLUMNS = RNG.random((30, 40)), RNG.random((8, 9, 3)), RNG.standard_normal((100, 4))

Tensors = Callable[[np.ndarray], Any]


def drawn(draw: Callable[[Axes, Tensors], Any], convert: Tensors) -> tuple[np.ndarray, int]:
    """The pixels, and how often drawing waited."""
    figure = Figure(figsize=(3, 2))
    canvas = FigureCanvasAgg(figure)
    with counted_syncs() as syncs:
        draw(figure.subplots(), convert)
        canvas.draw()
    return np.asarray(canvas.buffer_rgba()).copy(), syncs.count


# A call, and how many tensors it gets: t(...) is a pending tensor.
FIGURES: dict[str, tuple[Callable[[Axes, Tensors], Any], int]] = {
    "plot": (lambda ax, t: ax.plot(t(X), t(Y)), 2),
    "plot without x": (lambda ax, t: ax.plot(t(Y)), 1),
    "plot columns": (lambda ax, t: ax.plot(t(COLUMNS)), 1),
    "plot by name": (lambda ax, t: ax.plot("time", "value", data={"time": t(X), "value": t(Y)}), 2),
    "loglog": (lambda ax, t: ax.loglog(t(X + 1), t(SIZES)), 2),
    "scatter": (lambda ax, t: ax.scatter(t(X), t(Y), s=t(SIZES), c=t(Y)), 4),
    "hist": (lambda ax, t: ax.hist(t(Y)), 1),
    "hist with edges": (lambda ax, t: ax.hist(t(Y), bins=t(np.linspace(-3, 3, 20))), 2),
    "hist of columns": (lambda ax, t: ax.hist(t(COLUMNS)), 1),
    "hist of several": (lambda ax, t: ax.hist([t(X), t(Y)]), 2),
    "hist2d": (lambda ax, t: ax.hist2d(t(X), t(Y)), 2),
    "hexbin": (lambda ax, t: ax.hexbin(t(X), t(Y), gridsize=9), 2),
    "imshow": (lambda ax, t: ax.imshow(t(IMAGE)), 1),
    "imshow in colours": (lambda ax, t: ax.imshow(t(COLOURS)), 1),
    "pcolormesh": (lambda ax, t: ax.pcolormesh(t(IMAGE)), 1),
    "contourf": (lambda ax, t: ax.contourf(t(IMAGE)), 1),
    "spy": (lambda ax, t: ax.spy(t(IMAGE)), 1),
    "fill_between": (lambda ax, t: ax.fill_between(t(X), t(Y), t(Y + 1)), 3),
    "errorbar": (lambda ax, t: ax.errorbar(t(X), t(Y), yerr=t(SIZES)), 3),
    "step": (lambda ax, t: ax.step(t(X), t(Y)), 2),
    "stem": (lambda ax, t: ax.stem(t(Y)), 1),
    "stairs": (lambda ax, t: ax.stairs(t(Y)), 1),
    "vlines": (lambda ax, t: ax.vlines(t(X), t(Y), t(Y + 1)), 3),
    "ecdf": (lambda ax, t: ax.ecdf(t(Y)), 1),
    "boxplot": (lambda ax, t: ax.boxplot(t(COLUMNS)), 1),
    "violinplot": (lambda ax, t: ax.violinplot(t(COLUMNS)), 1),
    "stackplot": (lambda ax, t: ax.stackplot(t(X[:100]), t(np.abs(COLUMNS.T))), 2),
    "quiver": (lambda ax, t: ax.quiver(t(IMAGE), t(IMAGE)), 2),
    "pie": (lambda ax, t: ax.pie(t(SIZES[:6])), 1),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures(name: str) -> None:
    draw, tensors = FIGURES[name]
    expected, _ = drawn(draw, lambda array: array)
    pixels, syncs = drawn(draw, pending)
    assert len(np.unique(pixels)) > 2, "nothing is drawn"
    np.testing.assert_array_equal(pixels, expected)
    assert syncs <= tensors


def test_a_histogram_of_1000_elements_waits_once() -> None:
    figure = Figure()
    with counted_syncs() as syncs:
        counts, edges, _ = figure.subplots().hist(pending(Y), bins=50)
    assert syncs.count == 1
    expected = np.histogram(Y, bins=50)
    np.testing.assert_array_equal(counts, expected[0])
    np.testing.assert_array_equal(edges, expected[1])


def test_float32_and_integers_are_plotted_as_they_are() -> None:
    (line,) = Figure().subplots().plot(pending(np.arange(5)), pending(Y[:5].astype(np.float32)))
    assert [part.dtype for part in line.get_data()] == [np.int64, np.float32]


def test_a_single_number_costs_a_few_reads() -> None:
    """matplotlib compares limits and positions as if they were floats: float(x) first, where it matters."""

    def lines(ax: Axes, t: Tensors) -> None:
        ax.plot(Y)
        ax.axhline(t(np.asarray(0.5)))
        ax.set_xlim(t(np.asarray(100.0)), t(np.asarray(900.0)))

    expected, _ = drawn(lines, lambda array: array)
    pixels, syncs = drawn(lines, pending)
    np.testing.assert_array_equal(pixels, expected)
    assert syncs <= 20


# --- what matplotlib does not do with tensors, and what to do instead ---


@pytest.mark.parametrize("count", [10, 100])
def test_bars_are_read_one_by_one(count: int) -> None:
    """bar() converts the units of each height on its own and makes a list of them; an array of heights is read once."""
    heights = SIZES[:count]
    expected, _ = drawn(lambda ax, t: ax.bar(np.arange(count), t(heights)), lambda array: array)
    pixels, syncs = drawn(lambda ax, t: ax.bar(np.arange(count), t(heights)), pending)
    np.testing.assert_array_equal(pixels, expected)
    assert count <= syncs <= 2 * count + 5
    pixels, syncs = drawn(lambda ax, t: ax.bar(np.arange(count), np.asarray(t(heights))), pending)
    np.testing.assert_array_equal(pixels, expected)
    assert syncs == 1


def test_a_colour_must_be_a_sequence_of_numbers() -> None:
    colour = pending(np.asarray([1.0, 0.0, 0.0]))
    with pytest.raises(ValueError, match="not a valid value for color"):
        Figure().subplots().plot([1, 2], color=colour)
    (line,) = Figure().subplots().plot([1, 2], color=colour.tolist())
    assert line.get_color() == [1.0, 0.0, 0.0]


def test_iterating_does_not_wait() -> None:
    """What many libraries do to look at the first element."""
    x = pending(Y)
    with counted_syncs() as syncs:
        assert len(list(x)) == 1000
        assert next(iter(x)).shape == ()
    assert syncs.count == 0
    assert isinstance(next(iter(x)), lento.Tensor)
