"""compile: a function whose calls are recorded twice and then run without it. Calls that are known run in C++
(python/src/compiled.cpp); what is here records, compares and describes them."""

from __future__ import annotations

import copyreg
import functools
import sys
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from . import _core
from ._call_parts import (
    HANDLE,
    CannotFreeze,
    Form,
    Handles,
    Wanted,
    kept_elsewhere,
    result_tokens,
    same_result,
    stored_places,
)
from ._core import Tensor
from ._fail import fail
from ._reached import SAME, TENSOR, Place, Reached, TooMuch, asked_by, is_same_state, name_of, state_of
from ._recording import Recording, current, without_host_numbers

__all__ = ["compile"]

_P = ParamSpec("_P")
_R = TypeVar("_R")

_MOST_SIGNATURES = 64
_MOST_WITH_VALUES = 8  # signatures with tuples that are no trees here
_MOST_TOLD = 8
_MOST_ATTEMPTS = 4  # recordings that do not agree with the one before
_MOST_CHANGES = 8  # times that something around the function was not as it was


def compile(f: Callable[_P, _R], *, verify: int = 0) -> Callable[_P, _R]:
    """``f`` without its own cost: after two calls that record the same, later ones run without calling ``f``.

    What ``f`` returns, and the tensors that it changes, have the same bits as without. Arguments may be trees of
    tensors; numbers and other values are part of what a call is known by, so one that should vary for free is given as
    a 0-d tensor. Tensors that ``f`` reaches without being given them, as those of modules and optimizers, are read anew
    at each call and changed as by ``f``; generators advance. What cannot be frozen is told once, with its line, and is
    recorded at each call as without ``compile``. Other effects of ``f``, such as printing, happen only when it is
    recorded. With ``verify=n`` each n-th call is recorded too, and raises where it differs.

        >>> f = lento.compile(lambda x, y: lento.tanh(x * y) + 1)
        >>> x = lento.zeros(2)
        >>> for _ in range(3):
        ...     y = f(x, x)
        >>> y
        tensor([1., 1.], dtype=float32)
        >>> lento.metrics.counter("freeze.hit") > 0
        True
    """
    if not callable(f):
        raise fail(TypeError, f"compile(): a function is expected, not {type(f).__name__}")
    if isinstance(verify, bool) or not isinstance(verify, int) or verify < 0:
        raise fail(ValueError, f"compile(): verify is a number of calls, not {verify!r}")
    calls = _Calls(f, verify)
    made = _core._Compiled(f, calls.record)
    calls.compiled = made
    functools.update_wrapper(made, f, updated=())
    made.__wrapped__ = f
    made._verify = verify
    return made


def _reduce(compiled: Any) -> str | tuple[Any, ...]:
    """For copy and pickle: a function of a module by its name, others compiled anew."""
    found: Any = sys.modules.get(compiled.__dict__.get("__module__", ""))
    for name in compiled.__dict__.get("__qualname__", "").split("."):
        found = getattr(found, name, None)
    if found is compiled:
        return str(compiled.__qualname__)
    return _compile_again, (compiled.__wrapped__, compiled._verify)


def _compile_again(f: Callable[..., Any], verify: int) -> Any:
    return compile(f, verify=verify)


copyreg.pickle(_core._Compiled, _reduce)


class _Call:
    """One recorded call."""

    def __init__(self, form: Form, recording: Recording) -> None:
        self.form = form
        self.recorder = recording.recorder
        self.actions = recording.actions
        self.handles: list[Any] = []  # what each is known by: the number of an argument, or where it is found
        self.alias: list[int] = []
        self.changes: list[tuple[int, int]] = []  # handle, wanted
        self.stores: list[tuple[Any, bool, int]] = []  # where, whether it is a handle's object, which or made
        self.made: list[int] = []  # wanted
        self.result: list[tuple[int, Any, int]] = []
        self.places: list[Place] = []
        self.unnamed: set[Any] = set()
        self.states: list[tuple[Any, Any]] = []  # objects that are compared by what they hold
        self.kept = ""  # why it cannot be frozen
        self.generators: list[Any] = []
        self.origins: list[int] = []  # of each leaf: an index in handles, or less than 0


def _is_explained(last: _Call, call: _Call) -> bool:
    """Whether something that frozen calls look at was changed between two calls."""
    values = {place.where: place.value for place in last.places if place.holds != TENSOR}
    for place in call.places:
        if place.holds == TENSOR or place.where not in values:
            continue
        value = values[place.where]
        if (value is not place.value) if place.holds == SAME else repr(value) != repr(place.value):
            return True
    return any(not is_same_state(a, b) for (_, a), (_, b) in zip(last.states, call.states, strict=False))


