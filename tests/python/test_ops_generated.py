"""Every op of the catalogue against an oracle: each sample, each dtype of its rule, special values, empty, zero-dim and
non-contiguous inputs. Nothing here names an op: a new entry in the catalogue is tested because it is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import harness
import lento
import numpy as np
import pytest
from comparisons import numpy_dtype
from samples import Call, OpInfo, calls_of, load_catalogue

CATALOGUE = load_catalogue()
BY_NAME = {op.qualified: op for op in CATALOGUE}

# Ops whose results cannot be compared with an oracle's: each has a test of its own. op → test that covers it.
TESTED_BY_HAND: dict[str, str] = {
    **{
        f"random.{name}": "test_continuous_distributions"
        for name in (
            *("uniform", "normal", "exponential", "laplace", "logistic", "gumbel", "cauchy", "lognormal"),
            *("truncated_normal", "gamma", "beta", "dirichlet", "uniform_like", "normal_like"),
        )
    },
    "random.poisson": "test_counts",
    "random.binomial": "test_counts",
    "random.multivariate_normal": "test_multivariate_normal",
    "random.bernoulli": "test_bernoulli",
    "random.bernoulli_like": "test_bernoulli",
    "random.randint": "test_randint",
    "random.randint_like": "test_randint",
    "random.permutation": "test_permutation_and_shuffle",
    "random.shuffle": "test_permutation_and_shuffle",
    "random.choice": "test_choice",
    "random.categorical": "test_categorical_and_multinomial",
    "random.multinomial": "test_categorical_and_multinomial",
    "nn.gumbel_softmax": "test_gumbel_softmax",
    "linalg.svd": "test_svd",
    "linalg.eigh": "test_eigh",
    "linalg.eig": "test_eig",
    "linalg.eigvals": "test_eig",
    "prim.svd_factor": "test_svd",
    "prim.eigh_factor": "test_eigh",
    "prim.eig_factor": "test_eig",
    "prim.lu_factor": "test_lu_factor",
    "prim.strided_update": "test_strided_update",
    **{
        f"prim.{cell}_states_grad": "test_derivatives_of_both_orders_agree_with_differences"
        for cell in ("rnn", "gru", "lstm")
    },
    "prim.scatter_axis": "test_scatter_axis",
    "prim.scatter_nd": "test_scatter_nd",
    "prim.top_k": "test_top_k",
    "prim.search_sorted": "test_search_sorted",
    "prim.flat_nonzero": "test_flat_nonzero",
}


def calls_with(oracle: str) -> list[Call]:
    return [call for op in CATALOGUE if getattr(op, oracle) for call in calls_of(op) if not call.raises]


NUMPY_CALLS = calls_with("numpy")


@pytest.mark.parametrize("call", NUMPY_CALLS, ids=lambda call: call.id)
def test_op_agrees_with_numpy(call: Call) -> None:
    harness.check(call)


RAISING_CALLS = [call for op in CATALOGUE for call in calls_of(op) if call.raises]


@pytest.mark.parametrize("call", RAISING_CALLS, ids=lambda call: call.id)
def test_sample_raises(call: Call) -> None:
    with pytest.raises(getattr(lento.errors, call.raises, Exception)) as caught:
        result = harness.run(call)
        lento.eval(result)
    assert isinstance(caught.value, lento.Error | TypeError | ValueError)


def test_there_are_enough_cases() -> None:
    assert len(NUMPY_CALLS) >= 5000, f"only {len(NUMPY_CALLS)} op cases"


def test_every_op_has_an_oracle_or_a_test_of_its_own() -> None:
    without = [op.qualified for op in CATALOGUE if not op.numpy and not op.torch and op.qualified not in TESTED_BY_HAND]
    assert not without, f"no oracle and no test: {', '.join(without)}"


def test_hand_written_tests_exist() -> None:
    text = "\n".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    names = set(re.findall(r"def (test_\w+)", text))
    missing = {op: test for op, test in TESTED_BY_HAND.items() if test not in names}
    assert not missing
    unknown = [op for op in TESTED_BY_HAND if op not in BY_NAME]
    assert not unknown, f"not in the catalogue any more: {unknown}"


def test_every_op_with_an_oracle_has_a_sample() -> None:
    counted = {call.op.qualified for call in NUMPY_CALLS} | {call.op.qualified for call in TORCH_CALLS}
    missing = [op.qualified for op in CATALOGUE if (op.numpy or op.torch) and op.qualified not in counted]
    assert not missing, f"an oracle but no sample: {', '.join(missing)}"


@pytest.mark.parametrize("op", [op for op in CATALOGUE if op.aliases or op.method], ids=lambda op: op.qualified)
def test_aliases_and_methods_are_there(op: OpInfo) -> None:
    space: Any = getattr(lento, op.space) if op.space else lento
    for alias in op.aliases:
        assert callable(getattr(space, alias))
    if op.method:
        assert callable(getattr(lento.Tensor, op.method))


def first_call(op: OpInfo) -> Call | None:
    return next((call for call in calls_of(op) if not call.raises), None)


def same(first: Any, second: Any) -> bool:
    if isinstance(first, tuple):
        return len(first) == len(second) and all(same(a, b) for a, b in zip(first, second, strict=True))
    if not isinstance(first, lento.Tensor):
        return bool(first == second)
    return first.dtype is second.dtype and first.numpy().tobytes() == second.numpy().tobytes()


@pytest.mark.parametrize("op", [op for op in CATALOGUE if op.space != "random"], ids=lambda op: op.qualified)
def test_positional_arguments_methods_and_aliases_are_the_same_function(op: OpInfo) -> None:
    call = first_call(op)
    if call is None:
        pytest.skip("no sample")
    function = harness.find_function(op)
    named = harness.lento_arguments(call)
    expected = function(**named)
    positional = []
    for arg in op.args:
        if arg.keyword_only or arg.name not in named:
            break
        positional.append(named.pop(arg.name))
    assert same(function(*positional, **named), expected)
    space: Any = getattr(lento, op.space) if op.space not in ("", "prim") else lento
    for alias in op.aliases:
        assert same(getattr(space, alias)(*positional, **named), expected)
    if op.method and isinstance(positional[0], lento.Tensor):
        assert same(getattr(positional[0], op.method)(*positional[1:], **named), expected)


@pytest.mark.parametrize(
    "op",
    [op for op in CATALOGUE if op.elementwise and len(op.args) == 2 and op.args[1].type == "Operand"],
    ids=lambda op: op.qualified,
)
def test_elementwise_op_takes_numbers_on_either_side(op: OpInfo) -> None:
    function = harness.find_function(op)
    for dtype in op.dtypes:
        if dtype == "bool":
            continue
        kind = numpy_dtype(dtype).kind
        number: Any = 2 if kind in "iu" else 1.5
        x = np.array([1, 2, 3]).astype(numpy_dtype(dtype))
        same = np.full(3, number).astype(numpy_dtype(dtype))
        right = function(lento.asarray(x), number)
        left = function(number, lento.asarray(x))
        np.testing.assert_array_equal(right.numpy(), function(lento.asarray(x), lento.asarray(same)).numpy())
        np.testing.assert_array_equal(left.numpy(), function(lento.asarray(same), lento.asarray(x)).numpy())


# --- torch: only in the peers' environment ---

TORCH_CALLS = [
    call
    for op in CATALOGUE
    if op.torch
    for call in calls_of(op)
    if not call.raises
    and call.dtype in ("float32", "float64", "int64", "bool", "complex64", "-")
    # Where NumPy is asked too, it decides about nan, infinities and signs of zeros: torch has its own ideas.
    and not (op.numpy and call.label == "special")
]


def _to_torch(value: Any) -> Any:
    import torch

    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(value).reshape(value.shape))
    if isinstance(value, list) and any(isinstance(each, np.ndarray) for each in value):
        return [_to_torch(each) for each in value]
    return value


def _from_torch(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return value.resolve_conj().resolve_neg().numpy()
    if isinstance(value, list | tuple):
        return tuple(_from_torch(each) for each in value)
    return value


def _ask_torch(call: Call) -> Any:
    import torch

    scope: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
    for arg in call.op.args:
        value = call.arguments[arg.name]
        if arg.type.rstrip("?") == "dtype" and isinstance(value, str):
            value = getattr(torch, value)
        scope[arg.name] = _to_torch(value)
    return _from_torch(eval(call.op.torch, scope))


# What torch raises for dtypes and arguments that it does not take.
TORCH_REFUSES = (RuntimeError, NotImplementedError, TypeError)


@pytest.mark.peers
@pytest.mark.parametrize("call", TORCH_CALLS, ids=lambda call: call.id)
def test_op_agrees_with_torch(call: Call) -> None:
    pytest.importorskip("torch")
    try:
        expected = _ask_torch(call)
    except TORCH_REFUSES as error:
        pytest.skip(f"torch cannot: {error}")
    tolerance = max(call.tolerance or call.op.tolerance or 0, 1e-5)
    harness.compare(call, harness.run(call), expected, tolerance)


@pytest.mark.peers
@pytest.mark.parametrize("name", sorted({call.op.name for call in TORCH_CALLS}))
def test_torch_answers_at_least_once(name: str) -> None:
    """An oracle that torch always refuses is a misspelt one, and its skips would hide that."""
    pytest.importorskip("torch")
    refusals = []
    for call in TORCH_CALLS:
        if call.op.name != name:
            continue
        try:
            _ask_torch(call)
            return
        except TORCH_REFUSES as error:
            refusals.append(f"{call.id}: {error}")
    pytest.fail("torch refused every call:\n" + "\n".join(refusals))
