"""An editor for tests: it drives the real server over pipes, and reads positions on its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from lsprotocol import types
from pytest_lsp import LanguageClient, make_test_lsp_client

ROOT = Path(__file__).parent.parent.parent
MARK = "COMPILE_LENS_TEST_MARK"
WAIT_S = 20.0
_UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


@dataclass
class Editor:
    """One connected editor. ``pull`` and ``encoding`` are what it told the server that it can do."""

    client: LanguageClient
    encoding: str
    pull: bool
    mark: str
    statuses: list[tuple[str, str]] = field(default_factory=list)
    states: list[dict[str, Any]] = field(default_factory=list)
    observations: list[dict[str, Any]] = field(default_factory=list)
    published: list[types.PublishDiagnosticsParams] = field(default_factory=list)
    refreshes: int = 0
    texts: dict[str, str] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)

    # --- documents ---

    def open(self, text: str, uri: str = "") -> str:
        uri = uri or f"file:///tmp/compile-lens-test/{uuid.uuid4().hex}.py"
        self.texts[uri], self.versions[uri] = text, 1
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, text))
        )
        return uri

    def open_file(self, path: Path) -> str:
        return self.open(path.read_bytes().decode("utf-8-sig"), path.as_uri())

    def change(self, uri: str, text: str) -> None:
        self.texts[uri] = text
        self.versions[uri] += 1
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self.versions[uri], uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    def close(self, uri: str) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    # --- positions, read as the protocol says ---

    def lines(self, uri: str) -> list[str]:
        return re.split(r"\r\n|\n|\r", self.texts[uri])

    def offset(self, uri: str, position: types.Position) -> int:
        """Offset in the text of a position in the units of this editor."""
        ends = [match.end() for match in re.finditer(r"\r\n|\n|\r", self.texts[uri])]
        start = ([0, *ends])[position.line] if position.line <= len(ends) else len(self.texts[uri])
        lines = self.lines(uri)
        line = lines[position.line] if position.line < len(lines) else ""
        codec, width = _UNITS[self.encoding]
        return start + len(line.encode(codec)[: position.character * width].decode(codec))

    def text_of(self, uri: str, place: types.Range) -> str:
        return self.texts[uri][self.offset(uri, place.start) : self.offset(uri, place.end)]

    def position(self, uri: str, needle: str, behind: int = 0) -> types.Position:
        """Position of the first occurrence of some text, so many characters into it."""
        offset = self.texts[uri].index(needle) + behind
        before = re.split(r"\r\n|\n|\r", self.texts[uri][:offset])
        codec, width = _UNITS[self.encoding]
        return types.Position(len(before) - 1, len(before[-1].encode(codec)) // width)

    def place(self, uri: str, needle: str) -> types.Range:
        return types.Range(self.position(uri, needle), self.position(uri, needle, len(needle)))

    # --- answers ---

    async def diagnostics(self, uri: str) -> list[types.Diagnostic]:
        """What is shown now: asked for, or the last that was pushed."""
        if self.pull:
            report = await self.client.text_document_diagnostic_async(
                types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
            )
            assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
            return list(report.items)
        return list(self.client.diagnostics.get(uri, []))

    async def found(self, uri: str) -> list[tuple[str, str]]:
        """Codes of what is shown, and the text under each."""
        return [(str(d.code), self.text_of(uri, d.range)) for d in await self.diagnostics(uri)]

    async def expect(self, uri: str, wanted: list[tuple[str, str]], within: float = WAIT_S) -> list[types.Diagnostic]:
        """Wait until exactly this is shown."""
        last: list[tuple[str, str]] = []
        with contextlib.suppress(asyncio.TimeoutError):
            async with _deadline(within):
                while (last := await self.found(uri)) != wanted:
                    await asyncio.sleep(0.05)
                return await self.diagnostics(uri)
        raise AssertionError(f"shown: {last}, wanted: {wanted}; health: {self.statuses[-3:]}")

    async def until(self, condition: Callable[[], Any], within: float = WAIT_S) -> Any:
        """Wait until something holds, and return it."""
        end = asyncio.get_running_loop().time() + within
        while not (value := condition()):
            if asyncio.get_running_loop().time() > end:
                raise AssertionError(f"did not come; health: {self.statuses[-3:]}, states: {self.states[-2:]}")
            await asyncio.sleep(0.02)
        return value

    async def actions(
        self, uri: str, place: types.Range, only: Optional[list[types.CodeActionKind | str]] = None
    ) -> list[types.CodeAction]:
        answer = await self.client.text_document_code_action_async(
            types.CodeActionParams(types.TextDocumentIdentifier(uri), place, types.CodeActionContext([], only=only))
        )
        actions = [action for action in answer or [] if isinstance(action, types.CodeAction)]
        assert len(actions) == len(answer or [])
        return actions

    def applied(self, uri: str, action: types.CodeAction) -> str:
        """The text after an action, applied as the protocol says."""
        assert action.edit is not None
        if action.edit.document_changes is not None:
            (change,) = action.edit.document_changes
            assert isinstance(change, types.TextDocumentEdit)
            assert (change.text_document.uri, change.text_document.version) == (uri, self.versions[uri])
            edits: list[Any] = list(change.edits)
        else:
            assert action.edit.changes is not None
            edits = list(action.edit.changes[uri])
        places = [(self.offset(uri, e.range.start), self.offset(uri, e.range.end), e.new_text) for e in edits]
        ordered = sorted(places, key=lambda entry: entry[:2])
        assert all(a[1] <= b[0] for a, b in zip(ordered, ordered[1:])), "edits overlap"
        text = self.texts[uri]
        for start, end, new in reversed(ordered):
            text = text[:start] + new + text[end:]
        return text

    async def hover(self, uri: str, position: types.Position) -> Optional[types.Hover]:
        return await self.client.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(uri), position)
        )

    async def lenses(self, uri: str) -> list[types.CodeLens]:
        answer = await self.client.text_document_code_lens_async(
            types.CodeLensParams(types.TextDocumentIdentifier(uri))
        )
        return list(answer or [])

    async def command(self, name: str, *arguments: Any) -> Any:
        return await self.client.workspace_execute_command_async(
            types.ExecuteCommandParams(f"compileLens.{name}", list(arguments))
        )

    async def configure(self, values: dict[str, Any]) -> None:
        self.client.set_configuration(values, section="compileLens")
        self.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))

    # --- processes ---

    @property
    def pid(self) -> int:
        process: Any = self.client._server
        return process.pid

    def processes(self) -> dict[int, str]:
        """All living processes that came from this server: their ids and command lines."""
        return marked(self.mark)


@asynccontextmanager
async def _deadline(seconds: float) -> AsyncIterator[None]:
    """``asyncio.timeout`` for Python before 3.11."""
    task = asyncio.current_task()
    assert task is not None
    passed = False

    def stop() -> None:
        nonlocal passed
        passed = True
        task.cancel()

    handle = asyncio.get_running_loop().call_later(seconds, stop)
    try:
        yield
    except asyncio.CancelledError:
        if passed:
            raise asyncio.TimeoutError from None
        raise
    finally:
        handle.cancel()


def marked(mark: str) -> dict[int, str]:
    """Living processes with a mark in their environment."""
    found: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes():
                    found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    return found


def capabilities(encoding: str, pull: bool, refresh: bool = True) -> types.ClientCapabilities:
    """What an editor of today says that it can do."""
    return types.ClientCapabilities(
        workspace=types.WorkspaceClientCapabilities(
            configuration=True,
            workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=pull),
            diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=refresh) if pull else None,
            code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=refresh),
        ),
        text_document=types.TextDocumentClientCapabilities(
            diagnostic=types.DiagnosticClientCapabilities() if pull else None,
            hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.Markdown]),
        ),
        window=types.WindowClientCapabilities(work_done_progress=True),
        general=types.GeneralClientCapabilities(
            position_encodings=[types.PositionEncodingKind(encoding), types.PositionEncodingKind.Utf16]
        ),
    )


@asynccontextmanager
async def start(
    encoding: str = "utf-16",
    pull: bool = False,
    *,
    settings: Optional[dict[str, Any]] = None,
    refresh: bool = True,
    clean: bool = True,
    **options: Any,
) -> AsyncIterator[Editor]:
    """A connected editor; ``options`` are the initialization options. It must end cleanly unless told otherwise."""
    client = make_test_lsp_client()
    editor = Editor(client, encoding, pull, uuid.uuid4().hex)

    @client.feature("compileLens/status")
    def status(params: Any) -> None:
        editor.statuses.append((params.health, params.message))

    @client.feature("compileLens/probe")
    def probe(params: Any) -> None:
        editor.states.append(plain(params))

    @client.feature("compileLens/observation")
    def observation(params: Any) -> None:
        editor.observations.append(plain(params))

    @client.feature(types.WORKSPACE_CODE_LENS_REFRESH)
    def lens_refresh(params: Any) -> None:
        editor.refreshes += 1

    original = client.protocol.fm.features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS]

    def publish(params: types.PublishDiagnosticsParams) -> None:
        editor.published.append(params)
        original(params)

    client.protocol.fm.features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS] = publish
    if settings:
        client.set_configuration(settings, section="compileLens")
    await client.start_io(
        sys.executable, "-m", "compile_lens.cli", "server", cwd=str(ROOT), env={**os.environ, MARK: editor.mark}
    )
    answer = await client.initialize_session(
        types.InitializeParams(capabilities(encoding, pull, refresh), root_uri=None, initialization_options=options)
    )
    assert answer.capabilities.position_encoding == encoding
    await editor.until(lambda: editor.statuses)
    try:
        yield editor
        if clean:
            await asyncio.wait_for(client.shutdown_session(), 15)
            process: Any = client._server
            assert process.returncode == 0
            await editor.until(lambda: not editor.processes(), 5)
    finally:
        for pid in editor.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        with contextlib.suppress(Exception):
            await client.stop()


def plain(value: Any) -> Any:
    """pygls' untyped objects as plain data."""
    if hasattr(value, "_asdict"):
        return {key: plain(entry) for key, entry in value._asdict().items()}
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if hasattr(value, "__dict__") and type(value).__name__ == "Object":
        return {key: plain(entry) for key, entry in vars(value).items()}
    return value
