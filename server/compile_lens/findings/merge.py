"""Predictions and what a probe saw, merged: confirmed with the break's id, refuted and hidden, or seen only there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Optional

from ..text.source import Position, Range, Source
from .finding import Finding

_CONFIRMED = {"probe": ("confirmed by the probe", "实测确认"), "run": ("confirmed by the run", "运行确认")}
_SEEN = {
    "probe": ("graph break seen by the probe", "实测图中断"),
    "run": ("graph break seen in the run", "运行中图中断"),
}


@dataclass(frozen=True)
class Observed:
    """A graph break that Dynamo really made, at a line (zero-based) of the document."""

    line: int
    end_line: int
    gb_id: Optional[str]
    gb_type: Optional[str]
    reason: str
    frame_skipped: bool
    count: int
    witness: str = "probe"
    """Who saw it: ``probe``, or ``run`` for a run of the user's own."""


@dataclass(frozen=True)
class Recompiled:
    """A recompile that really happened: the guard that failed, at a line (zero-based) of the document."""

    line: int
    function: str
    guard: str
    count: int


def observed_breaks(result: Mapping[str, Any], path: str) -> list[Observed]:
    """Breaks of a probe's result that lie in one file."""
    found: list[Observed] = []
    for entry in result.get("breaks") or ():
        if entry.get("file") == path and entry.get("line"):
            found.append(
                Observed(
                    int(entry["line"]) - 1,
                    int(entry.get("end_line") or entry["line"]) - 1,
                    entry.get("gb_id"),
                    entry.get("gb_type"),
                    str(entry.get("reason") or ""),
                    bool(entry.get("frame_skipped")),
                    int(entry.get("count") or 1),
                )
            )
    return found


def observed_recompiles(result: Mapping[str, Any], path: str) -> list[Recompiled]:
    """Recompiles of an observed run that lie in one file."""
    return [
        Recompiled(int(e["line"]) - 1, str(e.get("function")), str(e.get("reason")), int(e.get("count") or 1))
        for e in result.get("recompiles") or ()
        if e.get("file") == path and e.get("line")
    ]


def traced_lines(result: Mapping[str, Any], path: str) -> frozenset[int]:
    """Lines (zero-based) of one file that Dynamo traced."""
    traced: Mapping[str, Iterable[tuple[int, int]]] = result.get("traced") or {}
    ranges = traced.get(path) or ()
    return frozenset(line - 1 for first, last in ranges for line in range(first, last + 1))


def merge(
    findings: Iterable[Finding],
    breaks: Iterable[Observed],
    traced: frozenset[int],
    source: Source,
    locale: str = "en",
) -> list[Finding]:
    """Findings after a probe of the same text.

    A predicted break on a line where Dynamo broke is confirmed; one on a line that Dynamo traced without a break is
    refuted and left out; a break that nobody predicted becomes a finding of its own.
    """
    predicted = list(findings)
    observed = list(breaks)
    claimed = [entry for entry in observed if any(_same_kind(finding, entry) for finding in predicted)]
    merged: list[Finding] = []
    confirmed: set[int] = set()
    for finding in predicted:
        seen = [entry for entry in observed if _meets(finding, entry)]
        if finding.effect != "graph-break" or not (seen or traced.intersection(_lines(finding))):
            merged.append(finding)
            continue
        # Several breaks on one line: each finding takes the one of its kind, or one that no other finding explains.
        own = [entry for entry in seen if _same_kind(finding, entry)] or [e for e in seen if e not in claimed]
        if own:
            merged.append(_confirmed(finding, own[0], locale))
            confirmed.update(_lines(finding))
        elif seen:
            merged.append(finding)  # something broke here, but something else: neither confirmed nor refuted
    merged += [_unpredicted(entry, source, locale) for entry in observed if confirmed.isdisjoint(_span(entry))]
    merged.sort(key=lambda finding: (finding.range.start.line, finding.range.start.column))
    return merged


def merge_recompiles(
    findings: Iterable[Finding], recompiles: Iterable[Recompiled], source: Source, locale: str = "en"
) -> list[Finding]:
    """Findings with the recompiles of a run: a predicted one on such a line is confirmed, the others are new."""
    by_line: dict[int, list[Recompiled]] = {}
    for entry in recompiles:
        by_line.setdefault(entry.line, []).append(entry)
    merged: list[Finding] = []
    for finding in findings:
        seen = [entry for line in _lines(finding) for entry in by_line.get(line, ())]
        if finding.effect != "recompile" or not seen:
            merged.append(finding)
            continue
        for line in _lines(finding):
            by_line.pop(line, None)
        merged.append(replace(finding, certainty="confirmed", message=f"{finding.message} ({_guards(seen, locale)})"))
    merged += [_recompiled(line, entries, source, locale) for line, entries in by_line.items()]
    merged.sort(key=lambda finding: (finding.range.start.line, finding.range.start.column))
    return merged


def _recompiled(line: int, entries: list[Recompiled], source: Source, locale: str) -> Finding:
    return Finding(
        source.path,
        _text_of(line, source),
        "recompile",
        "observed-recompile",
        "recompile",
        "confirmed",
        f"{entries[0].function} {_guards(entries, locale)}",
        entries[0].function,
        "",
    )


def _guards(entries: list[Recompiled], locale: str) -> str:
    count = sum(entry.count for entry in entries)
    guards = "; ".join(dict.fromkeys(entry.guard for entry in entries))
    if locale.startswith("zh"):
        return f"运行中重编译 {count} 次，失效的守卫：{guards}"
    return f"compiled again {count} time{'' if count == 1 else 's'} in the run, because no longer: {guards}"


def _lines(finding: Finding) -> range:
    return range(finding.range.start.line, finding.range.end.line + 1)


def _meets(finding: Finding, entry: Observed) -> bool:
    """Does a break lie on a line of a finding, or a finding begin on a line of a break?"""
    return finding.effect == "graph-break" and (
        entry.line in _lines(finding) or finding.range.start.line in _span(entry)
    )


def _same_kind(finding: Finding, entry: Observed) -> bool:
    """Is a break what a finding predicted, by Dynamo's own name for it?"""
    return _meets(finding, entry) and entry.gb_type is not None and entry.gb_type in finding.gb_types


def _span(entry: Observed) -> range:
    return range(entry.line, entry.end_line + 1)


def _confirmed(finding: Finding, entry: Observed, locale: str) -> Finding:
    label = f" [{entry.gb_id}]" if entry.gb_id else ""
    word = _CONFIRMED[entry.witness][locale.startswith("zh")]
    return replace(
        finding,
        certainty="confirmed",
        frame_skipped=entry.frame_skipped,
        message=f"{finding.message} ({word}{label})",
        gb_types=(entry.gb_type,) if entry.gb_type else finding.gb_types,
    )


def _text_of(line: int, source: Source) -> Range:
    """The range of a line's text."""
    text = source.line(line)
    start = len(text) - len(text.lstrip())
    return Range(Position(line, start), Position(line, max(len(text.rstrip()), start)))


def _unpredicted(entry: Observed, source: Source, locale: str) -> Finding:
    place = _text_of(entry.line, source)
    first = entry.reason.split("\n")[0]
    lead = _SEEN[entry.witness][locale.startswith("zh")]
    return Finding(
        source.path,
        place,
        entry.gb_id or entry.witness,
        "observed-break",
        "graph-break",
        "confirmed",
        f"{lead}: {entry.gb_type or first}",
        "",
        "",
        entry.frame_skipped,
        (entry.gb_type,) if entry.gb_type else (),
    )
