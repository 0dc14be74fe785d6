"""The real server over pipes: findings on the right text, through edits, in every kind of client."""

from __future__ import annotations

import ast
import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from compile_lens.findings.scan import Options, scan
from compile_lens.text.source import Source
from lsprotocol import types

from .editor import Editor, start

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning"),
]

CODE = """\
import torch


@torch.compile
def step(x):
    n = x.sum().item()
    return x * n
"""
ITEM = ("CL102", "x.sum().item()")


@pytest_asyncio.fixture(
    params=[("utf-16", False), ("utf-16", True), ("utf-8", True)],
    ids=["push", "pull", "pull-utf8"],
    loop_scope="module",
    scope="module",
)
async def editor(request: pytest.FixtureRequest) -> AsyncIterator[Editor]:
    encoding, pull = request.param
    async with start(encoding, pull) as one:
        yield one


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def plain() -> AsyncIterator[Editor]:
    """An editor for tests that one kind of client suffices for."""
    async with start() as one:
        yield one


# --- positions ---


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (CODE, [ITEM]),
        (CODE.replace("\n", "\r\n"), [ITEM]),
        (CODE.replace("\n", "\r"), [ITEM]),
        (CODE.replace("    ", "\t"), [ITEM]),
        (CODE.replace("    n =", "    张量 = '😀家族👨‍👩‍👧'; 结果 =").replace("* n", "* 结果"), [ITEM]),
        (CODE.replace("sum()", "sum(len('键😀'))"), [("CL102", "x.sum(len('键😀')).item()")]),
        (CODE.replace("import torch", "# 变量 😀\n\x0c\nimport torch\n\x0c"), [ITEM]),
        (CODE.replace("@torch", "\x0c@torch").replace("def step", "\x0cdef step"), [ITEM]),
        (CODE.replace(".item()", "\\\n        .item()"), [("CL102", "x.sum()\\\n        .item()")]),
        (CODE[:-1], [ITEM]),
        (
            "import torch\nfrom math import tau\n@torch.compile\ndef f(x):\n    print('值😀', x); return x",
            [
                ("CL104", "print('值😀', x)"),
            ],
        ),
    ],
    ids=[
        "plain",
        "crlf",
        "cr",
        "tabs",
        "emoji",
        "emoji-inside",
        "form-feed",
        "form-feed-indent",
        "lines",
        "no-end",
        "semicolon",
    ],
)
async def test_findings_stand_on_their_text(editor: Editor, text: str, wanted: list[tuple[str, str]]) -> None:
    uri = editor.open(text)
    for diagnostic in await editor.expect(uri, wanted):
        assert diagnostic.source == "Compile Lens"
        assert "\n" not in diagnostic.message
    hover = await editor.hover(uri, editor.position(uri, ".item()" if "item" in text else "print", 2))
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    assert hover.contents.value.startswith(f"**{wanted[0][0]}")
    assert hover.range is not None
    assert editor.text_of(uri, hover.range) == wanted[0][1]
    assert await editor.hover(uri, types.Position(0, 0)) is None
    editor.close(uri)


# --- edits ---


async def test_findings_follow_an_edit_at_once(editor: Editor) -> None:
    uri = editor.open(CODE)
    await editor.expect(uri, [ITEM])
    begun = time.monotonic()
    editor.change(uri, "# one\n# two\n" + CODE)
    await editor.expect(uri, [ITEM], within=5)
    moved = time.monotonic() - begun
    assert moved < 2, moved
    editor.close(uri)


async def test_findings_stay_while_the_text_does_not_parse(editor: Editor) -> None:
    uri = editor.open(CODE)
    await editor.expect(uri, [ITEM])
    broken = "import os, (\n" + CODE
    editor.change(uri, broken)
    await editor.until(lambda: editor.statuses[-1][0] == "warning")
    assert "invalid Python syntax" in editor.statuses[-1][1]
    assert await editor.found(uri) == [ITEM]
    assert (await editor.diagnostics(uri))[0].range.start.line == 6
    editor.change(uri, CODE.replace(".item()", ".tolist()"))
    await editor.expect(uri, [("CL103", "x.sum().tolist()")])
    await editor.until(lambda: editor.statuses[-1] == ("ok", ""))
    editor.close(uri)


