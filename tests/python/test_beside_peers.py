"""Lento and other libraries in one process: imported in either order, working on several threads at once, ended."""

from __future__ import annotations

import pytest
from engine import check_program

PROGRAM = """
{imports}
import threading
import numpy as np
rng = np.random.default_rng(0)
x = rng.standard_normal((160, 200)).astype(np.float32)
w = rng.standard_normal((200, 320)).astype(np.float32)
image = rng.standard_normal((2, 8, 20, 20)).astype(np.float32)
filters = rng.standard_normal((16, 8, 3, 3)).astype(np.float32)

def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)

product = x @ w
solution = np.linalg.solve((x.T @ x + 50 * np.eye(200)).astype(np.float64), np.ones(200))
windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (2, 3))
convolved = np.einsum("ncyxij,ocij->noyx", windows, filters)

def own():
    for _ in range(20):
        a, b = lento.asarray(x), lento.asarray(w)
        np.testing.assert_allclose((a @ b).numpy(), product, atol=1e-3)
        np.testing.assert_allclose(lento.softmax(a @ b).numpy(), softmax(product), atol=1e-4)
        y = lento.nn.conv2d(lento.asarray(image), lento.asarray(filters))
        np.testing.assert_allclose(y.numpy(), convolved, atol=1e-3)
        c = lento.asarray((x.T @ x + 50 * np.eye(200)).astype(np.float64))
        s = lento.linalg.solve(c, lento.asarray(np.ones(200)))
        np.testing.assert_allclose(s.numpy(), solution, rtol=1e-6, atol=1e-9)

{peer}

errors = []
def run(work):
    try:
        work()
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=run, args=(work,)) for work in (own, theirs, own, theirs)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not errors, errors
own()
theirs()
print("both work")
"""

PEERS = {
    "torch": """
def theirs():
    t = torch.from_numpy
    for _ in range(20):
        np.testing.assert_allclose((t(x) @ t(w)).numpy(), product, atol=1e-3)
        np.testing.assert_allclose(torch.softmax(t(x) @ t(w), -1).numpy(), softmax(product), atol=1e-4)
        np.testing.assert_allclose(torch.conv2d(t(image), t(filters)).numpy(), convolved, atol=1e-3)
""",
    "jax": """
def theirs():
    import jax.numpy as jnp
    for _ in range(20):
        np.testing.assert_allclose(jax.jit(jnp.matmul)(x, w), product, atol=1e-3)
        np.testing.assert_allclose(jax.jit(lambda a, b: jax.nn.softmax(a @ b))(x, w), softmax(product), atol=1e-4)
        y = jax.lax.conv(jnp.asarray(image), jnp.asarray(filters), (1, 1), "VALID")
        np.testing.assert_allclose(y, convolved, atol=1e-3)
""",
    # Numba has an LLVM of its own in the process.
    "numba": """
@numba.njit
def total(a, b):
    sum = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            sum += np.exp(-abs(a[i, j])) * b[j, i]
    return sum
expected = (np.exp(-np.abs(x.astype(np.float64))) * w.T[:160]).sum()
def theirs():
    for _ in range(20):
        assert abs(total(x, w) - expected) < 1e-2 * abs(expected) + 0.1
""",
}


@pytest.mark.peers
@pytest.mark.parametrize("lento_first", [True, False], ids=["lento_first", "lento_last"])
@pytest.mark.parametrize("peer", sorted(PEERS))
def test_works_beside(peer: str, lento_first: bool) -> None:
    pytest.importorskip(peer)
    imports = f"import lento, {peer}" if lento_first else f"import {peer}, lento"
    check_program(PROGRAM.format(imports=imports, peer=PEERS[peer]), "both work\n")


FORK_PROGRAM = """
{imports}
import os, warnings
warnings.simplefilter("ignore")  # jax and Python warn of every fork beside threads

def own():
    assert (lento.ones((200, 200)) @ lento.ones((200, 200))).sum().item() == 200**3
    y = lento.nn.conv2d(lento.ones((2, 8, 20, 20)), lento.ones((16, 8, 3, 3)))
    assert y.sum().item() == 2 * 16 * 18 * 18 * 72
    assert lento.linalg.solve(lento.eye(100) * 2, lento.ones((100,))).sum().item() == 50

{peer}
theirs()
before = threads()
own()
theirs()
assert threads() == before, "the number of the other library's threads has changed"
child = os.fork()
if child == 0:
    own()
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
theirs()
print("both work")
"""

FORKING_PEERS = {
    # Its own OpenMP runtime has run teams of threads by then, in which a child would wait for ever.
    "torch": """
threads = torch.get_num_threads
def theirs():
    assert (torch.ones(600, 600) @ torch.ones(600, 600)).sum().item() == 600**3
    assert torch.exp(torch.zeros(1_000_000)).sum().item() == 1_000_000
""",
    "jax": """
def threads():
    return 0
def theirs():
    import jax.numpy as jnp
    assert float((jnp.ones((600, 600)) @ jnp.ones((600, 600))).sum()) == 600**3
""",
}


@pytest.mark.peers
@pytest.mark.parametrize("lento_first", [True, False], ids=["lento_first", "lento_last"])
@pytest.mark.parametrize("peer", sorted(FORKING_PEERS))
def test_a_forked_child_works_beside(peer: str, lento_first: bool) -> None:
    pytest.importorskip(peer)
    imports = f"import lento, {peer}" if lento_first else f"import {peer}, lento"
    check_program(FORK_PROGRAM.format(imports=imports, peer=FORKING_PEERS[peer]), "both work\n")
