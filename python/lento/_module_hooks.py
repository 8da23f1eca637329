"""Functions that run before and after each call of a module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class HookHandle:
    """What registering a hook gives: ``handle.remove()`` takes the hook away."""

    def __init__(self, hooks: dict[int, Any], key: int) -> None:
        self._hooks = hooks
        self._key = key

    def remove(self) -> None:
        """Takes the hook away; again, it does nothing."""
        self._hooks.pop(self._key, None)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


class Hooks:
    """The hooks of a module, in the order they came. A copy of the module has the same."""

    def __init__(self) -> None:
        self.before: dict[int, Callable[..., Any]] = {}
        self.after: dict[int, Callable[..., Any]] = {}
        self._count = 0

    def add(self, before: Callable[..., Any] | None = None, after: Callable[..., Any] | None = None) -> HookHandle:
        hooks, hook = (self.before, before) if before is not None else (self.after, after)
        self._count += 1
        hooks[self._count] = hook  # type: ignore[assignment]
        return HookHandle(hooks, self._count)

    def call(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``module.forward(*args, **kwargs)`` with what the hooks make of its arguments and result."""
        for hook in list(self.before.values()):
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        result = module.forward(*args, **kwargs)
        for hook in list(self.after.values()):
            changed = hook(module, args, result)
            if changed is not None:
                result = changed
        return result
