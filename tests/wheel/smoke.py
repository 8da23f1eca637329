"""A program for an environment that has Lento's wheel and nothing else: no NumPy, no LLVM, no oneDNN, no OpenBLAS."""

from __future__ import annotations

import math
import os
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import lento

# Libraries that the wheel brings. What the C library and the C++ runtime need is the system's.
CARRIED = (
    "dnnl",
    "openblas",
    "lapack",
    "blas",
    "LLVM",
    "gomp",
    "gfortran",
    "quadmath",
    "fmt",
    "xxhash",
    "zstd",
)


def close(tensor: lento.Tensor, expected: list[Any], tolerance: float = 1e-5) -> None:
    difference = float(lento.abs(tensor - lento.asarray(expected)).max())
    assert difference <= tolerance, f"{tensor} instead of {expected}"


def products() -> None:
    a = lento.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert (a @ a).tolist() == [[7.0, 10.0], [15.0, 22.0]]  # OpenBLAS, for small ones
    n = 200  # oneDNN
    ones = lento.ones((n, n))
    assert (ones @ ones).tolist() == [[float(n)] * n] * n
    half = lento.ones((n, n), dtype=lento.bfloat16)
    assert (half @ half).tolist() == [[float(n)] * n] * n


def convolutions() -> None:
    y = lento.nn.conv2d(lento.ones((1, 2, 5, 5)), lento.ones((3, 2, 3, 3)))
    assert y.tolist() == [[[[18.0] * 3] * 3] * 3]


def linear_algebra() -> None:
    a = lento.asarray([[4.0, 1.0], [1.0, 3.0]])
    close(lento.linalg.solve(a, lento.asarray([1.0, 2.0])), [1 / 11, 7 / 11])
    close(lento.linalg.eigvalsh(a), [(7 - math.sqrt(5)) / 2, (7 + math.sqrt(5)) / 2])
    u, s, vh = lento.linalg.svd(a)
    close((u * s) @ vh, a.tolist())
    try:
        lento.linalg.cholesky(lento.asarray([[1.0, 2.0], [2.0, 1.0]])).tolist()
    except lento.LinAlgError:
        return
    raise AssertionError("a matrix that is not positive definite has a Cholesky factor")


def transforms() -> None:
    x = lento.asarray([1.0, 2.0, 3.0, 4.0])
    y = lento.fft.fft(x)
    assert lento.real(y).tolist() == [10.0, -2.0, -2.0, -2.0]
    close(lento.real(lento.fft.ifft(y)), x.tolist())


def compiled_code() -> None:
    x = lento.arange(1000, dtype=lento.float32)
    y = (lento.sin(x) ** 2 + lento.cos(x) ** 2).sum()
    assert abs(float(y) - 1000) < 1e-2
    assert lento.metrics.counter("plan.miss") > 0
    assert float(lento.softmax(x).sum()) - 1 < 1e-5


def random_numbers() -> None:
    lento.random.seed(7)
    first = lento.random.normal((4,)).tolist()
    lento.random.seed(7)
    assert lento.random.normal((4,)).tolist() == first


def pickling() -> None:
    x = lento.asarray([[1, 2], [3, 4]], dtype=lento.int16)
    again = pickle.loads(pickle.dumps(x))
    assert (again.tolist(), again.dtype) == (x.tolist(), lento.int16)


def forked_child() -> None:
    child = os.fork()
    if child == 0:
        products()
        convolutions()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def without_numpy() -> None:
    assert "numpy" not in sys.modules
    assert repr(lento.asarray([1.5, 2.0])) != ""
    for read in (lento.Tensor.numpy, lento.Tensor.__array__):
        try:
            read(lento.ones((2,)))
        except ImportError as error:
            assert "NumPy is not installed" in str(error), error
        else:
            raise AssertionError("this environment has NumPy")


def only_its_own_libraries() -> None:
    site = Path(lento.__file__).resolve().parents[1]
    maps = Path("/proc/self/maps").read_text().splitlines()
    mapped = {Path(line.split(maxsplit=5)[5].strip()) for line in maps if ".so" in line}
    carried = {path for path in mapped if re.match("lib(" + "|".join(CARRIED) + ")", path.name)}
    foreign = {path for path in carried if site not in path.parents}
    assert not foreign, f"loaded from elsewhere: {foreign}"
    assert not [path for path in mapped if "libOpenCL" in path.name], "oneDNN needs no OpenCL here"
    for library in ("dnnl", "openblas"):
        assert any(path.name.startswith(f"lib{library}") for path in carried), f"{library} is not loaded at all"


def main() -> None:
    parts = (
        products,
        convolutions,
        linear_algebra,
        transforms,
        compiled_code,
        random_numbers,
        pickling,
        forked_child,
        without_numpy,
        only_its_own_libraries,
    )
    for part in parts:
        part()
    print(f"wheel: {len(parts)} parts work with Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