def _ask_whether_same(states: list[tuple[Any, Any]]) -> tuple[()] | None:
    return () if all(is_same_state(then, state_of(value)) for value, then in states) else None


class _Signature:
    """What is known of calls with arguments of one form."""

    def __init__(self, form: Form) -> None:
        self.objects = form.objects  # so that their ids stay theirs
        self.holds_values = any(isinstance(value, tuple) for _, value in form.objects)
        self.last: _Call | None = None
        self.attempts = 0
        self.changes = 0
        self.is_plain = False


class _Calls:
    """The calls of one compiled function that C++ does not know."""

    def __init__(self, f: Callable[..., Any], verify: int) -> None:
        self.f = f
        self.verify = verify
        self.compiled: Any = None
        self.name = name_of(f)
        self.signatures: OrderedDict[Any, _Signature] = OrderedDict()
        self.lock = threading.Lock()
        self.told: set[str] = set()
        self.new_ones = 0  # signatures since one was frozen

    def record(self, args: tuple[Any, ...], kwargs: dict[str, Any], why: str, key: Any) -> Any:
        """A call that is not known; or one that is, but ``why`` is not as it was, or it is to be verified."""
        form = Form(args, kwargs)
        found = self._signature(form)
        if found is None:
            self._tell("its arguments are others at each call; numbers that vary are given as 0-d tensors")
            _core._count_freeze_fallback()
            return self.f(*args, **kwargs)
        if why and why != "verify":
            self.compiled._forget(key)
            found.last = None
            found.changes += 1
            if found.changes > _MOST_CHANGES:
                return self._plain(found, form, f"{why} is another one time and again", args, kwargs)
        if found.is_plain:
            if not form.obstacle:
                self._keep_plain(found, form)
            _core._count_freeze_fallback()
            return self.f(*args, **kwargs)
        if form.obstacle:
            return self._plain(found, form, form.obstacle, args, kwargs)
        return self._record(found, form, args, kwargs, key if why == "verify" else None)

    def _signature(self, form: Form) -> _Signature | None:
        """What is known of calls like this one; none when new ones come time and again."""
        with self.lock:  # threads may call for the first time at once
            found = self.signatures.get(form.key)
            if found is None:
                self.new_ones += 1
                if self.new_ones > _MOST_SIGNATURES:
                    return None
                found = self.signatures[form.key] = _Signature(form)
                if len(self.signatures) > _MOST_SIGNATURES:
                    self.signatures.popitem(last=False)
                if found.holds_values:
                    self._forget_values()
            self.signatures.move_to_end(form.key)
            return found

    def _forget_values(self) -> None:
        """Signatures of objects such as named tuples, which may be made for one call, keep their tensors."""
        with_values = [key for key, signature in self.signatures.items() if signature.holds_values]
        for key in with_values[:-_MOST_WITH_VALUES]:
            self.compiled._forget(self.signatures.pop(key))

    def _plain(self, found: _Signature, form: Form, reason: str, args: Any, kwargs: Any) -> Any:
        self._give_up(found, form, reason)
        return self.f(*args, **kwargs)

    def _give_up(self, found: _Signature, form: Form, reason: str) -> None:
        """Tells why, once, and leaves calls like this one alone."""
        found.is_plain = True
        found.last = None
        if not form.obstacle:
            self._keep_plain(found, form)
        self._tell(reason)

    def _tell(self, reason: str) -> None:
        if reason not in self.told and len(self.told) < _MOST_TOLD:
            self.told.add(reason)
            _core._note_frozen(f"{self.name} is not frozen: {reason}.")
            _core._tell(f"compile: {self.name} is not frozen, and recorded at each call: {reason}")

    def _keep_plain(self, found: _Signature, form: Form) -> None:
        described = {"key": found, "arguments": form.tokens, "positional": form.positional, "names": form.names}
        self.compiled._keep({**described, "call": None}, _MOST_SIGNATURES)

    def _record(self, found: _Signature, form: Form, args: Any, kwargs: Any, verified: Any) -> Any:
        """Calls the function and looks at what it does."""
        roots = [(self.name.partition(" ")[0], self.f), *form.objects]
        try:
            before = Reached(roots)
        except TooMuch:
            return self._plain(found, form, "it reaches more objects than can be looked at", args, kwargs)
        states = [state_of(value) for _, value in before.values]
        ids = {id(t): t.id for t in form.tensors}
        ids |= {id(place.value): place.value.id for place in before.places if place.holds == TENSOR}
        notes: dict[int, tuple[Tensor, Tensor]] = {}
        recording = Recording()
        for generator in before.generators.values():
            if generator is not _core.default_generator():
                recording.recorder.watch(generator)
        current.recording = recording
        _core._begin_notes_of_changes(notes)
        try:
            box = [self.f(*args, **kwargs)]
        finally:
            _core._end_notes_of_changes()
            current.recording = None
            recording.stop()
        _core._count_freeze_record()
        plain = without_host_numbers(box[0])
        if plain is not box[0]:
            recording.refuse("it returns a number from lento.host_number")
            box[0] = plain
        del plain  # references are counted
        try:
            call = self._describe(form, recording, before, states, ids, notes, box, found.last is not None)
            if verified is not None:
                self._compare(verified, call)
            else:
                self._take(found, call)
        except CannotFreeze as reason:
            self._give_up(found, form, str(reason))
        except RecursionError:
            self._give_up(found, form, "what it returns is nested too deeply, or contains itself")
        except TooMuch:
            self._give_up(found, form, "it reaches more objects than can be looked at")
        return box[0]

    def _compare(self, verified: Any, call: _Call) -> None:
        """For verify: raises where the frozen call would have done something else."""
        different = self._disagreement(verified.last, call) if verified.last is not None else None
        if different is not None:
            self.compiled._forget(verified)
            verified.last = None
            raise fail(
                RuntimeError, f"compile: {self.name} would give something else than its frozen call: {different}"
            )

    def _take(self, found: _Signature, call: _Call) -> None:
        """The second of two calls that agree is frozen."""
        last = found.last
        found.last = call
        if last is None:
            call.form.forget()
            return
        different = self._disagreement(last, call)
        if different is None:
            self._freeze(found, call)
            return
        found.attempts += 1
        is_explained = _is_explained(last, call)
        if ("number" in different and not is_explained) or found.attempts >= _MOST_ATTEMPTS:
            raise CannotFreeze(different)

    def _disagreement(self, last: _Call, call: _Call) -> str | None:
        if last.handles != call.handles or last.alias != call.alias:
            return "it reached other tensors the second time"
        different = last.recorder.difference(call.recorder)
        if different is not None:
            return str(different)
        if not same_result(last.result, call.result):
            return "it returned another tree, or something else that is no tensor, the second time"
        if (last.changes, last.made, last.stores) != (call.changes, call.made, call.stores):
            return "it changed other tensors the second time"
        if len(last.actions) != len(call.actions):
            return "it asked for other numbers of the host the second time"
        return None

    def _describe(
        self,
        form: Form,
        recording: Recording,
        before: Reached,
        before_states: list[Any],
        ids: dict[int, int],
        notes: dict[int, tuple[Tensor, Tensor]],
        box: list[Any],
        is_compared: bool,
    ) -> _Call:
        call = _Call(form, recording)
        recorder = recording.recorder
        if recorder.reason is not None:
            raise CannotFreeze(recorder.reason)
        if container := form.changed():
            raise CannotFreeze(f"it stores into an argument, {container}; return what is new")
        roots = [(self.name.partition(" ")[0], self.f), *form.objects]
        after = Reached(roots)
        handles = Handles(form, before)
        outside = set(ids.values())
        stored, dropped = stored_places(before, after, outside)
        wanted = Wanted()
        for tensor, value in notes.values():
            if tensor.id == value.id:
                continue
            if id(tensor) in handles.numbers:
                call.changes.append((handles.numbers[id(tensor)], wanted.number(tensor)))
            elif value.id not in outside and not recorder.made_inside(value):
                raise CannotFreeze("it changes a tensor that it finds where nobody can look; give it as an argument")
        for place in stored:
            number = handles.numbers.get(id(place.value))
            call.stores.append(
                (place.where, False, wanted.made(place.value)) if number is None else (place.where, True, number)
            )
        call.result = result_tokens(box[0], handles, wanted, form.containers(), before, after)
        call.made = wanted.made_ones
        recorder.finish(wanted.tensors)
        if is_compared:
            explained = {tensor.id for tensor in (*form.tensors, *wanted.tensors)} | {
                leaf for leaf, _ in recorder.leaves()
            }
            explained |= {place.value.id for place in after.places if place.holds == TENSOR}
            tensor = value = None  # type: ignore[assignment]  # references are counted
            notes.clear()
            wanted.tensors.clear()
            call.kept = kept_elsewhere(box, handles.numbers, after, explained, recorder)
        call.handles = handles.keys
        call.alias = handles.alias
        call.origins = self._origins(recorder, handles, ids)
        recorder.set_origins(call.origins)
        call.generators = self._generators(recorder, before, after)
        dropped |= asked_by(recording.functions, roots)
        call.states = [
            (value, then)
            for (_, value), then in zip(before.values, before_states, strict=True)
            if is_same_state(then, state_of(value))
        ]
        if call.states:
            call.actions.append((functools.partial(_ask_whether_same, call.states), None))
        call.unnamed = after.unnamed
        call.places = [place for place in after.places if place.where not in dropped]
        return call

    def _origins(self, recorder: Any, handles: Handles, ids: dict[int, int]) -> list[int]:
        """Which handle each leaf was before the call."""
        by_id: dict[int, int] = {}
        ambiguous = set()
        for address, number in handles.numbers.items():
            value = ids[address]
            if by_id.setdefault(value, number) != number:
                ambiguous.add(value)
        used = set(recorder.used_leaves())
        origins = []
        for i, (value, may_be_constant) in enumerate(recorder.leaves()):
            if i not in used:
                origins.append(-2)
            elif value in ambiguous:
                origins.append(-3)  # two handles have one value: which of them it is shows another time
            elif value in by_id:
                origins.append(by_id[value])
            elif may_be_constant:
                origins.append(-1)
            else:
                line = recorder.place_of_leaf(i)
                raise CannotFreeze(
                    "it uses a tensor that it makes of data of the host, or finds where nobody can look; give it as an "
                    "argument" + (f", at {line}" if line else "")
                )
        return origins

    @staticmethod
    def _generators(recorder: Any, before: Reached, after: Reached) -> list[Any]:
        known = {**before.generators, **after.generators}
        missing = [address for address in recorder.generators() if address not in known]
        if missing:
            raise CannotFreeze("it draws from a generator that it makes, or finds where nobody can look")
        return [known[address] for address in recorder.generators()]

    def _freeze(self, found: _Signature, call: _Call) -> None:
        if call.kept:
            raise CannotFreeze(call.kept)
        if -3 in call.origins:
            found.attempts += 1
            if found.attempts >= _MOST_ATTEMPTS:
                raise CannotFreeze(
                    "two tensors that it reaches have one value, and nobody can tell which of them it reads"
                )
            return
        form = call.form
        stores = {where for where, _, _ in call.stores}
        used = {origin for origin in call.origins if origin >= 0} | {handle for handle, _ in call.changes}
        used |= {token[2] for token in call.result if token[0] == HANDLE}
        used |= {number for _, is_handle, number in call.stores if is_handle}
        used |= {call.alias[i] for i in used}
        # Where one tensor is in two places the function may have put it there, as it would the next time too.
        used |= {root for root, times in Counter(call.alias).items() if times > 1}
        # Handles as C++ counts them: the arguments, then the places that matter.
        count = len(form.tensors)
        final = {i: i for i in range(count)}
        keys = {key: i for i, key in enumerate(call.handles)}
        places = []
        for place in call.places:
            handle = -1
            if place.holds == TENSOR:
                old = keys.get(place.where)
                if old is not None and (call.alias[old] in used or place.where in stores):
                    handle = final[old] = len(final)
                elif place.where in call.unnamed:
                    continue
            places.append((place, handle))
        alias = sorted((new, old) for old, new in final.items())
        numbers = {old: final.get(call.alias[old], new) for new, old in alias}
        slots = call.recorder.slots()

        def taken(wanted: int) -> tuple[int, int]:
            is_computed, index = slots[wanted]
            return (0 if is_computed else 1, index)

        if any(i not in final for i in used):
            raise CannotFreeze("a tensor that it reads is no longer where it was")
        call.recorder.set_origins([final[origin] if origin >= 0 else origin for origin in call.origins])
        index_of = {place.where: i for i, (place, _) in enumerate(places)}
        described = {
            "key": found,
            "arguments": form.tokens,
            "positional": form.positional,
            "names": form.names,
            "call": call.recorder,
            "places": [(p.kind, p.holds, p.container, p.key, p.value, handle, p.name) for p, handle in places],
            "alias": [numbers[old] for _, old in alias],
            "result": [(kind, thing, final[i] if kind == HANDLE else i) for kind, thing, i in call.result],
            "made": [taken(wanted) for wanted in call.made],
            "changes": [(final[handle], *taken(wanted)) for handle, wanted in call.changes],
            "stores": [
                (index_of[where], int(is_handle), final[number] if is_handle else number)
                for where, is_handle, number in call.stores
            ],
            "actions": call.actions,
            "kept": call.generators,
            "verify": self.verify,
        }
        self.compiled._keep(described, _MOST_SIGNATURES)
        self.new_ones = 0
        call.recorder.set_origins(call.origins)
        _core._note_frozen(
            f"{self.name} is frozen: {call.recorder.ops} ops, {call.recorder.inputs} inputs, "
            f"{len(call.changes) + len(call.stores)} tensors changed, {len(places)} places to look at."
        )
        call.form.forget()
        if not self.verify:
            found.last = None
