"""The number of threads of the CPU device."""

import os
import subprocess
import sys
from collections.abc import Iterator

import lento
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def same_number_afterwards() -> Iterator[None]:
    before = lento.get_num_threads()
    yield
    lento.set_num_threads(before)


def test_the_number_of_threads_can_be_set() -> None:
    for count in (1, 3, 2):
        lento.set_num_threads(count)
        assert lento.get_num_threads() == count


def test_numbers_that_make_no_sense_are_refused() -> None:
    before = lento.get_num_threads()
    for wrong in (0, -1, 2**40):
        with pytest.raises(ValueError, match="at least 1"):
            lento.set_num_threads(wrong)
    for odd in (1.5, "2", True, None):
        with pytest.raises(TypeError, match="'count' must be int"):
            lento.set_num_threads(odd)  # type: ignore[arg-type]
    assert lento.get_num_threads() == before


def in_new_process(**environment: str) -> int:
    code = "import lento; print(lento.get_num_threads())"
    variables = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"} | environment
    return int(subprocess.run([sys.executable, "-c", code], env=variables, check=True, capture_output=True).stdout)


def test_the_first_number_is_omp_num_threads_or_what_the_process_may_use() -> None:
    assert in_new_process(OMP_NUM_THREADS="3") == 3
    most = len(os.sched_getaffinity(0))
    assert 1 <= in_new_process() <= most
    assert 1 <= in_new_process(OMP_NUM_THREADS="many") <= most


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    random = np.random.default_rng(0)
    a = random.standard_normal((300, 200)).astype(np.float32)
    b = random.standard_normal((200, 600)).astype(np.float32)
    results = []
    for count in (1, 2, 5):
        lento.set_num_threads(count)
        product = lento.asarray(a) @ lento.asarray(b)
        results.append(np.asarray(lento.sum(lento.exp(product * 0.1), axis=1)))
    assert (results[0] == results[1]).all()
    assert (results[0] == results[2]).all()


def test_t5_random_numbers_do_not_depend_on_the_number_of_threads() -> None:
    before = lento.get_num_threads()
    drawn = []
    for threads in (1, 2, 8):
        lento.set_num_threads(threads)
        generator = lento.Generator(7)
        draws = (
            lento.random.uniform((300_000,), generator=generator),
            lento.random.normal((300_000,), generator=generator) * 2 + 1,
        )
        drawn.append([draw.numpy().tobytes() for draw in draws])
    lento.set_num_threads(before)
    assert drawn[0] == drawn[1] == drawn[2]
