"""Drafts of example inputs: right for the parameters, written only on demand, and good enough to probe with."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import pytest
from compile_lens.findings.finding import Target
from compile_lens.findings.scan import Options, scan
from compile_lens.fixes.edit import apply
from compile_lens.text.source import Source

from .wire import Wire, connect

pytestmark = [pytest.mark.timeout(120)]

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"
NET = """\
class Net(nn.Module):
    def __init__(self, vocab, width: int = 32):
        super().__init__()
        self.embed = nn.Embedding(1000, width)
        self.fc = nn.Linear(width, 16)

    def forward(self, ids, h, mask, *, scale: float, extra=None):
        x = self.embed(ids) + self.fc(h)[:, None].repeat(1, 16, 2)
        return x.masked_fill(mask[..., None], 0) * scale


net = torch.compile(Net(3))
"""


def target_of(text: str) -> Target:
    (target,) = scan(Source("m.py", text), Options(with_offers=True)).targets
    return target


def drafted(text: str) -> tuple[str, str]:
    """The text with the draft in it, and what is selected then."""
    source, draft = Source("m.py", text), target_of(text).draft
    assert draft is not None
    new = apply(text, [(source.offset(e.range.start), source.offset(e.range.end), e.text) for e in draft.edits])
    assert new is not None
    ast.parse(new)
    after = Source("m.py", new)
    return new, new[after.offset(draft.selection.start) : after.offset(draft.selection.end)]


@pytest.mark.parametrize(
    ("parameter", "body", "value"),
    [
        ("x", "return x + 1", "torch.randn(8, 16)"),
        ("x: torch.Tensor", "return F.embedding(x, W)", "torch.randint(0, 16, (8, 16))"),
        ("x", "return W[x]", "torch.randint(0, 16, (8, 16))"),
        ("x", "return W.sum().gather(1, x)", "torch.randint(0, 16, (8, 16))"),
        ("x", "return torch.gather(W, 1, x)", "torch.randint(0, 16, (8, 16))"),
        ("x", "return x.gather(1, W)", "torch.randn(8, 16)"),
        ("x", "return torch.where(x, W, 0)", "torch.ones(8, 16, dtype=torch.bool)"),
        ("x", "return W.where(W > 0, x)", "torch.randn(8, 16)"),
        ("x", "return [W for _ in range(x)]", "4"),
        ("x", "return x['a'] + x['b']", '{"a": torch.randn(8, 16), "b": torch.randn(8, 16)}'),
        ("input_ids", "return input_ids + 1", "torch.randint(0, 16, (8, 16))"),
        ("x: int", "return x", "16"),
        ("x: float", "return x", "0.5"),
        ("x: bool", "return x", "True"),
        ("x: str", "return x", '"text"'),
        ("x: 'torch.LongTensor'", "return x", "torch.randint(0, 16, (8, 16))"),
        ("x: Optional[torch.Tensor]", "return x", "torch.randn(8, 16)"),
        ("x: list[torch.Tensor]", "return x", "[torch.randn(8, 16)]"),
        ("x: Config", "return x", "...  # Config"),
    ],
)
def test_a_value_follows_annotation_and_use(parameter: str, body: str, value: str) -> None:
    text = f"{HEAD}W = torch.ones(4, 4)\n\n\n@torch.compile\ndef step({parameter}):\n    {body}\n"
    new, selected = drafted(text)
    name = parameter.partition(":")[0]
    assert f"    {name} = {value}\n    return ({name},), {{}}\n" in new
    assert selected and selected in value


def test_a_module_gets_both_and_sizes_come_from_its_layers() -> None:
    new, selected = drafted(HEAD + NET)
    assert "    vocab = 16\n    return [vocab]\n" in new
    for line in (
        "ids = torch.randint(0, 1000, (8, 16))",
        "h = torch.randn(8, 32)",
        "mask = torch.ones(8, 16, dtype=torch.bool)",
        "scale = 0.5",
        'return (ids, h, mask), {"scale": scale}',
    ):
        assert f"    {line}\n" in new
    assert "extra" not in new.partition("def probe_inputs")[2]
    assert selected == "16"
    assert new.index("def probe_inputs") < new.index("net = torch.compile")


def test_other_places_and_line_ends() -> None:
    step = "@torch.compile\ndef step(x):\n    return x"
    new, _ = drafted("import torch\n\n" + step)
    assert new.startswith("import torch\n\n" + step + "\n\n\ndef probe_inputs():\n")
    new, selected = drafted(f"import torch\n\n{step}\n".replace("\n", "\r\n"))
    assert "\n" not in new.replace("\r\n", "") and selected == "8, 16"
    new, selected = drafted("from torch import compile\n\n@compile\ndef step(x):\n    return x\n")
    assert new.startswith("import torch\n") and selected == "8, 16"


@pytest.mark.parametrize(
    "more",
    ["def probe_inputs():\n    return torch.ones(3)\n", "def get_example_inputs():\n    return torch.ones(3)\n"],
)
def test_nothing_is_drafted_where_inputs_are(more: str) -> None:
    step = "@torch.compile\ndef step(x):\n    return x\n"
    assert target_of(HEAD + step + "\n\n" + more).draft is None
    assert target_of(f"{HEAD}# probe: x=f32[4]\n{step}").draft is None
    assert target_of(f"{HEAD}\n\n# probe: x=f32[4]\n{step}").draft is None


async def actions(wire: Wire, uri: str, line: int) -> list[Any]:
    place = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 0}}
    params = {"textDocument": {"uri": uri}, "range": place, "context": {"diagnostics": []}}
    return (await wire.request("textDocument/codeAction", params))["result"]


@pytest.mark.asyncio
async def test_from_needs_inputs_to_a_probe_that_runs(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(HEAD + NET, encoding="utf-8")
    uri, text = path.as_uri(), HEAD + NET
    shown: list[Any] = []

    async with connect() as wire:

        def edit(params: Any) -> Any:
            nonlocal text
            (edits,) = params["edit"]["changes"].values()
            source = Source("m.py", text)
            places = [(e["range"]["start"]["line"], e["range"]["end"]["line"], e["newText"]) for e in edits]
            starts = [*source.line_starts, len(text)]
            text = apply(text, [(starts[a], starts[b], new) for a, b, new in places]) or ""
            wire.change(uri, text, 2)
            return {"applied": True}

        wire.answering |= {"workspace/applyEdit": edit, "window/showDocument": shown.append}
        wire.settings = {"probe": {"backends": ["eager"], "device": "cpu", "budgetSeconds": 0.2}}
        await wire.initialize(trusted=True, interpreter=[sys.executable])
        wire.open(uri, text)
        document = {"textDocument": {"uri": uri}}
        (lens,) = (await wire.request("textDocument/codeLens", document))["result"]
        assert lens["command"]["title"] == "Probe"
        command: Any = {"command": "compileLens.probe", "arguments": [{"uri": uri, "target": "Net"}]}
        state = (await wire.request("workspace/executeCommand", command, 60))["result"]
        assert state["status"] == "needs-inputs"
        assert text == HEAD + NET, "nothing is written without a click"
        probe, add = [lens["command"] for lens in (await wire.request("textDocument/codeLens", document))["result"]]
        assert (probe["command"], add["title"]) == ("compileLens.probe", "Add inputs")
        (action,) = [a for a in await actions(wire, uri, 4) if a["title"].startswith("Write a draft")]
        assert action["command"]["arguments"] == add["arguments"] == [{"uri": uri, "target": "Net"}]
        assert (await wire.request("workspace/executeCommand", action["command"]))["result"] is True
        assert text == drafted(HEAD + NET)[0]
        (place,) = [params["selection"] for params in shown]
        line = text.splitlines()[place["start"]["line"]]
        assert line == "    vocab = 16"
        assert line[place["start"]["character"] : place["end"]["character"]] == "16"
        assert [a for a in await actions(wire, uri, 4) if a["title"].startswith("Write a draft")] == []
        assert (await wire.request("workspace/executeCommand", add))["result"] is False, "it is there by now"
        path.write_text(text, encoding="utf-8")
        state = (await wire.request("workspace/executeCommand", command, 60))["result"]
        assert state["status"] == "ok", state["message"]
        assert await wire.end() == 0
