"""What one worker is asked to do; travels as JSON in the probe's temporary folder."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Optional

JOB_FILE = "job.json"
EVENT_PIPE = "events"
MARKER = "COMPILE_PROBE_RUN"
"""Environment variable with the id of the run: whatever process carries it belongs to the run and dies with it."""

DEFAULTED = "COMPILE_PROBE_DEFAULTED"
"""Environment variable with the names of those that the supervisor set because the user had not."""

START_LIMIT = 120.0
"""Least seconds allowed for starting Python and importing torch, which no option of the user's should cut short."""


@dataclass(frozen=True)
class Job:
    """The request of ``run`` for one worker.

    ``variant`` is None for the worker that observes, else the backend to compile with and to measure.
    ``covered`` is what observing found, for the variant's result.
    ``calls`` is the least number of observed calls, ``budget`` the seconds of measuring a variant and size.
    For the piecewise backend: ``split`` as given with ``--split``, ``sizes`` to capture instead of those of the inputs,
    ``mix`` as (size, weight) of requests to play, ``pad`` that a request may be padded to a captured size.
    """

    file: str
    target: str
    device: str = "auto"
    mode: str = "inference"
    inputs: Optional[str] = None
    calls: int = 5
    budget: float = 5.0
    variant: Optional[str] = None
    covered: Optional[float] = None
    split: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    mix: tuple[tuple[int, float], ...] = ()
    pad: bool = False

    def write(self, folder: Path) -> None:
        """Leave the job in a folder for the worker that is started on it."""
        (folder / JOB_FILE).write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Job:
        """Take the job that ``write`` left."""
        return cls(**json.loads((folder / JOB_FILE).read_text(encoding="utf-8")))

    @property
    def train(self) -> bool:
        """Whether backward belongs to the call."""
        return self.mode == "train"
