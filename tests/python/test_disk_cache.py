"""E11: compiled code on disk, as processes share it. Each program runs in processes and in a folder of its own."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from engine import check_program, run_program

STEP = """
import lento, numpy as np
def values(*seeds):
    return [lento.asarray(np.random.default_rng(seed).uniform(0.1, 2, 5000).astype(np.float32)) for seed in seeds]
def run(number=0):
    a, b = values(1, 2)
    x = lento.tanh(lento.exp(a * b) - a / b)
    for digit in f"{number:b}":  # another kernel for each number
        x = x * a + 1 if digit == "0" else lento.sin(x) - b
    return x.numpy(), x.sum().numpy()
def digest(number=0):
    return "".join(part.tobytes().hex() for part in run(number))[-64:]
def counts(*names):
    return " ".join(f"{name}={lento.metrics.counter('kernel.' + name)}" for name in names)
"""
SHOW = "print(digest(), counts('compile', 'disk_hit', 'disk_store', 'disk_reject'))"


def show(folder: Path, program: str = SHOW, **environment: str) -> tuple[str, dict[str, int]]:
    """The digest of the results and the counters that a process with this cache prints."""
    done = run_program(STEP + program, LENTO_CACHE_DIR=str(folder), **environment)
    assert (done.returncode, done.stderr) == (0, "")
    digest, *pairs = done.stdout.split()
    return digest, {name: int(value) for name, value in (pair.split("=") for pair in pairs)}


@pytest.fixture(scope="module")
def fresh() -> str:
    """The digest of a process without a cache."""
    done = run_program(STEP + SHOW, LENTO_DISK_CACHE="off")
    digest, *rest = done.stdout.split()
    assert "disk_hit=0" in rest
    return digest


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def test_e11_another_process_compiles_nothing_and_gets_the_same_bits(tmp_path: Path, fresh: str) -> None:
    digest, first = show(tmp_path / "cache")
    kernels = first["compile"]
    assert kernels > 0
    assert (digest, first["disk_hit"], first["disk_reject"]) == (fresh, 0, 0)
    assert len(files(tmp_path / "cache")) == kernels  # also what was still to be written when the process ended
    digest, second = show(tmp_path / "cache")
    assert (digest, second) == (fresh, {"compile": 0, "disk_hit": kernels, "disk_store": 0, "disk_reject": 0})


def test_e11_careful_code_is_kept_and_used_at_once(tmp_path: Path, fresh: str) -> None:
    careful, first = show(tmp_path, LENTO_TIER="1")
    again, second = show(tmp_path)
    assert careful == again == fresh
    assert (second["compile"], second["disk_hit"]) == (0, first["compile"])
    # The quick code is another file.
    quick, third = show(tmp_path, LENTO_TIER="0")
    assert (quick, third["compile"]) == (fresh, first["compile"])
    assert len(files(tmp_path)) == 2 * first["compile"]


def test_e11_kernels_that_turn_out_hot_are_kept_as_careful_code(tmp_path: Path) -> None:
    program = """
while lento.metrics.counter("kernel.tierup") == 0:
    run()
