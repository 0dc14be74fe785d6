"""Sees recompiles with the guard that failed.

Seen on 2.13 and 2.7.1: ``convert_frame.get_and_maybe_log_recompilation_reasons(cache_entries, frame, ...)``, called for
each frame about to be compiled again; it returns one text for each cache entry that did not fit. On 2.5.1 its name has
no s at the end.
"""

from __future__ import annotations

import functools
import re
from typing import Any, Callable

from torch._dynamo import convert_frame

from .patches import Patches
from .recorder import Recorder
from .records import Recompile
from .stacks import function_name

_COMPILE_ID = re.compile(r"^\s*(?:\d+/\d+(?:_\d+)?: )+")
_PLACE = re.compile(r"\s*#\s*(\S+):(\d+) in \S+")


def install(patches: Patches, recorder: Recorder) -> None:
    """Wrap the function that finds out why a frame is compiled again."""
    name = "get_and_maybe_log_recompilation_reasons"
    if not hasattr(convert_frame, name):
        name = name[:-1]
    patches.wrap(convert_frame, name, functools.partial(_watching, recorder), "recompiles are not seen")


def _watching(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def reasons_of(cache_entries: Any, frame: Any, *args: Any, **kwargs: Any) -> Any:
        reasons = original(cache_entries, frame, *args, **kwargs)
        if not kwargs.get("skip_logging"):
            recorder.add_recompile(_describe(frame.f_code, [str(reason) for reason in reasons or ()], recorder.call))
        return reasons

    return reasons_of


def _describe(code: Any, reasons: list[str], call: int) -> Recompile:
    """Build the record; a guard made on a line of the same file gives a better line than the start of the frame."""
    line = code.co_firstlineno
    texts: list[str] = []
    for reason in reasons:
        text = _COMPILE_ID.sub("", reason.strip().splitlines()[0] if reason.strip() else "")
        place = _PLACE.search(text)
        if place is not None:
            text = text[: place.start()] + text[place.end() :]
            if not texts and str(code.co_filename).endswith(place.group(1)):  # torch shortens long paths from the left
                line = int(place.group(2))
        texts.append(" ".join(text.split()))
    return Recompile(
        file=code.co_filename,
        line=line,
        function=function_name(code.co_name),
        reason="; ".join(dict.fromkeys(texts)) or "unknown",
        call=call,
    )