async def test_a_changed_line_loses_its_finding_at_once(editor: Editor) -> None:
    uri = editor.open(CODE)
    await editor.expect(uri, [ITEM])
    editor.change(uri, CODE.replace("x.sum().item()", "x.sum("))
    await editor.expect(uri, [], within=5)
    editor.change(uri, CODE)
    await editor.expect(uri, [ITEM])
    editor.close(uri)


async def test_of_thirty_quick_versions_the_last_wins(editor: Editor) -> None:
    uri = editor.open(CODE)
    await editor.expect(uri, [ITEM])
    seen = len(editor.published)
    for number in range(30):
        editor.change(uri, f"{CODE}\n\ny{number} = {number}\n")
        await asyncio.sleep(0.01)
    editor.change(uri, CODE.replace("n = x.sum().item()", "n = int(x.sum())"))
    await editor.expect(uri, [("CL102", "int(x.sum())")])
    await asyncio.sleep(0.6)
    assert await editor.found(uri) == [("CL102", "int(x.sum())")]
    versions = [entry.version for entry in editor.published[seen:] if entry.uri == uri and entry.version is not None]
    assert versions == sorted(versions), "no older version after a newer one"
    editor.close(uri)


async def test_a_pull_while_typing_is_answered() -> None:
    """The first analysis of a text may be overtaken by edits; who waits for it must not wait for ever."""
    async with start(pull=True) as editor:
        uri = editor.open(CODE)
        waiting = asyncio.ensure_future(editor.diagnostics(uri))
        lenses = asyncio.ensure_future(editor.lenses(uri))
        for _ in range(5):
            editor.change(uri, editor.texts[uri] + "#")
        assert [d.code for d in await asyncio.wait_for(waiting, 20)] == ["CL102"]
        assert len(await asyncio.wait_for(lenses, 20)) == 1


async def test_a_closed_document_shows_nothing(plain: Editor) -> None:
    uri = plain.open(CODE)
    await plain.expect(uri, [ITEM])
    plain.change(uri, CODE + "\n(")
    await plain.until(lambda: plain.statuses[-1][0] == "warning")
    plain.close(uri)
    await plain.expect(uri, [])
    await plain.until(lambda: plain.statuses[-1] == ("ok", ""))
    assert await plain.hover(uri, types.Position(5, 10)) is None
    assert await plain.lenses(uri) == []
    assert await plain.actions(uri, types.Range(types.Position(0, 0), types.Position(9, 0))) == []


async def test_health_is_of_all_documents(plain: Editor) -> None:
    """One file that parses says nothing about another that does not."""
    broken, fine = plain.open("import torch\n("), plain.open(CODE)
    await plain.expect(fine, [ITEM])
    await plain.until(lambda: plain.statuses[-1][0] == "warning")
    plain.change(fine, CODE + "# x\n")
    await plain.expect(fine, [ITEM])
    await asyncio.sleep(0.6)
    assert plain.statuses[-1][0] == "warning"
    plain.change(broken, "import torch\n()")
    await plain.until(lambda: plain.statuses[-1] == ("ok", ""))
    for uri in (broken, fine):
        plain.close(uri)


async def test_a_file_without_torch_is_left_alone(plain: Editor) -> None:
    uri = plain.open("def f(x):\n    return x\n")
    assert await plain.lenses(uri) == []
    assert await plain.actions(uri, types.Range(types.Position(0, 0), types.Position(1, 0))) == []
    plain.close(uri)


