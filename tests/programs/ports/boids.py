"""A flock on a torus: every boid keeps away from near ones, flies as its neighbours do, and to where they are."""

from __future__ import annotations

import lento

MIN_SPEED, MAX_SPEED, MAX_ACCELERATION = 0.5, 2.0, 0.03
NEAR, FAR = 25, 50


def length(vectors: lento.Tensor) -> lento.Tensor:
    return lento.sqrt((vectors * vectors).sum(axis=-1, keepdims=True))


def at_full_speed(vectors: lento.Tensor) -> lento.Tensor:
    """Vectors of the largest speed in these directions; what has no direction stays."""
    norm = length(vectors)
    return MAX_SPEED * lento.where(norm == 0, vectors, vectors / norm)


def limited(vectors: lento.Tensor, limit: float) -> lento.Tensor:
    norm = length(vectors)
    return lento.where(norm > limit, vectors * (limit / norm), vectors)


def acceleration(position: lento.Tensor, velocity: lento.Tensor) -> lento.Tensor:
    offset = position[:, None, :] - position[None, :, :]
    distance = length(offset)[..., 0]
    near = (distance > 0) & (distance < NEAR)
    far = (distance > 0) & (distance < FAR)

    def mean(mask: lento.Tensor, values: lento.Tensor) -> lento.Tensor:
        return mask.astype(values.dtype) @ values / lento.maximum(mask.sum(axis=1), 1)[:, None]

    away = lento.where(near[..., None], offset / distance[..., None] ** 2, 0).sum(axis=1)
    separation = at_full_speed(away / lento.maximum(near.sum(axis=1), 1)[:, None])
    alignment = at_full_speed(mean(far, velocity))
    cohesion = at_full_speed(mean(far, position) - position)
    wishes = [limited(wish - velocity, MAX_ACCELERATION) for wish in (separation, alignment, cohesion)]
    return 1.5 * wishes[0] + wishes[1] + wishes[2]


def run(
    position: lento.Tensor, velocity: lento.Tensor, size: tuple[float, float], steps: int
) -> tuple[lento.Tensor, lento.Tensor]:
    box = lento.asarray(size, dtype=position.dtype)
    for _ in range(steps):
        velocity = velocity + acceleration(position, velocity)
        norm = length(velocity)
        velocity = velocity * lento.clip(norm, MIN_SPEED, MAX_SPEED) / norm
        position = (position + velocity) % box
        lento.step()
    return position, velocity
