"""One run of the probe: a worker that observes, then a fresh one for each variant, and exactly one ``done`` event."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import traceback
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Optional

from ..ascend import readiness
from ..host import processes
from ..protocol import events
from ..protocol.done import done
from ..protocol.job import MARKER, Job
from .guardian import Guardian
from .supervisor import Cancellation, Limits, Outcome, Run, Supervision

Sink = Callable[[dict[str, Any]], None]

PROBE_VERSION = "0.1.0"

NOT_COMPILED = "not-compiled"
"""The verdict where no frame was compiled: eager against eager would be timed."""


class Stream:
    """Numbers and dates events and hands them to a sink; a reader that went away ends the run."""

    def __init__(self, sink: Sink, cancel: Cancellation) -> None:
        self._sink = sink
        self._cancel = cancel
        self._sequence = 0
        self._begin = time.monotonic()
        self._broken = False

    def send(self, kind: str, keys: dict[str, Any]) -> None:
        """Send one event."""
        if self._broken:
            return
        seconds = round(time.monotonic() - self._begin, 4)
        event = {"v": events.VERSION, "seq": self._sequence, "t": seconds, "type": kind, **keys}
        self._sequence += 1
        try:
            self._sink(event)
        except BrokenPipeError:
            self._broken = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains at its end
            self._cancel.requested = True


def run(
    job: Job, variants: Sequence[str], *, timeout: float, observe_only: bool, sink: Sink, watch_stdin: bool = False
) -> int:
    """Run the probe and return the exit code; the last event is ``done``.

    It is for a process of its own: signals are taken over, and every child of the process ends with the run.
    """
    cancel = Cancellation(watch_stdin)
    stream = Stream(sink, cancel)
    marker = f"{MARKER}={uuid.uuid4().hex}"
    guardian: Optional[Guardian] = None
    try:
        folder = Path(tempfile.mkdtemp(prefix="compile_probe-"))
        guardian = Guardian(folder, marker)
        processes.adopt_orphans()
        shared = Run(folder, marker, Limits.of(timeout), guardian.pid)
        outcome = _explained(_run(job, [] if observe_only else variants, shared, cancel, stream))
    except Exception as error:  # a fault of ours or of the machine: the reader still gets its one ``done``
        outcome = _own_failure(error)
    finally:
        if guardian is not None:
            guardian.dismiss()
    stream.send("done", ended(job, outcome))
    if outcome.kind == "UsageError":
        return events.EXIT_USAGE
    if outcome.kind == "UnavailableError":
        return events.EXIT_UNMEASURED
    return events.EXIT_CODES.get(outcome.status, 1)


def ended(job: Job, outcome: Outcome) -> dict[str, Any]:
    """The keys of the ``done`` event of an outcome."""
    one = outcome
    return done(
        job, one.status, one.message, stage=one.stage, signal=one.signal, file=one.file, line=one.line, part=one.part
    )


def _own_failure(error: Exception) -> Outcome:
    traceback.print_exc()
    return Outcome("error", message=f"The probe itself failed: {type(error).__name__}: {error}.")


def _explained(outcome: Outcome) -> Outcome:
    """An outcome that came of CANN's libraries being out of reach says so, whoever imported torch_npu."""
    reason = readiness.explain(outcome.message, os.environ)
    return replace(outcome, message=f"{outcome.message} {reason}") if reason else outcome


def _run(job: Job, variants: Sequence[str], shared: Run, cancel: Cancellation, stream: Stream) -> Outcome:
    outcome = _work(job, "observe", shared, cancel, stream)
    parts = dict(outcome.part)
    parts.update(checks=[], measurements=[], compile={})
    failed: list[Outcome] = []
    cause = parts.get("not_compiled")
    if outcome.status == "ok" and cause and not cause["gave_up"]:
        for variant in variants:
            row = {"variant": variant, "size": None, "verdict": NOT_COMPILED, "note": cause["message"]}
            stream.send("measurement", row)
            parts["measurements"].append(row)
    elif outcome.status == "ok":
        covered = parts.get("covered")
        for variant in variants:
            measured = _work(replace(job, variant=variant, covered=covered), variant, shared, cancel, stream)
            _merge(parts, variant, measured)
            if measured.status != "ok":
                failed.append(measured)
            if measured.status == "cancelled":
                break
    worst = next((one for one in failed if one.status == "cancelled"), None)
    if worst is None and failed and len(failed) == len(variants):
        worst = failed[0]  # with one variant that works there is a result; the others say in theirs why they do not
    parts["check"] = _overall(parts["checks"])
    return replace(worst or outcome, part=parts)


def _work(job: Job, name: str, shared: Run, cancel: Cancellation, stream: Stream) -> Outcome:
    folder = shared.folder / name
    folder.mkdir()
    return Supervision(job, replace(shared, folder=folder), cancel, stream, PROBE_VERSION).run()


def _merge(parts: dict[str, Any], variant: str, outcome: Outcome) -> None:
    """Add what the worker of a variant found; one that failed is listed with its reason and no number."""
    parts["checks"].extend(outcome.part.get("checks", []))
    if "piecewise" in outcome.part:
        parts["piecewise"] = outcome.part["piecewise"]
    measured: list[dict[str, Any]] = outcome.part.get("measurements", [])
    parts["measurements"].extend(measured)
    for one in measured:
        if one.get("compile_s") is not None:
            parts["compile"].setdefault(one["variant"] if variant == "auto" else variant, one["compile_s"])
    if outcome.status not in ("ok", "cancelled"):
        why = {"variant": variant, "status": "error", "worst": None, "message": outcome.message}
        parts["checks"].append(why)


def _overall(checks: list[dict[str, Any]]) -> Optional[str]:
    """The worst status of all variants, or None where nothing was checked."""
    statuses = [check["status"] for check in checks]
    return next((status for status in ("fail", "error", "nondeterministic", "pass") if status in statuses), None)