async def test_texts_that_are_no_files(plain: Editor) -> None:
    uri = plain.open(CODE, "untitled:Untitled-1")
    await plain.expect(uri, [ITEM])
    plain.close(uri)


# --- code actions ---

FIXABLE = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            y = x + 1
        else:
            y = x - 1
        print("值", y.shape)
        return y


net = Net()
net.compile()
other = Net()


def helper(x):
    return x * 2
"""
BRANCH, PRINT = ("CL101", "x.sum() > 0"), ("CL104", 'print("值", y.shape)')


def codes(text: str) -> list[str]:
    ast.parse(text)
    return [finding.code for finding in scan(Source("x.py", text), Options()).findings]


async def test_quick_fixes_mend(editor: Editor) -> None:
    uri = editor.open(FIXABLE)
    await editor.expect(uri, [BRANCH, PRINT])
    for (code, text), rest in ((BRANCH, ["CL104"]), (PRINT, ["CL101"])):
        actions = await editor.actions(uri, editor.place(uri, text))
        mending = [a for a in actions if a.kind == types.CodeActionKind.QuickFix]
        assert len(mending) == 2, [a.title for a in actions]
        assert [a.is_preferred for a in mending] == [True, None]
        for action in mending:
            assert [d.code for d in action.diagnostics or []] == [code]
            assert codes(editor.applied(uri, action)) == rest
        assert "ignore" in mending[-1].title.lower()
        assert f"# compile-lens: ignore[{code}]" in editor.applied(uri, mending[-1])
    editor.close(uri)


async def test_kinds_are_filtered(editor: Editor) -> None:
    uri = editor.open(FIXABLE)
    await editor.expect(uri, [BRANCH, PRINT])
    everything = types.Range(types.Position(0, 0), types.Position(99, 0))

    async def kinds(*only: str) -> set[str]:
        return {str(getattr(a.kind, "value", a.kind)) for a in await editor.actions(uri, everything, list(only))}

    assert await kinds("quickfix") == {"quickfix"}
    assert await kinds("refactor") == {"refactor.rewrite"}
    assert await kinds("refactor.rewrite") == {"refactor.rewrite"}
    assert await kinds("refactor.extract") == set()
    assert await kinds("source.organizeImports") == set()
    assert await kinds("source.fixAll") <= {"source.fixAll.compileLens"}
    assert await kinds("quickfix", "refactor") == {"quickfix", "refactor.rewrite"}
    assert await kinds() == {"quickfix", "refactor.rewrite"}, "fixing all is never offered unasked"
    editor.close(uri)


async def test_fix_all_does_not_silence(editor: Editor) -> None:
    """A comment that silences a finding mends nothing; fixing all on save must not add it."""
    uri = editor.open(FIXABLE.replace("> 0:", "> 0:  # compile-lens: ignore[CL999]"))
    await editor.expect(uri, [BRANCH, PRINT])
    for action in await editor.actions(uri, editor.place(uri, "x.sum()"), ["source.fixAll"]):
        assert "ignore[CL999, " not in editor.applied(uri, action)
    editor.close(uri)


async def test_wrap_is_offered(editor: Editor) -> None:
    uri = editor.open(FIXABLE)
    await editor.expect(uri, [BRANCH, PRINT])
    at_module = await editor.actions(uri, editor.place(uri, "other = Net()"), ["refactor.rewrite"])
    results = [editor.applied(uri, action) for action in at_module]
    assert any("other = Net()\nother.compile()\n" in text for text in results), results
    assert any("other = torch.compile(Net())\n" in text for text in results), results
    at_function = await editor.actions(uri, editor.place(uri, "def helper"), ["refactor.rewrite"])
    assert ["@torch.compile\ndef helper(x):" in editor.applied(uri, action) for action in at_function] == [True]
    for action in (*at_module, *at_function):
        ast.parse(editor.applied(uri, action))
    assert await editor.actions(uri, editor.place(uri, "net = Net()"), ["refactor.rewrite"]) == []
    editor.close(uri)


# --- code lenses ---


async def test_code_lenses(editor: Editor) -> None:
    uri = editor.open(FIXABLE)
    (lens,) = await editor.lenses(uri)
    assert lens.command is not None
    assert (lens.command.title, lens.command.command) == ("Probe", "compileLens.probe")
    assert [plain_data(a) for a in lens.command.arguments or []] == [{"uri": uri, "target": "Net"}]
    assert lens.range.start.line == 4
    editor.change(uri, "\n\n" + FIXABLE)
    assert [lens.range.start.line for lens in await editor.lenses(uri)] == [6]
    editor.close(uri)


def plain_data(value: Any) -> Any:
    return {key: getattr(value, key) for key in ("uri", "target")} if not isinstance(value, dict) else value


# --- settings ---


async def test_settings_are_followed(editor: Editor) -> None:
    uri = editor.open(FIXABLE)
    await editor.expect(uri, [BRANCH, PRINT])
    try:
        await editor.configure({"ignore": ["CL104"]})
        await editor.expect(uri, [BRANCH])
        await editor.configure({"select": ["cl104"]})
        await editor.expect(uri, [PRINT])
        await editor.configure({"enable": False})
        await editor.expect(uri, [])
        assert await editor.lenses(uri) == []
        await editor.configure({"codeLens": {"enable": False}})
        await editor.expect(uri, [BRANCH, PRINT])
        assert await editor.lenses(uri) == []
        await editor.configure({"severity": {"CL101": "error", "certain": "hint"}})
        await editor.until(lambda: True)
        deadline = time.monotonic() + 20
        while [d.severity for d in await editor.diagnostics(uri)] != [1, 4]:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
        await editor.configure({"severity": {"CL101": "off"}})
        await editor.expect(uri, [PRINT])
    finally:
        await editor.configure({})
        await editor.expect(uri, [BRANCH, PRINT])
        editor.close(uri)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"scope": "everywhere"}, "scope"),
        ({"select": "CL1"}, "select"),
        ({"select": ["XY1"]}, "XY1"),
        ({"enable": "yes"}, "enable"),
        ({"severity": {"CL101": "loud"}}, "loud"),
        ({"torchVersion": "newest"}, "torchVersion"),
        ({"probe": {"timeoutSeconds": -1}}, "timeoutSeconds"),
        ({"probe": {"budgetSeconds": "5"}}, "budgetSeconds"),
        ({"probe": 3, "scope": 1}, "scope"),
    ],
)
async def test_wrong_settings_are_reported_and_defaults_used(plain: Editor, values: dict[str, Any], word: str) -> None:
    uri = plain.open(FIXABLE)
    await plain.configure(values)
    try:
        await plain.until(lambda: plain.statuses[-1][0] == "warning" and word in plain.statuses[-1][1])
        await plain.expect(uri, [BRANCH, PRINT])
        plain.change(uri, FIXABLE + "#\n")
        await plain.expect(uri, [BRANCH, PRINT])
        await asyncio.sleep(0.5)
        assert plain.statuses[-1][0] == "warning", "an analysis does not hide it"
    finally:
        await plain.configure({})
        await plain.until(lambda: plain.statuses[-1] == ("ok", ""))
        plain.close(uri)


async def test_settings_may_be_missing_or_no_object(plain: Editor) -> None:
    uri = plain.open(CODE)
    for values in (None, [], "x", 3):
        plain.client.set_configuration(values, section="compileLens")
        plain.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
        await asyncio.sleep(0.1)
    await plain.expect(uri, [ITEM])
    await plain.configure({})
    plain.close(uri)


# --- probes that may not start ---


async def refused(editor: Editor, arguments: dict[str, Any]) -> str:
    before = len(editor.client.messages)
    state = plain_state(await editor.command("probe", arguments))
    assert (state["state"], state["status"], state["text"], state["result"]) == ("done", "error", "not measured", None)
    await editor.until(lambda: len(editor.client.messages) == before + 1)
    assert state["message"] in editor.client.messages[-1].message
    assert len(state["message"].split()) > 4
    return state["message"]


def plain_state(value: Any) -> dict[str, Any]:
    from .editor import plain as as_data

    return as_data(value)


async def test_untrusted_workspaces_are_refused_by_the_server(plain: Editor, tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(CODE, encoding="utf-8")
    uri = plain.open_file(path)
    assert "not trusted" in await refused(plain, {"uri": uri, "target": "step"})
    assert "not open" in await refused(plain, {"uri": uri + "x", "target": "step"})
    plain.client.protocol.notify("compileLens/trust", {"trusted": True})
    assert "interpreter" in await refused(plain, {"uri": uri, "target": "step"})
    plain.client.protocol.notify(
        "compileLens/interpreter", {"interpreter": ["/usr/bin/python3"], "interpreterSource": ""}
    )
    assert "nothing here can be probed" in await refused(plain, {"uri": uri, "position": {"line": 0, "character": 0}})
    plain.change(uri, CODE + "# more\n")
    assert "unsaved" in await refused(plain, {"uri": uri, "target": "step"})
    plain.change(uri, CODE)
    path.unlink()
    assert "does not exist" in await refused(plain, {"uri": uri, "target": "step"})
    untitled = plain.open(CODE, "untitled:Untitled-2")
    assert "save" in await refused(plain, {"uri": untitled, "target": "step"})
    plain.client.protocol.notify("compileLens/trust", {"trusted": False})
    assert "not trusted" in await refused(plain, {"uri": uri, "target": "step"})
    plain.client.protocol.notify("compileLens/interpreter", {"interpreter": [], "interpreterSource": ""})
    assert plain.processes().keys() and not any("run" in line.split() for line in plain.processes().values())
    for one in (uri, untitled):
        plain.close(one)


@pytest.mark.parametrize("name", ["cancelProbe", "clearProbeResults"])
async def test_commands_with_nothing_to_do(plain: Editor, name: str) -> None:
    assert await plain.command(name) == 0
    assert await plain.command(name, {"uri": "file:///nothing.py"}) == 0


# --- large files ---


async def test_others_are_served_while_a_large_file_is_analysed(plain: Editor) -> None:
    import torch

    large = (Path(torch.__file__).parent / "nn" / "functional.py").read_text(encoding="utf-8")
    assert large.count("\n") > 7_000
    small = plain.open(CODE)
    await plain.expect(small, [ITEM])
    uri = plain.open(large)
    slowest = 0.0
    place = plain.position(small, ".item()", 2)
    for _ in range(40):
        begun = time.monotonic()
        assert await plain.hover(small, place) is not None
        slowest = max(slowest, time.monotonic() - begun)
        await asyncio.sleep(0.02)
    assert slowest < 0.5, slowest
    await plain.until(lambda: any(entry.uri == uri for entry in plain.published))
    for one in (small, uri):
        plain.close(one)


async def test_a_client_without_refresh_waits_for_the_newest() -> None:
    async with start("utf-16", True, refresh=False) as editor:
        uri = editor.open(CODE)
        assert await editor.found(uri) == [ITEM]
        editor.change(uri, CODE.replace(".item()", ".tolist()"))
        assert await editor.found(uri) == [("CL103", "x.sum().tolist()")]


async def test_chinese(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(CODE, encoding="utf-8")
    async with start("utf-16", True, locale="zh-cn") as editor:
        uri = editor.open_file(path)
        (diagnostic,) = await editor.expect(uri, [ITEM])
        assert "读取" in diagnostic.message
        assert "不受信任" in (plain_state(await editor.command("probe", {"uri": uri, "target": "step"})))["message"]
        (lens,) = await editor.lenses(uri)
        assert lens.command is not None
        assert "实测" in lens.command.title
