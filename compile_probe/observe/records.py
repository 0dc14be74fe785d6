"""The facts of one observed run, as frozen records that can cross a process border."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional


@dataclass(frozen=True)
class Frame:
    """One frame of a user stack; ``line`` is 1-based."""

    file: str
    line: int
    function: str


@dataclass(frozen=True)
class GraphBreak:
    """A place where Dynamo gave up; distinct by (file, line, gb_id), so that one habit is one entry.

    ``gb_id`` and ``gb_type`` name the innermost cause, ``gb_id`` is None where this torch has no id for it.
    ``effect`` is what became of the frame: ``resume`` (a new graph starts after the line), ``rest-eager`` (compiled up
    to an earlier line, the rest of the frame runs eagerly) or ``skip-frame`` (nothing of the frame is compiled).
    ``stack`` holds user frames only, innermost first. ``call`` is the 0-based call that it was first seen in;
    ``first_call_only`` tells that the first call broke there and later ones, on the state that it left, do not.
    """

    file: str
    line: int
    end_line: int
    gb_id: Optional[str]
    gb_type: Optional[str]
    reason: str
    hints: tuple[str, ...]
    effect: str
    count: int
    stack: tuple[Frame, ...]
    call: int = 0
    first_call_only: bool = False

    @property
    def frame_skipped(self) -> bool:
        """Whether nothing of the frame was compiled."""
        return self.effect == "skip-frame"


@dataclass(frozen=True)
class Recompile:
    """A guard failed in ``call`` (0-based) and a frame of ``function`` was compiled again.

    ``line`` is where the guard was made if torch tells it, else the first line of the frame.
    """

    file: str
    line: int
    function: str
    reason: str
    call: int


@dataclass(frozen=True)
class Graph:
    """One graph handed to the backend: its number of operations and the user lines they came from."""

    index: int
    ops: int
    lines: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class SkippedFrame:
    """A user frame that Dynamo looked at and left to Python."""

    file: str
    line: int
    function: str
    reason: str
    count: int


@dataclass(frozen=True)
class Suppressed:
    """An error inside the compiler that ``suppress_errors`` hid; the frame then runs eagerly."""

    file: str
    line: int
    reason: str


@dataclass(frozen=True)
class Observation:
    """Everything seen in one series of calls.

    ``traced`` maps a file to the sorted lines that Dynamo interpreted symbolically, the breaking ones included.
    ``error`` is the exception of the first call that raised, after which no further call was made.
    ``outputs`` are the returned values, one a completed call. ``covered`` is the share of eager's time that is spent in
    what the graphs hold, where that was measured: only if something was left to Python.
    """

    breaks: tuple[GraphBreak, ...] = ()
    recompiles: tuple[Recompile, ...] = ()
    graphs: tuple[Graph, ...] = ()
    traced: dict[str, list[int]] = field(default_factory=lambda: {})
    skipped: tuple[SkippedFrame, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    compiles: int = 0
    outputs: list[Any] = field(default_factory=lambda: [])
    error: Optional[BaseException] = None
    notes: tuple[str, ...] = ()
    covered: Optional[float] = None
