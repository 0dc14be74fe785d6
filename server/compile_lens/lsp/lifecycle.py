"""Handlers of the session and of documents: initialization, settings, trust, open, change, close, shutdown."""

from __future__ import annotations

import logging
from typing import Any, cast

from lsprotocol import types

from ..text.source import Source
from . import diagnostics, records
from .documents import new_document
from .server import INTERPRETER, TRUST, CompileLensServer

log = logging.getLogger("compile_lens")


def register(server: CompileLensServer) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(ls: CompileLensServer, params: types.InitializeParams) -> None:
        options: Any = params.initialization_options
        ls.trusted = _get(options, "trusted", False) is True
        ls.locale = str(_get(options, "locale", "en") or "en").lower()
        ls.use_interpreter(_command(options), str(_get(options, "interpreterSource", "")))

    @server.feature(types.INITIALIZED)
    async def initialized(ls: CompileLensServer, params: types.InitializedParams) -> None:
        ls.announce_status()
        await ls.read_settings()
        diagnostics.analyze_all(ls)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def settings_changed(ls: CompileLensServer, params: types.DidChangeConfigurationParams) -> None:
        await ls.read_settings()
        diagnostics.analyze_all(ls)

    @server.feature(TRUST)
    def trust_changed(ls: CompileLensServer, params: Any) -> None:
        ls.trusted = _get(params, "trusted", False) is True
        if not ls.trusted:
            ls.start(ls.jobs.close(), "ending probes")

    @server.feature(INTERPRETER)
    def interpreter_changed(ls: CompileLensServer, params: Any) -> None:
        ls.use_interpreter(_command(params), str(_get(params, "interpreterSource", "")))
        diagnostics.analyze_all(ls)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(ls: CompileLensServer, params: types.DidOpenTextDocumentParams) -> None:
        document = new_document(params.text_document)
        older = ls.documents.get(document.uri)
        if older is not None:  # opened twice: the older text must not be shown later
            diagnostics.stop(older)
        ls.documents[document.uri] = document
        diagnostics.schedule(ls, document, delay=0.0)
        records.announce_known(ls, document)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(ls: CompileLensServer, params: types.DidChangeTextDocumentParams) -> None:
        document = ls.document(params.text_document.uri)
        if document is None or not params.content_changes:
            return
        document.source = Source(document.path, params.content_changes[-1].text)
        document.version = params.text_document.version
        diagnostics.schedule(ls, document)
        records.mark_stale(ls, document)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: CompileLensServer, params: types.DidCloseTextDocumentParams) -> None:
        document = ls.documents.pop(params.text_document.uri, None)
        if document is not None:
            diagnostics.forget(ls, document)

    @server.feature(types.SHUTDOWN)
    async def shutdown(ls: CompileLensServer, params: Any) -> None:
        await ls.close()


def _get(options: Any, name: str, default: Any) -> Any:
    """A value of an untyped payload, which arrives as a mapping or as an object."""
    if isinstance(options, dict):
        return cast("dict[str, Any]", options).get(name, default)
    return getattr(options, name, default)


def _command(options: Any) -> tuple[str, ...]:
    """The interpreter's command line; empty where it is none, so that a probe says that none is known."""
    given: Any = _get(options, "interpreter", ())
    words = cast("list[Any]", given) if isinstance(given, (list, tuple)) else []
    command = tuple(word for word in words if isinstance(word, str) and word and "\0" not in word)
    if given is None or (isinstance(given, (list, tuple)) and len(command) == len(words)):
        return command
    log.warning("the interpreter is no command line: %.300r", words)
    return ()
