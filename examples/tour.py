"""A short tour: what is recorded, when it is computed, what an error says.

python examples/tour.py
"""

from __future__ import annotations

import sys
import time

import lento
import numpy as np


def title(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}")


def recording() -> None:
    title("1. An operation records and returns")
    x = lento.asarray(np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4))
    with lento.scope("activation"):
        y = lento.nn.silu(x * 2 + 1)
    print("nothing is computed yet; this is the recording:\n")
    print(lento.dump(y), end="")
    title("2. Reading a value evaluates what it needs")
    print(y)


def values_not_aliases() -> None:
    title("3. A handle is a value: changing one leaves the others")
    x = lento.arange(6)
    row = x[1:4]
    x += 100
    x[0] = -1
    print(f"x   = {x}\nrow = {row}   (made from x before)")


def errors() -> None:
    title("4. Errors name the op, the operands and the line")
    try:
        lento.zeros((128, 784)) @ lento.zeros((512, 10))
    except ValueError as error:
        print(error)
    table = lento.arange(5)
    wrong = table[lento.asarray([1, 2, 9])]  # known only when it runs
    fine = table * 2
    print(f"wrong = {wrong}")
    try:
        wrong.tolist()
    except IndexError as error:
        print(f"reading it raises IndexError: {error}")
    print(f"and nothing else is lost: {fine}")


def training() -> None:
    title("5. A plain loop: fitting y = 3x - 1 with hand-written gradients")
    lento.random.seed(0)
    x = lento.random.normal((256,))
    y = 3 * x - 1 + 0.1 * lento.random.normal((256,))
    a, b = lento.asarray(0.0), lento.asarray(0.0)
    start = time.perf_counter()
    lento.eval(x, y)
    for step in range(201):
        difference = a * x + b - y
        loss = lento.mean(difference**2)
        a -= 0.1 * 2 * lento.mean(difference * x)
        b -= 0.1 * 2 * lento.mean(difference)
        if step % 50 == 0:
            # Runs after the step, on a thread of its own: the loop does not wait for the numbers.
            lento.add_step_closure(log, args=(step, loss, a, b), run_async=True)
        lento.step()
    lento.wait_closures()
    print(f"{1000 * (time.perf_counter() - start):.0f} ms for 201 steps")


def log(step: int, loss: lento.Tensor, a: lento.Tensor, b: lento.Tensor) -> None:
    print(f"step {step:3}: loss {float(loss):7.4f}   y = {float(a):.3f}x {float(b):+.3f}")


def what_happened() -> None:
    title("6. What Lento did, and why it compiled")
    names = ["step", "plan.miss", "plan.hit", "kernel.compile", "kernel.hit", "sync.implicit", "closure.run"]
    print("   ".join(f"{name} {lento.metrics.counter(name)}" for name in names))
    print("\n".join(lento.explain().splitlines()[-6:]))


def main() -> None:
    print(f"lento {lento.__version__}, devices: {', '.join(str(device) for device in lento.devices())}")
    recording()
    values_not_aliases()
    errors()
    training()
    what_happened()


if __name__ == "__main__":
    main()
