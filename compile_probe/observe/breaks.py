"""Sees graph breaks in the two funnels through which every one of them passes.

Seen on 2.13: ``symbolic_convert.InstructionTranslatorBase.log_graph_break``, called for every break that the symbolic
interpreter survives, and ``convert_frame.ConvertFrameAssert.__call__``, out of which those come that it does not
survive (generators, limits). ``exc.Unsupported.__init__`` is wrapped as well: a break that happens while another is
handled keeps the stack of the first, and only the first names the cause. On 2.7.1 and 2.5.1 ``log_graph_break`` is
absent and ``old_breaks`` has to do.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Optional

from torch._dynamo import convert_frame, exc, symbolic_convert

from ..targets.ownership import is_user_file
from . import old_breaks, texts
from .patches import Patches
from .recorder import Recorder
from .records import Frame, GraphBreak, Suppressed
from .registry import gb_id_of
from .stacks import function_name, user_stack

_CAUSES = "_compile_probe_causes"
_END_LINE = "_compile_probe_end_line"
_NO_LINE = ("ecompile limit", "Attempt to trace generator")


def install(patches: Patches, recorder: Recorder) -> None:
    """Wrap the funnels for the life of ``patches``."""
    patches.wrap(
        exc.Unsupported,
        "__init__",
        _stamping_cause,
        "a break caused by another one shows its last cause, not its first",
    )
    funnel = patches.wrap(
        symbolic_convert.InstructionTranslatorBase,
        "log_graph_break",
        functools.partial(_watching_log, recorder),
        "graph breaks are taken from Dynamo's record of why each graph ended, without type and hints",
    )
    if not funnel:
        old_breaks.install(patches, recorder)
    patches.wrap(
        convert_frame.ConvertFrameAssert,
        "__call__",
        functools.partial(_watching_frames, recorder),
        "breaks that make Dynamo give up a whole frame are not seen",
    )


def _stamping_cause(original: Callable[..., Any]) -> Callable[..., Any]:
    """Keep the chain of causes and the last line of the instruction on the stack that the exceptions hand on."""

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        stack = getattr(self, "real_stack", None)
        if stack is None:
            return
        causes: Any = getattr(stack, _CAUSES, None)
        if causes is None:
            causes = list[Any]()
            setattr(stack, _CAUSES, causes)
            setattr(stack, _END_LINE, _end_line_now())
        causes.append((getattr(self, "gb_type", None), str(getattr(self, "msg", self))))

    return init


def _end_line_now() -> Optional[int]:
    """The last line of the instruction being interpreted (``loc_in_frame_positions``: 2.9 and later)."""
    from torch._guards import TracingContext  # noqa: PLC0415  (private, absent on other torches: asked for when needed)

    context: Any = TracingContext.try_get()
    positions = getattr(context, "loc_in_frame_positions", None)
    return getattr(positions, "end_lineno", None)


def _watching_log(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    """Report a break with the effect that the text of its reason tells."""

    @functools.wraps(original)
    def log_graph_break(self: Any, code_options: Any, reason: str, exc: Any, *args: Any, **kwargs: Any) -> Any:
        if not getattr(exc, "logged", False):
            effect = "resume"
            if reason.startswith("Failed to handle graph break gracefully"):
                effect = "skip-frame"
            elif reason.startswith("Encountered graph break that we cannot resume from"):
                effect = "rest-eager"
            recorder.add_break(_describe(exc, effect, self.f_code))
        return original(self, code_options, reason, exc, *args, **kwargs)

    return log_graph_break


def _watching_frames(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    """Count compiled frames, and report the breaks that end a frame outside the interpreter."""

    @functools.wraps(original)
    def convert(self: Any, frame: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            result = original(self, frame, *args, **kwargs)
        except (exc.Unsupported, exc.UserError) as error:
            if not getattr(error, "logged", False):
                _report_lost_frame(recorder, error, frame.f_code)
            raise
        except Exception as error:
            if convert_frame.config.suppress_errors and not isinstance(error, exc.SkipFrame):
                recorder.suppressed.append(_describe_hidden(error, frame.f_code))
            raise
        if result is not None and getattr(result, "guarded_code", result) is not None:
            recorder.compiles += 1
        return result

    return convert


def _report_lost_frame(recorder: Recorder, error: BaseException, code: Any) -> None:
    """A frame given up outside the interpreter: a break, unless it is one that no line causes.

    Those are the recompile limit, and generators that uncompiled code runs: Dynamo never traces them as a frame.
    """
    if any(cause in str(error) for cause in _NO_LINE):
        reason = str(error).strip().splitlines()[0]
        recorder.add_skip(code.co_filename, code.co_firstlineno, function_name(code.co_name), reason)
        return
    recorder.add_break(_describe(error, "skip-frame", code))


def _describe_hidden(error: BaseException, code: Any) -> Suppressed:
    """An error that nobody will see: its own words, on the innermost user line."""
    stack = user_stack(getattr(error, "real_stack", None) or ())
    here = stack[0] if stack else Frame(code.co_filename, code.co_firstlineno, code.co_name)
    inner: BaseException = error
    while True:  # the first error of the chain is the one that the user can do something about
        deeper = inner.__cause__ or inner.__context__  # torch raises `from None` here too
        if deeper is None or deeper is inner:
            break
        inner = deeper
    first = next((line.strip() for line in str(inner).splitlines() if line.strip()), "")
    return Suppressed(here.file, here.line, f"{type(inner).__name__}: {first}" if first else type(inner).__name__)


def _describe(error: Any, effect: str, code: Any) -> GraphBreak:
    """Build the record: the innermost cause, on the innermost user line."""
    inner = getattr(error, "real_stack", None)
    causes: list[tuple[Optional[str], str]] = list(getattr(inner, _CAUSES, None) or [])
    if not causes:
        causes = [(getattr(error, "gb_type", None), str(getattr(error, "msg", error)))]
    gb_type, text = causes[0]
    told = texts.read(text, gb_type)

    stack = user_stack(inner or ())
    if not stack:
        stack = (Frame(code.co_filename, code.co_firstlineno, function_name(code.co_name)),)
    here = stack[0]
    end_line = here.line
    innermost = inner[-1] if inner else None
    if innermost is not None and is_user_file(innermost.filename):
        end_line = max(end_line, getattr(inner, _END_LINE, None) or end_line)
    return GraphBreak(
        file=here.file,
        line=here.line,
        end_line=end_line,
        gb_id=gb_id_of(told.gb_type),
        gb_type=told.gb_type,
        reason=told.reason or type(error).__name__,
        hints=told.hints,
        effect=effect,
        count=1,
        stack=stack,
    )
