"""Gravity between a few hundred bodies: every pair attracts, and the energy stays what it was.

    python examples/nbody.py --bodies 200 --steps 500

Leapfrog steps in float64. One step is one plan; the energy is looked at in closures.
"""

from __future__ import annotations

import argparse

import lento

SOFTENING = 0.05  # keeps close encounters finite


def cluster(bodies: int) -> tuple[lento.Tensor, lento.Tensor, lento.Tensor]:
    """Positions, velocities and masses of a ball of bodies that is at rest as a whole and turns slowly."""
    direction = lento.random.normal((bodies, 3), dtype=lento.float64)
    direction /= lento.linalg.vector_norm(direction, axis=1, keepdims=True)
    position = direction * lento.random.uniform((bodies, 1), dtype=lento.float64) ** (1 / 3)
    velocity = 0.3 * lento.random.normal((bodies, 3), dtype=lento.float64)
    velocity += 0.5 * lento.stack([-position[:, 1], position[:, 0], 0 * position[:, 2]], axis=1)
    return position, velocity - velocity.mean(axis=0), lento.full(bodies, 1 / bodies, dtype=lento.float64)


def pairs(position: lento.Tensor) -> tuple[lento.Tensor, lento.Tensor]:
    """From each body to each other, and one over the softened distance."""
    between = position[None, :, :] - position[:, None, :]
    return between, 1 / lento.sqrt((between**2).sum(axis=-1) + SOFTENING**2)


def acceleration(position: lento.Tensor, mass: lento.Tensor) -> lento.Tensor:
    between, inverse = pairs(position)
    return (between * (inverse**3 * mass)[:, :, None]).sum(axis=1)


def leapfrog(
    position: lento.Tensor, velocity: lento.Tensor, force: lento.Tensor, mass: lento.Tensor, dt: float
) -> tuple[lento.Tensor, lento.Tensor, lento.Tensor]:
    """Half a kick, a drift, half a kick."""
    velocity = velocity + dt / 2 * force
    position = position + dt * velocity
    force = acceleration(position, mass)
    return position, velocity + dt / 2 * force, force


def energy(position: lento.Tensor, velocity: lento.Tensor, mass: lento.Tensor) -> lento.Tensor:
    _, inverse = pairs(position)
    # The diagonal, each body with itself, does not count; each pair is there twice.
    itself = (mass**2).sum() / SOFTENING
    attraction = ((mass[:, None] * mass * inverse).sum() - itself) / 2
    return 0.5 * (mass * (velocity**2).sum(axis=1)).sum() - attraction


def simulate(
    bodies: int = 200, steps: int = 500, dt: float = 2e-3, seed: int = 0, every: int = 50
) -> tuple[list[float], lento.Tensor]:
    """The energy at every so many steps, and the momentum in the end (which began as 0)."""
    lento.random.seed(seed)
    position, velocity, mass = cluster(bodies)
    force = acceleration(position, mass)
    energies: list[float] = []
    for step in range(steps + 1):
        if step % every == 0:
            now = energy(position, velocity, mass)
            lento.add_step_closure(lambda value: energies.append(float(value)), args=(now,), run_async=True)
            del now
        position, velocity, force = leapfrog(position, velocity, force, mass, dt)
        lento.step()
    lento.wait_closures()
    return energies, (mass[:, None] * velocity).sum(axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bodies", type=int, default=200)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    energies, momentum = simulate(options.bodies, options.steps, seed=options.seed)
    for i, value in enumerate(energies):
        print(f"step {50 * i:4}: energy {value:.8f} ({value / energies[0] - 1:+.1e})")
    print(f"momentum {momentum}")
    print(f"{lento.metrics.counter('plan.miss')} plans compiled, {lento.metrics.counter('plan.hit')} found again")


if __name__ == "__main__":
    main()
