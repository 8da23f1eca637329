"""Tensors in texts: f"{loss:.3f}", round, notebooks, and repr where there is nothing to show. test_print.py compares
the text of values with NumPy's."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import lento
import numpy as np
import pytest
from engine import Counts, check_program, state_of
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from test_print import expected_repr

# --- repr and str ---


@settings(max_examples=300, deadline=None)
@given(
    hnp.arrays(
        dtype=st.sampled_from(
            [
                "bool",
                "int8",
                "uint8",
                "int32",
                "uint64",
                "int64",
                "float16",
                "float32",
                "float64",
                "complex64",
                "complex128",
            ]
        ),
        shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6),
    )
)
def test_any_array_looks_as_in_numpy(a: np.ndarray[Any, Any]) -> None:
    assert str(lento.asarray(a)) == str(a)
    assert repr(lento.asarray(a)) == expected_repr(a)


def test_printing_evaluates_this_tensor_and_leaves_the_others_pending() -> None:
    x = lento.ones((3,)) * 2
    other = lento.ones((3,)) * 3
    after = x + 1
    counts = Counts()
    assert repr(x) == "tensor([2., 2., 2.], dtype=float32)"
    assert counts["sync.implicit"] == 1
    assert (state_of(x), state_of(other), state_of(after)) == ("ready", "pending", "pending")
    assert repr(x) == str(x).replace("[2. 2. 2.]", "tensor([2., 2., 2.], dtype=float32)")
    assert counts["sync.implicit"] == 1


def test_printing_a_large_tensor_copies_nothing() -> None:
    x = lento.ones((1000, 1000)) + 1
    lento.eval(x)
    lento.wait()
    before = lento.memory()["live"]
    lento.reset_peak_memory()
    counts = Counts()
    text = repr(x)
    assert text.count("2.") == 36
    assert text.endswith("shape=(1000, 1000), dtype=float32)")
    assert lento.memory()["peak"] == before
    assert counts["step"] == counts["plan.miss"] == counts["plan.hit"] == 0


def failed() -> lento.Tensor:
    x = lento.asarray([1.0, 2.0])[lento.asarray([5])]
    with pytest.raises(IndexError):
        x.numpy()
    return x


def test_a_failed_tensor_shows_its_error_and_does_not_raise() -> None:
    x = failed()
    for text in (repr(x), str(x), f"{x}", x._repr_html_()):
        assert "failed" in text
        assert "out of range" in text
    assert repr(x).startswith("tensor(<failed: ")
    with pytest.raises(IndexError):
        format(x, ".3f")


def test_e8_where_syncs_are_errors_a_pending_tensor_says_so() -> None:
    x = lento.ones((2,)) * 5
    with lento.options(sync="error"):
        assert repr(x) == "tensor(<pending>, shape=(2,), dtype=float32)"
        assert (str(x), f"{x}") == ("<pending>", "<pending>")
        assert "&lt;pending&gt;" in x._repr_html_()
        with pytest.raises(lento.Error):
            f"{x.sum():.2f}"
    assert str(x) == "[5. 5.]"


OPTIONS = [
    {"precision": 3},
    {"precision": 0},
    {"threshold": 10, "edgeitems": 2},
    {"linewidth": 40},
    {"suppress": True},
    {"precision": 2, "suppress": True, "threshold": 5, "edgeitems": 1, "linewidth": 20},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_print_options_are_numpys(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal((4, 7)), rng.standard_normal(30) * 1e-5, np.arange(40), rng.standard_normal(6) + 1j]
    old = lento.get_printoptions()
    lento.set_printoptions(**options)
    try:
        assert lento.get_printoptions() == {**old, **options}
        with np.printoptions(**options):
            for a in arrays:
                assert str(lento.asarray(a)) == str(a)
    finally:
        lento.set_printoptions(**old)
    assert str(lento.asarray(arrays[0])) == str(arrays[0])


def test_print_options_that_make_no_sense_are_refused() -> None:
    old = lento.get_printoptions()
    for name in ("precision", "threshold", "edgeitems", "linewidth"):
        with pytest.raises(ValueError, match=name):
            lento.set_printoptions(**{name: -1})
    with pytest.raises(TypeError):
        lento.set_printoptions(precision="many")  # type: ignore[arg-type]
    assert lento.get_printoptions() == old


# --- format ---


@pytest.mark.parametrize(
    ("value", "spec"),
    [
        (1.2345, ".3f"),
        (1.5, ">10.2e"),
        (-0.25, "+.1%"),
        (255, "x"),
        (7, "05d"),
        (True, "d"),
        (1 + 2j, ".1f"),
        (float("nan"), ".2f"),
        (1.5, "g"),
    ],
)
def test_format_of_one_number_is_pythons(value: Any, spec: str) -> None:
    for x in (lento.asarray(value), lento.asarray([[value]])):
        assert format(x, spec) == format(np.asarray(value).astype(x.dtype.name).item(), spec)
    assert f"{lento.asarray(value)}" == str(lento.asarray(value))


def test_format_of_many_numbers_takes_no_specification() -> None:
    x = lento.zeros((2,))
    assert f"{x}" == str(x) == "[0. 0.]"
    with pytest.raises(TypeError, match=r"unsupported format string passed to lento.Tensor.__format__: shape \(2,\)"):
        format(x, ".2f")
    with pytest.raises(ValueError):
        format(lento.asarray(1.5), "d")
    with pytest.raises(TypeError):
        x.__format__(3)  # type: ignore[arg-type]


@settings(max_examples=50, deadline=None)
@given(st.floats(width=32, allow_nan=False), st.sampled_from([".3f", ".6g", "12.2e", "+"]))
def test_any_float_is_formatted_as_by_numpy(value: float, spec: str) -> None:
    assert format(lento.asarray(value), spec) == format(np.array(value, np.float32), spec)


# --- round ---


def test_round_is_lazy_and_agrees_with_numpy() -> None:
    data = np.array([0.5, 1.5, 2.675, -1.25, 123.456], np.float64)
    x = lento.asarray(data)
    counts = Counts()
    rounded = [round(x), round(x, 1), round(x, -1), round(x, None), x.round(2), x.round()]
    assert counts["sync.implicit"] == 0
    expected = [np.round(data, n) for n in (0, 1, -1, 0, 2, 0)]
    for mine, theirs in zip(rounded, expected, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs)
    assert float(round(lento.asarray(2.71828), 2)) == np.float32(2.72)
    with pytest.raises(TypeError):
        round(x, 1.5)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        x.__round__(1, 2)  # type: ignore[call-arg]


# --- notebooks ---


class Cells(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] == "td":
            self.rows[-1].append(data)


def test_html_of_vectors_and_matrices_is_a_table() -> None:
    assert Cells(lento.asarray([1, 2, 3])._repr_html_()).rows == [["1", "2", "3"]]
    text = lento.asarray([[1.5, 2.0], [float("nan"), 1e10]])._repr_html_()
    assert Cells(text).rows == [["1.5", "2"], ["nan", "1e+10"]]
    assert text.endswith("<p>shape (2, 2), float32</p>")
    assert Cells(lento.asarray([True, False])._repr_html_()).rows == [["True", "False"]]
    assert Cells(lento.asarray([1 + 2j])._repr_html_()).rows == [["1+2j"]]


def test_html_of_a_large_matrix_shows_its_corners() -> None:
    x = lento.reshape(lento.arange(100 * 200), (100, 200))
    rows = Cells(x._repr_html_()).rows
    assert [len(row) for row in rows] == [11] * 11
    assert rows[0][:2] == ["0", "1"]
    assert rows[0][5] == "…"
    assert set(rows[5]) == {"⋮"}
    assert rows[-1][-1] == str(100 * 200 - 1)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (2, 2, 2)])
def test_html_of_other_shapes_is_the_text(shape: tuple[int, ...]) -> None:
    x = lento.zeros(shape)
    assert x._repr_html_() == f"<pre>{x}</pre><p>shape {shape}, float32</p>"


def test_all_of_it_works_without_numpy() -> None:
    program = """
    import sys
    sys.modules["numpy"] = None
    import pickle, lento
    x = lento.asarray([[1.0, 2.5]])
    print(repr(x), f"{x.sum():.2f}", round(x), x._repr_html_())
    print(pickle.loads(pickle.dumps(x)).tolist(), bytes(lento.asarray([1], dtype=lento.uint8)), x.tobytes() == bytes(x))
    """
    expected = (
        "tensor([[1. , 2.5]], dtype=float32) 3.50 [[1. 2.]] "
        "<table><tr><td>1</td><td>2.5</td></tr></table><p>shape (1, 2), float32</p>\n"
        "[[1.0, 2.5]] b'\\x01' True\n"
    )
    check_program(program, expected)
