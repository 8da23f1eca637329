"""The training examples and the demo: they learn, wait for nothing on the way, and show what they say."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import char_gpt
import demo
import digits
import lento
import numpy as np
import pytest
from matplotlib.image import imread

ROOT = Path(__file__).resolve().parents[2]
CPP_EXAMPLES = Path(os.environ.get("LENTO_BUILD", ROOT / "build" / "release")).resolve() / "examples"
DEMO = [sys.executable, str(ROOT / "examples" / "demo.py"), "--digit-steps", "8", "--gpt-steps", "4", "--write", "5"]


def test_digits_are_learnt_in_one_plan_without_waiting(capsys: pytest.CaptureFixture[str]) -> None:
    _, accuracy, progress = digits.train(steps=300, batch=32, seed=1)
    assert accuracy > 0.93
    assert np.mean(progress.losses[-20:]) < 0.35 < 2 < progress.losses[0]
    assert progress.summary["implicit syncs"] == "0"
    # The first step also makes the weights; the second is like all others.
    assert progress.summary["plans compiled"] == "2"
    assert progress.summary["plans found again"] == "298"
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 9 and all("steps/s" in line and "hits" in line for line in lines)


def run_cpp(name: str, *arguments: str) -> str:
    if not (CPP_EXAMPLES / name).exists():
        pytest.skip("built without LENTO_BUILD_EXAMPLES")
    done = subprocess.run([CPP_EXAMPLES / name, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_digits_in_cpp_have_the_losses_of_python_to_the_bit(tmp_path: Path) -> None:
    printed = run_cpp("digits", "100", "3", str(tmp_path / "losses.npy"))
    _, accuracy, progress = digits.train(steps=100, batch=64, seed=3)
    assert np.load(tmp_path / "losses.npy").tolist() == progress.losses
    assert f"reads {100 * accuracy:.1f}% of 400 new pictures" in printed
    assert "plans compiled 2, found again 98, implicit syncs 0" in printed
    assert "digits step   96/100  loss" in printed


def test_gpt_in_cpp_has_the_losses_of_python_to_the_bit_and_writes_the_same(tmp_path: Path) -> None:
    printed = run_cpp("char_gpt", "12", "16", "20", "5", str(tmp_path / "losses.npy"))
    model, text, progress = char_gpt.train(steps=12, length=16, seed=5)
    assert np.load(tmp_path / "losses.npy").tolist() == progress.losses
    assert "plans compiled 2, found again 10, implicit syncs 0" in printed
    assert printed.endswith(char_gpt.write(model, text, 20, show=False) + "\n")


def test_digits_data_are_what_their_text_says() -> None:
    images, labels = digits.load()
    assert images.shape == (2400, 1, 12, 12) and labels.shape == (2400,)
    # Like digits are alike: the nearest mean picture names most of them.
    means = lento.stack([images[labels.numpy() == digit].mean(axis=0) for digit in range(10)])
    distance = ((images[:, None] - means[None]) ** 2).sum(axis=(2, 3, 4))
    assert float((distance.argmin(axis=1) == labels).sum()) > 0.7 * 2400


def test_gpt_learns_and_writes_without_waiting() -> None:
    model, text, progress = char_gpt.train(steps=300, batch=8, length=24, size=32, layers=1, seed=0)
    assert progress.losses[0] == pytest.approx(np.log(len(text.characters)), abs=0.4)  # knows nothing yet
    frequency = np.bincount(text.tokens.numpy()) / text.tokens.size
    entropy = -np.sum(frequency * np.log(frequency))
    assert np.mean(progress.losses[-20:]) < entropy - 0.4  # knows more than which characters are frequent: pairs
    assert progress.summary["implicit syncs"] == "0"
    assert progress.summary["plans compiled"] == "2"
    before = lento.metrics.counters()
    written = char_gpt.write(model, text, 30, show=False)
    assert len(written) == 30 and set(written) <= set(text.characters)
    assert lento.metrics.counter("sync.implicit") == before.get("sync.implicit", 0)
    # The window's first values are those of the text, later ones were computed: two plans at most.
    assert lento.metrics.counter("plan.miss") - before["plan.miss"] <= 2


def test_gpt_looks_only_back() -> None:
    model = char_gpt.GPT(characters=7, length=6, size=8, heads=2, layers=2)
    tokens = lento.asarray([[1, 2, 3, 4, 5, 6]])
    changed = lento.asarray([[1, 2, 3, 4, 0, 0]])
    before, after = model(tokens).numpy(), model(changed).numpy()
    np.testing.assert_array_equal(before[:, :4], after[:, :4])
    assert (before[:, 4:] != after[:, 4:]).any()


def test_text_of_the_gpt_is_decoded_as_it_was() -> None:
    text = char_gpt.Text("to be, or not")
    assert text.decode(text.tokens.tolist()) == "to be, or not"


def test_loss_curves_show_each_loss_and_the_mean_of_the_last() -> None:
    losses = [4.0] * 60 + [1.0] * 60
    first, second = demo.loss_curves({"up": losses, "down": losses[::-1]}).axes
    assert (first.get_title(), second.get_title()) == ("up", "down")
    assert first.get_xlabel() == "step" and first.get_ylabel() == "loss" and first.get_ylim()[0] == 0
    each, mean = (line.get_xydata() for line in first.get_lines())
    np.testing.assert_array_equal(each, np.stack([np.arange(1, 121), losses], axis=1))
    np.testing.assert_array_equal(mean[:, 0], each[:, 0])
    np.testing.assert_allclose(mean[:, 1], [np.mean(losses[max(0, i - 3) : i + 1]) for i in range(120)])
    assert [text.get_text() for text in first.get_legend().get_texts()] == ["each step", "mean of 4 steps"]
    assert demo.loss_curves({"one step": [2.0]}).axes[0].get_xlim() == (1, 2)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "COLUMNS": "140"}


def test_demo_prints_plain_lines_where_nobody_watches(tmp_path: Path) -> None:
    done = subprocess.run(
        [*DEMO, "--output", str(tmp_path)], env=environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    table = dict(re.findall(r"^(\w[\w/ ]*?)  +(\S.*)$", done.stdout.split("What happened\n")[1], re.M))
    assert table["steps"].split() == ["8", "4"]
    assert table["plans compiled"].split() == ["2", "2"]
    assert table["plans found again"].split() == ["6", "2"]
    assert table["implicit syncs"].split() == ["0", "0"]
    picture = imread(tmp_path / "loss.png")
    assert picture.shape == (540, 1500, 4)
    for half in (picture[:, :750, :3], picture[:, 750:, :3]):
        assert 0.5 < (half == 1).all(axis=-1).mean() < 0.99  # something is drawn, on white


def test_demo_shows_a_live_bar_on_a_terminal(tmp_path: Path) -> None:
    pytest.importorskip("rich")  # without it the demo prints plain lines; scripts/requirements.txt has it
    terminal, end = pty.openpty()
    shows = subprocess.Popen([*DEMO, "--output", str(tmp_path)], env=environment() | {"TERM": "xterm"}, stdout=end)
    os.close(end)
    shown = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # how Linux says that nobody writes any more
            break
        if not part:
            break
        shown += part
    os.close(terminal)
    assert shows.wait() == 0
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())
    assert b"\x1b[" in shown and "━" in text
    assert "8/8" in text and "4/4" in text and "steps/s" in text and "hits" in text and "compile" in text
    assert "implicit syncs" in text
