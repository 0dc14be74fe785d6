"""Follows the trace files of a folder while they grow, in bounded memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Optional, Union

from . import oldlog
from .facts import Break, Recompile, Skip
from .log import Entry, Log
from .record import Process, Record
from .story import Fact, Story

PORTION = 1 << 20
_NAME = re.compile(r"^dedicated_log_torch_trace_(?:rank_(\d+)_)?")
_DEPTH = 4

News = Union[Break, Recompile, Skip]


class _File:
    """One file, which several processes may write into: before torch 2.13 forked children did."""

    def __init__(self, path: Path, record: Record) -> None:
        self.path = path
        self.offset = 0
        self.quiet = 0
        self.trace: Optional[Log] = None
        self.old: Optional[oldlog.OldLog] = None
        self._record = record
        named = _NAME.match(path.name)
        self._rank = int(named[1]) if named and named[1] else None
        self._stories: dict[int, tuple[Story, Process]] = {}
        self._names: dict[int, str] = {}

    def take(self, data: bytes) -> Iterator[tuple[Process, Fact]]:
        """Read on."""
        if self.trace is None and self.old is None:
            if _NAME.match(self.path.name) or Log.recognizes(data):
                self.trace = Log()
            else:
                self.old = oldlog.OldLog()
        if self.trace is not None:
            yield from self._told(self.trace.feed(data))
        elif self.old is not None:
            yield from self._told_old(self.old.feed(data))

    def rest(self) -> Iterator[tuple[Process, Fact]]:
        """Take what was held back."""
        if self.trace is not None:
            yield from self._told(self.trace.flush())
        elif self.old is not None:
            yield from self._told_old(self.old.flush())

    def _told(self, entries: Iterator[Entry]) -> Iterator[tuple[Process, Fact]]:
        for entry in entries:
            if entry.pid not in self._stories:
                process = self._record.process(f"{self.path.name}:{entry.pid}")
                process.pid, process.rank = entry.pid, self._rank
                self._stories[entry.pid] = Story(self._names), process
            story, process = self._stories[entry.pid]
            for fact in story.facts(entry):
                process.told_breaks = process.told_breaks or isinstance(fact, Break)
                yield process, fact
            if story.rank is not None:
                process.rank = story.rank

    def _told_old(self, facts: Iterator[oldlog.Told]) -> Iterator[tuple[Process, Fact]]:
        """A log beside a trace tells what the trace of the same process does not."""
        for fact in facts:
            pid = self.old.pid if self.old is not None else 0
            traced = [p for p in self._record.processes.values() if p.pid == pid and not p.log]
            if traced and (not isinstance(fact, Break) or traced[0].told_breaks):
                continue
            process = traced[0] if traced else self._record.process(f"{self.path.name}:{pid}")
            if not traced:
                process.pid, process.log = pid, True
            yield process, fact


class Folder:
    """The traces below ``path`` (or the one file ``path``), read on at every ``poll``.

    :param since: files that were last written before this time (seconds since the epoch) are another run's
    """

    def __init__(self, path: Path, since: float = 0.0) -> None:
        self.path = path
        self.record = Record()
        self._since = since
        self._files: dict[Path, _File] = {}
        self.unreadable: list[str] = []

    @property
    def names(self) -> list[str]:
        return [str(path) for path in self._files]

    @property
    def size(self) -> int:
        return sum(file.offset for file in self._files.values())

    @property
    def malformed(self) -> int:
        return sum(file.trace.malformed for file in self._files.values() if file.trace is not None)

    @property
    def cut(self) -> list[str]:
        """Files that end in the middle of a line."""
        return [str(path) for path, file in self._files.items() if file.trace is not None and file.trace.cut]

    def poll(self, portion: int = 64 * PORTION) -> list[News]:
        """Read what was written since, at most ``portion`` bytes of each file; the news in it."""
        self._discover()
        news: list[News] = []
        for file in self._files.values():
            news += self._read(file, portion)
        return news

    def read_all(self) -> list[News]:
        """Read to the end, the last entries included."""
        news: list[News] = []
        before = -1
        while before != self.size:
            before = self.size
            news += self.poll()
        for file in self._files.values():
            news += self._add(file.rest())
        return news

    def _discover(self) -> None:
        if self.path.is_file():
            self._admit(self.path)
            return
        base = len(self.path.parts)
        for folder, folders, names in os.walk(self.path):
            if len(Path(folder).parts) - base >= _DEPTH:
                folders.clear()
            folders.sort()
            for name in sorted(names):
                if name.endswith(".log"):
                    self._admit(Path(folder, name))

    def _admit(self, path: Path) -> None:
        if path in self._files:
            return
        try:
            if path.stat().st_mtime < self._since:
                return
        except OSError:
            return
        self._files[path] = _File(path, self.record)

    def _read(self, file: _File, portion: int) -> list[News]:
        news: list[News] = []
        begin = file.offset
        try:
            with file.path.open("rb") as stream:
                stream.seek(file.offset)
                while file.offset - begin < portion and (data := _some(stream)):
                    file.offset += len(data)
                    news += self._add(file.take(data))
        except OSError as error:
            if str(file.path) not in self.unreadable:
                self.unreadable.append(f"{file.path}: {error.strerror}")
        file.quiet = file.quiet + 1 if file.offset == begin else 0
        if file.quiet == 2:
            news += self._add(file.rest())
        return news

    def _add(self, facts: Iterator[tuple[Process, Fact]]) -> list[News]:
        news: list[News] = []
        for process, fact in facts:
            new = self.record.add(process, fact)
            if isinstance(new, (Break, Recompile, Skip)):
                news.append(new)
        return news


def _some(stream: BinaryIO) -> bytes:
    return stream.read(PORTION)
