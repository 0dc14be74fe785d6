"""Texts in which Dynamo tells of a graph break, in the structured trace and in its log: place, cause, stack, effect.

Seen on 2.13 and 2.7.1: ``Graph break in user code at FILE:LINE``, ``Graph Break Reason:`` (2.7.1: ``Reason:``), ``User
code traceback:`` with the stack, then the traceback of the exceptions, the first of which is the innermost cause. On
2.13 also ``Graph break: torch.compile cannot properly resume ...`` for frames given up outside the interpreter.
On 2.5.1 only the log has them: ``Graph break: from user code at:``, the stack, and the traceback at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional

from .facts import Frame

_PLACE = re.compile(r"Graph break in user code at (.+?):(\d+)\s*$", re.M)
_STACK_HEAD = re.compile(
    r"^(?:User code traceback:|The graph break occurred in the following user code:|Graph break: from user code at:)"
    r"\s*$",
    re.M,
)
_TRACEBACK = re.compile(r"^Traceback \(most recent call last\):", re.M)
_FRAME = re.compile(r'^ *File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>.+)\n?(?P<code>(?! *File ).*)?', re.M)
_CAUSE = re.compile(r"^torch\._dynamo\.exc\.(?!Observed)\w+: ", re.M)
_CAUSE_END = re.compile(
    r"^(?:from user code:|The above exception|During handling|Traceback \(most|Set TORCH|You can suppress)", re.M
)
_REASON = re.compile(r"^(?:Graph Break )?Reason: ", re.M)
_LEADS = re.compile(
    r"^(?:Encountered graph break (?:when attempting to trace|that we cannot resume from)[^\n]*"
    r"|Failed to handle graph break gracefully[^\n]*)\n+"
)
_END = r"(?=^ +Hint: |^ *Developer debug context|^ *For more details|\Z)"
_EXPLANATION = re.compile(r"^ +Explanation: (.*?)" + _END, re.S | re.M)
_HINT = re.compile(r"^ +Hint: (.*?)" + _END, re.S | re.M)
_LINK = re.compile(r"/gb/gb(\d+)\.html")
_RESUME = re.compile(r"(?:torch_dynamo_resume_in_|<?resume in )(.*?)(?:_at_\d+|>)$")
_RESUMED_AT = re.compile(r"^torch_dynamo_resume_in_.*_at_(\d+)$")
_LOOP = re.compile(r"graph break in a for/while loop.*?<FrameSummary file (.+?), line (\d+) in (.+?)>", re.S)
_COMPILE_ID = re.compile(r"^\s*(?:\d+/\d+(?:_\d+)?: )+")
_GUARD_PLACE = re.compile(r"# (\S+):(\d+) in \S+")
_TORCH = re.compile(
    r"[/\\](?:site|dist)-packages[/\\]torch[/\\]|[/\\]torch[/\\](?:_dynamo|nn[/\\]modules|_functorch)[/\\]"
)
_STDLIB = re.compile(r"[/\\]lib(?:64)?[/\\]python3\.\d+[/\\](?!site-packages|dist-packages)")

SECONDARY = ("ecompile limit", "Attempt to trace generator")
"""Causes that no line of the frame is to blame for."""


@dataclass(frozen=True)
class Told:
    """What a message tells; ``stack`` holds all frames, outermost first."""

    gb_id: Optional[str]
    gb_type: Optional[str]
    reason: str
    hints: tuple[str, ...]
    effect: str
    stack: tuple[Frame, ...]


@dataclass(frozen=True)
class Guard:
    """A guard, and the line that made it if told; ``file`` is the end of a path."""

    text: str
    file: str
    line: int


def is_user_file(path: str) -> bool:
    """Was the file written by somebody other than Python and torch? Told by its path: it may be another machine's."""
    return bool(path) and not path.startswith("<") and not _TORCH.search(path) and not _STDLIB.search(path)


def function_name(name: str) -> str:
    """The function that a resume function continues."""
    found = _RESUME.match(name)
    return found[1] if found else name


def resumed_at(name: str) -> Optional[int]:
    """The line of the break behind which a resume function goes on."""
    found = _RESUMED_AT.search(name)
    return int(found[1]) if found else None


def broken_loop(reason: str) -> Optional[Frame]:
    """The place in the reason for which torch up to 2.7 skips a frame with a break in a loop."""
    found = _LOOP.search(reason)
    return Frame(found[1], int(found[2]), found[3]) if found and is_user_file(found[1]) else None


def guard(text: str) -> Guard:
    """A failed guard, without the numbers of compilations before it and the advice and source text behind it."""
    text = _COMPILE_ID.sub("", text.strip())
    place = _GUARD_PLACE.search(text)
    plain = re.split(r"\s+# | \(HINT:", text, maxsplit=1)[0]
    return Guard(" ".join(plain.split()), place[1].lstrip(".") if place else "", int(place[2]) if place else 0)


def frames(text: str) -> tuple[Frame, ...]:
    """The frames of a traceback text."""
    return tuple(
        Frame(m["file"], int(m["line"]), function_name(m["function"].strip()), (m["code"] or "").strip())
        for m in _FRAME.finditer(text)
    )


def read(text: str) -> Told:
    """Take the text of a graph break apart."""
    head = _STACK_HEAD.search(text)
    before = text[: head.start()] if head else text
    after = text[head.end() :] if head else ""
    trace = _TRACEBACK.search(after)
    stack = frames(after[: trace.start()] if trace else after)
    place = _PLACE.search(before)
    if place is not None and not stack:
        stack = (Frame(place[1], int(place[2]), ""),)

    reason = _REASON.search(before)
    told = before[reason.end() :] if reason else before
    effect = "resume"
    if told.startswith(
        ("Failed to handle graph break gracefully", "Graph break: torch.compile cannot properly resume")
    ):
        effect = "skip-frame"
    elif told.startswith("Encountered graph break that we cannot resume from"):
        effect = "rest-eager"
    cause = _LEADS.sub("", told)
    first = _CAUSE.search(after)
    if first is not None:
        end = _CAUSE_END.search(after, first.end())
        cause = after[first.end() : end.start() if end else None]
    return _explained(cause.strip(), effect, stack)


def _explained(cause: str, effect: str, stack: tuple[Frame, ...]) -> Told:
    first_line = cause.splitlines()[0] if cause else ""
    explanation, link = _EXPLANATION.search(cause), _LINK.search(cause)
    return Told(
        gb_id=f"GB{link[1]}" if link else None,
        gb_type=first_line if explanation else None,
        reason=" ".join((explanation[1] if explanation else first_line).split()),
        hints=tuple(" ".join(hint.split()) for hint in _HINT.findall(cause)),
        effect=effect,
        stack=stack,
    )
