"""Names and what they hold: the scopes of a module, a class body and every call."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Optional

from .values import Deferred, Value, join


class Scope:
    """One namespace; ``parent`` is the enclosing function or module, where free names are looked up."""

    __slots__ = ("globals", "names", "nonlocals", "of_class", "parent", "stars")

    def __init__(self, parent: Optional[Scope] = None) -> None:
        self.names: dict[str, Value] = {}
        self.parent = parent
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.of_class = False
        self.stars: list[Callable[[str], Optional[Value]]] = []
        """What ``from module import *`` may bind, asked by name, the last import first."""

    def get(self, name: str) -> Optional[Value]:
        """Value of a name here or in an enclosing scope; ``None`` when it is bound nowhere (a builtin, say)."""
        scope: Optional[Scope] = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                if isinstance(found, Deferred):
                    found = scope.names[name] = found.resolve()
                return found
            if scope.stars and not hasattr(builtins, name):
                return scope._from_star(name)
            scope = scope.parent
        return None

    def _from_star(self, name: str) -> Optional[Value]:
        for star in reversed(self.stars):
            found = star(name)
            if found is not None:
                self.names[name] = found
                return found
        return self.parent.get(name) if self.parent is not None else None

    def set(self, name: str, value: Value) -> None:
        if name in self.globals or name in self.nonlocals:
            scope = self.parent
            while scope is not None:
                if name in scope.names or scope.parent is None:
                    # Written from elsewhere: from now on it may be either.
                    scope.names[name] = join(scope.names[name], value) if name in scope.names else value
                    return
                scope = scope.parent
        self.names[name] = value

    @property
    def outermost(self) -> Scope:
        """The scope of the module."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def snapshot(self) -> dict[str, Value]:
        return dict(self.names)

    def restore(self, names: dict[str, Value]) -> None:
        self.names = dict(names)


def join_names(a: dict[str, Value], b: dict[str, Value]) -> dict[str, Value]:
    """Names after two paths meet; one that only one path binds holds what that path gave it."""
    if a == b:
        return a
    joined = dict(a)
    for name, value in b.items():
        old = joined.get(name)
        joined[name] = value if old is None else join(old, value)
    return joined


def same_names(a: dict[str, Value], b: dict[str, Value]) -> bool:
    """Has a pass over a loop body changed nothing?"""
    return a.keys() == b.keys() and all(a[name] is b[name] or a[name] == b[name] for name in a)
