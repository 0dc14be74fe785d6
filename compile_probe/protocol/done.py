"""The last event of every run: how it ended, and all that was found until then."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Optional

from .job import Job

NOTHING: Mapping[str, Any] = {}


def done(
    job: Job,
    status: str,
    message: str = "",
    *,
    stage: Optional[str] = None,
    signal: Optional[str] = None,
    file: Optional[str] = None,
    line: Optional[int] = None,
    part: Mapping[str, Any] = NOTHING,
) -> dict[str, Any]:
    """The keys of ``done``; ``part`` is what the workers found out, for its ``result``."""
    result: dict[str, Any] = {
        "target": job.target,
        "file": job.file,
        "source": None,
        "device": None,
        "device_label": None,
        "device_name": None,
        "stand_in": False,
        "versions": None,
        "python": sys.executable,
        "mode": job.mode,
        "graphs": None,
        "graph_list": [],
        "breaks": [],
        "recompiles": [],
        "traced": {},
        "not_compiled": None,
        "covered": None,
        "environment": None,
        "check": None,
        "checks": [],
        "measurements": [],
        "compile": {},
        "sizes": [],
        "sources": {},
        **part,
    }
    return {
        "status": status,
        "stage": stage,
        "message": message,
        "signal": signal,
        "file": file,
        "line": line,
        "result": result,
    }
