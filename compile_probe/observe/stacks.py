"""User frames of a break: which frames are the user's, and the stack from the target down to the break.

Touches no private API but the naming of Dynamo's resume functions (``torch_dynamo_resume_in_NAME_at_LINE``, seen on
2.1 to 2.13).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any, Optional

from ..targets.ownership import is_ours, is_user_file
from .records import Frame

ENTRY = "call_target"
"""Name of the function of ours that calls the target; user stacks begin below it."""

_RESUME = re.compile(r"(?:torch_dynamo_resume_in_|<?resume in )(.*?)(?:_at_\d+|>)$")


def function_name(name: str) -> str:
    """Give a resume function the name of the function that it continues."""
    match = _RESUME.match(name)
    return match.group(1) if match else name


def frames_of(summaries: Optional[Iterable[Any]]) -> list[Frame]:
    """Turn ``traceback`` summaries (outermost first) into frames of the same order."""
    return [Frame(s.filename, s.lineno or 0, function_name(s.name)) for s in summaries or ()]


def running_frames() -> list[Frame]:
    """Return the user frames on the Python stack between the call of the target and here, outermost first."""
    frames: list[Frame] = []
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        path, name = frame.f_code.co_filename, frame.f_code.co_name
        if name == ENTRY and is_ours(path):
            break  # what lies above our own call is not the user's
        if is_user_file(path):
            frames.append(Frame(path, frame.f_lineno, function_name(name)))
        frame = frame.f_back
    frames.reverse()
    return frames


def user_stack(inner: Iterable[Any]) -> tuple[Frame, ...]:
    """Join the running frames and those that Dynamo was inlining; user frames only, innermost first."""
    traced = frames_of(inner)
    above = running_frames()
    if above and traced and (above[-1].file, above[-1].function) == (traced[0].file, traced[0].function):
        above.pop()  # up to 3.10 the frame being compiled is already on the Python stack
    stack = [f for f in [*above, *traced] if is_user_file(f.file)]
    stack.reverse()
    return tuple(stack)
