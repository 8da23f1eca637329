"""einops and opt_einsum: both only rearrange, reduce and contract, so nothing waits."""

from __future__ import annotations

from typing import Any

import einops
import einops.array_api as rearranging
import lento
import numpy as np
import opt_einsum
import pytest
from friend_calls import FLOAT_ERROR, Call, check, check_types, pending, syncs_of

pytestmark = pytest.mark.peers


def make_data() -> dict[str, Any]:
    rng = np.random.default_rng(11)
    return {
        "images": rng.standard_normal((4, 6, 8, 3)),
        "table": rng.standard_normal((20, 6)),
        "a": rng.standard_normal((5, 7)),
        "b": rng.standard_normal((7, 9)),
        "c": rng.standard_normal((9, 4)),
        "square": rng.standard_normal((6, 6)),
        "batch": rng.standard_normal((3, 4, 4)),
    }


DATA = make_data()


def packed(images: Any, table: Any) -> Any:
    together, shapes = rearranging.pack([images, images[..., 0, :]], "b h * c")
    return [together, *rearranging.unpack(together, shapes, "b h * c")]


EINOPS: dict[str, Call] = {
    "transpose": lambda images: rearranging.rearrange(images, "b h w c -> b c h w"),
    "flatten": lambda images: rearranging.rearrange(images, "b h w c -> b (h w c)"),
    "patches": lambda images: rearranging.rearrange(images, "b (h p) (w q) c -> (b h w) (p q c)", p=2, q=4),
    "repeat": lambda table: rearranging.repeat(table, "a b -> a r b", r=3),
    "pooled": lambda images: rearranging.reduce(images, "b (h p) (w q) c -> b h w c", "max", p=2, q=2),
    "pack and unpack": packed,
    "list": lambda table: rearranging.rearrange([table, table], "n a b -> a n b"),
}

AVERAGES: dict[str, Call] = {
    "mean": lambda images: rearranging.reduce(images, "b h w c -> b c", "mean"),
    "sum": lambda images: rearranging.reduce(images, "b (h p) w c -> p", "sum", p=3),
}


@pytest.mark.parametrize("name", EINOPS)
def test_einops_moves_the_same_bits(name: str) -> None:
    check_types(check(EINOPS[name], DATA), lento.Tensor)
    assert syncs_of(EINOPS[name], DATA) == 0


@pytest.mark.parametrize("name", AVERAGES)
def test_einops_reduces(name: str) -> None:
    check_types(check(AVERAGES[name], DATA, error=FLOAT_ERROR), lento.Tensor)
    assert syncs_of(AVERAGES[name], DATA) == 0


def test_einops_asnumpy_shares_memory() -> None:
    x = lento.asarray(DATA["table"])
    array = rearranging.asnumpy(x)
    assert np.shares_memory(array, np.asarray(x))
    np.testing.assert_array_equal(array, DATA["table"])


def test_einops_knows_tensors_only_in_its_array_api() -> None:
    """The functions of the package itself have a list of frameworks in which Lento is not."""
    with pytest.raises(RuntimeError, match="Tensor type unknown to einops"):
        einops.rearrange(pending(DATA["table"]), "a b -> b a")


CONTRACTIONS: dict[str, Call] = {
    "matmul": lambda a, b: opt_einsum.contract("ij,jk->ik", a, b),
    "chain": lambda a, b, c: opt_einsum.contract("ij,jk,kl->il", a, b, c),
    "best order": lambda a, b, c: opt_einsum.contract("ij,jk,kl->il", a, b, c, optimize="optimal"),
    "outer": lambda a, b: opt_einsum.contract("i,j->ij", a[0, :], b[0, :]),
    "batches": lambda batch: opt_einsum.contract("bij,bjk->bik", batch, batch),
    "trace": lambda square: opt_einsum.contract("ii->", square),
    "diagonal": lambda square: opt_einsum.contract("ii->i", square),
    "hadamard": lambda a: opt_einsum.contract("ij,ij->j", a, a),
    "expression": lambda a, b: opt_einsum.contract_expression("ij,jk->ik", a.shape, b.shape)(a, b),
    "constant": lambda a, b: opt_einsum.contract_expression("ij,jk->ik", a, b.shape, constants=[0])(b),
    "ellipsis": lambda batch: opt_einsum.contract("...ij,...j->...i", batch, batch[..., 0, :]),
}


@pytest.mark.parametrize("name", CONTRACTIONS)
def test_opt_einsum(name: str) -> None:
    check_types(check(CONTRACTIONS[name], DATA, error=FLOAT_ERROR), lento.Tensor)
    assert syncs_of(CONTRACTIONS[name], DATA) == 0


def test_opt_einsum_shares_intermediate_results() -> None:
    a, b, c = (pending(DATA[name]) for name in "abc")
    with opt_einsum.shared_intermediates():
        first = opt_einsum.contract("ij,jk,kl->il", a, b, c)
        before = lento.metrics.counters()
        second = opt_einsum.contract("ij,jk,kl->il", a, b, c)
        assert lento.metrics.counters() == before, "something was recorded again"
    np.testing.assert_array_equal(first.numpy(), second.numpy())
