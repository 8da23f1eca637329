"""ModuleList and ModuleDict: modules by number and by key, under PyTorch's names.

A list or dict in an attribute does the same; these are for programs that have them.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, overload

from ._fail import fail, names_errors, names_its_errors
from ._module import Module

__all__ = ["ModuleDict", "ModuleList"]


class _Container(Module):
    """Modules as attributes, so that names of a state dict, gradients and copies are those of any other module."""

    def _held(self) -> dict[str, Module]:
        return {name: value for name, value in vars(self).items() if isinstance(value, Module)}

    def _hold(self, modules: Mapping[str, Any]) -> None:
        """Makes these the modules that are held, in this order."""
        for name, module in modules.items():
            if not isinstance(module, Module):
                raise fail(
                    TypeError, f"{type(self).__name__}(): item {name} is a {type(module).__name__}, and no module"
                )
        for name in self._held():
            delattr(self, name)
        for name, module in modules.items():
            setattr(self, name, module)

    def __len__(self) -> int:
        return len(self._held())


@names_its_errors
class ModuleList(_Container):
    """Modules in a list, named "0", "1" and so on.

    >>> layers = lento.nn.ModuleList(lento.nn.Linear(2, 2) for _ in range(3))
    >>> len(layers), layers[-1], list(layers[:1].parameters())
    (3, Linear(2, 2), ['0.weight', '0.bias'])
    """

    def __init__(self, modules: Iterable[Any] = ()) -> None:
        self._set(list(modules))

    def _set(self, modules: list[Any]) -> None:
        self._hold({str(i): module for i, module in enumerate(modules)})

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> ModuleList: ...
    def __getitem__(self, index: int | slice) -> Any:
        part = list(self)[index]
        return ModuleList(part) if isinstance(index, slice) else part

    @names_errors
    def __setitem__(self, index: int, module: Any) -> None:
        modules = list(self)
        modules[index] = module
        self._set(modules)

    @names_errors
    def __delitem__(self, index: int | slice) -> None:
        modules = list(self)
        del modules[index]
        self._set(modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._held().values())

    def __add__(self, other: Iterable[Any]) -> ModuleList:
        return ModuleList([*self, *other])

    def append(self, module: Any) -> ModuleList:
        """Adds a module at the end; gives the list itself."""
        return self.extend([module])

    def extend(self, modules: Iterable[Any]) -> ModuleList:
        """Adds modules at the end; gives the list itself."""
        self._set([*self, *modules])
        return self

    def insert(self, index: int, module: Any) -> None:
        """Puts a module before the one at ``index``."""
        modules = list(self)
        modules.insert(index, module)
        self._set(modules)

    def pop(self, index: int = -1) -> Any:
        """Takes a module out and gives it."""
        modules = list(self)
        module = modules.pop(index)
        self._set(modules)
        return module


@names_its_errors
class ModuleDict(_Container):
    """Modules in a dict; each is an attribute of the name of its key too.

    >>> parts = lento.nn.ModuleDict({"body": lento.nn.Linear(3, 2), "head": lento.nn.Linear(2, 1)})
    >>> parts.head is parts["head"], list(parts), list(parts.parameters())[:2]
    (True, ['body', 'head'], ['body.weight', 'body.bias'])
    """

    def __init__(self, modules: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        self.update(modules)

    def _entry(self, key: str) -> Module:
        held = self._held()
        if key not in held:
            names = ", ".join(map(repr, held)) or "none"
            raise fail(KeyError, f"ModuleDict: there is no {key!r}; there are {names}")
        return held[key]

    def __getitem__(self, key: str) -> Any:
        return self._entry(key)

    def __setitem__(self, key: str, module: Any) -> None:
        self.update({key: module})

    def __delitem__(self, key: str) -> None:
        self._entry(key)
        delattr(self, key)

    def __contains__(self, key: object) -> bool:
        return key in self._held()

    def __iter__(self) -> Iterator[str]:
        return iter(self._held())

    def keys(self) -> KeysView[str]:
        """The keys, in the order in which they came."""
        return self._held().keys()

    def values(self) -> ValuesView[Any]:
        """The modules."""
        return self._held().values()

    def items(self) -> ItemsView[str, Any]:
        """Keys and modules."""
        return self._held().items()

    def update(self, modules: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Adds modules, or puts others in the place of those with the same keys."""
        new = dict(modules)
        for key in new:
            if not isinstance(key, str) or not key or "." in key:
                raise fail(TypeError, f"ModuleDict(): a key is a text without dots, not {key!r}")
            if hasattr(type(self), key) or (key in vars(self) and key not in self._held()):
                raise fail(ValueError, f"ModuleDict(): {key!r} is an attribute of every ModuleDict; use another key")
        self._hold({**self._held(), **new})

    def pop(self, key: str) -> Any:
        """Takes a module out and gives it."""
        module = self._entry(key)
        delattr(self, key)
        return module

    def clear(self) -> None:
        """Takes all modules out."""
        self._hold({})
