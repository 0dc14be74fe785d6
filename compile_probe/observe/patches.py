"""Wrapping of functions inside torch for the length of a ``with`` block, with a note where one is absent."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Callable, Optional

Wrapper = Callable[[Callable[..., Any]], Callable[..., Any]]


class Patches(AbstractContextManager["Patches"]):
    """Replaces attributes and puts every one of them back at the end, last first."""

    def __init__(self, notes: list[str]) -> None:
        self._notes = notes
        self._undo: list[tuple[Any, str, Any]] = []

    def wrap(self, owner: Any, name: str, wrapper: Wrapper, lost: str) -> bool:
        """Replace ``owner.name`` by ``wrapper(original)``; where absent, note what is ``lost`` and return False."""
        original = getattr(owner, name, None)
        if original is None:
            self._notes.append(f"this torch has no {getattr(owner, '__name__', owner)}.{name}: {lost}")
            return False
        setattr(owner, name, wrapper(original))
        self._undo.append((owner, name, original))
        return True

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        while self._undo:
            owner, name, original = self._undo.pop()
            setattr(owner, name, original)
