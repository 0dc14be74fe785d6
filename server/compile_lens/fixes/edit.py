"""Fixes as data: titled groups of text edits, made when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable
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
    """Text after replacing ``(start, end, new)`` by offset; ``None`` when two of them overlap.

    Insertions at one place stay in the order in which they are given, as in the Language Server Protocol.
    """
    result: list[str] = []
    last = 0
    for start, end, new in sorted(offsets, key=lambda edit: edit[:2]):
        if start < last:
            return None
        result += [text[last:start], new]
        last = end
    return "".join([*result, text[last:]])


def without_conflicts(fixes: Iterable[Fix]) -> list[Fix]:
    """Fixes that can be applied together: one that changes what an earlier one changes is left out.

    An edit that several of them need (an import) is no conflict.
    """
    kept: list[Fix] = []
    edits: set[Edit] = set()
    for fix in fixes:
        fresh = [edit for edit in fix.edits if edit not in edits]
        if not any(_conflict(a.range, b.range) for a in fresh for b in edits):
            kept.append(fix)
            edits.update(fresh)
    return kept


def distinct_edits(fixes: Iterable[Fix]) -> list[Edit]:
    """All edits of some fixes, each once, in their order."""
    return list(dict.fromkeys(edit for fix in fixes for edit in fix.edits))


def _conflict(a: Range, b: Range) -> bool:
    """Do two ranges overlap? Insertions at the border of a range, or at one place, do not."""
    return _key(a.start) < _key(b.end) and _key(b.start) < _key(a.end)


def _key(position: Position) -> tuple[int, int]:
    return position.line, position.column
