"""Every request has one answer, whatever it holds and whenever it comes; the server goes on afterwards."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .wire import Message, Wire, connect

pytestmark = [pytest.mark.timeout(120)]

PARSE_ERROR, INVALID_REQUEST, NOT_FOUND, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
NOT_INITIALIZED, CANCELLED = -32002, -32800
CODE = "import torch\n\n@torch.compile\ndef step(x):\n    return x * x.sum().item()\n"
GOOD = "file:///tmp/compile-lens-test/good.py"
HOVER = {"textDocument": {"uri": GOOD}, "position": {"line": 4, "character": 24}}


async def hovers_well(wire: Wire) -> None:
    """The document of old is still understood."""
    answer = await wire.request("textDocument/hover", HOVER)
    assert "CL102" in answer["result"]["contents"]["value"], answer


async def ready(wire: Wire, **options: Any) -> None:
    await wire.initialize(**options)
    wire.open(GOOD, CODE)
    await wire.request("textDocument/diagnostic", {"textDocument": {"uri": GOOD}})
    await hovers_well(wire)


# --- one by one ---


WRONG: list[tuple[str, Any, int]] = [
    ("textDocument/hover", {}, INVALID_PARAMS),
    ("textDocument/hover", None, INVALID_PARAMS),
    ("textDocument/hover", [], INVALID_PARAMS),
    ("textDocument/hover", {**HOVER, "position": {"line": 4, "character": -4}}, INVALID_PARAMS),
    ("textDocument/hover", {**HOVER, "position": {"line": 2**31, "character": 0}}, INVALID_PARAMS),
    ("textDocument/hover", {**HOVER, "position": "here"}, INVALID_PARAMS),
    ("textDocument/codeAction", {"textDocument": {"uri": GOOD}}, INVALID_PARAMS),
    ("textDocument/codeLens", {"textDocument": 3}, INVALID_PARAMS),
    ("textDocument/diagnostic", {"uri": GOOD}, INVALID_PARAMS),
    ("workspace/executeCommand", {"command": "compileLens.nothing"}, INVALID_PARAMS),
    ("workspace/executeCommand", {"command": "compileLens.probe"}, INVALID_PARAMS),
    ("workspace/executeCommand", {"command": "compileLens.probe", "arguments": [3]}, INVALID_PARAMS),
    ("workspace/executeCommand", {"command": "compileLens.probe", "arguments": [{"uri": GOOD}, 2]}, INVALID_PARAMS),
    ("workspace/executeCommand", {"arguments": []}, INVALID_PARAMS),
    ("textDocument/definition", HOVER, NOT_FOUND),
    ("$/unheardOf", {"x": 1}, NOT_FOUND),
    ("window/showMessageRequest", {}, NOT_FOUND),
    ("textDocument/didOpen", {}, INVALID_REQUEST),
    ("initialize", {"capabilities": {}, "processId": None, "rootUri": None}, INVALID_REQUEST),
]


@pytest.mark.asyncio
async def test_what_is_wrong_is_refused_and_the_error_says_why() -> None:
    async with connect() as wire:
        await ready(wire)
        for method, params, code in WRONG:
            answer = await wire.request(method, params, within=8)
            assert answer["error"]["code"] == code, (method, params, answer)
            assert len(answer["error"]["message"].split()) > 2, answer
        for envelope in ({"jsonrpc": "1.0"}, {"method": 3}, {"method": None}):
            _, answer_to_come = wire.start("textDocument/hover", HOVER, **envelope)
            assert (await asyncio.wait_for(answer_to_come, 8))["error"]["code"] == INVALID_REQUEST
        answer = await wire.request("textDocument/hover", {**HOVER, "position": {"line": 1}})
        assert "params.position.character is missing" in answer["error"]["message"]
        await hovers_well(wire)
        # What has no id to answer to is refused without one.
        frames = [b"no json", b'{"a": ', b"\xff\xfe", b"[" * 100_000, b"[]", b"3", b"null", b"{}"]
        frames += [b'{"jsonrpc": "2.0", "id": %s, "method": "shutdown"}' % i for i in (b"null", b"true", b"{}", b"[1]")]
        for frame in frames:
            wire.send_bytes(frame)
        await hovers_well(wire)
        assert wire.answers[None] == len(frames)
        assert await wire.end() == 0


@pytest.mark.asyncio
async def test_requests_out_of_their_time() -> None:
    async with connect() as wire:
        for method in ("textDocument/hover", "shutdown", "workspace/executeCommand", "unheard/of"):
            assert (await wire.request(method, HOVER, within=8))["error"]["code"] == NOT_INITIALIZED
        wire.open(GOOD, CODE)
        assert (await wire.request("initialize", {}))["error"]["code"] == INVALID_PARAMS
        await ready(wire)
        pending = [wire.start("textDocument/hover", HOVER)[1]]
        _, down = wire.start("shutdown", None)
        pending += [wire.start(method, HOVER)[1] for method in ("textDocument/hover", "shutdown", "unheard/of")]
        first, *late = [await asyncio.wait_for(answer, 8) for answer in pending]
        assert "CL102" in json.dumps(first["result"])
        assert [answer["error"]["code"] for answer in late] == [INVALID_REQUEST] * 3
        assert (await asyncio.wait_for(down, 8))["result"] is None
        wire.notify("exit", None)
        assert await asyncio.wait_for(wire.process.wait(), 8) == 0


def analysing(wire: Wire) -> int:
    """The analysing process of a server."""
    children = Path(f"/proc/{wire.pid}/task/{wire.pid}/children").read_text().split()
    threads = Path(f"/proc/{wire.pid}/task").iterdir()
    children = [child for thread in threads for child in (thread / "children").read_text().split()]
    (child,) = [int(c) for c in children if b"compile_lens.lsp.worker" in Path(f"/proc/{c}/cmdline").read_bytes()]
    return child


@pytest.mark.asyncio
async def test_cancelled_and_abandoned_requests_are_answered() -> None:
    async with connect() as wire:
        await ready(wire)
        os.kill(analysing(wire), signal.SIGSTOP)  # so that what waits for an analysis waits
        wire.open(GOOD + "2", CODE)
        document = {"textDocument": {"uri": GOOD + "2"}}
        waiting = [wire.start(f"textDocument/{name}", document) for name in ("diagnostic", "codeLens", "diagnostic")]
        await hovers_well(wire)
        for request_id, _ in waiting[:2]:
            wire.notify("$/cancelRequest", {"id": request_id})
        answers = [await asyncio.wait_for(answer, 8) for _, answer in waiting[:2]]
        assert [answer["error"]["code"] for answer in answers] == [CANCELLED] * 2
        assert not waiting[2][1].done()
        for params in ({"id": waiting[0][0]}, {"id": "never"}, {"id": None}, {}, None, [1]):
            wire.notify("$/cancelRequest", params)
        await hovers_well(wire)
        _, down = wire.start("shutdown", None)
        last, answer = [await asyncio.wait_for(a, 8) for a in (waiting[2][1], down)]
        assert "error" in last or last["result"]["items"] == []
        assert answer["result"] is None
        assert max(wire.answers.values()) == 1


@pytest.mark.asyncio
async def test_cancelling_the_request_ends_the_probe(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(CODE + "\n\ndef probe_inputs():\n    while True:\n        pass\n", encoding="utf-8")
    async with connect() as wire:
        await ready(wire, trusted=True, interpreter=[sys.executable])
        begun = asyncio.Event()
        states: list[Message] = []

        def told(method: str, params: Any) -> None:
            if method == "compileLens/probe":
                states.append(params)
                begun.set()

        wire.on_notification = told
        wire.open(path.as_uri(), path.read_text(encoding="utf-8"))
        arguments = [{"uri": path.as_uri(), "target": "step"}]
        request_id, answer = wire.start(
            "workspace/executeCommand", {"command": "compileLens.probe", "arguments": arguments}
        )
        await asyncio.wait_for(begun.wait(), 10)
        wire.notify("$/cancelRequest", {"id": request_id})
        assert (await asyncio.wait_for(answer, 10))["error"]["code"] == CANCELLED
        assert (states[-1]["state"], states[-1]["status"]) == ("done", "cancelled")
        command = {"command": "compileLens.cancelProbe", "arguments": []}
        assert (await wire.request("workspace/executeCommand", command))["result"] == 0, "none is left"


# --- generated ---

URIS = st.sampled_from([GOOD, "file:///tmp/a.py", "file:///tmp/b%20.py", "untitled:U-1", "file://[", "", "\ud800"])
OTHERS = URIS.filter(lambda uri: uri != GOOD)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
HUGE = st.sampled_from(["x" * 2_000_000, "# " + "é" * 100_000, "(" * 20_000, "\n" * 50_000, "'" + "\U0001f600" * 9_000])
ODD = st.sampled_from([CODE, CODE[:-9], "", "\ud800", "\0", "def f(:\n", "\r\r\n\x0c\n"])
TEXTS = ODD | st.text(max_size=40) | HUGE
NUMBERS = st.integers(0, 60) | st.sampled_from([2**31 - 1, 2**31, 2**70, -1, -4, 1.5, float("inf")])
POSITIONS = st.fixed_dictionaries({"line": NUMBERS, "character": NUMBERS})
PLACES = st.fixed_dictionaries({"start": POSITIONS, "end": POSITIONS})


def document(uris: st.SearchStrategy[str] = URIS, **more: st.SearchStrategy[Any]) -> st.SearchStrategy[Message]:
    return st.fixed_dictionaries({"textDocument": st.fixed_dictionaries({"uri": uris}), **more})


def item(**more: st.SearchStrategy[Any]) -> st.SearchStrategy[Message]:
    return st.fixed_dictionaries({"uri": OTHERS, "version": st.integers(0, 99), **more})


COMMANDS = st.fixed_dictionaries(
    {
        "command": st.sampled_from(["probe", "cancelProbe", "clearProbeResults", "x"]).map("compileLens.{}".format),
        "arguments": st.lists(JUNK | st.fixed_dictionaries({"uri": URIS}), max_size=2),
    }
)
REQUESTS: dict[str, st.SearchStrategy[Any]] = {
    "textDocument/hover": document(position=POSITIONS),
    "textDocument/codeLens": document(),
    "textDocument/diagnostic": document(),
    "textDocument/codeAction": document(range=PLACES, context=st.just({"diagnostics": []})),
    "workspace/executeCommand": COMMANDS,
    "textDocument/definition": document(position=POSITIONS),
    "initialize": JUNK,
    "$/x": JUNK,
    "": JUNK,
}
NOTES: dict[str, st.SearchStrategy[Any]] = {
    "textDocument/didOpen": st.fixed_dictionaries({"textDocument": item(languageId=st.just("python"), text=TEXTS)}),
    "textDocument/didChange": st.fixed_dictionaries(
        {
            "textDocument": item(),
            "contentChanges": st.lists(st.fixed_dictionaries({"text": TEXTS}, optional={"range": PLACES}), max_size=2),
        }
    ),
    "textDocument/didClose": document(OTHERS),
    "textDocument/didSave": document(OTHERS),
    "workspace/didChangeConfiguration": st.just({"settings": None}),
    "compileLens/trust": st.fixed_dictionaries({"trusted": JUNK}),
    "compileLens/interpreter": st.fixed_dictionaries({"interpreter": JUNK}),
    "window/workDoneProgress/cancel": st.fixed_dictionaries({"token": JUNK}),
    "$/setTrace": st.just({"value": "off"}),
    "$/cancelRequest": st.fixed_dictionaries({"id": JUNK}),
    "notebookDocument/didOpen": JUNK,
    "initialized": JUNK,
    "x/y": JUNK,
}


@st.composite
def damaged(draw: st.DrawFn, params: st.SearchStrategy[Any]) -> Any:
    """Parameters as they should be, or with a key gone or spoilt, or something else."""
    value = draw(params)
    kind = draw(st.sampled_from(["whole", "whole", "key gone", "key spoilt", "other"]))
    if kind == "other":
        return draw(JUNK)
    if kind != "whole" and isinstance(value, dict) and value:
        key = draw(st.sampled_from(sorted(value)))
        value = {k: v for k, v in value.items() if k != key} | ({key: draw(JUNK)} if kind == "key spoilt" else {})
    return value


def named(table: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Message]:
    def of(method: str) -> st.SearchStrategy[Message]:
        return st.fixed_dictionaries({"method": st.just(method), "params": damaged(table[method])})

    return st.sampled_from(sorted(table)).flatmap(of)


MESSAGES = st.one_of(
    st.tuples(st.sampled_from(["request", "request", "cancelled", "text id", "broken version"]), named(REQUESTS)),
    st.tuples(st.just("notification"), named(NOTES)),
    st.tuples(st.just("notification as request"), named({k: v for k, v in NOTES.items() if k[:2] != "$/"})),
    st.tuples(st.just("response"), st.fixed_dictionaries({"id": JUNK, "result": JUNK})),
    st.tuples(st.just("response"), st.fixed_dictionaries({"id": JUNK, "error": JUNK})),
    st.tuples(st.just("frame"), st.sampled_from([b"{", b"[" * 100_000, b"\xff", b"[]", b"7", b'{"jsonrpc": "2.0"}'])),
)
BATCH = 50


class Session:
    """Sends generated messages and knows what each is owed."""

    ids = itertools.count(1)

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.owed: dict[Any, asyncio.Future[Message]] = {}
        self.anonymous = 0

    def send(self, kind: str, message: Any) -> None:
        if kind == "frame":
            self.anonymous += 1
            self.wire.send_bytes(message)
        elif kind in ("notification", "response"):
            self.wire.send({"jsonrpc": "2.0", **message})
        else:
            number = 1_000_000 + next(self.ids)
            request_id: Any = f"text {number}" if kind == "text id" else number
            version = "3.0" if kind == "broken version" else "2.0"
            self.owed[request_id] = self.wire.expect({"jsonrpc": version, "id": request_id, **message})
            if kind == "cancelled":
                self.wire.notify("$/cancelRequest", {"id": request_id})

    async def settle(self) -> None:
        """Each request has been answered once, and no answer says that something of ours failed."""
        before = dict(self.owed)
        await self.wire.drain()
        await self.wire.request("$/barrier", None, within=40)
        answers = await asyncio.wait_for(asyncio.gather(*before.values()), 40)
        for answer in answers:
            error = answer.get("error")
            assert ("result" in answer) != (error is not None), answer
            assert error is None or error["code"] != INTERNAL, answer
        assert {request_id: self.wire.answers[request_id] for request_id in before} == dict.fromkeys(before, 1)
        assert self.wire.answers[None] == self.anonymous
        assert self.wire.process.returncode is None


class Rig:
    """A server kept for many examples, driven from outside of its loop."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.manager: Any = None
        self.session: Optional[Session] = None
        self.health: list[Message] = []
        self.sent = 0

    async def running(self) -> Session:
        if self.session is None:
            self.manager = connect()
            wire = await self.manager.__aenter__()
            wire.on_notification = lambda method, params: method.endswith("/status") and self.health.append(params)
            await ready(wire)
            self.session = Session(wire)
        return self.session

    async def close(self) -> None:
        if self.manager is not None:
            await self.manager.__aexit__(None, None, None)


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    one = Rig()
    yield one
    one.loop.run_until_complete(one.close())
    one.loop.close()


