"""Runs one worker process to its end, whatever the user's code does in it. Imports no torch.

The worker gets a session of its own, a pipe on standard input that ends when we do, a named pipe for its events, and
pipes for what the user prints. It ends by itself, by a stage that shows no progress, by its memory, by a crash or by
a request to cancel; each of these is an ``Outcome``, and nothing it started outlives it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Protocol

from ..host import memory, processes
from ..protocol.job import DEFAULTED, EVENT_PIPE, MARKER, START_LIMIT, Job
from . import remedies
from .output import Output

TICK = 0.25
"""Seconds between two looks at the worker's memory and deadlines."""

COMPILE_FACTOR = 3.0
"""A compiler may be silent this many times longer than other stages."""

TOTAL_FACTOR = 10.0
"""A worker may take this many times the limit of a stage, however much progress it shows."""

MEMORY_SHARE = 0.9
"""Share of the memory available at the start that the worker and its children may use."""

_DISTURBING = ("TORCH_LOGS", "TORCH_TRACE", "TORCH_COMPILE_DEBUG", "PYTHONUNBUFFERED")
"""Variables that would write files, or slow what is timed; the worker itself writes prints line by line."""


class Sink(Protocol):
    """Where events go."""

    def send(self, kind: str, keys: dict[str, Any], /) -> None:
        """Send one event."""
        ...


_FAULT = re.compile(r'^  File "(.+)", line (\d+)', re.M)


@dataclass(frozen=True)
class Limits:
    """Deadlines of a worker: seconds without progress in a stage, and of the whole."""

    stage: float
    total: float

    @classmethod
    def of(cls, timeout: float) -> Limits:
        """Derive both from the one number that the user gives."""
        return cls(timeout, max(TOTAL_FACTOR * timeout, timeout + START_LIMIT))


@dataclass(frozen=True)
class Run:
    """What the workers of one run share: a private folder, the mark of everything they start, their deadlines.

    ``guardian`` is our one child that is not to be ended with them.
    """

    folder: Path
    marker: str
    limits: Limits
    guardian: Optional[int] = None


@dataclass(frozen=True)
class Outcome:
    """How a worker ended; ``part`` is what it found out until then, for the ``result`` of ``done``.

    ``kind`` is the class of the error that the worker told, where it told one.
    """

    status: str
    stage: Optional[str] = None
    message: str = ""
    signal: Optional[str] = None
    file: Optional[str] = None
    line: Optional[int] = None
    kind: Optional[str] = None
    part: dict[str, Any] = field(default_factory=lambda: {})


def _awake(*_: object) -> None:
    """Handle a signal whose arrival is all that matters."""


