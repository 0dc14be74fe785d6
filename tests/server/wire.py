"""A client that writes its frames itself: what it sends may be anything, and every answer is counted."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Optional

ROOT = Path(__file__).parent.parent.parent
COMMAND = (sys.executable, "-m", "compile_lens.cli", "server")
Message = dict[str, Any]


class Wire:
    """The two pipes of one server. Requests from the server are answered as a plain editor does."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.settings: Message = {}
        self.answering: dict[str, Callable[[Any], Any]] = {
            "workspace/configuration": lambda params: [self.settings for _ in params["items"]]
        }
        """What requests of the server are answered with, by method; others with nothing."""
        self.answers: Counter[Any] = Counter()
        """Responses by id; those to nothing that has an id stand under ``None``."""
        self.notifications: Counter[str] = Counter()
        self.on_notification: Callable[[str, Any], None] = lambda method, params: None
        self._ids = itertools.count(1)
        self._waiting: dict[Any, asyncio.Future[Message]] = {}
        self._reader = asyncio.ensure_future(self._read())

    @property
    def pid(self) -> int:
        return self.process.pid

    # --- sending ---

    def send_bytes(self, body: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def send(self, message: Any) -> None:
        self.send_bytes(json.dumps(message).encode())

    async def drain(self) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.drain()

    def notify(self, method: str, params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def start(self, method: str, params: Any, /, **more: Any) -> tuple[Any, asyncio.Future[Message]]:
        """Send a request; its id, and the response to come."""
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params, **more}
        return message["id"], self.expect(message)

    def expect(self, message: Message) -> asyncio.Future[Message]:
        """Send a request that is whole; the response to come."""
        self.send(message)
        return self.await_answer(message["id"])

    def await_answer(self, request_id: Any) -> asyncio.Future[Message]:
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = future
        return future

    async def request(self, method: str, params: Any, within: float = 30.0) -> Message:
        """Send a request and wait for its response, whole."""
        _, answer = self.start(method, params)
        return await asyncio.wait_for(answer, within)

    # --- receiving ---

    async def _read(self) -> None:
        stdout = self.process.stdout
        assert stdout is not None
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                size = 0
                while line := (await stdout.readuntil(b"\r\n")).strip():
                    name, _, value = line.partition(b":")
                    if name.lower() == b"content-length":
                        size = int(value)
                self._take(json.loads(await stdout.readexactly(size)))

    def _take(self, message: Message) -> None:
        if "method" not in message:
            self.answers[message.get("id")] += 1
            waiting = self._waiting.pop(message.get("id"), None)
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
        elif "id" in message:
            answer = self.answering.get(message["method"], lambda params: None)
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": answer(message.get("params"))})
        else:
            self.notifications[message["method"]] += 1
            self.on_notification(message["method"], message.get("params"))

    # --- the session ---

    async def initialize(self, **options: Any) -> Message:
        """Begin a session with what an editor of today says that it can do."""
        refresh = {"refreshSupport": True}
        capabilities = {
            "workspace": {"applyEdit": True, "configuration": True, "diagnostics": refresh, "codeLens": refresh},
            "textDocument": {"diagnostic": {}, "hover": {"contentFormat": ["markdown"]}},
            "window": {"workDoneProgress": True, "showDocument": {"support": True}},
        }
        params = {"processId": None, "rootUri": None, "capabilities": capabilities, "initializationOptions": options}
        answer = await self.request("initialize", params)
        self.notify("initialized", {})
        return answer

    def open(self, uri: str, text: str, version: int = 1) -> None:
        item = {"uri": uri, "languageId": "python", "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, uri: str, text: str, version: int) -> None:
        document = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def close(self, uri: str) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    async def end(self) -> Optional[int]:
        """Shut the server down; its exit status."""
        await self.request("shutdown", None)
        self.notify("exit", None)
        return await asyncio.wait_for(self.process.wait(), 15)


@asynccontextmanager
async def connect(command: tuple[str, ...] = COMMAND, **environment: str) -> AsyncIterator[Wire]:
    """A server just started, nothing said yet; its log goes to the standard error of this process."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=2**26,
    )
    wire = Wire(process)
    try:
        yield wire
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
