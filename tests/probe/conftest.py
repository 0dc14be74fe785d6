"""Runs the real probe as a user or editor does, and knows whether it left anything behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
CASES = HERE / "cases"
PROBE = HERE.parent.parent / "compile_probe"


@dataclass
class Ended:
    """A finished run: its exit code, its events and what it wrote to standard error."""

    code: int
    events: list[dict[str, Any]]
    errors: str

    @property
    def done(self) -> dict[str, Any]:
        found = [event for event in self.events if event["type"] == "done"]
        assert len(found) == 1, (len(found), self.errors[-2000:])
        assert self.events[-1] is found[0]
        return found[0]

    @property
    def result(self) -> dict[str, Any]:
        return self.done["result"]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind]


@dataclass
class Started:
    """A run in progress, marked in its environment so that everything it starts can be found."""

    process: subprocess.Popen[bytes]
    mark: str
    events: list[dict[str, Any]] = field(default_factory=list)

    def read_until(self, kind: str, **keys: Any) -> dict[str, Any]:
        """Read events until one of a kind with these values."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            event = json.loads(line)
            self.events.append(event)
            if event["type"] == kind and all(event[name] == value for name, value in keys.items()):
                return event
        raise AssertionError(f"ended before {kind} {keys}: {self.events}")

    def finish(self, timeout: float = 300) -> Ended:
        output, errors = self.process.communicate(timeout=timeout)
        self.events.extend(json.loads(line) for line in output.splitlines())
        assert [event["seq"] for event in self.events] == list(range(len(self.events)))
        return Ended(self.process.returncode, self.events, errors.decode(errors="replace"))

    def left_behind(self, patience: float = 0.0) -> list[str]:
        """Command lines of living processes with our mark, after waiting up to ``patience`` seconds for none."""
        end = time.monotonic() + patience
        while True:
            found = _marked(self.mark)
            if not found or time.monotonic() >= end:
                return found
            time.sleep(0.05)


def _marked(mark: str) -> list[str]:
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if mark.encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def start(*arguments: str, stdin: int = subprocess.DEVNULL, cwd: Path = HERE, **options: Any) -> Started:
    """Start ``run`` with JSON events; nothing of the project is on its path but the folder that is run."""
    mark = uuid.uuid4().hex
    environment = {**os.environ, "PROBE_TEST_MARK": mark}
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, str(PROBE), "run", "--json", "--device", "cpu", *arguments]
    process = subprocess.Popen(
        command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=cwd, **options
    )
    return Started(process, mark)


def run(*arguments: str, timeout: float = 300, cwd: Path = HERE) -> Ended:
    """Run to the end; afterwards nothing may live."""
    started = start(*arguments, cwd=cwd)
    ended = started.finish(timeout)
    assert started.left_behind() == []
    return ended


@pytest.fixture
def started() -> Iterator[list[Started]]:
    """Runs to be ended with the test, whatever it does."""
    runs: list[Started] = []
    yield runs
    for one in runs:
        one.process.kill()
        one.process.wait()
