"""Probes from the editor: the real server, the real probe, the examples that a newcomer opens."""

from __future__ import annotations

import ast
import asyncio
import re
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from compile_lens.findings.finding import Finding
from compile_lens.findings.merge import Observed, merge
from compile_lens.text.source import Position, Range, Source
from lsprotocol import types

from .editor import ROOT, Editor, plain, start

pytestmark = [pytest.mark.timeout(240), pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning")]
CHEAP = {"probe": {"backends": ["eager"], "device": "cpu", "budgetSeconds": 0.2, "timeoutSeconds": 60}}
"""A backend that compiles nothing, and little timing."""

SLOW = """\
import time
import torch


@torch.compile
def step(x):
    return x * 2


@torch.compile
def other(x):
    return x * 3


def probe_inputs():
    time.sleep(600)
    return (torch.ones(4),), {}
"""

WRONG = """\
import torch


@torch.compile
def step(x):
    y = torch.sin(x)
    assert isinstance(y, torch.Tensor)
    print("seen", x.shape)
    return y.unique()


def probe_inputs():
    return (torch.ones(4),), {}
"""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def editor() -> AsyncIterator[Editor]:
    async with start(settings=CHEAP, trusted=True, interpreter=[sys.executable], interpreterSource="test") as one:
        yield one


def use(editor: Editor, interpreter: str) -> None:
    """Choose another interpreter."""
    values = {"interpreter": [interpreter], "interpreterSource": "test"}
    editor.client.protocol.notify("compileLens/interpreter", values)


def progress(editor: Editor) -> list[Any]:
    """Values of the newest progress."""
    return list(editor.client.progress_reports.values())[-1]


@pytest.mark.asyncio(loop_scope="module")
async def test_an_example_from_the_lens_to_the_number(editor: Editor) -> None:
    uri = editor.open_file(ROOT / "examples" / "breaks.py")
    await editor.until(lambda: editor.client.diagnostics.get(uri))
    predicted = await editor.diagnostics(uri)
    assert not any("confirmed" in d.message for d in predicted)
    (lens,) = await editor.lenses(uri)
    assert lens.command is not None
    name, arguments = lens.command.command.rpartition(".")[2], lens.command.arguments or []
    state = plain(await editor.command(name, *arguments))

    assert (state["state"], state["status"], state["target"]) == ("done", "ok", "Denoiser"), state
    told = editor.states[-1]
    assert {**told, "result": None} == {**state, "result": None}, "the last notification says the same"
    assert told["result"]["breaks"] == state["result"]["breaks"]
    stages = [s["stage"] for s in editor.states if s["state"] == "running"]
    assert [s for s in ("load", "eager", "trace", "compile", "measure") if s in stages] == [
        "load",
        "eager",
        "trace",
        "compile",
        "measure",
    ]
    values = progress(editor)
    kinds = [value.kind for value in values]
    assert (kinds[0], kinds[-1]) == ("begin", "end")
    assert set(kinds[1:-1]) == {"report"}
    assert values[0].cancellable is True

    result = state["result"]
    assert len(result["breaks"]) >= 5
    lines = editor.lines(uri)
    shown = await editor.diagnostics(uri)
    for entry in result["breaks"]:
        there = [d for d in shown if d.range.start.line == entry["line"] - 1 and "by the probe" in d.message]
        assert there, (entry, [(d.range.start.line, d.message) for d in shown])
        assert any(entry["gb_id"] in (d.code, *re.findall(r"GB\d+", d.message)) for d in there), lines[
            entry["line"] - 1
        ]
    assert {d.severity for d in shown if "confirmed" in d.message} == {types.DiagnosticSeverity.Warning}
    hover = await editor.hover(uri, editor.position(uri, ".item()", 2))
    assert hover is not None
    (lens,) = await editor.lenses(uri)
    assert lens.command is not None
    assert "breaks" in lens.command.title
    assert lens.command.title.startswith("Probe again")


@pytest.mark.asyncio(loop_scope="module")
async def test_a_number_goes_stale_with_an_edit_and_comes_back(editor: Editor) -> None:
    uri = (ROOT / "examples" / "breaks.py").as_uri()
    assert editor.states[-1]["uri"] == uri, "follows the test above"
    text = editor.texts[uri]
    confirmed = [d for d in await editor.diagnostics(uri) if "confirmed" in d.message]
    editor.change(uri, "# moved\n" + text)
    await editor.until(lambda: editor.states[-1]["state"] == "stale")
    assert editor.states[-1]["result"] is not None
    await editor.until(
        lambda: (
            [d.range.start.line for d in editor.client.diagnostics[uri] if "confirmed" in d.message]
            == [d.range.start.line + 1 for d in confirmed]
        )
    )
    (lens,) = await editor.lenses(uri)
    assert lens.command is not None
    assert "stale" in lens.command.title
    editor.change(uri, text.replace("peak = x.abs().max().item()", "peak = x.abs().max().tolist()"))
    await editor.until(
        lambda: (
            [(d.code, "confirmed" in d.message) for d in editor.client.diagnostics[uri] if d.range.start.line == 23]
            == [("CL103", False)]
        )
    )
    editor.change(uri, text)
    await editor.until(lambda: editor.states[-1]["state"] == "done")
    editor.close(uri)
    before = len(editor.states)
    editor.open(text, uri)
    await editor.until(lambda: len(editor.states) == before + 1)
    assert editor.states[-1]["state"] == "done", "what is known is told when a document opens"

    assert await editor.command("clearProbeResults", {"uri": uri}) == 1
    assert (editor.states[-1]["state"], editor.states[-1]["result"]) == ("cleared", None)
    await editor.until(lambda: not any("confirmed" in d.message for d in editor.client.diagnostics[uri]))
    editor.close(uri)


@pytest.mark.asyncio(loop_scope="module")
async def test_what_nobody_predicted_is_shown(editor: Editor, tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    text = WRONG.replace("print(", "import builtins; getattr(builtins, 'pri' + 'nt')(")
    path.write_text(text, encoding="utf-8")
    uri = editor.open_file(path)
    await editor.until(lambda: uri in editor.client.diagnostics)
    assert not any(d.range.start.line == 7 for d in await editor.diagnostics(uri))
    state = plain(await editor.command("probe", {"uri": uri, "position": {"line": 6, "character": 0}}))
    assert (state["target"], state["status"]) == ("step", "ok"), state
    observed = [d for d in await editor.diagnostics(uri) if d.range.start.line == 7]
    assert [d.code for d in observed] == [b["gb_id"] for b in state["result"]["breaks"] if b["line"] == 8]
    assert "graph break seen by the probe" in observed[0].message
    assert editor.text_of(uri, observed[0].range) == editor.lines(uri)[7].strip()
    editor.close(uri)


async def _until_running(editor: Editor, uri: str, target: str, stage: str = "load") -> None:
    await editor.until(
        lambda: any(s["uri"] == uri and s["target"] == target and s["stage"] == stage for s in editor.states)
    )


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("way", ["command", "progress", "trust", "again"])
async def test_cancel(editor: Editor, tmp_path: Path, way: str) -> None:
    path = tmp_path / "slow.py"
    path.write_text(SLOW, encoding="utf-8")
    uri = editor.open_file(path)
    work = asyncio.ensure_future(editor.command("probe", {"uri": uri, "target": "step"}))
    await _until_running(editor, uri, "step", "inputs" if way == "command" else "load")
    (lens, _) = await editor.lenses(uri)
    assert lens.command is not None
    assert lens.command.command == "compileLens.cancelProbe"
    assert any(str(path) in line for line in editor.processes().values())
    if way == "command":
        assert await editor.command("cancelProbe", {"uri": uri}) == 1
    elif way == "progress":
        token = list(editor.client.progress_reports)[-1]
        editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
    elif way == "trust":
        editor.client.protocol.notify("compileLens/trust", {"trusted": False})
    else:
        again = asyncio.ensure_future(editor.command("probe", {"uri": uri, "target": "step"}))
    state = plain(await asyncio.wait_for(work, 15))
    assert (state["state"], state["status"], state["text"]) == ("done", "cancelled", "not measured")
    if way == "trust":
        editor.client.protocol.notify("compileLens/trust", {"trusted": True})
    if way == "again":
        assert editor.states[-1]["state"] == "running", "the newer run is not overwritten"
        seen = len(editor.states)
        await editor.until(lambda: any(s["stage"] == "load" for s in editor.states[seen:]))
        assert await editor.command("cancelProbe") == 1
        assert plain(await asyncio.wait_for(again, 15))["status"] == "cancelled"
    assert editor.states[-1]["status"] == "cancelled"
    await editor.until(lambda: not any(str(path) in line for line in editor.processes().values()), 5)
    editor.close(uri)


@pytest.mark.asyncio(loop_scope="module")
async def test_probes_take_turns(editor: Editor, tmp_path: Path) -> None:
    """Two that measure at once would slow each other down."""
    path = tmp_path / "slow.py"
    path.write_text(SLOW, encoding="utf-8")
    uri = editor.open_file(path)
    first = asyncio.ensure_future(editor.command("probe", {"uri": uri, "target": "step"}))
    await _until_running(editor, uri, "step")
    second = asyncio.ensure_future(editor.command("probe", {"uri": uri, "target": "other"}))
    await editor.until(lambda: editor.states[-1]["stage"] == "waiting")
    await asyncio.sleep(0.5)
    assert sum("::other" in line for line in editor.processes().values()) == 0
    assert await editor.command("cancelProbe", {"uri": uri}) == 2
    for work in (first, second):
        assert plain(await asyncio.wait_for(work, 15))["status"] == "cancelled"
    editor.close(uri)


@pytest.mark.asyncio(loop_scope="module")
async def test_an_interpreter_that_does_not_start(editor: Editor, tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(WRONG, encoding="utf-8")
    uri = editor.open_file(path)
    for interpreter, word in (("/no/such/python", "cannot start"), ("/bin/false", "ended with code 1")):
        use(editor, interpreter)
        state = plain(await editor.command("probe", {"uri": uri, "target": "step"}))
        assert state["state"] == "done"
        assert state["status"] in ("error", "crashed")
        assert word in state["message"]
    use(editor, sys.executable)
    editor.close(uri)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("kind", ["crlf", "gbk", "bom"])
async def test_saved_is_saved_whatever_the_bytes(editor: Editor, tmp_path: Path, kind: str) -> None:
    """A file whose bytes are not the editor's text has no unsaved changes for that."""
    text = "# -*- coding: gbk -*-\n# 值\n" + WRONG
    path = tmp_path / "m.py"
    path.write_bytes(
        {
            "crlf": text.replace("gbk", "utf-8").replace("\n", "\r\n").encode("utf-8"),
            "gbk": text.encode("gbk"),
            "bom": text.replace("gbk", "utf-8").encode("utf-8-sig"),
        }[kind]
    )
    shown = text if kind == "gbk" else text.replace("gbk", "utf-8")
    uri = editor.open(shown, path.as_uri())
    use(editor, "/bin/false")
    assert "ended with code 1" in plain(await editor.command("probe", {"uri": uri, "target": "step"}))["message"]
    editor.change(uri, shown + "#")
    assert "unsaved" in plain(await editor.command("probe", {"uri": uri, "target": "step"}))["message"]
    use(editor, sys.executable)
    editor.close(uri)


# --- merging, without a probe ---

TEXT = Source("m.py", "def f(x):\n    a = x.item()\n    print(\n        x)\n    return x\n")


def predicted(line: int, end: int, effect: str = "graph-break") -> Finding:
    return Finding("m.py", Range(Position(line, 4), Position(end, 9)), "CL102", "n", effect, "certain", "m", "f", "f")


def observed(line: int, end: int, gb_id: str = "GB0001") -> Observed:
    return Observed(line, end, gb_id, "type", "reason", False, 1)


@pytest.mark.parametrize(
    ("findings", "breaks", "traced", "wanted"),
    [
        ([predicted(1, 1)], [observed(1, 1)], {1, 2}, [(1, "confirmed")]),
        ([predicted(1, 1)], [], {1, 2}, []),
        ([predicted(1, 1)], [], {2}, [(1, "certain")]),
        ([predicted(2, 3)], [observed(2, 3)], set[int](), [(2, "confirmed")]),
        ([predicted(2, 3)], [observed(3, 3)], set[int](), [(2, "confirmed")]),
        ([], [observed(1, 1)], set[int](), [(1, "confirmed")]),
        ([predicted(1, 1, "recompile")], [], {1}, [(1, "certain")]),
        ([predicted(1, 1)], [observed(1, 1), observed(1, 1, "GB2")], {1}, [(1, "confirmed")]),
    ],
)
def test_merge(
    findings: list[Finding], breaks: list[Observed], traced: set[int], wanted: list[tuple[int, str]]
) -> None:
    merged = merge(findings, breaks, frozenset(traced), TEXT)
    assert [(f.range.start.line, f.certainty) for f in merged] == wanted


def test_two_breaks_on_one_line_confirm_two_findings() -> None:
    first, second = (
        replace(predicted(1, 1), code=code, gb_types=(kind,)) for code, kind in (("CL1", "a"), ("CL2", "b"))
    )
    breaks = [replace(observed(1, 1, "GB2"), gb_type="b"), replace(observed(1, 1, "GB1"), gb_type="a")]
    both = merge([first, second], breaks, frozenset({1}), TEXT)
    assert [(f.code, f.message) for f in both] == [
        ("CL1", "m (confirmed by the probe [GB1])"),
        ("CL2", "m (confirmed by the probe [GB2])"),
    ]
    one = merge([first, second], breaks[:1], frozenset({1}), TEXT)
    assert [(f.code, f.certainty) for f in one] == [("CL1", "certain"), ("CL2", "confirmed")]


def test_the_texts_of_this_file_are_python() -> None:
    for text in (SLOW, WRONG):
        ast.parse(text)
