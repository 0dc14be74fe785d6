"""A long session against the language server: does its memory stay flat, and is every request answered?

    python -m benchmarks.soak [--short]

An editor of our own types, opens, hovers, cancels and probes, everything mixed, in two equal halves. At the end of each
half the server is left alone until it rests, then measured. It passes when after the second half its memory is at most
3 % above that after the first, handles and threads are equal, and each request had exactly one answer.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.server.wire import ROOT, Message, Wire, connect

GROWTH = 0.03
ANSWER_S = 60.0
REST_S = 30.0
FILES = 40


@dataclass(frozen=True)
class Load:
    """How often each thing is done in the whole session."""

    edits: int = 20_000
    openings: int = 500
    hovers: int = 2_000
    cancelled: int = 200
    probes: int = 50


FULL = Load()
SHORT = Load(edits=6_000, openings=24, hovers=200, cancelled=20, probes=2)

MODEL = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
"""
MODEL += "".join(f"        x = self.layer(x) + {number}\n" for number in range(34))
MODEL += """\
        if x.sum() > 0:
            x = x * x.max().item()
        return x


net = torch.compile(Net())
"""
HALF_TYPED = (
    "        x = (",
    "        if x.",
    "        for i in ra",
    "    def f(self",
    "        y = '",
    "   x = 1",
    "class",
)
TARGET = """\
import torch


@torch.compile
def step(x):
    return x * 2


def probe_inputs():
    return (torch.ones(4),), {}
"""


@dataclass(frozen=True)
class Sample:
    """What the server's process holds; memory in MB, private pages only."""

    memory: float
    handles: int
    threads: int


@dataclass
class Report:
    """Outcome of a session."""

    samples: list[Sample] = field(default_factory=list)
    hover_ms: list[float] = field(default_factory=list)
    requests: int = 0
    problems: list[str] = field(default_factory=list)
    worker_mb: list[float] = field(default_factory=list)

    @property
    def growth(self) -> float:
        first, second = self.samples
        return second.memory / first.memory - 1

    def judge(self) -> None:
        first, second = self.samples
        if self.growth > GROWTH:
            self.problems.append(f"memory grew by {self.growth:.1%}, more than {GROWTH:.0%}")
        if (first.handles, first.threads) != (second.handles, second.threads):
            self.problems.append(f"handles or threads differ: {first} and {second}")


def memory_of(pid: int) -> float:
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return sum(int(row.split()[1]) for row in rows if row.startswith("Private_")) / 1024


def sample(pid: int) -> Sample:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    threads = next(int(row.split()[1]) for row in status.splitlines() if row.startswith("Threads:"))
    return Sample(memory_of(pid), len(list(Path(f"/proc/{pid}/fd").iterdir())), threads)


def children(pid: int) -> dict[int, bytes]:
    """Direct children of a process, and their command lines."""
    found: dict[int, bytes] = {}
    for thread in Path(f"/proc/{pid}/task").iterdir():
        for child in (thread / "children").read_text(encoding="ascii").split():
            try:
                found[int(child)] = Path(f"/proc/{child}/cmdline").read_bytes()
            except OSError:
                continue
    return found


def real_files() -> list[Path]:
    """Files that somebody wrote: the examples, torch's own layers, the scanner."""
    spec = importlib.util.find_spec("torch")
    layers = Path(spec.origin).parent / "nn" / "modules" if spec is not None and spec.origin else ROOT
    found = [*sorted((ROOT / "examples").glob("*.py")), *sorted(layers.glob("*.py"))[:24]]
    found += sorted((ROOT / "server").rglob("*.py"))
    return [path for path in found if path.stat().st_size > 500][:FILES]


