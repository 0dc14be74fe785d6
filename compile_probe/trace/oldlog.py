"""The text of ``TORCH_LOGS=graph_breaks,recompiles``: all there is of graph breaks before torch 2.7.

Seen on 2.5.1 and 2.7.1: every line has a head of its own, with the kind of message in it; lines of other programs may
stand between. A message of several lines ends where the same process begins another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Union

from . import messages
from .facts import Break, Recompile, Skip

Told = Union[Break, Recompile, Skip]

_HEAD = re.compile(
    r"^(?:\[rank\d+\]:)?[VDIWEC]\d{4} [\d:.]+ (?P<pid>\d+) .*?:\d+\] (?:\[\d+/\d+(?:_\d+)?\] )?"
    r"\[__(?P<kind>graph_breaks|recompiles)\] ?(?P<text>.*)$"
)
_RECOMPILED = re.compile(r"Recompiling function (\S+) in (.+):(\d+)")
_GUARD = re.compile(r"^\s*- (.*)$", re.M)
_MOST = 2000
"""Lines of one message."""


class OldLog:
    """Takes the bytes of a log in any portions and gives the facts in it."""

    def __init__(self) -> None:
        self._rest = b""
        self._open: dict[tuple[str, str], list[str]] = {}
        self.pid = 0

    def feed(self, data: bytes) -> Iterator[Told]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-1_000_000:]
        for line in lines:
            yield from self._line(line.decode("utf-8", "replace"))

    def flush(self) -> Iterator[Told]:
        """Give the messages that were not known to be whole."""
        for key in list(self._open):
            yield from self._close(key)

    def _line(self, line: str) -> Iterator[Told]:
        head = _HEAD.match(line)
        if head is None:
            return
        self.pid = int(head["pid"])
        key, text = (head["pid"], head["kind"]), head["text"]
        if text.startswith(("Graph break", "Recompiling function")) and not text.startswith("Graph Break Reason"):
            yield from self._close(key)
            self._open[key] = []
        if key in self._open and len(self._open[key]) < _MOST:
            self._open[key].append(text)

    def _close(self, key: tuple[str, str]) -> Iterator[Told]:
        text = "\n".join(self._open.pop(key, ()))
        if not text:
            return
        if key[1] == "recompiles":
            found = _RECOMPILED.search(text)
            if found is not None:
                first = _GUARD.search(text)
                guard = messages.guard(first[1] if first else "unknown")
                line = guard.line if guard.line and found[2].endswith(guard.file) else int(found[3])
                yield Recompile(found[2], line, messages.function_name(found[1]), guard.text)
            return
        told = messages.read(text)
        stack = tuple(reversed([frame for frame in told.stack if messages.is_user_file(frame.file)]))
        if stack:
            here = stack[0]
            yield Break(here.file, here.line, told.gb_id, told.gb_type, told.reason, told.hints, told.effect, stack)
