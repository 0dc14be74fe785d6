"""Fixes as data: titled groups of text edits, made when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from ..text.source import Position, Range


@dataclass(frozen=True)
class Edit:
    """Replace the text of ``range`` by ``text``."""

    range: Range
    text: str


@dataclass(frozen=True)
class Fix:
    """One thing that the user can have done.

    ``safe``: it cannot change what the program computes or prints. ``kind``: ``quickfix`` mends a finding,
    ``rewrite`` is an offer, ``suppress`` silences one.
    """

    title: str
    edits: tuple[Edit, ...]
    safe: bool = False
    kind: str = "quickfix"
    preferred: bool = False


def insertion(position: Position, text: str) -> Edit:
    return Edit(Range(position, position), text)


def apply(text: str, offsets: list[tuple[int, int, str]]) -> Optional[str]:
    """Text after replacing ``(start, end, new)`` by offset; ``None`` when two of them overlap."""
    result: list[str] = []
    last = 0
    for start, end, new in sorted(offsets):
        if start < last:
            return None
        result += [text[last:start], new]
        last = end
    return "".join([*result, text[last:]])
