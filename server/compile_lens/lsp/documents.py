"""Open documents: their text, their newest analysis, and findings that follow edits until the next one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Optional

from ..findings.finding import Analysis, Finding, Offer, Target
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


def move(analysis: Analysis, old: Source, new: Source) -> Analysis:
    """Findings and targets of ``old`` at their places in ``new``; those on changed lines are dropped.

    The change is taken to be one block: everything between the common first and the common last lines.
    """
    before, after = _lines(old), _lines(new)
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    shift = len(after) - len(before)

    def moved(place: Range) -> Optional[Range]:
        if place.end.line < head:
            return place
        if place.start.line >= len(before) - tail:
            return Range(
                Position(place.start.line + shift, place.start.column),
                Position(place.end.line + shift, place.end.column),
            )
        return None

    findings: list[Finding] = []
    for finding in analysis.findings:
        place = moved(finding.range)
        if place is not None:
            findings.append(replace(finding, range=place, fixes=()))  # edits were made for the old text
    targets: list[Target] = []
    for target in analysis.targets:
        line = Range(target.range.start, target.range.start)
        place = moved(line)
        if place is not None:
            targets.append(replace(target, range=place))
    offers: tuple[Offer, ...] = ()
    return replace(analysis, findings=tuple(findings), targets=tuple(targets), offers=offers)


def _lines(source: Source) -> list[str]:
    starts = [*source.line_starts, len(source.text)]
    return [source.text[a:b] for a, b in zip(starts, starts[1:])]


def moved_line(old: Source, new: Source, line: int) -> Optional[int]:
    """Where a line (zero-based) of ``old`` stands in ``new``; ``None`` when it was changed."""
    if old.text == new.text:
        return line
    probe = Finding("", Range(Position(line, 0), Position(line, 0)), "", "", "", "", "", "", "")
    kept = move(Analysis("", (probe,)), old, new).findings
    return kept[0].range.start.line if kept else None
