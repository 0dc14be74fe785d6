"""What is known of the probes of a document: kept, announced, and followed through edits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..findings.merge import Observed, observed_breaks, traced_lines
from ..probing import wording
from .documents import Document, change
from .record import Record
from .server import PROBE, CompileLensServer


def of_document(ls: CompileLensServer, uri: str) -> dict[str, Record]:
    """Records of a document by target."""
    return ls.results.get(uri, {})


def announce(ls: CompileLensServer, record: Record) -> None:
    ls.protocol.notify(PROBE, record.payload(ls.locale))


def store(ls: CompileLensServer, record: Record) -> None:
    ls.results.setdefault(record.uri, {})[record.target] = record
    announce(ls, record)


def announce_known(ls: CompileLensServer, document: Document) -> None:
    """A document was opened: tell what is known of its targets."""
    for record in of_document(ls, document.uri).values():
        announce(ls, record)


def mark_stale(ls: CompileLensServer, document: Document) -> None:
    """A document changed: its numbers belong to another text, until it is changed back."""
    for target, record in list(of_document(ls, document.uri).items()):
        same = record.source.text == document.source.text
        state = {("done", False): "stale", ("stale", True): "done"}.get((record.state, same))
        if state is not None:
            changed = replace(record, state=state)
            of_document(ls, document.uri)[target] = changed
            announce(ls, changed)


def observations(ls: CompileLensServer, document: Document) -> Iterator[tuple[list[Observed], frozenset[int]]]:
    """Breaks and traced lines that finished probes saw, at their lines in the present text."""
    for record in of_document(ls, document.uri).values():
        if record.result is None or record.state not in ("done", "stale"):
            continue
        lines = change(record.source.text, document.source.text)
        breaks: list[Observed] = []
        for entry in observed_breaks(record.result, document.path):
            line = lines.line(entry.line)
            if line is not None:
                breaks.append(replace(entry, line=line, end_line=line + entry.end_line - entry.line))
        traced = map(lines.line, traced_lines(record.result, document.path))
        yield breaks, frozenset(line for line in traced if line is not None)


def lens_title(ls: CompileLensServer, document: Document, target: str) -> tuple[str, bool]:
    """Title of a target's code lens, and whether a probe of it is running."""
    zh = ls.locale.startswith("zh")
    record = of_document(ls, document.uri).get(target)
    if record is None:
        return ("实测 (Probe)" if zh else "Probe"), False
    if record.state == "running":
        stage = record.stage or ""
        return (f"实测中：{stage}（点击取消）" if zh else f"probing: {stage} (click to cancel)"), True
    text = wording.lens(record.result or {}, record.status or "", record.message, ls.locale)
    again = "重新实测" if zh else "Probe again"
    stale = ("（已过期）" if zh else "stale, ") if record.state == "stale" else ""
    return f"{again} | {stale}{text}", False


def needs_inputs(ls: CompileLensServer, document: Document, target: str) -> bool:
    """Did the last probe of a target end because nothing says what to call it with?"""
    record = of_document(ls, document.uri).get(target)
    return record is not None and record.status == "needs-inputs"
