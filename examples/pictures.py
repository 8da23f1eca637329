"""PNG files and simple charts in a page of code: the examples need no plotting library.

A PNG file is a header, the rows packed by zlib, and an end. The charts' letters are 3 x 5 pixels, a row an octal digit.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

GLYPHS = """
.00002 -00700 075557 126227 271747 371717 455711 574717 674757 771111 875757 975717 A25755 B65656 C34443 D65556
 E74647 F74644 G34553 H55755 I72227 J11152 K55655 L44447 M57755 N65555 O25552 P65644 Q25563 R65655 S34216 T72222 U55557
 V55552 W55775 X55255 Y55222 Z71247
"""
LETTERS = {" ": "00000"} | {glyph[0]: glyph[1:] for glyph in GLYPHS.split()}


def write_png(path: str | Path, picture: np.ndarray) -> None:
    """Writes gray (height, width) or colours (height, width, 3), uint8."""
    if picture.dtype != np.uint8 or picture.ndim not in (2, 3):
        raise ValueError(f"write_png(): {picture.dtype} of shape {picture.shape} is no picture")
    height, width = picture.shape[:2]
    rows = picture.reshape(height, -1)
    # Each row begins with the filter that it is packed by: 0, none.
    raw = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1).tobytes()

    def part(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2 if picture.ndim == 3 else 0, 0, 0, 0)
    file = b"\x89PNG\r\n\x1a\n" + part(b"IHDR", header) + part(b"IDAT", zlib.compress(raw)) + part(b"IEND", b"")
    Path(path).write_bytes(file)


def write_text(picture: np.ndarray, text: str, x: int, y: int, scale: int = 2) -> None:
    """Writes on the picture in gray, with (x, y) as the top left corner."""
    for letter in text.upper():
        rows = [[int(bit) for bit in f"{int(row):03b}"] for row in LETTERS[letter]]
        shape = np.kron(np.array(rows, bool), np.ones((scale, scale), bool))
        picture[y : y + 5 * scale, x : x + 3 * scale][shape] = 90
        x += 4 * scale


def chart(title: str, values: Sequence[float], colour: tuple[int, int, int]) -> np.ndarray:
    """A curve of values over their numbers: the values thin, their running mean thick."""
    width, height, left, top, right, bottom = 480, 300, 50, 34, 16, 30
    picture = np.full((height, width, 3), 255, np.uint8)
    inner_width, inner_height = width - left - right, height - top - bottom
    curve = np.asarray(values, float)
    span = max(1, len(curve) // 30)
    mean = np.convolve(np.pad(curve, (span - 1, 0), mode="edge"), np.ones(span) / span, mode="valid")
    low, high = 0.0, max(float(curve.max()), 1e-9)
    for part in range(5):
        y = top + inner_height * part // 4
        picture[y, left : width - right] = 225
        write_text(picture, f"{high - (high - low) * part / 4:.2f}", 8, y - 5)
    write_text(picture, title, left, 10, 3)
    write_text(picture, str(len(curve)), width - right - 8 * len(str(len(curve))), height - 20)
    write_text(picture, "step", left, height - 20)
    for line, thickness, strength in ((curve, 1, 0.35), (mean, 2, 1.0)):
        # Many points along each piece, so that steep ones have no holes.
        where = np.linspace(0, len(line) - 1, 40 * inner_width)
        level = np.interp(where, np.arange(len(line)), line)
        xs = left + np.rint(where / max(1, len(line) - 1) * (inner_width - 1)).astype(int)
        ys = top + np.rint((high - level) / (high - low) * inner_height).astype(int)
        ink = 255 - strength * (255 - np.array(colour))
        for dy in range(thickness):
            picture[np.clip(ys + dy, 0, height - 1), xs] = ink
    return picture


def write_loss_curves(path: str | Path, curves: dict[str, Sequence[float]]) -> None:
    """One chart beside the other."""
    colours = [(31, 119, 180), (214, 94, 0), (0, 130, 90)]
    charts = [chart(title, values, colours[i % 3]) for i, (title, values) in enumerate(curves.items())]
    write_png(path, np.concatenate(charts, axis=1))
