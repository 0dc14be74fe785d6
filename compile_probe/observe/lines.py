"""Sees which source lines Dynamo interprets, and which frames it leaves alone.

Seen on 2.13, 2.7.1 and 2.5.1: ``symbolic_convert.InstructionTranslatorBase.starts_line``. Seen on 2.13 and absent on
2.7.1: ``convert_frame.CatchErrorsWrapper._handle_skip``.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

from torch._dynamo import convert_frame, symbolic_convert

from ..targets.ownership import is_user_file
from .patches import Patches
from .recorder import Recorder
from .stacks import function_name


def install(patches: Patches, recorder: Recorder) -> None:
    """Wrap the interpreter's line counter and the place where frames are skipped."""
    patches.wrap(
        symbolic_convert.InstructionTranslatorBase,
        "starts_line",
        functools.partial(_watching_lines, recorder),
        "traced lines are not seen",
    )
    patches.wrap(
        convert_frame.CatchErrorsWrapper,
        "_handle_skip",
        functools.partial(_watching_skips, recorder),
        "skipped frames are not listed",
    )


def _watching_lines(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def starts_line(self: Any, lineno: int, *args: Any, **kwargs: Any) -> Any:
        file = self.f_code.co_filename
        if lineno:
            lines = recorder.lines.get(file)
            if lines is None and is_user_file(file):
                lines = recorder.lines[file] = set()
            if lines is not None:
                lines.add(lineno)
        if recorder.advanced is not None:
            recorder.advanced()
        return original(self, lineno, *args, **kwargs)

    return starts_line


def _watching_skips(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def handle_skip(self: Any, result: Any, frame: Any, *args: Any, **kwargs: Any) -> Any:
        code = frame.f_code
        reason = getattr(result, "skip_reason", None)
        if reason and getattr(result, "guarded_code", None) is None and is_user_file(code.co_filename):
            recorder.add_skip(code.co_filename, code.co_firstlineno, function_name(code.co_name), str(reason))
        return original(self, result, frame, *args, **kwargs)

    return handle_skip