class Cancellation:
    """Set by a signal, or by the end of standard input when that is watched."""

    def __init__(self, watch_stdin: bool) -> None:
        self.requested = False
        self.watched = sys.stdin.fileno() if watch_stdin else None
        self.wake, self._wake_writing = os.pipe()
        for descriptor in (self.wake, self._wake_writing):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(self._wake_writing, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._request)
        signal.signal(signal.SIGCHLD, _awake)

    def _request(self, *_: object) -> None:
        self.requested = True

    def drain(self) -> None:
        """Forget the wake-ups."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self.wake, 4096):
                pass

    def read_stdin(self) -> None:
        """Something happened on the watched standard input: its end is a request to cancel."""
        if self.watched is not None and not os.read(self.watched, 4096):
            self.requested = True
            self.watched = None


class Supervision:
    """One worker from start to end."""

    def __init__(self, job: Job, run: Run, cancel: Cancellation, sink: Sink, version: str) -> None:
        self._version = version
        self._job = job
        self._folder = run.folder
        self._marker = run.marker
        self._limits = limits = run.limits
        self._guardian = run.guardian
        self._cancel = cancel
        self._sink = sink
        self._stage = "load"
        self._allowed = max(limits.stage, START_LIMIT)
        self._part: dict[str, Any] = {}
        self._end: Optional[dict[str, Any]] = None
        self._pending = b""
        self._resident = 0
        self._memory_limit: Optional[float] = None

    def run(self) -> Outcome:
        """Start the worker, relay its events, and return how it ended."""
        self._job.write(self._folder)
        pipe = self._folder / EVENT_PIPE
        os.mkfifo(pipe)
        reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        kept_open = os.open(pipe, os.O_WRONLY)  # so that a worker that opens it again finds it alive
        available = memory.available_bytes()
        self._memory_limit = None if available is None else MEMORY_SHARE * available
        worker = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent.parent), "_worker", str(self._folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=environment(self._folder, self._marker),
        )
        if self._job.variant is None:
            hello = {"target": self._job.target, "file": self._job.file, "python": sys.executable}
            self._sink.send("hello", {**hello, "probe_version": self._version, "pid": worker.pid})
        try:
            return self._watch(worker, reading)
        finally:
            processes.kill(worker.pid, self._marker, 0, self._guardian)
            worker.wait()
            if worker.stdin is not None:
                worker.stdin.close()
            os.close(reading)
            os.close(kept_open)
            pipe.unlink()

    def _watch(self, worker: subprocess.Popen[bytes], reading: int) -> Outcome:
        outputs = [
            Output(name, os.dup(stream.fileno()), self._log)
            for name, stream in (("stdout", worker.stdout), ("stderr", worker.stderr))
            if stream is not None
        ]
        for stream in (worker.stdout, worker.stderr):
            if stream is not None:
                stream.close()
        with selectors.PollSelector() as selector:  # epoll refuses files and /dev/null as watched standard input
            selector.register(reading, selectors.EVENT_READ, "events")
            selector.register(self._cancel.wake, selectors.EVENT_READ, "wake")
            if self._cancel.watched is not None:
                selector.register(self._cancel.watched, selectors.EVENT_READ, "stdin")
            for output in outputs:
                selector.register(output.descriptor, selectors.EVENT_READ, output)
            verdict = self._loop(worker, selector, reading, outputs)
        if verdict is not None:
            processes.kill(worker.pid, self._marker, processes.GRACE, self._guardian)
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.wait(processes.GRACE)
        processes.kill(
            worker.pid, self._marker, 0, self._guardian
        )  # what the worker left behind could hold our pipes open
        code = worker.wait()
        self._read_events(reading)
        for output in outputs:
            output.finish()
        if verdict is not None and self._end is None:
            return verdict
        return self._ended(code, outputs[-1].tail if outputs else b"")

    def _loop(
        self, worker: subprocess.Popen[bytes], selector: selectors.BaseSelector, reading: int, outputs: list[Output]
    ) -> Optional[Outcome]:
        """Relay until the worker ended (None) or has to be ended (the reason)."""
        begin = progress = looked = time.monotonic()
        while True:
            for key, _ in selector.select(TICK):
                if key.data == "events":
                    if self._read_events(reading):
                        progress = time.monotonic()
                elif key.data == "wake":
                    self._cancel.drain()
                elif key.data == "stdin":
                    self._cancel.read_stdin()
                    if self._cancel.watched is None:
                        selector.unregister(key.fileobj)
                elif not key.data.read():
                    selector.unregister(key.fileobj)
            now = time.monotonic()
            for output in outputs:
                output.flush(now)
            if self._end is not None or worker.poll() is not None:
                return None
            if self._cancel.requested:
                return self._outcome("cancelled", "The probe was cancelled.")
            if now - progress > self._allowed:
                return self._outcome("timeout", remedies.timeout(self._stage, self._allowed, self._job.target))
            if now - begin > self._limits.total:
                return self._outcome("timeout", remedies.total_timeout(self._stage, self._limits.total))
            if now - looked >= TICK:
                looked = now
                self._resident = memory.resident_bytes(worker.pid)
                if self._memory_limit is not None and self._resident > self._memory_limit:
                    return self._outcome("out-of-memory", remedies.memory(self._resident, self._memory_limit))

    def _outcome(self, status: str, message: str, **keys: Any) -> Outcome:
        return Outcome(status, self._stage, message, part=self._part, **keys)

    def _ended(self, code: int, errors: bytes) -> Outcome:
        """The worker ended: as it should, with its own account, or without a word."""
        end = self._end
        if end is not None:
            return Outcome(part=self._part, **end)
        file, line = self._faulting_line(errors)
        if code < 0:
            name = signal.Signals(-code).name
            if name == "SIGKILL" and self._memory_limit is not None and self._resident > 0.8 * self._memory_limit:
                message = remedies.memory(self._resident, self._memory_limit)
                return self._outcome("out-of-memory", message, signal=name)
            message = remedies.crash(self._stage, name, file, line)
            return self._outcome("crashed", message, signal=name, file=file, line=line)
        return self._outcome("error", remedies.left(self._stage, code))

    def _faulting_line(self, errors: bytes) -> tuple[Optional[str], Optional[int]]:
        """The innermost line of the target's file in the stack that faulthandler left, else of any other file."""
        text = errors.decode("utf-8", "replace").rpartition("Fatal Python error")[2]
        places = [(file, int(line)) for file, line in _FAULT.findall(text)]
        own = [place for place in places if place[0] == self._job.file]
        return own[0] if own else (None, None)

    def _log(self, stream: str, text: str, dropped: int) -> None:
        self._sink.send("log", {"stream": stream, "text": text, "dropped": dropped})

    def _read_events(self, reading: int) -> bool:
        """Relay what the worker sent; True if there was something."""
        seen = False
        while True:
            try:
                data = os.read(reading, 1 << 16)
            except BlockingIOError:
                return seen
            if not data:
                return seen
            *lines, self._pending = (self._pending + data).split(b"\n")
            for line in lines:
                try:
                    event: dict[str, Any] = json.loads(line)
                    kind = str(event.pop("type"))
                except (ValueError, KeyError):  # torn by a worker that was killed while writing
                    continue
                seen = True
                self._take(kind, event)

    def _take(self, kind: str, event: dict[str, Any]) -> None:
        """Act on our own kinds (``_part``, ``_end``), follow the stages, and relay the rest."""
        if kind == "_part":
            self._part.update(event)
            return
        if kind == "_end":
            self._end = event
            return
        if kind == "stage" and event.get("state") == "start":
            self._stage = str(event.get("name"))
        if kind in ("stage", "progress"):
            factor = COMPILE_FACTOR if self._stage == "compile" else 1.0
            least = float(event.pop("_least", 0.0))
            self._allowed = max(factor * self._limits.stage, least)
        self._sink.send(kind, event)


def environment(folder: Path, marker: str) -> Mapping[str, str]:
    """The worker's environment: the user's, with caches of the run's own, nothing written beside the sources,
    and a number of threads that is the same for everything that is compared."""
    result = dict(os.environ)
    name, _, value = marker.partition("=")
    assert name == MARKER
    result[name] = value
    result["PYTHONDONTWRITEBYTECODE"] = "1"
    result["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "inductor")
    result["TRITON_CACHE_DIR"] = str(folder / "triton")
    given = set(result)
    result.setdefault("PYTHONHASHSEED", "0")
    threads = str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        result.setdefault(variable, threads)
    result[DEFAULTED] = ",".join(sorted(set(result) - given))
    for variable in _DISTURBING:
        result.pop(variable, None)
    return result
