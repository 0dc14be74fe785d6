"""Why nothing was compiled: who switched it off, which error was swallowed, which break made Dynamo skip the frame."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional

from ..observe.records import Observation
from . import settings
from .settings import Assignments


@dataclass(frozen=True)
class Cause:
    """A sentence for the user, and the place that it speaks of.

    ``gave_up``: Dynamo went through the target and left it at a break, so that results may still differ from eager's.
    """

    message: str
    file: Optional[str] = None
    line: Optional[int] = None
    gave_up: bool = False


def cause(target: Any, observation: Observation, assignments: Assignments) -> Cause:
    """The first that holds, from what switches everything off to what stops one frame."""
    return _switched_off(assignments) or _decorated(target) or _stopped(observation)


def _switched_off(assignments: Assignments) -> Optional[Cause]:
    place = assignments.places.get("dynamo.disable")
    if settings.disabled():
        named = [name for name in settings.DISABLING if settings.variables().get(name) == "1"]
        if place is not None and not named:
            return _at("torch._dynamo.config.disable = True switches torch.compile off", place)
        what = " and ".join(f"{name}=1" for name in named) or "torch._dynamo.config.disable"
        return Cause(f"{what} in the environment switches torch.compile off.")
    if settings.stance() == "force_eager":
        return Cause("torch.compiler.set_stance('force_eager') switches torch.compile off.")
    return None


def _decorated(target: Any) -> Optional[Cause]:
    for function in (target, getattr(target, "forward", None)):
        if function is not None and getattr(function, "_torchdynamo_disable", False):
            inner: Any = getattr(function, "_torchdynamo_orig_callable", function)
            code: Any = getattr(inner, "__code__", None)
            why = getattr(function, "_torchdynamo_disable_msg", None)
            said = "torch.compiler.disable on the target keeps it from being compiled" + (f" ({why})" if why else "")
            return _at(said, (code.co_filename, code.co_firstlineno)) if code is not None else Cause(said + ".")
    return None


def _stopped(observation: Observation) -> Cause:
    if observation.suppressed:
        first = observation.suppressed[0]
        more = f" ({len(observation.suppressed)} in all)" if len(observation.suppressed) > 1 else ""
        said = f"suppress_errors hides an error{more}, and the frame runs eagerly: {first.reason}"
        return _at(said, (first.file, first.line))
    skipping = [one for one in observation.breaks if one.frame_skipped] or list(observation.breaks)
    if skipping:
        first_break = skipping[0]
        kind = f"{first_break.gb_id or ''} {first_break.gb_type or first_break.reason}".strip()
        said = f"Dynamo gave the frame up at a break: {kind}"
        return replace(_at(said, (first_break.file, first_break.line)), gave_up=True)
    if observation.skipped:
        skipped = observation.skipped[0]
        return _at(
            f"Dynamo skipped {skipped.function}: {skipped.reason.splitlines()[0].rstrip('.')}",
            (skipped.file, skipped.line),
        )
    return Cause("Dynamo found no tensor operation in it that it could compile.")


def _at(said: str, place: tuple[str, int]) -> Cause:
    return Cause(f"{said} ({Path(place[0]).name}:{place[1]}).", place[0], place[1])