lento.cache.info()  # waits until what is compiled is kept
"""
    show(tmp_path, program + SHOW)
    _, second = show(tmp_path, LENTO_TIER="1")
    assert second["disk_hit"] > 0


DAMAGES = {
    "empty": lambda data, _: b"",
    "short": lambda data, at: data[: at % len(data)],
    "changed": lambda data, at: (
        data[: at % len(data)] + bytes([data[at % len(data)] ^ 0x55]) + data[at % len(data) + 1 :]
    ),
    "longer": lambda data, _: data + data,
    "noise": lambda data, at: random.Random(at).randbytes(len(data)),
    "text": lambda data, _: b"#!/bin/sh\necho no\n",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_e11_damaged_files_are_never_loaded_and_replaced(tmp_path: Path, fresh: str, damage: str) -> None:
    show(tmp_path)
    kernels = files(tmp_path)
    originals = [path.read_bytes() for path in kernels]
    for number, path in enumerate(kernels):
        path.write_bytes(DAMAGES[damage](originals[number], 1234567 * (number + 1)))
    digest, counts = show(tmp_path)
    assert (digest, counts["disk_hit"]) == (fresh, 0)
    assert counts["disk_reject"] == counts["compile"] == len(kernels)
    assert [path.read_bytes() for path in kernels] == originals


def test_e11_it_is_off_with_an_option_or_a_variable(tmp_path: Path) -> None:
    check = "print(0, counts('disk_hit', 'disk_store'), f'bytes={lento.cache.info()[\"disk_bytes\"]}')"
    none = {"disk_hit": 0, "disk_store": 0, "bytes": 0}
    assert show(tmp_path / "a", "lento.options(disk_cache=False); run();" + check)[1] == none
    assert show(tmp_path / "b", "run();" + check, LENTO_DISK_CACHE="off")[1] == none
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()
    switched = "lento.options(disk_cache=True); run();" + check
    assert show(tmp_path / "c", switched, LENTO_DISK_CACHE="off")[1]["bytes"] > 0


def test_e11_the_api_tells_clears_and_limits(tmp_path: Path) -> None:
    program = """
info = lento.cache.info()
assert (info["disk_folder"], info["disk_bytes"], info["disk_limit"]) == (FOLDER, 0, 1000000), info
for number in range(8):
    run(number)
