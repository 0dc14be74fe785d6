"""Shows the events of a run in a terminal: stages as they happen, then what was found."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any, Optional, TextIO

from . import pieces

_VERDICTS = {
    "faster": "faster",
    "slower": "slower",
    "no-clear-difference": "no clear difference",
    "too-noisy": "too noisy to tell",
    "recompiled": "recompiled, not timed",
    "not-measured": "not measured",
    "not-compiled": "not compiled",
}
_LOG_LINES = 4
_LOG_COLUMNS = 100
_HEADS = ("variant", "eager ms", "compiled ms", "ratio [95 %]", "verdict", "compile s", "repaid after")


class Terminal:
    """Writes for a person; on a terminal the stage in progress is one line that is written over."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._width = 0
        self._logged: dict[str, int] = {}

    def show(self, event: dict[str, Any]) -> None:
        """Show one event."""
        kind = str(event["type"])
        shown = getattr(self, f"_{kind}", None)
        if shown is not None:
            shown(event)

    def _hello(self, event: dict[str, Any]) -> None:
        self._line(f"{_near(event['file'])}::{event['target']}")

    def _stage(self, event: dict[str, Any]) -> None:
        name, note = event["name"], event.get("note") or ""
        if event["state"] == "start":
            self._hint(f"{name} ... {note}")
        elif event["state"] == "end":
            self._line(f"  {name:<8}{event['seconds']:8.2f} s  {note}".rstrip())
        else:
            self._line(f"  {name:<8}   skipped  {note}")

    def _progress(self, event: dict[str, Any]) -> None:
        self._hint(f"{event['stage']} ... {event.get('note') or ''}")

    def _sample(self, event: dict[str, Any]) -> None:
        self._hint(f"measure ... {event['variant']} {_ratio(event)} after {event['pairs']} pairs")

    def _versions(self, event: dict[str, Any]) -> None:
        npu = f", torch_npu {event['torch_npu']}" if event.get("torch_npu") else ""
        device = f"{str(event['device']).upper()} ({event['device_name']})"
        self._line(f"  device    {device}, torch {event['torch']}{npu}, Python {event['python']}")

    def _inputs(self, event: dict[str, Any]) -> None:
        calls = f", {event['calls']} calls" if event["calls"] > 1 else ""
        self._line(f"  inputs    from {event['source']}{_behind(event.get('detail'))}{calls}: {event['description']}")

    def _log(self, event: dict[str, Any]) -> None:
        self._hint("")
        stream = str(event["stream"])
        lines = str(event["text"]).splitlines()
        room = max(0, _LOG_LINES - self._logged.get(stream, 0))
        self._logged[stream] = self._logged.get(stream, 0) + len(lines)
        for line in lines[:room]:
            self._line(f"  {stream} | {line[:_LOG_COLUMNS]}")
        if len(lines) > room > 0:
            self._line(f"  {stream} | ... (more is not shown here; --json has it)")

    def _done(self, event: dict[str, Any]) -> None:
        self._hint("")
        result: dict[str, Any] = event["result"]
        if result["graphs"] is not None:
            self._findings(result)
        if result.get("environment"):
            self._environment(result["environment"])
        if result.get("not_compiled"):
            self._line(f"not compiled: {result['not_compiled']['message']}")
        for note in result.get("notes", ()):
            self._line(f"note: {note}")
        if result.get("piecewise"):
            self._line("")
            for line in pieces.lines(result["piecewise"]):
                self._line(line)
        if result["measurements"]:
            self._table(result)
        for check in result["checks"]:
            if check["status"] != "pass":
                self._line(f"check of {check['variant']}: {check['status']}. {check['message']}")
        if event["status"] != "ok":
            place = f" ({_near(event['file'])}:{event['line']})" if event.get("line") else ""
            self._line(f"{event['status']} in {event['stage']}{place}: {event['message']}")

    def _findings(self, result: dict[str, Any]) -> None:
        count = result["graphs"]
        self._line("")
        self._line(f"{count} graph{'' if count == 1 else 's'}, {len(result['breaks'])} distinct graph breaks, "
                   f"{len(result['recompiles'])} recompilations")  # fmt: skip
        for one in result["breaks"]:
            skipped = "; the whole frame runs eagerly" if one["frame_skipped"] else ""
            times = f" ({one['count']} times)" if one["count"] > 1 else ""
            times += " (in the first call only)" if one.get("first_call_only") else ""
            cause = f"{one['gb_id'] or 'break'} {one['gb_type'] or ''}".strip()
            self._line(f"  {_near(one['file'])}:{one['line']}: {cause}{times}{skipped}")
            self._line(f"      {_first_sentence(one['reason'])}")
        places: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
        for one in result["recompiles"]:
            places.setdefault((one["file"], one["line"], one["function"]), []).append(one)
        for (file, line, function), several in places.items():
            times = f" {len(several)} times" if len(several) > 1 else ""
            guard = _failed_guard(several[-1]["reason"])
            self._line(f"  {_near(file)}:{line}: {function} was compiled again{times}, because no longer: {guard}")

    def _environment(self, environment: dict[str, Any]) -> None:
        """One line with all that changes what compile does, and who said it."""
        places: dict[str, str] = environment.get("places") or {}
        told = [f"{name}={value}" for name, value in environment["variables"].items()]
        for name, value in environment["options"].items():
            place = f" ({_near_place(places[name])})" if name in places else ""
            told.append(f"{name}={value}{place}")
        if told:
            self._line(f"environment: {', '.join(told)}")

    def _table(self, result: dict[str, Any]) -> None:
        device = result.get("device_label") or str(result["device"]).upper()
        rows = [_HEADS, *(_row(one, device) for one in result["measurements"])]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
        self._line("")
        for row in rows:
            self._line("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())

    def _line(self, text: str) -> None:
        self._hint("")
        self._stream.write(text + "\n")
        self._stream.flush()

    def _hint(self, text: str) -> None:
        """Write the line that the next output takes the place of; nothing unless on a terminal."""
        if not self._live or not (text or self._width):
            return
        text = text[: shutil.get_terminal_size().columns - 1]
        self._stream.write("\r" + text.ljust(self._width) + ("\r" if not text else ""))
        self._stream.flush()
        self._width = len(text)


def _row(one: dict[str, Any], device: str) -> tuple[str, ...]:
    variant = f"{device} {one['variant']}" + (f" {one['size']}" if one.get("size") else "")
    calls = one.get("break_even_calls")
    return (
        variant,
        _number(one.get("eager_ms")),
        _number(one.get("ms")),
        _ratio(one) if one.get("ratio") is not None else "-",
        _VERDICTS.get(one["verdict"], str(one["verdict"])) + _coverage(one),
        _number(one.get("compile_s")),
        f"{calls:,} calls" if calls is not None else "-",
    )


def _behind(detail: Optional[str]) -> str:
    return f" ({detail})" if detail else ""


def _coverage(one: dict[str, Any]) -> str:
    """How much of eager's time the compiled graphs cover, where a part was left to Python."""
    covered = one.get("covered")
    return "" if covered is None else f", graphs cover {100 * covered:.0f} % of eager"


def _ratio(one: dict[str, Any]) -> str:
    return f"{one['ratio']:.2f}x [{one['low']:.2f}-{one['high']:.2f}]"


def _first_sentence(text: str) -> str:
    """The part of an explanation that stands alone; ``--json`` has all of it."""
    head = text.splitlines()[0] if text else ""
    return re.split(r"(?<=[.`])\s+(?=[A-Z])", head, maxsplit=1)[0]


def _near_place(place: str) -> str:
    file, _, line = place.rpartition(":")
    return f"{_near(file)}:{line}"


def _failed_guard(text: str) -> str:
    """The guard that failed last, without the source line and the advice behind it."""
    guard = text.partition("; ")[0].partition(" (HINT:")[0].partition(" # ")[0].strip()
    return re.sub(r"___stack\d+", "value computed before the break", guard)


def _number(value: Optional[float]) -> str:
    return "-" if value is None else f"{value:.3g}"


def _near(file: str) -> str:
    """The path from here, if the file lies below, else the whole."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file
