"""What a trace tells, as frozen records; files are named as the traced process named them, lines are 1-based."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Frame:
    """One frame of a user stack; ``code`` is the text of the line if the trace quotes it."""

    file: str
    line: int
    function: str
    code: str = ""


@dataclass(frozen=True)
class Break:
    """Dynamo gave up at a line.

    ``effect`` is what became of the frame: ``resume``, ``rest-eager`` or ``skip-frame``. ``stack`` holds user frames
    only, innermost first. ``gb_id`` is None where the traced torch has no ids.
    """

    file: str
    line: int
    gb_id: Optional[str]
    gb_type: Optional[str]
    reason: str
    hints: tuple[str, ...]
    effect: str
    stack: tuple[Frame, ...]


@dataclass(frozen=True)
class Recompile:
    """A guard failed and a frame of ``function`` was compiled again.

    ``line`` made the guard if torch tells it, else it is the first of the frame; of several compilations that did not
    fit, ``reason`` is the newest one's guard.
    """

    file: str
    line: int
    function: str
    reason: str


@dataclass(frozen=True)
class Skip:
    """A frame was left to Python; no line of it is the cause."""

    file: str
    line: int
    function: str
    reason: str


@dataclass(frozen=True)
class Lines:
    """Lines that gave operations to a graph: traced there, without a break unless one is told beside it."""

    file: str
    lines: tuple[tuple[int, str], ...]
    """(line, text)."""


@dataclass(frozen=True)
class Compile:
    """One compilation of a frame (or of a backward graph) came to its end; seconds by stage.

    ``started`` is in seconds since the epoch. ``cudagraph_skip`` says why no CUDA graph is used, if so.
    """

    file: str
    line: int
    function: str
    started: float
    seconds: float
    dynamo_s: float
    aot_s: float
    inductor_s: float
    ops: int
    graph: bool
    cache_hits: int
    cudagraph_skip: Optional[str]


@dataclass(frozen=True)
class Began:
    """A compilation of a frame started; its end may be far."""

    file: str
    line: int
    function: str


@dataclass(frozen=True)
class Version:
    """The version of the traced torch."""

    torch: str


@dataclass(frozen=True)
class Resumed:
    """A function goes on in a graph of its own behind this line: something broke the graph there."""

    file: str
    line: int
    function: str