class Typist:
    """The person at the editor. What is done next comes from a seed, so that two runs do the same."""

    def __init__(self, wire: Wire, folder: Path, load: Load, report: Report, seed: int = 0) -> None:
        self.wire, self.load, self.report = wire, load, report
        self.random = random.Random(seed)
        self.uri = (folder / "model.py").as_uri()
        self.target = folder / "target.py"
        self.target.write_text(TARGET, encoding="utf-8")
        self.lines = MODEL.splitlines()
        self.version = 1
        self.open_files: list[str] = []
        self.texts = {path.as_uri(): path.read_text(encoding="utf-8") for path in real_files()}
        self.uris = sorted(self.texts)[: load.openings // 2]  # both halves open the same files
        self.opened = 0
        self.probing = asyncio.Event()
        self.asked: list[Any] = []
        wire.settings = {"probe": {"backends": ["eager"], "device": "cpu", "budgetSeconds": 0.2}}
        wire.on_notification = self._told

    def _told(self, method: str, params: Any) -> None:
        if method == "compileLens/probe" and params["state"] == "running" and params["stage"] == "load":
            self.probing.set()

    # --- requests ---

    def ask(self, method: str, params: Any) -> tuple[Any, asyncio.Future[Message]]:
        request_id, answer = self.wire.start(method, params)
        self.asked.append(request_id)
        return request_id, answer

    async def answered(self, answer: asyncio.Future[Message], what: str) -> Message:
        try:
            return await asyncio.wait_for(answer, ANSWER_S)
        except asyncio.TimeoutError:
            self.report.problems.append(f"{what} was not answered within {ANSWER_S:.0f} s")
            return {}

    # --- what is done ---

    async def edit(self) -> None:
        """Type something into a file of 50 lines; every other text is broken code."""
        self.version += 1
        lines = list(self.lines)
        if self.version % 2:
            lines.insert(self.random.randrange(len(lines)), self.random.choice(HALF_TYPED))
        else:
            lines[self.random.randrange(12, 46)] = f"        x = self.layer(x) * {self.random.random()}"
        self.wire.change(self.uri, "\n".join(lines) + "\n", self.version)
        if self.version % 20 == 0:
            await self.wire.drain()
        if self.version % 200 == 0:
            await asyncio.sleep(0.4)  # a pause, in which it is analysed

    async def opening(self) -> None:
        """Open a real file, now and then wait for what is known of it, and close the oldest."""
        uri = self.uris[self.opened % len(self.uris)]
        self.opened += 1
        if uri not in self.open_files:
            self.wire.open(uri, self.texts[uri])
            self.open_files.append(uri)
        if self.opened % 5 == 0:
            document = {"textDocument": {"uri": uri}}
            for method in ("diagnostic", "codeLens"):
                await self.answered(self.ask(f"textDocument/{method}", document)[1], method)
        while len(self.open_files) > 3:
            self.wire.close(self.open_files.pop(0))

    async def hover(self) -> None:
        position = {"line": self.random.randrange(60), "character": self.random.randrange(40)}
        begun = time.perf_counter()
        params = {"textDocument": {"uri": self.uri}, "position": position}
        await self.answered(self.ask("textDocument/hover", params)[1], "a hover")
        self.report.hover_ms.append(1000 * (time.perf_counter() - begun))

    async def cancel(self) -> None:
        method = self.random.choice(["diagnostic", "codeLens", "hover"])
        params = {"textDocument": {"uri": self.uri}, "position": {"line": 1, "character": 1}}
        request_id, answer = self.ask(f"textDocument/{method}", params)
        self.wire.notify("$/cancelRequest", {"id": request_id})
        await self.answered(answer, f"a cancelled {method}")

    async def probe(self) -> None:
        """Start a probe, and cancel it at its start or at its first stage, in either way."""
        uri = self.target.as_uri()
        if uri not in self.open_files:
            self.wire.open(uri, TARGET)
        self.probing.clear()
        command = {"command": "compileLens.probe", "arguments": [{"uri": uri, "target": "step"}]}
        request_id, answer = self.ask("workspace/executeCommand", command)
        if self.random.random() < 0.5:
            await asyncio.wait({asyncio.ensure_future(self.probing.wait()), answer}, return_when="FIRST_COMPLETED")
        if self.random.random() < 0.5:
            self.wire.notify("$/cancelRequest", {"id": request_id})
        else:
            cancel = {"command": "compileLens.cancelProbe", "arguments": [{"uri": uri}]}
            while not (await self.answered(self.ask("workspace/executeCommand", cancel)[1], "cancelProbe"))["result"]:
                await asyncio.sleep(0.02)
        await self.answered(answer, "a probe")
        self.wire.close(uri)

    # --- the session ---

    async def half(self) -> None:
        """Half of everything, mixed; then a rest, and a look at the process."""
        load = self.load
        todo: list[Callable[[], Awaitable[None]]] = []
        for action, times in (
            (self.edit, load.edits),
            (self.opening, load.openings),
            (self.hover, load.hovers),
            (self.cancel, load.cancelled),
            (self.probe, load.probes),
        ):
            todo += [action] * (times // 2)
        self.random.shuffle(todo)
        for action in todo:
            await action()
        while self.open_files:
            self.wire.close(self.open_files.pop())
        await self.rest()
        self.report.samples.append(sample(self.wire.pid))
        self.report.worker_mb += [memory_of(pid) for pid in children(self.wire.pid)]

    async def rest(self) -> None:
        """Wait until nothing but the analysing process is left, and it has nothing to do."""
        deadline = time.monotonic() + REST_S
        while any(b"compile_lens.lsp.worker" not in line for line in children(self.wire.pid).values()):
            if time.monotonic() > deadline:
                self.report.problems.append(f"still running: {children(self.wire.pid)}")
                return
            await asyncio.sleep(0.1)
        await asyncio.sleep(1.0)
        await self.answered(self.ask("textDocument/diagnostic", {"textDocument": {"uri": self.uri}})[1], "the last")


async def session(load: Load) -> Report:
    """Both halves against a fresh server."""
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        async with connect() as wire:
            await wire.initialize(trusted=True, interpreter=[sys.executable], interpreterSource="soak")
            typist = Typist(wire, Path(folder), load, report)
            wire.open(typist.uri, MODEL)
            for _ in range(2):
                await typist.half()
            status = await wire.end()
            if status != 0:
                report.problems.append(f"the server ended with status {status}")
            answers = [wire.answers[request_id] for request_id in typist.asked]
            report.requests = len(answers)
            if set(answers) != {1}:
                report.problems.append(f"answers for a request: {sorted(set(answers))} instead of 1")
    report.judge()
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description="Drive the language server for minutes and see what it keeps.")
    parser.add_argument("--short", action="store_true", help="the form that the tests run")
    load = SHORT if parser.parse_args().short else FULL
    begun = time.monotonic()
    report = asyncio.run(session(load))
    print(f"{load} in {time.monotonic() - begun:.0f} s")
    for name, one, worker in zip(("first", "second"), report.samples, report.worker_mb):
        print(
            f"after the {name} half: {one.memory:.1f} MB, {one.handles} handles, {one.threads} threads "
            f"(analysing process {worker:.0f} MB)"
        )
    hovers = sorted(report.hover_ms)
    print(f"growth {report.growth:+.2%}; {report.requests} requests, each answered once: {not report.problems}")
    print(f"hover: median {statistics.median(hovers):.1f} ms, 99 % under {hovers[int(0.99 * len(hovers))]:.0f} ms")
    for problem in report.problems:
        print(f"FAILED: {problem}")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