GENERATED = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


@settings(GENERATED, max_examples=56)
@given(batch=st.lists(MESSAGES, min_size=BATCH, max_size=BATCH))
def test_2800_generated_messages(rig: Rig, batch: list[tuple[str, Any]]) -> None:
    async def body() -> None:
        session = await rig.running()
        session.owed.clear()
        for kind, message in batch:
            session.send(kind, message)
        rig.sent += len(batch)
        await session.settle()
        await hovers_well(session.wire)
        assert [state for state in rig.health if state["health"] == "error"] == []

    rig.loop.run_until_complete(body())


def test_there_were_2800_of_them(rig: Rig) -> None:
    if rig.session is not None:
        assert rig.sent >= 2800


@settings(GENERATED, max_examples=2)
@given(
    before=st.lists(MESSAGES, min_size=BATCH, max_size=BATCH), after=st.lists(MESSAGES, min_size=BATCH, max_size=BATCH)
)
def test_200_generated_messages_out_of_their_time(before: list[tuple[str, Any]], after: list[tuple[str, Any]]) -> None:
    async def body() -> None:
        async with connect() as wire:
            session = Session(wire)
            for kind, message in before:
                session.send(kind, message)
            await session.settle()
            await ready(wire)
            down = asyncio.ensure_future(wire.request("shutdown", None))
            await asyncio.sleep(0)
            for kind, message in after:
                session.send(kind, message)
            await session.settle()
            assert (await down)["result"] is None
            wire.notify("exit", None)
            assert await asyncio.wait_for(wire.process.wait(), 8) == 0

    asyncio.run(body())
