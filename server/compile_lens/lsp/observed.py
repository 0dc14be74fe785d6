"""What an observed run said about files: kept while it comes in, and followed through edits of open documents."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Optional

from ..findings.merge import Observed, Recompiled, observed_breaks, observed_recompiles, traced_lines
from ..text.errors import SourceError
from ..text.source import Source, read
from .documents import Change, Document, change


@dataclass
class Observation:
    """An observed run, or an imported trace, as the editor is told of it."""

    label: str
    folder: str
    state: str = "running"
    status: Optional[str] = None
    message: Optional[str] = None
    progress: dict[str, Any] = field(default_factory=dict[str, Any])
    result: Optional[dict[str, Any]] = None
    breaks: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    recompiles: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    texts: dict[str, Optional[Source]] = field(default_factory=dict[str, Optional[Source]])
    """Files as they were when first spoken of."""

    def payload(self, locale: str) -> dict[str, Any]:
        """The observation state of docs/protocol.md."""
        return {
            "label": self.label,
            "folder": self.folder,
            "state": self.state,
            "status": self.status,
            "message": self.message,
            "text": self._text(locale),
            "breaks": len(self.breaks),
            "recompiles": len(self.recompiles),
            "files": sorted({str(one["file"]) for one in (*self.breaks, *self.recompiles)}),
            "exit": (self.result or {}).get("exit"),
            "result": self.result,
        }

    def take(self, event: dict[str, Any]) -> bool:
        """Take an event in; does it change what is shown in files?"""
        kind = event.get("type")
        if kind in ("break", "recompile"):
            (self.breaks if kind == "break" else self.recompiles).append(event)
            self._remember(str(event.get("file")))
            return True
        if kind == "progress":
            self.progress = event
        elif kind == "hello":
            self.folder = str(event.get("folder") or self.folder)
        elif kind == "done" and event.get("result"):
            self._conclude(event["result"])
            return True
        return False

    def _conclude(self, result: dict[str, Any]) -> None:
        self.result = result
        self.breaks, self.recompiles = result["breaks"], result["recompiles"]
        for file in (*result["traced"], *(str(one["file"]) for one in (*self.breaks, *self.recompiles))):
            self._remember(file)

    def of(self, document: Document) -> Optional[Seen]:
        """What is known of a document, at its lines in the present text."""
        before = self.texts.get(document.path)
        if before is None:
            return None
        lines = change(before.text, document.source.text)
        known = {"breaks": self.breaks, "recompiles": self.recompiles, "traced": (self.result or {}).get("traced")}
        breaks: list[Observed] = []
        for entry in observed_breaks(known, document.path):
            line = lines.line(entry.line)
            if line is not None:
                breaks.append(replace(entry, line=line, end_line=line, witness="run"))
        recompiles: list[Recompiled] = []
        for entry in observed_recompiles(known, document.path):
            line = lines.line(entry.line)
            if line is not None:
                recompiles.append(replace(entry, line=line))
        traced = traced_lines(known, document.path)
        if before.text != document.source.text:
            traced = _still_traced(traced, before.text, lines)
        return Seen(breaks, recompiles, traced)

    def _remember(self, path: str) -> None:
        if path not in self.texts:
            try:
                self.texts[path] = read(Path(path))
            except SourceError:
                self.texts[path] = None

    def _text(self, locale: str) -> str:
        zh = locale.startswith("zh")
        compiles = (self.result or self.progress).get("compiles", 0)
        if zh:
            return f"{compiles} 次编译，{len(self.breaks)} 处图中断，{len(self.recompiles)} 处重编译"
        return f"{compiles} compilations, {len(self.breaks)} graph breaks, {len(self.recompiles)} recompiles"


@dataclass(frozen=True)
class Seen:
    """What a run showed of one document: its lines zero-based, in the present text."""

    breaks: list[Observed]
    recompiles: list[Recompiled]
    traced: frozenset[int]


def _still_traced(traced: frozenset[int], before: str, lines: Change) -> frozenset[int]:
    """Traced lines of functions that did not change: in those that did, a prediction counts again."""
    changed = {
        line for first, last in _functions(before) if not _same(first, last, lines) for line in range(first, last + 1)
    }
    moved = (lines.line(line) for line in traced - changed)
    return frozenset(line for line in moved if line is not None)


def _same(first: int, last: int, lines: Change) -> bool:
    """Is a block of lines wholly above or below what changed?"""
    return last < lines.head or first >= lines.tail


@lru_cache(maxsize=8)
def _functions(text: str) -> tuple[tuple[int, int], ...]:
    """First and last lines (zero-based) of the functions of a text."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(_spans(tree))


def _spans(tree: ast.AST) -> Iterator[tuple[int, int]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno - 1, (node.end_lineno or node.lineno) - 1
