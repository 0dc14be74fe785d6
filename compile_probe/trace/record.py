"""The record of a run: the facts of all its processes, merged, counted and bounded.

One habit is one entry: breaks are distinct by (file, line, id), recompiles by (place, guard without its numbers). What
grows with the run is counted; of distinct entries at most ``DISTINCT`` of a kind are kept and the others counted in
``dropped``.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Optional

from .facts import Began, Break, Compile, Frame, Lines, Recompile, Resumed, Skip
from .messages import is_user_file
from .story import Fact

DISTINCT = 2000
QUOTED = 400
"""Lines of a file whose text is kept, to find the file elsewhere."""

_EFFECTS = ("resume", "rest-eager", "skip-frame")


@dataclass
class Process:
    """One process of the run."""

    name: str
    pid: Optional[int] = None
    rank: Optional[int] = None
    torch: Optional[str] = None
    compiles: int = 0
    seconds: float = 0.0
    told_breaks: bool = False
    """Does its trace tell of breaks?"""
    log: bool = False
    """Is it known from a log only?"""


@dataclass
class SeenBreak:
    fact: Break
    count: int = 0
    processes: set[str] = field(default_factory=set[str])


@dataclass
class SeenRecompile:
    fact: Recompile
    count: int = 0
    examples: list[str] = field(default_factory=list[str])
    processes: set[str] = field(default_factory=set[str])


@dataclass
class SeenFunction:
    """A function that Dynamo took up as a frame; seconds by stage over all its compilations and processes."""

    file: str
    line: int
    function: str
    begun: int = 0
    compiles: int = 0
    graphs: int = 0
    ops: int = 0
    dynamo_s: float = 0.0
    aot_s: float = 0.0
    inductor_s: float = 0.0

    @property
    def seconds(self) -> float:
        return self.dynamo_s + self.aot_s + self.inductor_s


class Record:
    """Takes facts as they are read; ``changed`` counts those that told something new."""

    def __init__(self) -> None:
        self.processes: dict[str, Process] = {}
        self.breaks: dict[tuple[str, int, Optional[str]], SeenBreak] = {}
        self.recompiles: dict[tuple[str, int, str, str], SeenRecompile] = {}
        self.functions: dict[tuple[str, str], SeenFunction] = {}
        self.skipped: Counter[tuple[str, int, str, str]] = Counter()
        self.cudagraph_skips: Counter[str] = Counter()
        self.traced: dict[str, dict[int, str]] = {}
        self.quoted: dict[str, dict[int, str]] = {}
        self.resumed: dict[tuple[str, int], Resumed] = {}
        """Places behind which functions were resumed: where the breaks are that an old trace does not tell."""
        self.dropped = 0
        self.current: Optional[str] = None
        """Function in work, as far as the trace tells."""

    def process(self, name: str) -> Process:
        return self.processes.setdefault(name, Process(name))

    def add(self, process: Process, fact: Fact) -> Optional[Fact]:
        """Merge a fact; it is given back if it is a break, a recompile or a skip that was not known before."""
        if isinstance(fact, Break):
            return self._break(process, fact)
        if isinstance(fact, Recompile):
            return self._recompile(process, fact)
        if isinstance(fact, Skip):
            key = (fact.file, fact.line, fact.function, fact.reason)
            if key not in self.skipped and not self._room(self.skipped):
                return None
            self.skipped[key] += 1
            return fact if self.skipped[key] == 1 else None
        if isinstance(fact, Compile):
            self._compile(process, fact)
        elif isinstance(fact, Lines):
            if fact.file in self.traced or self._room(self.traced):
                self.traced.setdefault(fact.file, {}).update(dict(fact.lines))
                for line, text in fact.lines:
                    self._quote(fact.file, line, text)
        elif isinstance(fact, Began):
            seen = self._function(fact.file, fact.line, fact.function)
            if seen is not None:
                seen.begun += 1
            self.current = fact.function
        elif isinstance(fact, Resumed):
            if (fact.file, fact.line) in self.resumed or self._room(self.resumed):
                self.resumed[fact.file, fact.line] = fact
        else:
            process.torch = fact.torch
        return None

    def _break(self, process: Process, fact: Break) -> Optional[Fact]:
        key = (fact.file, fact.line, fact.gb_id or fact.gb_type)
        seen = self.breaks.get(key)
        new = seen is None
        if seen is None:
            if not self._room(self.breaks):
                return None
            seen = self.breaks[key] = SeenBreak(fact)
            for frame in fact.stack:
                self._quote_frame(frame)
        elif _EFFECTS.index(fact.effect) > _EFFECTS.index(seen.fact.effect):
            seen.fact = fact
        seen.count += 1
        seen.processes.add(process.name)
        return fact if new else None

    def _recompile(self, process: Process, fact: Recompile) -> Optional[Fact]:
        key = (fact.file, fact.line, fact.function, re.sub(r"\d+", "N", fact.reason))
        seen = self.recompiles.get(key)
        new = seen is None
        if seen is None:
            if not self._room(self.recompiles):
                return None
            seen = self.recompiles[key] = SeenRecompile(fact)
        seen.count += 1
        seen.processes.add(process.name)
        if fact.reason not in seen.examples:
            seen.examples = [*seen.examples, fact.reason][-4:]
        return fact if new else None

    def _compile(self, process: Process, fact: Compile) -> None:
        process.compiles += 1
        process.seconds += fact.seconds
        seen = self._function(fact.file, fact.line, fact.function)
        if seen is not None:
            seen.compiles += 1
            seen.graphs += fact.graph
            seen.ops += fact.ops
            seen.dynamo_s += fact.dynamo_s
            seen.aot_s += fact.aot_s
            seen.inductor_s += fact.inductor_s
        if fact.cudagraph_skip:
            self.cudagraph_skips[fact.cudagraph_skip[:500]] += 1
        self.current = None

    def _function(self, file: str, line: int, function: str) -> Optional[SeenFunction]:
        key = (file, function)
        if key not in self.functions:
            if not self._room(self.functions):
                return None
            self.functions[key] = SeenFunction(file, line, function)
        seen = self.functions[key]
        seen.line = min(seen.line, line) or line  # a resume function begins at the line of its break
        return seen

    def _room(self, table: Any) -> bool:
        if len(table) < DISTINCT:
            return True
        self.dropped += 1
        return False

    def _quote_frame(self, frame: Frame) -> None:
        if frame.code:
            self._quote(frame.file, frame.line, frame.code)

    def _quote(self, file: str, line: int, text: str) -> None:
        lines = self.quoted.setdefault(file, {})
        if text and (line in lines or len(lines) < QUOTED):
            lines[line] = text

    # --- what it comes to -------------------------------------------------------------------------------------------

    @property
    def ranks(self) -> list[int]:
        return sorted({p.rank for p in self.processes.values() if p.rank is not None})

    @property
    def torch(self) -> list[str]:
        return sorted({p.torch for p in self.processes.values() if p.torch})

    def label(self, names: set[str]) -> list[str]:
        """Processes in words: ``rank 1`` where there are ranks, else ``pid 4711``."""
        labels: list[str] = []
        for name in sorted(names):
            one = self.processes[name]
            labels.append(f"rank {one.rank}" if one.rank is not None else f"pid {one.pid or name}")
        return sorted(dict.fromkeys(labels), key=lambda text: (len(text), text))

    def guessed_breaks(self) -> list[Break]:
        """Breaks by the places of resume functions, where the trace has no others (torch before 2.7)."""
        if self.breaks:
            return []
        told = "the graph ended here; this torch's trace does not say why (observe again with --torch-logs)"
        return [
            Break(one.file, one.line, None, None, told, (), "resume", (Frame(one.file, one.line, one.function),))
            for one in self.resumed.values()
            if is_user_file(one.file)
        ]

    def files(self) -> list[str]:
        """Every user file that the record speaks of."""
        named = [key[0] for key in (*self.breaks, *self.recompiles, *self.functions, *self.skipped, *self.resumed)]
        return [file for file in dict.fromkeys([*named, *self.traced]) if file]

    def seconds(self) -> dict[str, float]:
        """Compile seconds of the slowest process, in all, and of all processes by stage."""
        functions = self.functions.values()
        return {
            "total": round(sum(f.seconds for f in functions), 3),
            "dynamo": round(sum(f.dynamo_s for f in functions), 3),
            "aot": round(sum(f.aot_s for f in functions), 3),
            "inductor": round(sum(f.inductor_s for f in functions), 3),
            "slowest_process": round(max((p.seconds for p in self.processes.values()), default=0.0), 3),
        }
