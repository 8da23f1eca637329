"""What a notebook shows for a tensor: a small table of one or two axes, else the text."""

from __future__ import annotations

from html import escape

from ._core import Error, Tensor

_EDGE = 5  # rows and columns at each end of what is too long
_LONGEST = 2 * _EDGE + 1


def _shown(extent: int) -> list[int | None]:
    """The positions that are shown, None where some are left out."""
    if extent <= _LONGEST:
        return list(range(extent))
    return [*range(_EDGE), None, *range(extent - _EDGE, extent)]


def _text(value: object) -> str:
    return format(value, ".6g") if isinstance(value, float | complex) else str(value)


def _cells(x: Tensor, row: int, columns: list[int | None]) -> str:
    at = (lambda column: (row, column)) if x.ndim == 2 else (lambda column: (column,))
    texts = ("…" if column is None else escape(_text(x.item(*at(column)))) for column in columns)
    return "<tr>" + "".join(f"<td>{text}</td>" for text in texts) + "</tr>"


def table(x: Tensor) -> str:
    """Never raises: a tensor without a value says why, as ``repr`` does.

    >>> lento.asarray([1, 2])._repr_html_()
    '<table><tr><td>1</td><td>2</td></tr></table><p>shape (2,), int64</p>'
    """
    about = f"<p>shape {x.shape}, {x.dtype}</p>"
    if x.ndim not in (1, 2) or x.size == 0:
        return f"<pre>{escape(str(x))}</pre>{about}"
    columns = _shown(x.shape[-1])
    rows = _shown(x.shape[0]) if x.ndim == 2 else [0]
    left_out = "<tr>" + "<td>⋮</td>" * len(columns) + "</tr>"
    try:
        lines = [left_out if row is None else _cells(x, row, columns) for row in rows]
    except Error:
        return f"<pre>{escape(str(x))}</pre>{about}"
    return f"<table>{''.join(lines)}</table>{about}"
