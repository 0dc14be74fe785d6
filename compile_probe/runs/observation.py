"""Observes a command: starts it with torch's trace on, reads the trace while it runs, and leaves with its exit code.

The command is a child like any other: its input, output and signals are its own, and it does not notice when we die.
What it compiled stays in the folder, so that ``import-trace`` can tell of it later.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, Callable, Optional, Union, cast

from ..errors import UsageError
from ..store.place import state_folder
from ..trace.facts import Break, Recompile, Skip
from ..trace.folder import Folder
from ..trace.sources import Sources
from . import environment
from .summary import Summary

Sink = Callable[[dict[str, Any]], None]

POLL_S = 0.25
RUN_FILE = "run.json"
OUTPUT_FILE = "output.txt"
CANNOT_START = 127


class Teller:
    """Turns what a folder tells into events; an event that nobody reads any more is no reason to stop."""

    def __init__(self, folder: Folder, roots: Sequence[Path], sink: Sink) -> None:
        self.folder = folder
        self.summary = Summary(folder.record, Sources(roots))
        self._sink: Optional[Sink] = sink
        self._begin = time.monotonic()
        self._told = 0.0
        self._state: tuple[Any, ...] = ()

    def send(self, kind: str, **keys: Any) -> None:
        if self._sink is None:
            return
        try:
            self._sink({"type": kind, "t": round(time.monotonic() - self._begin, 3), **keys})
        except BrokenPipeError:
            self._sink = None

    def news(self, news: Sequence[Union[Break, Recompile, Skip]]) -> None:
        """Tell what is new."""
        for one in news:
            if isinstance(one, Break):
                self.send("break", **self.summary.a_break(one, 1, []))
            elif isinstance(one, Recompile):
                self.send("recompile", **self.summary.a_recompile(one, 1, [one.reason], []))
            else:
                self.send("skip", **self.summary.a_skip(one, 1))

    def progress(self) -> None:
        """Tell how far it is, at most once a second and only if it went on."""
        record, now = self.folder.record, time.monotonic()
        compiles = sum(p.compiles for p in record.processes.values())
        seconds = round(sum(p.seconds for p in record.processes.values()), 3)
        state = (len(record.processes), compiles, record.current, len(record.breaks), len(record.recompiles))
        if state == self._state or now - self._told < 1.0:
            return
        self._state, self._told = state, now
        self.send(
            "progress",
            processes=len(record.processes),
            compiles=compiles,
            compile_s=seconds,
            graphs=sum(f.graphs for f in record.functions.values()),
            breaks=len(record.breaks),
            recompiles=len(record.recompiles),
            current=record.current,
            bytes=self.folder.size,
        )


def observe(
    command: Sequence[str],
    sink: Sink,
    *,
    folder: Optional[Path] = None,
    log: Optional[Path] = None,
    quiet: bool = False,
    torch_logs: Optional[bool] = None,
    output: Optional[int] = None,
    extra: Optional[dict[str, str]] = None,
) -> int:
    """Run ``command`` to its end; its exit code, 128 + number if a signal ended it, 127 if it cannot be started.

    :param folder: where the traces go; by default a new one below the user's state folder
    :param log: file for the command's output, instead of ours
    :param quiet: the same, into ``output.txt`` in the folder
    :param torch_logs: switch torch's log on as well; by default where the command's torch is older than 2.7
    :param output: descriptor for the command's standard output
    :param extra: further variables of the command's environment
    :raises UsageError: there is nothing to run, or the folder cannot be made
    """
    if not command:
        raise UsageError("Name the command behind --.", remedy="For example: compile-lens observe -- python train.py")
    given = os.environ.get("TORCH_TRACE")
    folder = _made(folder or (Path(given) if given else new_folder()))
    version = environment.torch_of(command)
    if torch_logs is None:
        torch_logs = version is not None and not environment.tells_breaks(version)
    variables = {**environment.traced(os.environ, folder, torch_logs), **(extra or {})}
    started = time.time()
    told: dict[str, Any] = {"command": list(command), "cwd": str(Path.cwd()), "started": started, "torch": version}
    _write(folder / RUN_FILE, told)
    teller = Teller(Folder(folder, since=started - 1.0), [Path.cwd()], sink)
    with contextlib.ExitStack() as stack:
        error_output = None
        if quiet:
            log = log or folder / OUTPUT_FILE
        if log is not None:
            output = error_output = stack.enter_context(log.open("ab")).fileno()
        try:
            process = subprocess.Popen(command, env=variables, stdout=output, stderr=error_output)
        except OSError as error:
            print(f"compile_probe: {command[0]} cannot be started: {error.strerror}", file=sys.stderr)
            _write(folder / RUN_FILE, {**told, "exit": CANNOT_START})
            return CANNOT_START
        teller.send("hello", command=list(command), folder=str(folder), pid=process.pid, torch=version)
        with patient(process):
            while True:
                try:
                    code = process.wait(POLL_S)
                    break
                except subprocess.TimeoutExpired:
                    teller.news(teller.folder.poll())
                    teller.progress()
        teller.news(teller.folder.read_all())
    code = 128 - code if code < 0 else code
    _write(folder / RUN_FILE, {**told, "exit": code, "seconds": round(time.time() - started, 2)})
    finish(teller, list(command), code)
    return code


def finish(teller: Teller, command: list[str], code: Optional[int]) -> dict[str, Any]:
    """Tell the end, with everything that was seen; the result also goes into the folder."""
    result = {**teller.summary.result(teller.folder), "command": command, "exit": code}
    if teller.folder.path.is_dir():
        with contextlib.suppress(OSError):
            _write(teller.folder.path / "result.json", result)
    teller.send("done", status="ok", message=None, result=result)
    return result


def import_trace(path: Path, sink: Sink, roots: Sequence[Path]) -> int:
    """Tell of the traces in a folder, or of one log; 3 if it has none.

    :raises UsageError: there is no such folder or file
    """
    if not path.exists():
        raise UsageError(f"There is no {path}.", remedy="Name the folder of TORCH_TRACE, or one log.")
    teller = Teller(Folder(path), roots, sink)
    told = _read(path / RUN_FILE) if path.is_dir() else {}
    teller.send("hello", command=told.get("command") or [], folder=str(path), pid=None, torch=told.get("torch"))
    while news := teller.folder.poll():
        teller.news(news)
        teller.progress()
    teller.news(teller.folder.read_all())
    finish(teller, told.get("command") or [], told.get("exit"))
    return 0 if teller.folder.record.processes else 3


KEPT_RUNS = 20
_FORGOTTEN_S = 14 * 24 * 3600.0


def new_folder() -> Path:
    """A new folder for one run; of the older ones the newest ``KEPT_RUNS`` stay."""
    runs = state_folder() / "runs"
    try:
        runs.mkdir(parents=True, exist_ok=True, mode=0o700)
        for old in sorted(runs.iterdir())[:-KEPT_RUNS]:
            if "exit" in _read(old / RUN_FILE) or time.time() - old.stat().st_mtime > _FORGOTTEN_S:
                shutil.rmtree(old, ignore_errors=True)
        return Path(tempfile.mkdtemp(prefix=time.strftime("%Y%m%d-%H%M%S-"), dir=runs))
    except OSError as error:
        raise UsageError(
            f"The run's folder cannot be made in {runs}: {error.strerror}.", remedy="Choose one with -o DIR."
        ) from error


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}.", remedy="Choose another with -o DIR.") from error
    return folder.absolute()


@contextlib.contextmanager
def patient(process: subprocess.Popen[bytes]) -> Generator[None]:
    """Outlive the command: Ctrl-C reaches it by the terminal, a request to end is handed on."""

    def ignore(number: int, frame: Any) -> None:
        pass  # not SIG_IGN, which the command would inherit

    def hand_on(number: int, frame: Any) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)

    before = {signal.SIGINT: signal.signal(signal.SIGINT, ignore)}
    before[signal.SIGTERM] = signal.signal(signal.SIGTERM, hand_on)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _write(path: Path, content: dict[str, Any]) -> None:
    """Write whole or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(json.dumps(content, ensure_ascii=False, default=str), encoding="utf-8")
    part.replace(path)


def _read(path: Path) -> dict[str, Any]:
    try:
        read: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", read) if isinstance(read, dict) else {}
