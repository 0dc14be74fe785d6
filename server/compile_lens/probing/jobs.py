"""Running probes: one child process a job, its events as they come, cancelled by killing, newest request wins."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Optional, cast

from .command import probe_command

STOP_S = 4.0
"""Seconds that a supervisor gets to end its workers before it is killed."""
MAX_LINE = 2**26

Event = dict[str, Any]


@dataclass(frozen=True)
class JobRequest:
    """What to probe, and how."""

    interpreter: tuple[str, ...]
    path: str
    target: str
    backends: tuple[str, ...] = ()
    device: str = "auto"
    timeout_s: float = 120.0
    budget_s: float = 5.0
    cwd: Optional[str] = None
    setup_script: str = ""
    env_file: str = ""

    def command(self) -> list[str]:
        arguments = [f"{self.path}::{self.target}", "--json", "--watch-stdin", "--device", self.device]
        arguments += ["--timeout", str(self.timeout_s), "--budget", str(self.budget_s)]
        if self.setup_script:
            arguments += ["--setup-script", self.setup_script]
        if self.env_file:
            arguments += ["--env-file", self.env_file]
        for backend in self.backends:
            arguments += ["--backend", backend]
        return probe_command(list(self.interpreter), arguments)


@dataclass
class Job:
    """One probe in progress."""

    request: JobRequest
    process: Optional[asyncio.subprocess.Process] = None
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it is to end."""
    stderr: bytearray = field(default_factory=bytearray)

    @property
    def cancelled(self) -> bool:
        return self.stopped.is_set()


class Jobs:
    """The probes of one server. A second request for the same target cancels the first."""

    def __init__(self) -> None:
        self._running: dict[tuple[str, str], Job] = {}

    @cached_property
    def _turn(self) -> asyncio.Lock:
        """Made on the running loop, as Python 3.9 wants it."""
        return asyncio.Lock()

    def running(self, path: Optional[str] = None) -> list[Job]:
        return [job for job in self._running.values() if path is None or job.request.path == path]

    async def run(self, request: JobRequest, listener: Callable[[Event], None]) -> Event:
        """Run one probe; every event goes to ``listener``. The ``done`` event, made up if the process dies without."""
        key = request.path, request.target
        older = self._running.get(key)
        job = Job(request)
        self._running[key] = job  # before the older one ends, so that it sees that it is not the last
        try:
            if older is not None:
                await self.cancel(older)
            if self._turn.locked():
                listener({"type": "stage", "name": "waiting", "state": "start", "note": "another probe is running"})
            return await self._in_turn(job, listener)
        finally:
            if self._running.get(key) is job:
                del self._running[key]

    async def _in_turn(self, job: Job, listener: Callable[[Event], None]) -> Event:
        """One probe at a time: two that measure at once would slow each other down."""
        turn = asyncio.ensure_future(self._turn.acquire())
        stopped = asyncio.ensure_future(job.stopped.wait())
        try:
            await asyncio.wait({turn, stopped}, return_when=asyncio.FIRST_COMPLETED)
            return await self._run(job, listener) if turn.done() else _done("cancelled", "cancelled")
        finally:
            stopped.cancel()
            if not turn.cancel():  # it was taken
                self._turn.release()

    async def _run(self, job: Job, listener: Callable[[Event], None]) -> Event:
        if job.cancelled:
            return _done("cancelled", "cancelled")
        try:
            job.process = await asyncio.create_subprocess_exec(
                *job.request.command(),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=job.request.cwd,
                limit=MAX_LINE,
            )
        except OSError as error:
            return _done("error", f"cannot start {job.request.interpreter[0]}: {error.strerror or error}")
        drain = asyncio.ensure_future(_drain(job))
        done: Optional[Event] = None
        stdout = job.process.stdout
        try:
            if job.cancelled:  # while the process was being started
                await self.cancel(job)
            while stdout is not None:
                try:
                    line = await stdout.readline()
                except ValueError:  # longer than any event
                    return _done("crashed", "the probe wrote something that is no event")
                if not line:
                    break
                event = _parse(line)
                if event is None:
                    continue
                if event.get("type") == "done":
                    done = event
                listener(event)
            await job.process.wait()
        finally:
            if job.process.returncode is None:
                await self.cancel(job)
            await drain
        if done is not None:
            return done
        if job.cancelled:
            return _done("cancelled", "cancelled")
        tail = job.stderr.decode("utf-8", "replace").strip().splitlines()[-3:]
        return _done("crashed", f"the probe ended with code {job.process.returncode}: " + " | ".join(tail))

    async def cancel(self, job: Job) -> None:
        """End a job: its supervisor is asked to, then killed; the worker dies with it."""
        job.stopped.set()
        process = job.process
        if process is None or process.returncode is not None:
            return
        try:
            process.send_signal(signal.SIGTERM)
            await asyncio.wait_for(process.wait(), STOP_S)
        except asyncio.TimeoutError:
            process.kill()
            await process.wait()
        except ProcessLookupError:
            return

    async def close(self) -> None:
        """End all jobs."""
        await asyncio.gather(*(self.cancel(job) for job in self.running()))


async def _drain(job: Job) -> None:
    stderr = job.process.stderr if job.process is not None else None
    while stderr is not None:
        data = await stderr.read(65536)
        if not data:
            return
        job.stderr += data
        del job.stderr[:-20_000]


def _parse(line: bytes) -> Optional[Event]:
    try:
        event = json.loads(line, parse_constant=lambda name: None)  # NaN is no JSON, and no number
    except ValueError:
        return None
    return cast("Event", event) if isinstance(event, dict) else None


def _done(status: str, message: str) -> Event:
    return {"type": "done", "status": status, "stage": None, "message": message, "result": {}}
