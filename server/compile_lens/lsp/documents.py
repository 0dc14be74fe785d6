"""Open documents: their text, their newest analysis, and findings that follow edits until the next one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Optional
from urllib.parse import unquote, urlparse

from lsprotocol import types
from pygls.uris import to_fs_path

from ..findings.finding import Analysis, Finding, Target
from ..text.source import Position, Range, Source


@dataclass
class Document:
    """One open document. ``analysis`` belongs to ``analyzed``, the last text that parsed."""

    uri: str
    path: str
    source: Source
    version: int
    analysis: Optional[Analysis] = None
    analyzed: Optional[Source] = None
    problem: Optional[str] = None
    """Why the current text could not be analysed."""
    task: Optional[asyncio.Task[None]] = None
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the current text has been analysed, or could not be."""

    def current(self) -> Analysis:
        """What is known, at the places where it stands in the current text."""
        if self.analysis is None or self.analyzed is None:
            return Analysis(self.path)
        if self.analyzed.text == self.source.text:
            return self.analysis
        return move(self.analysis, self.analyzed, self.source)


def path_of(uri: str) -> str:
    """File path of a document; its last URI segment for one that is no file (untitled, notebook cell)."""
    try:
        path = to_fs_path(uri) if uri.startswith("file:") else None
        return path or Path(unquote(urlparse(uri).path)).name or uri
    except ValueError:  # no URI: what was given names it best
        return uri


def new_document(item: types.TextDocumentItem) -> Document:
    path = path_of(item.uri)
    return Document(item.uri, path, Source(path, item.text), item.version)


@dataclass(frozen=True)
class Change:
    """What became of the lines of a text: kept up to ``head``, and from ``tail`` on, ``shift`` lines further down.

    A change is taken to be one block: everything between the common first and the common last lines.
    """

    head: int
    tail: int
    shift: int

    def line(self, old: int) -> Optional[int]:
        """Where a line (zero-based) of the old text stands in the new one; ``None`` when it was changed."""
        if old < self.head:
            return old
        return old + self.shift if old >= self.tail else None

    def range(self, old: Range) -> Optional[Range]:
        """Where a range stands in the new text; ``None`` when one of its lines was changed."""
        if old.end.line < self.head:
            return old
        if old.start.line < self.tail:
            return None
        return Range(
            Position(old.start.line + self.shift, old.start.column), Position(old.end.line + self.shift, old.end.column)
        )


@lru_cache(maxsize=8)
def change(old: str, new: str) -> Change:
    """How the lines of two texts correspond."""
    before, after = _lines(old), _lines(new)
    shortest = min(len(before), len(after))
    head = 0
    while head < shortest and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < shortest - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return Change(head, len(before) - tail, len(after) - len(before))


def _lines(text: str) -> list[str]:
    starts = [*Source("", text).line_starts, len(text)]
    return [text[a:b] for a, b in zip(starts, starts[1:])]


def move(analysis: Analysis, old: Source, new: Source) -> Analysis:
    """Findings and targets of ``old`` at their places in ``new``; those on changed lines are dropped."""
    lines = change(old.text, new.text)
    findings: list[Finding] = []
    for finding in analysis.findings:
        place = lines.range(finding.range)
        if place is not None:
            findings.append(replace(finding, range=place, fixes=()))  # edits were made for the old text
    targets: list[Target] = []
    for target in analysis.targets:
        place = lines.range(Range(target.range.start, target.range.start))
        if place is not None:
            targets.append(replace(target, range=place, draft=None))  # it was made for the old text
    return replace(analysis, findings=tuple(findings), targets=tuple(targets), offers=())
