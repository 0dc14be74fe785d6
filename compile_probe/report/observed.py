"""Shows an observed run in a terminal: news as they come, or a table written over; at the end the rest."""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from pathlib import Path
from typing import Any, TextIO

_ROWS = 12


class Lines:
    """One line for each new fact, marked as ours: the command writes to the same terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, event: dict[str, Any]) -> None:
        """Show one event."""
        kind = event["type"]
        if kind == "hello":
            self._write(f"observing; traces in {event['folder']}")
        elif kind == "break":
            self._write(f"graph break at {place(event)}: {cause(event)}")
        elif kind == "recompile":
            self._write(f"recompile of {event['function']} at {place(event)}: no longer {event['reason']}")
        elif kind == "done":
            for line in told(event["result"]):
                self._stream.write(line + "\n")
            self._stream.flush()

    def _write(self, text: str) -> None:
        self._stream.write(f"compile-lens: {text}\n")
        self._stream.flush()


class Table:
    """The state of the run, written over as it changes; the command's output goes elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._height = 0
        self._breaks: list[dict[str, Any]] = []
        self._recompiles: list[dict[str, Any]] = []
        self._progress: dict[str, Any] = {}
        self._begin = time.monotonic()

    def show(self, event: dict[str, Any]) -> None:
        """Show one event."""
        kind = event["type"]
        if kind == "break":
            self._breaks.append(event)
        elif kind == "recompile":
            self._recompiles.append(event)
        elif kind == "progress":
            self._progress = event
        elif kind == "done":
            self._draw([])
            for line in told(event["result"]):
                self._stream.write(line + "\n")
            return
        self._draw(self._lines())

    def _lines(self) -> list[str]:
        p = self._progress
        head = (
            f"{time.monotonic() - self._begin:6.0f} s  {p.get('processes', 0)} processes, {p.get('compiles', 0)} "
            f"compilations in {p.get('compile_s', 0.0):.1f} s, {len(self._breaks)} graph breaks, "
            f"{len(self._recompiles)} recompiles"
        )
        if p.get("current"):
            head += f", compiling {p['current']}"
        lines = [head]
        lines += [f"  break      {place(one)}: {cause(one)}" for one in self._breaks[-_ROWS:]]
        lines += [f"  recompile  {place(one)}: no longer {one['reason']}" for one in self._recompiles[-_ROWS:]]
        return lines

    def _draw(self, lines: list[str]) -> None:
        columns = shutil.get_terminal_size().columns - 1
        up = f"\x1b[{self._height}A" if self._height else ""
        self._stream.write(up + "\r\x1b[J" + "".join(line[:columns] + "\n" for line in lines))
        self._stream.flush()
        self._height = len(lines)


def told(result: dict[str, Any]) -> list[str]:
    """The report at the end, in lines."""
    breaks, recompiles = result["breaks"], result["recompiles"]
    seconds = result["seconds"]
    ranks = sorted({p["rank"] for p in result["processes"] if p["rank"] is not None})
    who = f"{len(ranks)} ranks" if len(ranks) > 1 else _number(len(result["processes"]), "process", "processes")
    torch = f", torch {', '.join(result['torch'])}" if result["torch"] else ""
    lines = [
        "",
        f"{_number(result['compiles'], 'compilation')} in {who}{torch}: {_number(result['graphs'], 'graph')}, "
        f"{_number(len(breaks), 'distinct graph break')}, {_number(len(recompiles), 'distinct recompile')}",
    ]
    if seconds["total"]:
        lines.append(
            f"compile time {seconds['total']:.2f} s: Dynamo {seconds['dynamo']:.2f}, AOTAutograd {seconds['aot']:.2f}, "
            f"Inductor {seconds['inductor']:.2f}"
        )
    several = len(result["processes"]) > 1
    for one in breaks:
        skipped = "; the whole frame runs eagerly" if one["frame_skipped"] else ""
        where = f" [{', '.join(one['processes'])}]" if several and one["processes"] else ""
        lines.append(f"  {place(one)}: {cause(one)}{_times(one['count'])}{skipped}{where}")
        lines.append(f"      {first_sentence(one['reason'])}")
        if one["hints"]:
            lines.append(f"      {one['hints'][0]}")
    for one in recompiles:
        guard = " / ".join(one["examples"][-2:]) or one["reason"]
        lines.append(f"  {place(one)}: {one['function']} compiled again{_times(one['count'])}: no longer {guard}")
    for one in result["skipped"]:
        lines.append(f"  {place(one)}: {one['function']} left to Python{_times(one['count'])}: {one['reason']}")
    for one in result["cudagraph_skips"]:
        lines.append(f"  no CUDA graph{_times(one['count'])}: {one['reason'].splitlines()[0]}")
    slow = [one for one in result["functions"] if one["seconds"] >= 0.005][:8]
    if slow:
        lines += ["", f"  {'seconds':>8} {'Dynamo':>8} {'AOT':>8} {'Inductor':>8}  graphs  function"]
        lines += [
            f"  {f['seconds']:8.2f} {f['dynamo_s']:8.2f} {f['aot_s']:8.2f} {f['inductor_s']:8.2f}  {f['graphs']:6}  "
            f"{f['function']} ({place(f)})"
            for f in slow
        ]
    lines += [f"note: {note}" for note in result["notes"]]
    if result.get("page"):
        lines.append(f"report: {result['page']}")
    return lines


def place(one: dict[str, Any]) -> str:
    """Where something is: from here if it lies below; as the trace names it if it is not here."""
    file, line = one["file"], one["line"]
    if line is None:
        return f"{one.get('traced_file', file)}:{one.get('traced_line')} (that line is gone)"
    away = "" if one["found"] in ("same", "changed", "unquoted") else " (not here)"
    with contextlib.suppress(ValueError):
        file = str(Path(file).relative_to(Path.cwd()))
    return f"{file}:{line}{away}"


def cause(one: dict[str, Any]) -> str:
    """A break's id and type, or its reason where torch gives it none."""
    return f"{one['gb_id'] or ''} {one['gb_type'] or first_sentence(one['reason'])}".strip()


def first_sentence(text: str) -> str:
    head = text.splitlines()[0] if text else ""
    return re.split(r"(?<=[.`])\s+(?=[A-Z])", head, maxsplit=1)[0]


def _times(count: int) -> str:
    return f" ({count} times)" if count > 1 else ""


def _number(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
