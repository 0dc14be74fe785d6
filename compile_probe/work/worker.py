"""The process in which user code runs: one job, then the end. Whatever happens here, the supervisor tells the user.

Before any user code: standard input becomes a watchdog that ends us with our supervisor, the event line is opened on a
descriptor that user code does not reach, and crashes are told to leave a Python stack.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import io
import os
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from ..errors import ProbeError, TargetError, TargetMemoryError
from ..protocol.channel import Channel, move_high
from ..protocol.job import START_LIMIT, Job
from ..protocol.stages import Stages
from ..targets.loading import describe, line_in

_PR_SET_PDEATHSIG = 1


def main(folder: Path) -> int:
    """Do the job that lies in ``folder``; ends the process itself, so that nothing of the user's runs at exit."""
    _die_with_supervisor()
    channel = Channel(folder)
    job = Job.read(folder)
    _explain_crashes()
    _write_by_lines()
    stages = Stages(channel)
    try:
        _do(job, stages)
        end: dict[str, Any] = {"status": "ok"}
    except ProbeError as error:
        end = {
            "status": error.status,
            "stage": stages.name if type(error) is ProbeError else error.stage,
            "message": error.sentence(),
            "file": error.file,
            "line": error.line,
            "kind": type(error).__name__,
        }
    except BaseException as error:  # the edge of the process: user code may raise anything
        end = _unexpected(error, stages.name, Path(job.file))
    if not channel.is_owner:  # user code forked, and the child came back through our code
        os._exit(1)
    channel.send("_end", **end)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the user may have put anything there
            stream.flush()
    os._exit(0)


def _do(job: Job, stages: Stages) -> None:
    """Import torch, which takes seconds and is no fault of the user's, then do the job."""
    if job.variant is None:
        stages.start("load", note="importing torch", least=START_LIMIT)
    else:
        stages.start("compile", note=f"{job.variant}: a fresh process", least=START_LIMIT)
    from . import capturing, tracing, variants  # noqa: PLC0415  (the stage has to be told before torch is imported)

    stages.progress("torch is imported")
    work = tracing if job.variant is None else capturing if job.variant == capturing.NAME else variants
    work.run(job, stages)


def _unexpected(error: BaseException, stage: str, file: Path) -> dict[str, Any]:
    """An exception that no stage expected: the user's, or a fault of ours, which then shows where."""
    if isinstance(error, MemoryError):
        known: ProbeError = TargetMemoryError("The target ran out of memory.", stage=stage)
    elif isinstance(error, SystemExit):
        known = TargetError(f"The target ended the program with sys.exit({error.code!r}).", stage=stage)
    else:
        known = TargetError(f"The target raised {describe(error)}.", stage=stage)
        traceback.print_exception(type(error), error, error.__traceback__)
    return {
        "status": known.status,
        "stage": stage,
        "message": known.sentence(),
        "file": str(file),
        "line": line_in(error, file),
        "kind": type(known).__name__,
    }


def _die_with_supervisor() -> None:
    """End with the supervisor, by its death signal on Linux and by the end of standard input everywhere."""
    watchdog = move_high(os.dup(0))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    threading.Thread(target=_watch, args=(watchdog,), daemon=True, name="compile_probe watchdog").start()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        with contextlib.suppress(OSError):  # should memory run out, the kernel had better take us than the editor
            Path("/proc/self/oom_score_adj").write_text("900", encoding="ascii")


def _watch(descriptor: int) -> None:
    """Wait for the supervisor's end of the pipe to close; the descriptor may be closed under us, the wait goes on."""
    with contextlib.suppress(OSError):
        while os.read(descriptor, 1):
            pass
        os.killpg(os.getpgrp(), signal.SIGKILL)


def _explain_crashes() -> None:
    """Have a fatal signal print the Python stack to the original standard error, even if user code closes that."""
    with contextlib.suppress(OSError, ValueError):
        stream = os.fdopen(move_high(os.dup(2)), "w")
        _kept.append(stream)
        faulthandler.enable(file=stream, all_threads=False)


def _write_by_lines() -> None:
    """Have prints come out line by line, so that those before a crash are seen."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)


_kept: list[Any] = []
"""Keeps the stream of faulthandler alive."""
