"""What all optimizers share: the walk over parameters and gradients, what is kept for them, groups, state dicts."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NoReturn, SupportsFloat, TypeAlias

from .. import _core, tree
from .._core import Tensor
from .._fail import fail
from .._module import Module, modules_in
from .._ops import zeros_like
from .._origin import gradients_by_tensor
from .._recording import current, host_number
from .._state import load_into
from . import _groups

Schedule: TypeAlias = Callable[[int], float]
Groups: TypeAlias = Sequence[Mapping[str, Any]]

_WHOSE = "; give the gradients of the model whose parameters the optimizer has, as lento.grad gives them"

# Settings that are checked when they are assigned too.
_CHECKED = frozenset(_groups.SETTINGS)


_trainable = _core._is_differentiable


def _named(parameters: Any) -> dict[str, Tensor]:
    """The tensors to train by the path that leads to them; one without a path is "0", as it is alone in a list."""
    tree.leaves(parameters)  # raises for what contains itself
    found: dict[str, Tensor] = {}
    for name, leaf in tree._named_leaves(parameters):
        if _trainable(leaf):
            if name in found:
                raise fail(ValueError, f"two tensors to train would be named {name!r}")
            found[name or "0"] = leaf
    return found


class Optimizer:
    """What all optimizers share. ``parameters`` is a module or any other tree of tensors; ``lr`` is a number, or a
    function of the number of the step (from 0) such as :func:`cosine`.

    ``groups`` are parts with settings of their own: dicts with ``params`` (the name that leads to a part, a list of
    them, a function of name and tensor, or the tensors themselves) and settings. What a group does not have is the
    optimizer's. A list of such dicts may also be given as ``parameters``; then gradients are a list of the same form,
    with an entry for each group.

    An optimizer of one's own says what it keeps for each parameter and overrides ``update``:

    >>> class Momentum(lento.optim.Optimizer):
    ...     kept = ("velocity",)
    ...     def update(self, parameter, gradient, kept, lr, step):
    ...         kept["velocity"] *= 0.9
    ...         kept["velocity"] += gradient
    ...         parameter -= lr * kept["velocity"]
    >>> w = lento.ones(1)
    >>> Momentum(w, lr=0.25).step(lento.ones(1))
    >>> w
    tensor([0.75], dtype=float32)
    """

    #: The tensors kept for each parameter, by name.
    kept: tuple[str, ...] = ()
    #: The attributes that are settings of the update.
    settings: tuple[str, ...] = ("lr",)
    #: Those of them that are the same for all groups although others may have them.
    _same_for_all: tuple[str, ...] = ()
    _make_step: ClassVar[_core._StepFunction | None] = None

    def __init__(self, parameters: Any, lr: float | Schedule, groups: Groups | None = None) -> None:
        caller = f"{type(self).__name__}()"
        if not callable(lr):
            self._check_not_negative(lr=lr)
        parameters = _groups.as_tree(parameters)
        if _groups.are_groups(parameters):
            if groups is not None:
                raise fail(TypeError, f"{caller}: groups are given twice: as parameters and as groups")
            groups, parameters = parameters, _groups.form_of(caller, parameters)
            groups = [{**group, "params": p} for group, p in zip(groups, parameters, strict=True)]
        self._form = parameters
        self._has_modules = next(modules_in(parameters, set()), None) is not None
        self.parameters = _named(parameters)
        if not self.parameters:
            raise _groups.nothing_to_train(caller, parameters)
        if len({id(p) for p in self.parameters.values()}) != len(self.parameters):
            raise fail(ValueError, f"{caller}: a tensor is there twice; a module may share one")
        self.lr = lr
        self.step_count = 0
        #: Parts with settings of their own, which may be changed at any time: dicts of them, with a list of ``params``.
        self.groups: list[dict[str, Any]] = []
        self._first_rates: list[float | None] | None = None  # before schedulers changed them
        self._stepped_by: object = None  # the scheduler that was stepped last
        self._turns_are_known = False  # whether it was warned of schedulers that take turns
        self._group_of = [0] * len(self.parameters)  # the number of each parameter's group from 1, or 0
        for group in groups or ():
            self._add_group(caller, group)
        self._group_count = len(self.groups)
        made = {kept: {name: self._start(kept, p) for name, p in self.parameters.items()} for kept in self.kept}
        self.state: dict[str, dict[str, Tensor]] = {
            kept: {name: tensor for name, tensor in all.items() if tensor is not None} for kept, all in made.items()
        }

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _CHECKED:
            if (name in self.settings and not isinstance(value, tuple)) or name == "betas":
                self._check_group("", {name: value})
            self._prepare(name, value)
        elif "state" in vars(self) and name not in vars(self) and not name.startswith("_"):
            self._refuse_unknown(name)
        object.__setattr__(self, name, value)

    def _schedule(self, name: str, value: Any) -> None:
        """What schedulers set is not checked: a formula may go slightly below 0, as in PyTorch."""
        self._prepare(name, value)
        object.__setattr__(self, name, value)

    def _prepare(self, name: str, value: Any) -> None:
        if name == "momentum" and value and "state" in vars(self):
            self._begin_to_keep("momentum_buffer")

    def _refuse_unknown(self, name: str) -> None:
        """Raises for the method that people of Keras and MLX take for the setting; and, except in classes of others,
        for everything that is not there."""
        kind = type(self).__name__
        if name == "learning_rate":
            raise fail(AttributeError, f"{kind}: 'learning_rate' cannot be assigned; the learning rate is lr")
        if type(self).__module__.startswith("lento.optim") and not hasattr(type(self), name):
            settings = ", ".join(setting for setting in self.settings if not setting.startswith("_"))
            raise fail(AttributeError, f"{kind}: there is no {name!r} to assign; the settings are {settings}")

    def _begin_to_keep(self, kept: str) -> None:
        """Keeps this for all parameters from now on, where it was not needed so far."""
        if kept in self.state and not self.state[kept]:
            self.state[kept] = {name: zeros_like(p) for name, p in self.parameters.items()}

    def _start(self, kept: str, parameter: Tensor) -> Tensor | None:
        """What is kept for a parameter begins as this; None where there is nothing to keep."""
        return zeros_like(parameter)

    # --- groups ---

    def _settings_of_groups(self) -> list[str]:
        return [name for name in _groups.SETTINGS if name in self.settings and name not in self._same_for_all]

    def _add_group(self, caller: str, group: Mapping[str, Any]) -> None:
        number = len(self.groups)
        what = f"groups.{number}"
        if not isinstance(group, Mapping) or "params" not in group:
            raise _groups.no_group(caller, what, group)
        known = self._settings_of_groups()
        for name in group:
            if name != "params" and name not in known:
                raise fail(
                    ValueError,
                    f"{caller}: {what} has {name}, which is no setting that a group of this optimizer may have",
                )
        own = {name: group[name] for name in known if name in group}
        self._check_group(what, own)
        names = _groups.members(caller, what, group["params"], self.parameters)
        for i, name in enumerate(self.parameters):
            if name in names:
                if self._group_of[i]:
                    raise fail(ValueError, f"{caller}: {name} is in groups.{self._group_of[i] - 1} and {what}")
                self._group_of[i] = number + 1
        self.groups.append({"params": [self.parameters[name] for name in names], **own})

    def _check_group(self, what: str, own: Mapping[str, Any]) -> None:
        """Checks settings of a group, or of the optimizer itself for an empty ``what``."""
        for name, value in own.items():
            place = f"{what}.{name}" if what else name
            if name == "betas":
                self._check_betas(value, place)
            elif not (name == "lr" and callable(value)):
                self._check_not_negative(**{place: value})

    @property
    def param_groups(self) -> list[_groups.ParamGroup]:
        """The groups as PyTorch has them, with all settings; the last are the parameters that are in no group."""
        # Last, so that a loop that scales all learning rates scales those that a group takes from the optimizer once.
        rest = [None] if 0 in self._group_of else []
        return [_groups.ParamGroup(self, own) for own in (*self.groups, *rest)]

    def _check_not_negative(self, **settings: float) -> None:
        for name, value in settings.items():
            if not isinstance(value, SupportsFloat):
                raise fail(TypeError, f"{type(self).__name__}(): {name} is a number, not {value!r}")
            if not float(value) >= 0:
                raise fail(ValueError, f"{type(self).__name__}(): {name} is {value}, which is less than 0 or no number")

    def _check_fraction(self, **settings: float) -> None:
        for name, value in settings.items():
            if not 0 <= value <= 1:
                raise fail(ValueError, f"{type(self).__name__}(): {name} is {value}, which is not from 0 to 1")

    def _check_betas(self, betas: tuple[float, float], what: str = "betas") -> None:
        try:
            first, second = betas
            fits = 0 <= first < 1 and 0 <= second < 1
        except (TypeError, ValueError):  # one number, three of them, or none
            fits = False
        if not fits:
            raise fail(
                ValueError, f"{type(self).__name__}(): {what} are two numbers from 0 to less than 1, not {betas}"
            )

    # --- steps ---

    def learning_rate(self) -> float:
        """What the next step uses, in no group."""
        return self._rate(self.lr)

    def _rate_of(self, own: Mapping[str, Any]) -> float:
        return self._rate(own.get("lr", self.lr))

    def _rate(self, lr: float | Schedule) -> float:
        return float(lr(self.step_count) if callable(lr) else lr)

    def step(self, gradients: Any = None) -> None:
        """Updates the parameters with gradients of the same form."""
        if gradients is None:
            refuse_no_gradients(self)
        now = tree.leaves(self._form)
        trained = _core._trainable(now)
        parameters = list(self.parameters.values())
        if len(trained) != len(parameters) or any(map(operator.is_not, trained, parameters)):
            self._refuse_other_tensors()
        caller = f"{type(self).__name__}.step()"
        if len(self.groups) != self._group_count:
            raise fail(
                ValueError,
                f"{caller}: there are {len(self.groups)} groups, and there were {self._group_count} when the optimizer "
                "was made",
            )
        given = self._gradients_of_parameters(caller, _groups.as_tree(gradients))
        if self._make_step is None:
            self._make_own_step(caller, given)
        else:
            names = list(self.parameters)
            kept: list[list[Tensor | None]] = [
                list(all.values()) if len(all) == len(names) else [all.get(name) for name in names]
                for all in self.state.values()
            ]
            settings = [self._values({})] + [self._values(own) for own in self.groups]
            self._make_step(caller, names, parameters, given, kept, self._group_of, settings, self.step_count + 1)
            if current.recording is not None:
                fixed = [row[1:] for row in settings]
                current.recording.ask(functools.partial(self._host_numbers, fixed), self._advance)
        self.step_count += 1

    def _host_numbers(self, fixed: list[tuple[Any, ...]]) -> tuple[Any, ...] | None:
        """For a frozen call: the rates of all groups and the number of the step, as the engine took them when it was
        recorded; None when other settings are not as they were then."""
        settings = [self._values({})] + [self._values(own) for own in self.groups]
        if [row[1:] for row in settings] != fixed:
            return None
        return (*(row[0] for row in settings), self.step_count + 1)

    def _advance(self, steps: int) -> None:
        self.step_count += steps

    def _gradients_of_parameters(self, caller: str, gradients: Any) -> list[Any]:
        """The gradients, in the order of the parameters: of a tree of the same form, or of modules that have them."""
        like: Any = gradients
        if not self._has_modules:
            found = self._found(gradients)
            if found is not None:
                return found
            if isinstance(self._form, dict) and isinstance(gradients, Module):
                like = gradients.parameters()
        what = f"{caller}: what is given as gradients"
        try:
            given = tree.leaves_like(self._form, like, what)
        except ValueError:
            found = self._found(gradients)
            if found is not None:
                return found
            if self._has_modules or next(modules_in(gradients, set()), None) is not None:
                tree._leaves_like(self._form, like, what, _WHOSE)  # raises the same with a hint
            raise
        return [g for p, g in zip(tree.leaves(self._form), given, strict=True) if _trainable(p)]

    def _found(self, gradients: Any) -> list[Any] | None:
        """The gradients of the parameters where modules in a tree have those of all."""
        found = gradients_by_tensor(gradients)
        if not found and self.parameters:
            return None
        missing = [name for name, p in self.parameters.items() if id(p) not in found]
        if not missing:
            return [found[id(p)] for p in self.parameters.values()]
        if len(missing) < len(self.parameters):
            raise fail(
                ValueError,
                f"{type(self).__name__}.step(): the gradient of {missing[0]} is not there; take the gradients of a "
                "module that has all parameters of the optimizer, or of several modules as a list",
            )
        return None

    def _values(self, own: Mapping[str, Any]) -> tuple[Any, ...]:
        """The settings of a group."""
        values = [own[name] if name in own else getattr(self, name) for name in self.settings]
        values[0] = self._rate(values[0])
        return tuple(values)

    def _make_own_step(self, caller: str, gradients: list[Any]) -> None:
        """A step by ``update``, on copies first: where one raises nothing is changed."""
        groups: list[dict[str, Any]] = [{}, *self.groups]
        rates = [host_number(functools.partial(self._rate_of, own)) for own in groups]
        number = host_number(lambda: self.step_count + 1)
        places: list[tuple[Tensor, Tensor]] = []
        for (name, p), g, group in zip(self.parameters.items(), gradients, self._group_of, strict=True):
            if not isinstance(g, Tensor):
                raise fail(TypeError, f"{caller}: the gradient of {name} is {g!r} instead of a tensor")
            if g.shape != p.shape:
                raise fail(ValueError, f"{caller}: {name} has shape {p.shape}, but its gradient {g.shape}")
            held = {kept: all[name] for kept, all in self.state.items() if name in all}
            copies = {kept: tensor.__copy__() for kept, tensor in held.items()}
            parameter = p.__copy__()
            self.update(parameter, g, copies, rates[group], number)
            places += [(p, parameter), *((held[kept], copies[kept]) for kept in held)]
        for place, value in places:
            place[...] = value
        if current.recording is not None:
            current.recording.ask(tuple, self._advance)

    def update(self, parameter: Tensor, gradient: Tensor, kept: dict[str, Tensor], lr: float, step: int) -> None:
        """One parameter's step, the ``step``-th from 1, for optimizers of one's own: changes ``parameter``, and what is
        kept for it, in place."""
        raise NotImplementedError

    def _refuse_other_tensors(self) -> NoReturn:
        now = _named(self._form)
        names = [name for name in {**self.parameters, **now} if self.parameters.get(name) is not now.get(name)]
        raise fail(
            ValueError,
            f"{type(self).__name__}.step(): {', '.join(names[:3]) or 'the order'} is not as it was when the optimizer "
            "was made: a tensor was replaced, added or taken away; make a new optimizer",
        )

    # --- state ---

    def state_dict(self) -> dict[str, Tensor]:
        """What has to be saved to go on later, as it is now; learning rates too where they are numbers, and the
        settings of groups."""
        made = {"step_count": _core.asarray(self.step_count, dtype=_core.int64)}
        made |= {name: _float64(value) for name, value in self._saved_settings().items() if not callable(value)}
        return made | {name: tensor.__copy__() for name, tensor in self._kept_by_name().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from what ``state_dict`` gave; nothing is changed when names or shapes differ. A learning rate is
        taken unless the one here is a function of the step."""
        caller = f"{type(self).__name__}.load_state_dict()"
        load_into(caller, {}, state, False)  # refuses what is no dict
        settings = self._saved_settings()
        # What was assigned to a group when it was saved, and is the optimizer's here.
        for i, own in enumerate(self.groups):
            for setting in self._settings_of_groups():
                if setting not in own and (name := f"groups.{i}.{setting}") in state:
                    settings[name] = 0.0 if setting == "lr" else getattr(self, setting)
        state = {name: value for name, value in state.items() if not callable(settings.get(name))}
        numbers = {"step_count": _core.asarray(self.step_count, dtype=_core.int64)}
        for name, value in settings.items():
            is_rate = name == "lr" or name.endswith(".lr")
            if not callable(value) and not (is_rate and name not in state):  # one that was a function is not there
                numbers[name] = _float64(value)
        # By themselves first: numbers have to be right before anything is changed.
        for name, tensor in numbers.items():
            if name in state:
                load_into(caller, {name: tensor}, {name: state[name]}, True)
        loaded: list[dict[str, Any]] = [{} for _ in range(len(self.groups) + 1)]
        for name, tensor in numbers.items():
            if name != "step_count":
                group, _, setting = name.removeprefix("groups.").rpartition(".")
                loaded[int(group) + 1 if group else 0][setting] = (
                    tuple(tensor.tolist()) if tensor.ndim else float(tensor)
                )
        self._check_not_negative(**loaded[0])
        for i, own in enumerate(loaded[1:]):
            self._check_group(f"groups.{i}", own)
        count = int(numbers["step_count"])
        if count < 0:
            raise fail(ValueError, f"{caller}: a step_count of {count} is less than none")
        # A momentum that a scheduler gave to an optimizer made without one.
        begun: dict[str, Tensor] = {}
        if self.state.get("momentum_buffer") == {} and any(name.startswith("momentum_buffer.") for name in state):
            begun = {name: zeros_like(p) for name, p in self.parameters.items()}
        kept = {f"momentum_buffer.{name}": tensor for name, tensor in begun.items()}
        load_into(caller, {**numbers, **self._kept_by_name(), **kept}, state, True)
        if begun:
            self.state["momentum_buffer"] = begun
        self.step_count = count
        self.lr = loaded[0].get("lr", self.lr)
        for own, values in zip(self.groups, loaded[1:], strict=True):
            own.update(values)

    def _saved_settings(self) -> dict[str, Any]:
        """By their names in state dicts: numbers, pairs of them, and functions, which are not saved."""
        made = {"lr": self.lr}
        for i, own in enumerate(self.groups):
            made |= {f"groups.{i}.{name}": own[name] for name in _groups.SETTINGS if name in own}
        return made

    def _kept_by_name(self) -> dict[str, Tensor]:
        return {f"{kept}.{name}": tensor for kept, all in self.state.items() for name, tensor in all.items()}


def refuse_no_gradients(optimizer: Any) -> NoReturn:
    raise fail(
        TypeError,
        f"{type(optimizer).__name__}.step() takes the gradients that lento.value_and_grad returned: "
        "value, gradients = lento.value_and_grad(loss)(model, …); optimizer.step(gradients)",
    )


def _float64(value: Any) -> Tensor:
    values = [float(one) for one in value] if isinstance(value, list | tuple) else float(value)
    return _core.asarray(values, dtype=_core.float64)
