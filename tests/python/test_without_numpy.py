"""NumPy is optional: nothing imports it before it is asked for, and what needs it says so."""

from __future__ import annotations

import lento
import pytest
from engine import check_program


def test_the_import_brings_no_numpy() -> None:
    check_program(
        """
        import sys
        import lento
        x = lento.asarray([[1.0, 2.0]]) * 2
        repr(x), str(x), lento.asarray(range(3)) + 1, lento.result_type(x, 2), hash(x)
        print(x.tolist(), x.sum().item())
        print("numpy" in sys.modules)
        """,
        "[[2.0, 4.0]] 6.0\nFalse\n",
    )


@pytest.mark.parametrize("reading", ["x.numpy()", "x.__array__()", "x.__array__(dtype=float)"])
def test_what_needs_numpy_says_so(reading: str) -> None:
    check_program(
        f"""
        import sys
        sys.modules["numpy"] = None  # as if it were not installed
        import lento
        x = lento.ones((2,))
        try:
            {reading}
        except ImportError as error:
            print(error)
        print(x.tolist())
        """,
        "numpy(): NumPy is not installed; install it, or use tolist() or item(), at <string>:7\n[1.0, 1.0]\n",
    )


def test_a_numpy_that_does_not_load_tells_why(tmp_path: object) -> None:
    check_program(
        f"""
        import pathlib, sys
        pathlib.Path({str(tmp_path)!r}, "numpy.py").write_text("raise ImportError('built for another Python')")
        sys.path.insert(0, {str(tmp_path)!r})
        import lento
        try:
            lento.ones((2,)).numpy()
        except ImportError as error:
            print(error)
        """,
        "built for another Python\n",
    )


def test_show_versions(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LENTO_SAVE_GRAPHS", "/nowhere")
    assert lento.show_versions() is None
    rows = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert rows["lento"].startswith(lento.__version__)
    assert rows["threads"] == str(lento.get_num_threads())
    assert rows["LENTO_SAVE_GRAPHS"] == "/nowhere"
    for library in ("python", "numpy", "llvm", "onednn", "openblas"):
        assert rows[library][0].isdigit(), f"{library}: {rows[library]}"


def test_show_versions_without_numpy() -> None:
    check_program(
        """
        import importlib.metadata as metadata
        def version(name): raise metadata.PackageNotFoundError(name)
        metadata.version = version
        import contextlib, io, sys
        import lento
        with contextlib.redirect_stdout(io.StringIO()) as out:
            lento.show_versions()
        print([line.split(maxsplit=1)[1] for line in out.getvalue().splitlines() if line.startswith("numpy")])
        print("numpy" in sys.modules)
        """,
        "['not installed']\nFalse\n",
    )
