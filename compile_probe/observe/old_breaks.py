"""Sees graph breaks on a torch without ``log_graph_break``: less is told there, but file, line and reason are.

Seen on 2.7.1 and 2.5.1: ``output_graph.GraphCompileReason``, made for every graph that ends, with ``graph_break`` true
for those that a break ends; and ``exc.SkipFrame``, made for a frame with a break in a loop, whose text ends with the
place.
"""

from __future__ import annotations

import functools
import re
import sys
import traceback
from typing import Any, Callable, Optional

from torch._dynamo import exc, output_graph

from . import texts
from .patches import Patches
from .recorder import Recorder
from .records import Frame, GraphBreak
from .registry import gb_id_of
from .stacks import user_stack

_JUMP = "generic_jump Tensor"
_LOOP = "graph break in a for/while loop"
_PLACE = re.compile(r"<FrameSummary file (.+), line (\d+) in (.+)>")


def install(patches: Patches, recorder: Recorder) -> None:
    """Wrap the record of why a graph ended."""
    patches.wrap(
        output_graph.GraphCompileReason,
        "__post_init__",
        functools.partial(_watching_reasons, recorder),
        "graph breaks are not seen",
    )
    patches.wrap(
        exc.SkipFrame, "__init__", functools.partial(_watching_skips, recorder), "breaks in loops are not seen"
    )


def _watching_skips(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    """A frame with a break in a loop is skipped; Dynamo swallows the exception, so its making is what can be seen."""

    @functools.wraps(original)
    def init(self: Any, *args: Any) -> None:
        original(self, *args)
        text = str(args[0]) if args else ""
        place = _PLACE.search(text)
        if _LOOP not in text or place is None:
            return
        cause = sys.exc_info()[1]
        inner: list[Any] = list(getattr(cause, "real_stack", None) or ())
        if not inner:
            inner = [traceback.FrameSummary(place.group(1), int(place.group(2)), place.group(3), lookup_line=False)]
        _add(
            recorder, inner, str(getattr(cause, "msg", None) or "a branch on a tensor's value, in a loop"), "skip-frame"
        )

    return init


def _watching_reasons(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def post_init(self: Any) -> None:
        original(self)
        if self.graph_break:
            _add(recorder, self.user_stack, str(self.reason), "resume")

    return post_init


def _add(recorder: Recorder, inner: Any, reason: str, effect: str) -> None:
    stack = user_stack(inner or ())
    here: Optional[Frame] = stack[0] if stack else None
    if here is None:
        return
    if reason.startswith(_JUMP):
        reason = f"a branch on a tensor's value ({reason})"
    told = texts.read(reason)
    recorder.add_break(
        GraphBreak(
            file=here.file,
            line=here.line,
            end_line=here.line,
            gb_id=gb_id_of(told.gb_type),
            gb_type=told.gb_type,
            reason=told.reason,
            hints=told.hints,
            effect=effect,
            count=1,
            stack=stack,
        )
    )
