"""Inputs and constructor arguments that a recorded run gives for a target."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from ..recording.values import call_of, opaque_parts
from ..store.database import Store
from ..store.place import store_file
from ..targets.calls import Call


@dataclass(frozen=True)
class RecordedInputs:
    """Distinct calls of one way of making the target; ``detail`` says where they come from and how old they are."""

    detail: str
    init: Optional[dict[str, Any]]
    records: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]

    def calls(self) -> tuple[Call, ...]:
        """Make the calls.

        :raises InputsError: a class that they need is not there any more
        """
        return tuple(call_of(one["call"]) for one in self.records)

    @property
    def forms(self) -> tuple[str, ...]:
        """The calls in words."""
        return tuple(str(one["described"]) for one in self.records)


def find_recorded(file: Optional[str], name: str) -> Optional[RecordedInputs]:
    """What was recorded of a target named like ``step`` or ``Block.forward``, as far as it can be made again."""
    if not file:
        return None
    path = Path(file).resolve()
    kept = store_file(path)
    if not kept.is_file():
        return None
    with Store(kept) as store:
        found = store.inputs_of(str(path), name[: -len(".forward")] if name.endswith(".forward") else name)
        notes = list(store.notes)
    if found is None:
        return None
    whole = [one for one in found.records if not opaque_parts([one["call"], one["init"]])]
    if not whole:
        return None
    init = whole[0]["init"]
    same = [one for one in whole if one["init"] == init]
    left = len(found.records) - len(same)
    if left:
        notes.append(f"{left} recorded calls were left out: made otherwise, or with values that cannot be kept.")
    if any(one["mode"]["autocast"] for one in same):
        notes.append("The recorded calls ran under autocast; the probe's run without.")
    calls = f"{len(same)} call{'' if len(same) == 1 else 's'}"
    detail = f"{_short(found.command)}, {_age(time.time() - found.time)} ago, {calls}"
    return RecordedInputs(detail, init, tuple(same), tuple(notes))


def _short(command: str) -> str:
    """The file that a command runs, if it names one."""
    words = [word for word in command.split() if word.endswith(".py") or ".py::" in word]
    return words[0] if words else command[:60]


def _age(seconds: float) -> str:
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
