"""Objects that do not play fair: lists that change while they are read or contain themselves, conversions that assign
to the tensor they are for, instances made behind a class's back. Errors, never a crash. Each case is run in this
process: a crash fails the whole run."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import lento
import numpy as np
import pytest


class Clearing:
    """A number that clears (or lengthens) the list it stands in when it is converted."""

    def __init__(self, victim: list[Any], grow: bool = False) -> None:
        self.victim = victim
        self.grow = grow

    def _strike(self) -> None:
        if self.grow:
            self.victim.extend([1] * 1000)
        else:
            self.victim.clear()

    def __index__(self) -> int:
        self._strike()
        return 1

    def __float__(self) -> float:
        self._strike()
        return 1.0

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self._strike()
        return np.ones(2, "float32")

    def __len__(self) -> int:
        self._strike()
        return 1

    def __getitem__(self, index: int) -> int:
        self._strike()
        if index:
            raise IndexError
        return 1


class ClearingArray(np.ndarray):
    """A NumPy array that clears a list when it is asked for its dtype or its memory."""

    victim: ClassVar[list[Any]] = []

    @property
    def dtype(self) -> Any:
        ClearingArray.victim.clear()
        return np.ndarray.dtype.__get__(self)  # type: ignore[attr-defined]

    @property
    def __array_interface__(self) -> Any:
        ClearingArray.victim.clear()
        return np.ndarray.__array_interface__.__get__(self)  # type: ignore[attr-defined]


class ClearingScalar(np.float32):
    victim: ClassVar[list[Any]] = []

    @property
    def dtype(self) -> Any:
        ClearingScalar.victim.clear()
        return np.dtype("float32")


X = lento.ones((2, 3))
# Every kind of argument that takes a list.
TAKE_INTS: dict[str, Callable[[list[Any]], Any]] = {
    "zeros": lento.zeros,
    "ones": lento.ones,
    "reshape": X.reshape,
    "permute_dims": lambda v: lento.permute_dims(X, v),
    "sum": lambda v: lento.sum(X, axis=v),
    "tile": lambda v: lento.tile(X, v),
    "roll": lambda v: lento.roll(X, v, axis=[0, 1]),
    "pad": lambda v: lento.pad(X, [v, [1, 1]]),
    "pad of one list": lambda v: lento.pad(X, v),
    "flip": lambda v: lento.flip(X, axis=v),
    "uniform": lento.random.uniform,
    "normal, shape late": lambda v: lento.random.normal(0, 1, v),
    "broadcast_to": lambda v: lento.broadcast_to(lento.ones(1), v),
    "split_at": lambda v: lento.split_at(X, v) if hasattr(lento, "split_at") else lento.reshape(X, v),
    "index": lambda v: X[v],
    "index in a tuple": lambda v: X[v, 0],
    "asarray": lento.asarray,
    "asarray, nested": lambda v: lento.asarray([v, [1, 2, 3]]),
    "asarray with a tensor": lambda v: lento.asarray([v, lento.ones(())]),
    "assignment": lambda v: X.__copy__().__setitem__(0, v),
    "in": lambda v: v in X,
    "tensordot": lambda v: lento.tensordot(X, X, axes=[v, v]),
    "concat": lento.concat,
    "stack": lento.stack,
    "einsum": lambda v: lento.einsum("i,i->", v),
    "histogram": lambda v: lento.histogram(X, 3, range=v),
    "eval": lento.eval,
    "dump": lento.dump,
    "graph_key": lento.graph_key,
    "add": lambda v: lento.add(X, v),
    "broadcast_shapes": lambda v: lento.broadcast_shapes(v, (1, 1)),
    "wait": lento.wait,
    "_rebuild": lambda v: lento._core._rebuild("float32", tuple(v), b""),
    "conv stride": lambda v: lento.nn.conv2d(lento.ones((1, 1, 4, 4)), lento.ones((1, 1, 2, 2)), stride=v),
}


@pytest.mark.parametrize("grow", [False, True], ids=["clears", "grows"])
@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("name", TAKE_INTS)
def test_a_list_may_change_while_it_is_converted(name: str, position: int, grow: bool) -> None:
    for make in (
        lambda victim: Clearing(victim, grow),
        lambda victim: make_array(victim),
        lambda victim: make_scalar(victim),
    ):
        victim: list[Any] = [1, 1, 1]
        victim[position] = make(victim)
        try:
            TAKE_INTS[name](victim)
        except (TypeError, ValueError, IndexError, RuntimeError, OverflowError, lento.Error) as error:
            assert str(error)


def make_array(victim: list[Any]) -> Any:
    ClearingArray.victim = victim
    return np.ones(3, "float32").view(ClearingArray)


def make_scalar(victim: list[Any]) -> Any:
    ClearingScalar.victim = victim
    return ClearingScalar(1)


def test_a_list_that_changes_its_length_says_so() -> None:
    victim: list[Any] = [1, 1, 1]
    victim[0] = Clearing(victim)
    with pytest.raises(RuntimeError, match="the list changed its length while it was read"):
        lento.zeros(victim)


def test_a_list_whose_tensor_disappears_is_refused() -> None:
    """The dtype is found in a first pass over the list, the values in a second one."""
    victim: list[Any] = [[1.0], lento.ones(1)]

    class Removes(np.float32):
        @property
        def dtype(self) -> Any:
            victim[1] = [2.0]
            return np.dtype("float32")

    victim[0] = [Removes(1)]
    try:
        result = lento.asarray(victim)
    except RuntimeError as error:
        assert "changed while it was read" in str(error)
    else:
        assert result.shape == (2, 1)


# --- containers that contain themselves ---


def own_list() -> list[Any]:
    inner: list[Any] = [lento.ones(2)]
    inner.append(inner)
    return inner


def own_tuple() -> tuple[Any, ...]:
    inner: list[Any] = []
    outer = (lento.ones(2), inner)
    inner.append(outer)
    return outer


def own_dict() -> dict[str, Any]:
    inner: dict[str, Any] = {"x": lento.ones(2)}
    inner["self"] = inner
    return inner


def deep_list() -> list[Any]:
    nested: list[Any] = [lento.ones(2)]
    for _ in range(100_000):
        nested = [nested]
    return nested


TAKE_TREES: dict[str, Callable[[Any], Any]] = {
    "eval": lento.eval,
    "dump": lento.dump,
    "graph_key": lento.graph_key,
    "cache.run": lambda v: lento.cache.run(1, v),
    "sync_multi": lento.lazy.sync_multi,
    "to_cpu": lento.lazy.to_cpu,
    "lazy.save": lambda v: lento.lazy.save(v, "/dev/null"),
    "save": lambda v: lento.save("/dev/null", v) if hasattr(lento, "save") else lento.eval(v),
    "add_step_closure": lambda v: lento.add_step_closure(print, args=(v,)),
    "grad": lambda v: lento.grad(lambda t: lento.ones(()))(v),
    "vmap": lambda v: lento.vmap(lambda t: t)(v),
    "checkpoint": lambda v: lento.checkpoint(lambda t: t)(v),
    "tree.map": lambda v: lento.tree.map(lambda x: x, v),
    "tree.leaves": lento.tree.leaves,
    "asarray": lento.asarray,
    "stack": lento.stack,
    "concat": lento.concat,
    "add": lambda v: lento.ones(2) + lento.asarray(v),
    "index": lambda v: lento.ones(2)[v],
    "assign": lambda v: lento.ones(2).__setitem__(0, v),
    "zeros": lento.zeros,
    "sum": lambda v: lento.sum(lento.ones(2), axis=v),
    "in": lambda v: v in lento.ones(2),
    "wait": lento.wait,
}


@pytest.mark.parametrize("make", [own_list, own_tuple, own_dict, deep_list])
@pytest.mark.parametrize("name", TAKE_TREES)
def test_a_container_in_itself_is_a_clear_error(name: str, make: Callable[[], Any]) -> None:
    value = make()
    if name == "in" and isinstance(value, dict):
        assert value not in lento.ones(2)  # no dict is an element of a tensor, and nothing of it is read
        return
    with pytest.raises((RecursionError, ValueError, TypeError, IndexError, AttributeError)) as caught:
        TAKE_TREES[name](value)
    assert str(caught.value)


# --- conversions that assign ---


def test_t6_an_assignment_inside_the_conversion_of_a_value_is_kept() -> None:
    x = lento.zeros(3)

    class Assigns:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            x[1] = 5
            return np.array(7, "float32")

    x[0] = Assigns()  # type: ignore[assignment]
    assert x.tolist() == [7, 5, 0]


def test_t6_an_assignment_inside_the_conversion_of_an_index_is_kept() -> None:
    x = lento.zeros(3)

    class Assigns:
        def __index__(self) -> int:
            x[1] = 5
            return 0

    x[Assigns()] = 7
    assert x.tolist() == [7, 5, 0]
    x[lento.asarray(0)] = 1
    assert x[Assigns()].item() == 1


@pytest.mark.parametrize("name", ["__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__ipow__"])
def test_t6_an_assignment_inside_the_conversion_of_an_operand_is_kept(name: str) -> None:
    plain = name.replace("__i", "__")
    x = lento.asarray([3.0, 3.0, 3.0])

    class Assigns(np.ndarray):
        @property
        def __array_interface__(self) -> Any:
            x[1] = 5
            return np.ndarray.__array_interface__.__get__(self)  # type: ignore[attr-defined]

    operand = np.full(3, 2, "float32").view(Assigns)
    getattr(x, name)(operand)
    assert x.tolist() == getattr(lento.asarray([3.0, 5.0, 3.0]), plain)(2.0).tolist()


def test_t6_an_assignment_inside_the_conversion_of_a_factor_is_kept() -> None:
    x = lento.zeros((2, 2))

    class Assigns(np.ndarray):
        @property
        def __array_interface__(self) -> Any:
            x[0, 0] = 5
            return np.ndarray.__array_interface__.__get__(self)  # type: ignore[attr-defined]

    x @= np.eye(2, dtype="float32").view(Assigns)
    assert x.tolist() == [[5, 0], [0, 0]]


# --- instances without a value ---

TYPES = [
    lento.Tensor,
    lento.DType,
    lento.Device,
    lento.random.Generator,
    lento._core._Scope,
    lento._core._Differentiation,
    lento._core._Batching,
]


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
def test_no_instance_is_made_behind_the_back_of_its_class(kind: Any) -> None:
    with pytest.raises((TypeError, AttributeError)):
        kind.__new__(kind)
    with pytest.raises((TypeError, AttributeError)):
        kind.__new__(kind, "cpu")
    with pytest.raises(TypeError):
        object.__new__(kind)
    with pytest.raises(TypeError):
        type("Heir", (kind,), {})
    with pytest.raises(TypeError):
        copy.copy(kind.__basicsize__).__class__.__new__(kind)


def test_the_classes_still_make_what_they_made() -> None:
    assert str(lento.Device("cpu:0")) == "cpu:0"
    assert lento.random.Generator(3).state == (3, 0)
    assert lento.random.Generator(seed=3).state == (3, 0)
    with lento.scope("a"):
        pass
    with pytest.raises(TypeError):
        lento.DType()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        lento.Tensor()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "value", [lento.float32, lento.Device("cpu"), lento.random.Generator(7)], ids=lambda v: type(v).__name__
)
def test_copies_and_pickles_are_whole(value: Any) -> None:
    for made in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert type(made) is type(value)
        if isinstance(value, lento.random.Generator):
            assert made.state == value.state
            assert made is not value
            before = value.state
            lento.random.uniform((3,), generator=made)
            assert value.state == before
        else:
            assert made == value
            assert hash(made) == hash(value)


def test_promote_types_takes_dtypes_only() -> None:
    for wrong in (1, object(), []):
        with pytest.raises(TypeError, match="is no dtype"):
            lento._core.promote_types(lento.float32, wrong)


class Interface(np.ndarray):
    answer: Any = None

    @property
    def __array_interface__(self) -> Any:
        return Interface.answer


@pytest.mark.parametrize(
    "answer",
    [
        None,
        7,
        {},
        {"shape": (2,)},
        {"shape": 3, "data": (1, True)},
        {"shape": (3,), "data": 5},
        {"shape": (3,), "data": ()},
        {"shape": (3,), "data": (None, None)},
        {"shape": (3,), "data": ("x", True)},
        {"shape": ("a",), "data": (0, True)},
        {"shape": (3,), "data": (0, True), "strides": (1, 1)},
        {"shape": (3,), "data": (0, True), "strides": 4},
        {"shape": (3,), "data": (2**80, True)},
    ],
)
def test_a_malformed_array_interface_is_refused(answer: Any) -> None:
    Interface.answer = answer
    with pytest.raises((TypeError, ValueError, OverflowError)):
        lento.asarray(np.ones(3).view(Interface))


@pytest.mark.parametrize("answer", [3, None, "float99", np.dtype("O")])
def test_an_array_with_no_dtype_is_refused(answer: Any) -> None:
    class Lies(np.ndarray):
        @property
        def dtype(self) -> Any:
            return answer

    with pytest.raises(TypeError):
        lento.asarray(np.ones(3).view(Lies))


@pytest.mark.parametrize("shape", [("a",), (None,), (1.5,), ([],)])
def test_a_pickled_shape_of_anything_but_ints_is_refused(shape: Any) -> None:
    with pytest.raises(TypeError, match="has int, not"):
        lento._core._rebuild("float32", shape, b"")


def test_lists_full_of_themselves_are_refused_beside_another_thread() -> None:
    """An op then looks for operands that are pending there: once in each list, however often that is in it."""
    tensors: list[Any] = []
    thread = threading.Thread(target=lambda: tensors.append(lento.ones(3) + 1))
    thread.start()
    thread.join()
    endless: list[Any] = []
    endless.extend([endless, endless])
    for function in (lento.stack, lento.concat, lento.asarray):
        with pytest.raises((TypeError, ValueError, RecursionError, MemoryError)):
            function(endless)
    with pytest.raises((TypeError, ValueError, RecursionError, MemoryError)):
        lento.add(lento.ones(3), endless)
    assert float((tensors[0] + 1).sum()) == 9.0
