"""Groups: parts of a model with settings of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, ValuesView
from typing import TYPE_CHECKING, Any

from .. import _core, tree
from .._core import Tensor
from .._fail import fail

if TYPE_CHECKING:
    from ._optimizer import Optimizer

#: What a group may have of its own, as far as its optimizer has it, in the order of state dicts.
SETTINGS = ("lr", "weight_decay", "momentum", "betas", "eps")


def as_tree(params: Any) -> Any:
    """Views and iterators, such as ``model.parameters().values()``, as lists."""
    return list(params) if isinstance(params, ValuesView | Iterator) else params


def are_groups(parameters: Any) -> bool:
    """Whether it is a list of dicts with ``params``, as PyTorch has it."""
    return isinstance(parameters, list | tuple) and any(isinstance(p, dict) and "params" in p for p in parameters)


def form_of(caller: str, parameters: Any) -> list[Any]:
    """What a list of groups trains: a tree for each group."""
    for i, group in enumerate(parameters):
        if not isinstance(group, Mapping) or "params" not in group:
            raise no_group(caller, f"groups.{i}", group)
    return [as_tree(group["params"]) for group in parameters]


def no_group(caller: str, what: str, given: Any) -> TypeError:
    """The error for what is given as a group and is none."""
    found = type(given).__name__
    if isinstance(given, Mapping):
        found = f"one with {', '.join(map(repr, given))}" if given else "an empty one"
    return fail(TypeError, f"{caller}: {what} must be a dict with 'params', not {found}")


def nothing_to_train(caller: str, parameters: Any) -> ValueError | TypeError:
    """The error for a tree without floating tensors; one of names is what iterating over ``parameters()`` gives."""
    leaves = tree.leaves(parameters)
    if leaves and all(isinstance(leaf, str) for leaf in leaves):
        what = "the names of parameters are given; give model, or model.parameters().values()"
        return fail(TypeError, f"{caller}: {what}")
    return fail(ValueError, f"{caller}: there is no floating tensor to train")


def members(caller: str, what: str, params: Any, parameters: Mapping[str, Tensor]) -> list[str]:
    """The names of the parameters that a group's ``params`` are: one name or more that lead to them, a function of name
    and tensor, or a tree of them."""
    names = [params] if isinstance(params, str) else params
    if isinstance(names, list | tuple) and names and all(isinstance(name, str) for name in names):
        found = []
        for name in names:
            below = [path for path in parameters if path == name or path.startswith(f"{name}.")]
            if not below:
                raise fail(ValueError, f"{caller}: {what}: no parameter is named {name!r}")
            found += [path for path in below if path not in found]
    elif callable(params) and tree._node(params) is None:
        found = [name for name, tensor in parameters.items() if params(name, tensor)]
    else:
        by_id = {id(tensor): name for name, tensor in parameters.items()}
        tensors = _core._trainable(tree.leaves(as_tree(params)))
        if any(id(tensor) not in by_id for tensor in tensors):
            raise fail(ValueError, f"{caller}: {what} has a tensor that is none of the parameters")
        found = [by_id[id(tensor)] for tensor in tensors]
    if not found:
        raise fail(ValueError, f"{caller}: {what} has no parameters")
    return found


class ParamGroup(MutableMapping[str, Any]):
    """What PyTorch's ``param_groups`` are made of: a group's settings, of which those that it does not have itself are
    the optimizer's. ``own`` is None for the parameters that are in no group."""

    def __init__(self, optimizer: Optimizer, own: dict[str, Any] | None) -> None:
        self._optimizer = optimizer
        self._own = own

    def __getitem__(self, name: str) -> Any:
        if self._own is not None and name in self._own:
            return self._own[name]
        if name == "params":
            return [
                p for p, i in zip(self._optimizer.parameters.values(), self._optimizer._group_of, strict=True) if not i
            ]
        if name not in self:
            raise fail(KeyError, f"{type(self._optimizer).__name__}: {name!r} is no setting")
        return getattr(self._optimizer, name)

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self or name == "params":
            raise fail(ValueError, f"{type(self._optimizer).__name__}: {name!r} is no setting that can be changed")
        if self._own is None:
            setattr(self._optimizer, name, value)
            return
        if name not in self._own and name not in self._optimizer._settings_of_groups():
            raise fail(
                ValueError, f"{type(self._optimizer).__name__}: {name!r} is no setting that a group has of its own"
            )
        self._optimizer._check_group("", {name: value})
        self._own[name] = value

    def __delitem__(self, name: str) -> None:
        raise fail(TypeError, f"{type(self._optimizer).__name__}: a setting cannot be taken away")

    def __iter__(self) -> Iterator[str]:
        yield "params"
        yield from (name for name in self._optimizer.settings if not name.startswith("_"))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in list(self)

    def __repr__(self) -> str:
        settings = {name: self[name] for name in self if name != "params"}
        return f"ParamGroup({len(self['params'])} parameters, {settings})"
