"""Runs of the user's own program, observed: a process that outlives us, its events as they come, ended only on request.

The observer reads no torch and so runs with our own Python; the program runs with the user's. Both are in a session of
their own, with the program's output in a file: neither needs the editor.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, cast

from .command import probe_folder
from .jobs import MAX_LINE, Event

INTERRUPT_S = 5.0
"""Seconds that the program gets after each of Ctrl-C and a request to end."""


@dataclass(frozen=True)
class RunRequest:
    """What to observe: a command in a folder; or, without a command, traces to import."""

    label: str
    command: tuple[str, ...] = ()
    cwd: Optional[str] = None
    environment: tuple[tuple[str, str], ...] = ()
    roots: tuple[str, ...] = ()
    """Folders in which an imported trace's files are looked for."""
    trace: Optional[Path] = None
    """A folder of traces, or a log, that is there already."""

    def line(self) -> list[str]:
        """The command line of the observer."""
        start = [sys.executable, str(probe_folder())]
        if self.trace is not None:
            roots = [word for root in self.roots for word in ("--root", root)]
            return [*start, "import-trace", "--json", *roots, str(self.trace)]
        return [*start, "observe", "--json", "--quiet", "--", *self.command]


@dataclass
class Run:
    """One observed run."""

    request: RunRequest
    process: Optional[asyncio.subprocess.Process] = None
    cancelled: bool = False
    stderr: bytearray = field(default_factory=bytearray)


class Runs:
    """The observed run of one server; there is one at a time."""

    def __init__(self) -> None:
        self.current: Optional[Run] = None

    async def observe(self, request: RunRequest, listener: Callable[[Event], None]) -> Event:
        """Observe to the end; every event goes to ``listener``. The ``done`` event, made up if there is none."""
        run = self.current = Run(request)
        try:
            return await self._observe(run, listener)
        finally:
            if self.current is run:
                self.current = None

    async def _observe(self, run: Run, listener: Callable[[Event], None]) -> Event:
        request = run.request
        try:
            run.process = await asyncio.create_subprocess_exec(
                *request.line(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=request.cwd,
                env={**os.environ, **dict(request.environment)},
                start_new_session=True,
                limit=MAX_LINE,
            )
        except OSError as error:
            return _done("error", f"the observer cannot be started: {error.strerror or error}")
        drain = asyncio.ensure_future(_drain(run))
        done: Optional[Event] = None
        stdout = run.process.stdout
        while stdout is not None and (line := await stdout.readline()):
            event = _parse(line)
            if event is not None:
                if event.get("type") == "done":
                    done = event
                listener(event)
        await run.process.wait()
        await drain
        if done is not None:
            return {**done, "status": "cancelled"} if run.cancelled else done
        if run.cancelled:
            return _done("cancelled", "cancelled")
        tail = run.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        return _done("error", tail[0] if tail else f"the observer ended with code {run.process.returncode}")

    async def cancel(self) -> bool:
        """End the observed program as Ctrl-C would, then by force; is there one?"""
        run = self.current
        if run is None or run.process is None or run.process.returncode is not None:
            return False
        run.cancelled = True
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.process.pid, number)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(run.process.wait(), INTERRUPT_S)
                break
        return True


def command_of(interpreter: Sequence[str], path: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """The command that runs a file as the user would."""
    return (*interpreter, path, *arguments)


async def _drain(run: Run) -> None:
    stderr = run.process.stderr if run.process is not None else None
    while stderr is not None:
        data = await stderr.read(65536)
        if not data:
            return
        run.stderr += data
        del run.stderr[:-20_000]


def _parse(line: bytes) -> Optional[Event]:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return cast("Event", event) if isinstance(event, dict) else None


def _done(status: str, message: str) -> Event:
    made: dict[str, Any] = {"type": "done", "status": status, "message": message, "result": None}
    return made