full = lento.cache.info()["disk_bytes"]
assert full > 10000, full
lento.cache.set_disk_limit(full // 2)
half = lento.cache.info()
assert half["disk_bytes"] <= half["disk_limit"] == full // 2, half
assert lento.metrics.counter("kernel.disk_evict") > 0
lento.cache.clear()
assert lento.cache.info()["disk_bytes"] == half["disk_bytes"]
lento.cache.clear(disk=True)
assert lento.cache.info()["disk_bytes"] == 0
with lento.options(disk_cache=False):
    assert lento.cache.info()["disk_folder"] is None
"""
    source = f"FOLDER = {str(tmp_path)!r}" + STEP + program
    check_program(source, "", LENTO_CACHE_DIR=str(tmp_path), LENTO_CACHE_LIMIT="1000000")


def test_e11_the_folder_is_where_the_user_keeps_caches(tmp_path: Path) -> None:
    program = "import lento; print(lento.cache.info()['disk_folder'])"
    home = str(tmp_path)
    for environment, expected in [
        ({}, "None"),
        ({"HOME": home}, f"{home}/.cache/lento"),
        ({"HOME": home, "XDG_CACHE_HOME": f"{home}/x"}, f"{home}/x/lento"),
        ({"HOME": home, "XDG_CACHE_HOME": "relative"}, f"{home}/.cache/lento"),
        ({"HOME": home, "LENTO_CACHE_DIR": f"{home}/y/"}, f"{home}/y"),
        ({"HOME": ""}, "None"),
    ]:
        check_program(program, expected + "\n", **environment)
    check_program(STEP + "run()", "")  # nowhere to keep anything, and no word about it


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("LENTO_DISK_CACHE", "maybe", "LENTO_DISK_CACHE is 'maybe'; it must be on or off"),
        ("LENTO_CACHE_LIMIT", "1GB", "LENTO_CACHE_LIMIT is '1GB'; it must be a number of bytes"),
    ],
)
def test_e11_variables_that_make_no_sense_are_errors(name: str, value: str, message: str) -> None:
    done = run_program(STEP + "\ntry:\n    run()\nexcept ValueError as error:\n    print(error)\n", **{name: value})
    assert message in done.stdout


def test_e11_a_folder_that_cannot_be_used_is_one_warning(tmp_path: Path, fresh: str) -> None:
    (tmp_path / "file").write_text("in the way")
    program = STEP + "print(digest()); run(1); lento.cache.info(); run(2); run(3)"
    done = run_program(program, LENTO_CACHE_DIR=str(tmp_path / "file" / "cache"))
    assert (done.returncode, done.stdout) == (0, fresh + "\n")
    assert done.stderr.count("RuntimeWarning") == 1
    assert str(tmp_path / "file" / "cache") in done.stderr
    assert "Not a directory" in done.stderr


def test_e11_processes_that_compile_the_same_at_once_agree(tmp_path: Path, fresh: str) -> None:
    """All wait at a pipe and start together: each finds nothing, half a file, or a whole one."""
    program = f"""
import os
go, ready = os.pipe()
children = []
for _ in range(6):
    if (pid := os.fork()) == 0:
        os.close(ready)
        os.read(go, 1)
        same = digest() == {fresh!r}
        lento.cache.info()
        os._exit(0 if same else 1)
    children.append(pid)
os.close(ready)
print([os.waitpid(pid, 0)[1] for pid in children])
"""
    check_program(STEP + program, f"{[0] * 6}\n", LENTO_CACHE_DIR=str(tmp_path))
    digest, counts = show(tmp_path)
    assert (digest, counts["compile"], counts["disk_reject"]) == (fresh, 0, 0)


KILLS = """
import os, random, signal
def work(seed, out):
    numbers = random.Random(seed)
    while True:
        number = numbers.randrange(len(expected))
        os.write(out, b"+" if digest(number) == expected[number] else b"-")
        if numbers.random() < 0.2:  # files go away under the others' hands
            lento.cache.set_disk_limit(numbers.choice([20_000, 60_000, 1_000_000]))
        if numbers.random() < 0.05:
            lento.cache.clear(disk=True)
chance = random.Random(3)
seen = b""
for batch in range(12):
    children = []
    for seed in range(4):
        inside, outside = os.pipe()
        if (pid := os.fork()) == 0:
            work(4 * batch + seed, outside)
        os.close(outside)
        children.append((pid, inside))
    for pid, inside in children:
        for _ in range(chance.randrange(1, 8)):  # then it is in the middle of the next one
            seen += os.read(inside, 1)
        os.kill(pid, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
        os.close(inside)
print(set(seen.decode()))
"""
COMPILED = "; print(counts('compile'))"
ALL = "print(*(digest(number) for number in range(20)), counts('disk_hit', 'disk_reject'))"


def test_e11_processes_killed_at_random_leave_a_cache_that_works(tmp_path: Path) -> None:
    """48 processes work in one folder, four at a time; each is killed in the middle of its work."""
    *expected, _, _ = run_program(STEP + ALL, LENTO_DISK_CACHE="off").stdout.split()
    check_program(STEP + f"expected = {expected}" + KILLS, "{'+'}\n", LENTO_CACHE_DIR=str(tmp_path))
    for leftover in tmp_path.glob(".new-*"):
        os.utime(leftover, (0, 0))
    left = len(files(tmp_path))
    done = run_program(STEP + ALL, LENTO_CACHE_DIR=str(tmp_path))
    *digests, hits, rejects = done.stdout.split()
    assert (digests, rejects, done.stderr) == (expected, "disk_reject=0", "")
    assert hits != "disk_hit=0" or left == 0
    assert not list(tmp_path.glob(".new-*"))
    # From now on everything is there.
    *digests, _, rejects = run_program(STEP + ALL + COMPILED, LENTO_CACHE_DIR=str(tmp_path)).stdout.split()
    assert (digests[:20], rejects) == (expected, "compile=0")


def test_the_name_of_the_folder_need_not_be_text(tmp_path: Path) -> None:
    folder = os.fsdecode(bytes(tmp_path / "caf") + b"\xe9")
    program = "import os; run(); print(os.fsencode(lento.cache.info()['disk_folder']).hex())"
    check_program(STEP + program, os.fsencode(folder).hex() + "\n", LENTO_CACHE_DIR=folder)
    Path(folder, "in the way").touch()
    done = run_program(STEP + "run(); print('goes on')", LENTO_CACHE_DIR=f"{folder}/in the way/cache")
    assert (done.returncode, done.stdout) == (0, "goes on\n")
    assert "caf\\xe9" in done.stderr
