"""The demo: trains a digit reader and a small GPT on the CPU in half a minute, and says what Lento did. `make demo`.

    python examples/demo.py --output FOLDER

Everything it runs is in digits.py and char_gpt.py; the loss curves go to FOLDER/loss.png.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import char_gpt
import digits
import lento
import numpy as np
from matplotlib.figure import Figure
from progress import print_table, rich_console


def title(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if rich_console() else f"\n{text}")


def loss_curves(curves: dict[str, Sequence[float]]) -> Figure:
    """One chart beside the other: the loss of each step, and over it the mean of the last thirtieth of all steps."""
    figure = Figure(figsize=(10, 3.6), dpi=150, layout="constrained")
    charts = figure.subplots(1, len(curves), squeeze=False)[0]
    for number, (chart, (title, losses)) in enumerate(zip(charts, curves.items(), strict=True)):
        span = max(1, len(losses) // 30)
        steps = np.arange(1, len(losses) + 1)
        sums = np.concatenate([[0.0], np.cumsum(losses)])
        first = np.maximum(steps - span, 0)
        chart.plot(steps, losses, color=f"C{number}", alpha=0.3, linewidth=0.8, label="each step")
        mean = (sums[steps] - sums[first]) / (steps - first)
        chart.plot(steps, mean, color=f"C{number}", linewidth=2, label=f"mean of {span} steps")
        chart.set(title=title, xlabel="step", ylabel="loss", xlim=(1, max(2, len(losses))), ylim=(0, None))
        chart.grid(alpha=0.3)
        chart.spines[["top", "right"]].set_visible(False)
        chart.legend(frameon=False)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("."), help="where loss.png goes")
    parser.add_argument("--digit-steps", type=int, default=600)
    parser.add_argument("--gpt-steps", type=int, default=1500)
    parser.add_argument("--write", type=int, default=300, help="how many characters the GPT writes")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = time.perf_counter()
    print(f"lento {lento.__version__} on {lento.devices()[0]}, {lento.get_num_threads()} threads")

    title("A convolutional network learns to read digits (examples/digits.py)")
    _, accuracy, reading = digits.train(options.digit_steps, seed=options.seed)
    print(f"reads {accuracy:.1%} of {digits.TEST} new pictures correctly")

    title("A small GPT learns to write, a character at a time (examples/char_gpt.py)")
    model, text, writing = char_gpt.train(options.gpt_steps, seed=options.seed)
    title("It writes")
    char_gpt.write(model, text, options.write)

    title("What happened")
    print_table({"digits": reading.summary, "gpt": writing.summary})
    options.output.mkdir(parents=True, exist_ok=True)
    curves = options.output / "loss.png"
    loss_curves({"A network learns to read digits": reading.losses, "A GPT learns to write": writing.losses}).savefig(
        curves
    )
    print(f"\nloss curves: {curves}   all of it: {time.perf_counter() - start:.0f} s   a tour: examples/tour.py")


if __name__ == "__main__":
    main()
