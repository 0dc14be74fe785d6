"""Runs observed from the editor: the real server, a real program with arguments in two files, real traces."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from compile_lens.findings.finding import Finding
from compile_lens.findings.merge import merge
from compile_lens.lsp.documents import Document
from compile_lens.lsp.observed import Observation
from compile_lens.text.source import Position, Range, Source

from .editor import Editor, plain, start

pytestmark = [pytest.mark.timeout(240), pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning")]

NET = """\
import torch


def gate(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return gate(torch.relu(x)) * self.calls
"""

TRAIN = """\
import argparse
import pathlib
import time

import torch
from net import Net


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--wait", default="")
    parser.add_argument("--done", default="")
    options = parser.parse_args()
    print("started")
    net = torch.compile(Net(), backend="eager")
    for step in range(options.steps):
        net(torch.ones(4 + step, 8))
        while step == 0 and options.wait and not pathlib.Path(options.wait).exists():
            time.sleep(0.05)
    if options.done:
        pathlib.Path(options.done).write_text("whole")


if __name__ == "__main__":
    main()
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def editor(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Editor]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPILE_LENS_STATE", str(tmp_path_factory.mktemp("state")))
        patch.setenv("OMP_NUM_THREADS", "1")
        async with start(trusted=True, interpreter=[sys.executable], interpreterSource="test") as one:
            yield one


def observe(editor: Editor, program: Path, *arguments: str) -> asyncio.Future[Any]:
    uri = (program / "train.py").as_uri()
    return asyncio.ensure_future(editor.command("observe", {"uri": uri, "arguments": list(arguments)}))


def shown(editor: Editor, uri: str) -> list[tuple[int, str]]:
    found = editor.client.diagnostics.get(uri) or []
    return [(d.range.start.line, str(d.code)) for d in found if "run" in d.message]


@pytest.mark.asyncio(loop_scope="module")
async def test_facts_stand_on_their_lines_while_the_program_runs(editor: Editor, program: Path) -> None:
    net = editor.open_file(program / "net.py")
    train = editor.open_file(program / "train.py")
    (lens,) = [lens for lens in await editor.lenses(train) if lens.command and "bserve" in lens.command.title]
    assert lens.range.start.line == TRAIN.split("\n").index('if __name__ == "__main__":')
    assert lens.command is not None
    assert (lens.command.command, plain(lens.command.arguments)) == ("compileLens.observe", [{"uri": train}])

    go = program / "go"
    done = observe(editor, program, "--steps", "4", "--wait", str(go))
    await editor.until(lambda: any(line == 4 for line, _ in shown(editor, net)), 60)
    assert editor.observations[-1]["state"] == "running"
    assert not done.done()
    refused = plain(await editor.command("observe", {"uri": train, "arguments": []}))
    assert refused["status"] == "error" and "another run" in refused["message"]
    assert any("observing" in lens.command.title for lens in await editor.lenses(train) if lens.command)
    go.touch()
    state = plain(await done)

    assert (state["state"], state["status"], state["exit"], state["message"]) == ("done", "ok", 0, None)
    assert state["files"] == [str(program / "net.py")]
    assert {**editor.observations[-1], "result": None} == {**state, "result": None}
    assert (Path(state["folder"]) / "output.txt").read_text() == "started\n"
    assert (Path(state["folder"]) / "report.html").exists()
    messages = {(d.range.start.line, f"{d.code}: {d.message}") for d in editor.client.diagnostics[net]}
    assert any(line == 4 and "the run" in text and "GB0170" in text for line, text in messages), messages
    assert any(line == 15 and "compiled again" in text and "self.calls == " in text for line, text in messages)
    assert any("Observe again" in lens.command.title for lens in await editor.lenses(train) if lens.command)

    editor.change(net, "# moved\n" + NET)
    await editor.until(lambda: {line for line, _ in shown(editor, net)} >= {5, 16})
    editor.change(net, NET.replace("x.sum() > 0", "x.sum() > 1"))
    await editor.until(lambda: shown(editor, net) and all(line != 4 for line, _ in shown(editor, net)))
    editor.change(net, NET)
    await editor.until(lambda: any(line == 4 for line, _ in shown(editor, net)))

    assert await editor.command("clearObservation") is True
    await editor.until(lambda: not shown(editor, net))
    assert editor.observations[-1]["state"] == "cleared"
    again = plain(await editor.command("importTrace", {"path": state["folder"]}))
    assert (again["breaks"], again["recompiles"]) == (state["breaks"], state["recompiles"])
    await editor.until(lambda: any(line == 4 for line, _ in shown(editor, net)))


@pytest.mark.asyncio(loop_scope="module")
async def test_a_program_that_fails_is_told_with_its_exit_code(editor: Editor, program: Path) -> None:
    state = plain(await observe(editor, program, "--no-such-option"))
    assert (state["status"], state["exit"]) == ("ok", 2)
    assert "exit code 2" in state["message"]
    assert "arguments are required" in (Path(state["folder"]) / "output.txt").read_text()


@pytest.mark.asyncio(loop_scope="module")
async def test_a_debug_configuration_runs_as_it_is(editor: Editor, program: Path) -> None:
    command = [sys.executable, "-c", "import os, sys; sys.exit(int(os.environ['CODE']) + (os.getcwd() != sys.argv[1]))"]
    arguments = {"command": [*command, str(program)], "cwd": str(program), "env": {"CODE": "40"}}
    assert plain(await editor.command("observe", arguments))["exit"] == 40


@pytest.mark.asyncio(loop_scope="module")
async def test_a_cancelled_run_ends_with_its_program(editor: Editor, program: Path) -> None:
    done = observe(editor, program, "--steps", "2", "--wait", str(program / "never"), "--done", str(program / "done"))
    await editor.until(lambda: editor.observations[-1]["breaks"], 60)
    assert await editor.command("cancelObservation") is True
    state = plain(await asyncio.wait_for(done, 20))
    assert state["status"] == "cancelled"
    assert state["breaks"] == 1  # what was seen stays
    await editor.until(lambda: not [p for p in editor.processes().values() if "train.py" in p], 10)
    assert not (program / "done").exists()
    assert await editor.command("cancelObservation") is False


@pytest.mark.asyncio
async def test_the_run_survives_the_server_and_can_be_imported(program: Path, tmp_path: Path) -> None:
    go, marker = program / "go", program / "done"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPILE_LENS_STATE", str(tmp_path / "state"))
        async with start(trusted=True, interpreter=[sys.executable], clean=False) as first:
            pending = observe(first, program, "--steps", "4", "--wait", str(go), "--done", str(marker))
            await first.until(lambda: first.observations and first.observations[-1]["breaks"], 60)
            folder = first.observations[-1]["folder"]
            os.kill(first.pid, signal.SIGKILL)
            await asyncio.sleep(0.5)  # the server is gone before the program goes on
            go.touch()
            await first.until(marker.exists, 60)
            assert marker.read_text() == "whole"
            await first.until((Path(folder) / "result.json").exists, 20)
            with pytest.raises(RuntimeError, match="return code: -9"):
                await pending
        async with start(trusted=True, interpreter=[sys.executable]) as second:
            state = plain(await second.command("importTrace", {"path": folder}))
            assert (state["status"], state["exit"], state["breaks"]) == ("ok", 0, 1)
            assert state["recompiles"] >= 2


@pytest.mark.asyncio
async def test_nothing_runs_in_an_untrusted_workspace(program: Path) -> None:
    async with start(trusted=False, interpreter=[sys.executable]) as untrusted:
        state = plain(await observe(untrusted, program, "--steps", "1", "--done", str(program / "done")))
        assert state["status"] == "error" and "not trusted" in state["message"]
        assert not (program / "done").exists()


def test_a_refuted_prediction_counts_again_when_its_function_changes() -> None:
    text = "def f(x):\n    y = x + 1\n    return y.item()\n\n\ndef g(x):\n    return x\n"
    observation = Observation("train.py", "")
    observation.take({"type": "done", "result": {"breaks": [], "recompiles": [], "traced": {"/f.py": [[2, 3]]}}})
    observation.texts["/f.py"] = Source("/f.py", text)
    predicted = Finding(
        "/f.py", Range(Position(2, 4), Position(2, 12)), "CL102", "item", "graph-break", "certain", "m", "f", "r"
    )

    def left(present: str, line: int) -> int:
        document = Document("file:///f.py", "/f.py", Source("/f.py", present), 2)
        seen = observation.of(document)
        assert seen is not None
        place = Range(Position(line, 4), Position(line, 12))
        finding = Finding(*(predicted.path, place, "CL102", "item", "graph-break", "certain", "m", "f", "r"))
        return len(merge([finding], seen.breaks, seen.traced, document.source))

    assert left(text, 2) == 0
    assert left("# above\n" + text, 3) == 0
    assert left(text.replace("    return x\n", "    return x * 2\n"), 2) == 0
    assert left(text.replace("x + 1", "x + 2"), 2) == 1
