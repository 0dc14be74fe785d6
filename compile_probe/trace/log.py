"""Lines of one trace file, read as it grows.

Seen on torch 2.1 to 2.13: a head line ``V1207 11:22:04.249000 6764 torch/_dynamo/utils.py:2350] {json}``, before which
``[rank0]:`` may stand, and behind it the payload's lines, each after a tab. ``has_payload`` in the JSON says that one
follows. The files of large models have gigabytes, most of it of no use here: entries that nobody wants are passed over
unparsed, and of a payload at most ``PAYLOAD`` bytes are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Optional, cast

LINE = 8 * 1024 * 1024
"""Longest line, in bytes, that is taken for one."""
PAYLOAD = 256 * 1024
"""Bytes kept of a payload."""

_HEAD = re.compile(
    rb"^(?:\[rank(?P<rank>\d+)\]:)?[VDIWEC]\d{4} (?P<time>[\d:.]+) (?P<pid>\d+) [^\]]*:\d+\] "
    rb'(?P<json>\{(?:"(?P<kind>\w+)".*)?\})\s*$',
    re.S,
)
_ARTIFACT = re.compile(rb'^\{"artifact": \{"name": "([^"]*)"')

WANTED = {"str", "dynamo_start", "compilation_metrics", "dynamo_output_graph", "bwd_compilation_metrics"}
ARTIFACTS = {"torch_version", "dynamo_graph_break_reason", "recompile_reasons"}
_GRAPH_LINES = re.compile(rb"^\s*# File: ")


@dataclass(frozen=True)
class Entry:
    """One entry: ``kind`` is the key of its JSON that names it, for artifacts their name."""

    kind: str
    pid: int
    rank: Optional[int]
    meta: dict[str, Any]
    payload: str


class Log:
    """Takes the bytes of a file in any portions, gives the entries in them; ``malformed`` counts the other lines."""

    def __init__(self) -> None:
        self.malformed = 0
        self.entries = 0
        self._rest = b""
        self._overlong = False
        self._head: Optional[tuple[str, int, Optional[int], dict[str, Any]]] = None
        self._payload: list[bytes] = []
        self._kept = 0

    @staticmethod
    def recognizes(data: bytes) -> bool:
        """Do the first lines look like a structured trace?"""
        heads = [line for line in data.split(b"\n")[:50] if line[:1] != b"\t"]
        return any(_HEAD.match(line) for line in heads)

    def feed(self, data: bytes) -> Iterator[Entry]:
        """Read on; the last entry is held back until it is known to be whole."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if self._overlong:
                self._overlong = False
                continue
            yield from self._line(line)
        if len(self._rest) > LINE:
            self._rest, self._overlong = b"", True
            self.malformed += 1

    def flush(self) -> Iterator[Entry]:
        """Give the entry that was held back: the writer is silent, or gone."""
        if self._head is not None:
            kind, pid, rank, meta = self._head
            payload = b"\n".join(self._payload).decode("utf-8", "replace")
            self._head, self._payload, self._kept = None, [], 0
            yield Entry(kind, pid, rank, meta, payload)

    @property
    def cut(self) -> bool:
        """Does the file end in the middle of a line?"""
        return bool(self._rest)

    def _line(self, line: bytes) -> Iterator[Entry]:
        if line[:1] == b"\t":
            self._keep(line[1:])
            return
        yield from self.flush()
        if not line.strip():
            return
        head = _HEAD.match(line)
        if head is None:
            self.malformed += 1
            return
        self.entries += 1
        kind = (head["kind"] or b"").decode()
        if kind == "artifact":
            name = _ARTIFACT.match(head["json"])
            kind = name[1].decode("utf-8", "replace") if name else ""
            if kind not in ARTIFACTS:
                return
        elif kind not in WANTED:
            return
        try:
            meta = json.loads(head["json"])
        except ValueError:
            self.malformed += 1
            return
        rank = int(head["rank"]) if head["rank"] else meta.get("rank")
        self._head = (kind, int(head["pid"]), rank if isinstance(rank, int) else None, cast("dict[str, Any]", meta))
        if "has_payload" not in meta:
            yield from self.flush()

    def _keep(self, line: bytes) -> None:
        if self._head is None or self._kept > PAYLOAD:
            return
        if self._head[0] == "dynamo_output_graph" and not _GRAPH_LINES.match(line):
            return
        self._payload.append(line)
        self._kept += len(line) + 1
