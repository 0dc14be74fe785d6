"""The story of one traced process: entries of its trace in, facts out.

Seen on 2.13: artifacts ``torch_version``, ``dynamo_graph_break_reason`` and ``recompile_reasons``, and the entries
``str`` (a table of file names), ``dynamo_start``, ``dynamo_output_graph`` and ``compilation_metrics``. A forked child
continues in a file of its own with the table of its parent, so names that are in no table are told later or not at all.
2.7.1 has all of them but the version, 2.5.1 has no ``dynamo_graph_break_reason`` (see ``oldlog``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Optional, Union, cast

from . import messages
from .facts import Began, Break, Compile, Frame, Lines, Recompile, Resumed, Skip, Version
from .log import Entry

Fact = Union[Began, Break, Compile, Lines, Recompile, Resumed, Skip, Version]

_PLACE = re.compile(r"^\s*# File: (.+?):(\d+) in [^,]*, code: ?(.*)$", re.M)
_MICRO = 1e-6
_IN_LOOP = "a graph break in a for or while loop: the whole function runs eagerly"


class Story:
    """What is known of one process; ``names`` is the file table, shared by the processes that write into one file."""

    def __init__(self, names: Optional[dict[int, str]] = None) -> None:
        self.rank: Optional[int] = None
        self.torch: Optional[str] = None
        self._names: dict[int, str] = {} if names is None else names
        self._frames: dict[Any, Frame] = {}
        self._waiting: dict[Any, list[messages.Guard]] = {}
        """Reasons of recompiles, by frame, until the frame's place is known."""

    def facts(self, entry: Entry) -> Iterator[Fact]:
        """The facts that an entry tells. Entries that are not as known are passed over."""
        if entry.rank is not None:
            self.rank = entry.rank
        reader = getattr(self, f"_{entry.kind}", None)
        if reader is None:
            return
        try:
            yield from reader(entry)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            return

    def _str(self, entry: Entry) -> Iterator[Fact]:
        name, index = entry.meta["str"]
        self._names[int(index)] = str(name)
        return iter(())

    def _torch_version(self, entry: Entry) -> Iterator[Fact]:
        yield from self._version(json.loads(entry.payload)["pytorch_version"])

    def _version(self, version: Any) -> Iterator[Fact]:
        if version and self.torch is None:
            self.torch = str(version)
            yield Version(self.torch)

    def _dynamo_start(self, entry: Entry) -> Iterator[Fact]:
        frame = entry.meta["dynamo_start"]["stack"][-1]
        file = frame["filename"]
        name = self._names.get(file) if isinstance(file, int) else str(file)
        if name is None:
            return
        function, line = str(frame["name"]), int(frame["line"])
        resumed = messages.resumed_at(function)
        if resumed is not None:
            yield Resumed(name, resumed, messages.function_name(function))
        yield from self._placed(entry.meta, Frame(name, line, messages.function_name(function)))

    def _placed(self, meta: dict[str, Any], frame: Frame) -> Iterator[Fact]:
        key = meta.get("frame_id")
        self._frames[key] = frame  # numbers begin anew when Dynamo is reset
        yield Began(frame.file, frame.line, frame.function)
        yield from self._told_late(key)

    def _told_late(self, key: Any) -> Iterator[Fact]:
        frame = self._frames[key]
        for guard in self._waiting.pop(key, ()):
            line = guard.line if guard.line and frame.file.endswith(guard.file) else frame.line
            yield Recompile(frame.file, line, frame.function, guard.text)

    def _dynamo_graph_break_reason(self, entry: Entry) -> Iterator[Fact]:
        told = messages.read(entry.payload)
        stack = tuple(reversed([frame for frame in told.stack if messages.is_user_file(frame.file)]))
        frame = self._frames.get(entry.meta.get("frame_id"))
        if any(cause in told.reason or cause in (told.gb_type or "") for cause in messages.SECONDARY):
            if frame is not None:
                yield Skip(frame.file, frame.line, frame.function, told.gb_type or told.reason)
            return
        if not stack and frame is not None and messages.is_user_file(frame.file):
            stack = (frame,)
        if stack:
            yield Break(
                stack[0].file, stack[0].line, told.gb_id, told.gb_type, told.reason, told.hints, told.effect, stack
            )

    def _recompile_reasons(self, entry: Entry) -> Iterator[Fact]:
        text = entry.payload.strip()
        reasons: list[Any]
        try:
            loaded: Any = json.loads(text)
            reasons = cast("list[Any]", loaded) if isinstance(loaded, list) else [loaded]
        except ValueError:
            reasons = [text]
        told = [str(reason).strip().splitlines()[0] for reason in reasons if str(reason).strip()]
        key = entry.meta.get("frame_id")
        guard = messages.guard(told[0] if told else "unknown")  # of several, the newest compilation comes first
        self._waiting.setdefault(key, []).append(guard)
        if key in self._frames:
            yield from self._told_late(key)

    def _dynamo_output_graph(self, entry: Entry) -> Iterator[Fact]:
        files: dict[str, dict[int, str]] = {}
        for file, line, code in _PLACE.findall(entry.payload):
            if messages.is_user_file(file):
                files.setdefault(file, {})[int(line)] = code.strip()
        for file, lines in files.items():
            yield Lines(file, tuple(sorted(lines.items())))

    def _bwd_compilation_metrics(self, entry: Entry) -> Iterator[Fact]:
        return self._metrics(entry, entry.meta["bwd_compilation_metrics"])

    def _compilation_metrics(self, entry: Entry) -> Iterator[Fact]:
        return self._metrics(entry, entry.meta["compilation_metrics"])

    def _metrics(self, entry: Entry, told: dict[str, Any]) -> Iterator[Fact]:
        yield from self._version(told.get("pytorch_version"))
        key = entry.meta.get("frame_id")
        frame = self._frames.get(key)
        if told.get("co_filename"):
            name = messages.function_name(str(told.get("co_name") or ""))
            if frame is None:
                frame = self._frames[key] = Frame(str(told["co_filename"]), int(told.get("co_firstlineno") or 0), name)
                yield from self._told_late(key)
        place = frame or Frame("", 0, "")
        total, backend, inductor = (
            _seconds(told, "duration_us", "entire_frame_compile_time_s"),
            _seconds(told, "aot_autograd_cumulative_compile_time_us", "backend_compile_time_s"),
            _seconds(told, "inductor_cumulative_compile_time_us", "inductor_compile_time_s"),
        )
        forward = told.get("is_forward") is not False
        if not forward:
            total = backend = max(total, backend, inductor)
        yield Compile(
            file=place.file,
            line=place.line,
            function=place.function,
            started=float(told.get("start_time") or 0.0),
            seconds=total,
            dynamo_s=max(0.0, total - backend),
            aot_s=max(0.0, backend - inductor),
            inductor_s=min(inductor, total) if total else inductor,
            ops=int(told.get("graph_op_count") or 0) if forward else 0,
            graph=forward and bool(told.get("graph_op_count")) and not told.get("fail_type"),
            cache_hits=int(told.get("inductor_fx_local_cache_hit_count") or 0),
            cudagraph_skip=told.get("cudagraph_skip_reason") or None,
        )
        if told.get("fail_type") and frame is not None:
            yield from self._failed(frame, told)

    def _failed(self, frame: Frame, told: dict[str, Any]) -> Iterator[Fact]:
        reason = str(told.get("fail_reason") or told["fail_type"]).strip()
        loop = messages.broken_loop(reason)
        if loop is not None:
            yield Break(loop.file, loop.line, None, None, _IN_LOOP, (), "skip-frame", (loop,))
        yield Skip(frame.file, frame.line, frame.function, reason.splitlines()[0] if reason else str(told["fail_type"]))


def _seconds(told: dict[str, Any], micro: str, plain: str) -> float:
    if isinstance(told.get(micro), (int, float)):
        return float(told[micro]) * _MICRO
    return float(told.get(plain) or 0.0)
