"""The language server: its state, and what it does for every handler.

It knows none of the handlers; they are registered in `main`. Everything that takes time is awaited; nothing blocks
the loop.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Coroutine
from typing import Any, Optional, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.lsp.server import LanguageServer

from .. import __version__
from ..findings.scan import Options
from ..knowledge.versions import NEWEST, parse_version
from ..probing.environment import Environment, read_environment
from ..probing.jobs import Jobs
from ..probing.runs import Runs
from .analyzer import Analyzer
from .documents import Document
from .observed import Observation
from .protocol import Protocol
from .record import Record
from .settings import Settings, read_settings

log = logging.getLogger("compile_lens")

STATUS = "compileLens/status"
PROBE = "compileLens/probe"
TRUST = "compileLens/trust"
INTERPRETER = "compileLens/interpreter"
OBSERVATION = "compileLens/observation"

ANSWER_S = 10.0
"""Seconds that the client gets to answer a request that nobody depends on."""


class CompileLensServer(LanguageServer):
    """State of one server: documents, settings, trust, interpreter, analyses and probes."""

    protocol: Protocol  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self) -> None:
        # Whole texts: pygls splits lines at form feeds too, which would misplace incremental edits.
        super().__init__(  # pyright: ignore[reportUnknownMemberType]  # pygls leaves a parameter without a type
            "compile-lens",
            __version__,
            text_document_sync_kind=types.TextDocumentSyncKind.Full,
            protocol_cls=Protocol,
            max_workers=1,  # pygls reads in it, one message after the other; more would start by chance
        )
        self.documents: dict[str, Document] = {}
        self.settings = Settings()
        self.trusted = False
        self.interpreter: tuple[str, ...] = ()
        self.environment = Environment()
        self.locale = "en"
        self.analyzer = Analyzer()
        self.jobs = Jobs()
        self.results: dict[str, dict[str, Record]] = {}
        """Probes by document and target."""
        self.runs = Runs()
        self.observation: Optional[Observation] = None
        """The observed run that is shown."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._refreshing: dict[str, bool] = {}
        """Refreshes that the client has not answered, and whether another is due then."""
        self._problems: dict[str, tuple[str, str]] = {}
        """What is not well, by what it concerns: health and message."""

    # --- what the client can do ------------------------------------------------------------------------------------

    @property
    def encoding(self) -> str:
        """Position encoding that was negotiated."""
        return str(self.server_capabilities.position_encoding or types.PositionEncodingKind.Utf16)

    @property
    def pulls(self) -> bool:
        """Does the client ask for diagnostics itself?"""
        document = self.client_capabilities.text_document
        return document is not None and document.diagnostic is not None

    def can_refresh(self, feature: str) -> bool:
        """Does the client take ``workspace/<feature>/refresh``?"""
        workspace = self.client_capabilities.workspace
        support = getattr(workspace, feature, None) if workspace is not None else None
        return bool(getattr(support, "refresh_support", False))

    @property
    def shows_progress(self) -> bool:
        window = self.client_capabilities.window
        return bool(window is not None and window.work_done_progress)

    # --- services for the handlers ---------------------------------------------------------------------------------

    def options(self) -> Options:
        """Options of an analysis for the editor, as settings and interpreter say."""
        version = NEWEST
        for text in (self.settings.torch_version, self.environment.torch or ""):
            try:
                version = parse_version(text)
                break
            except ValueError:
                continue
        return Options(
            scope=self.settings.scope,
            torch_version=version,
            python_version=self.environment.python or sys.version_info[:2],
            select=self.settings.select,
            ignore=self.settings.ignore,
            locale=self.locale,
            torch_folder=self.environment.torch_folder,
            with_offers=True,
        )

    def document(self, uri: str) -> Optional[Document]:
        return self.documents.get(uri)

    def start(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run something in the background; a failure is logged with its name."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)

        def ended(done: asyncio.Task[Any]) -> None:
            self._tasks.discard(done)
            if done.cancelled():
                return
            error = done.exception()
            if error is not None:
                log.error("%s failed", name, exc_info=error)
            self.report(f"task {name}", "error" if error else "ok", f"{name} failed: {error}")

        task.add_done_callback(ended)
        return task

    def report(self, subject: str, health: str, message: str = "") -> None:
        """Note how something is doing (a file, the settings, a task); the client hears when the whole changes."""
        before = self._overall()
        if health == "ok":
            self._problems.pop(subject, None)
        else:
            self._problems[subject] = health, message
        if self._overall() != before:
            self.announce_status()

    def announce_status(self) -> None:
        """Tell the client how the server as a whole is doing."""
        health, message = self._overall()
        self.protocol.notify(STATUS, {"health": health, "message": message})

    def _overall(self) -> tuple[str, str]:
        """The worst health there is, and what all its subjects say."""
        worst = "error" if any(health == "error" for health, _ in self._problems.values()) else "warning"
        messages = [message for health, message in self._problems.values() if health == worst]
        return (worst, "; ".join(messages)) if messages else ("ok", "")

    def use_interpreter(self, interpreter: tuple[str, ...], source: str) -> None:
        self.interpreter = interpreter
        self.environment = read_environment(list(interpreter))
        log.info(
            "interpreter: %s (from %s), %s", " ".join(interpreter) or "none", source or "nowhere", self.environment
        )

    async def read_settings(self) -> None:
        """Ask the client for its settings; without them the defaults hold."""
        workspace = self.client_capabilities.workspace
        if workspace is None or not workspace.configuration:
            return
        item = types.ConfigurationItem(section="compileLens")
        try:
            answer = await self.workspace_configuration_async(types.ConfigurationParams([item]))
        except JsonRpcException as error:
            self.report("settings", "warning", f"the editor gave no settings, the last ones hold: {error}")
            return
        values = answer[0] if answer else None
        known = cast("dict[str, Any]", values) if isinstance(values, dict) else None
        self.settings, problems = read_settings(known)
        for problem in problems:
            log.warning("%s", problem)
        self.report("settings", "warning" if problems else "ok", "; ".join(problems))

    def refresh(self, feature: str) -> None:
        """Have a client that can ask again for ``diagnostics`` or ``code_lens``; one question at a time."""
        if feature in self._refreshing:
            self._refreshing[feature] = True
        elif self.can_refresh(feature):
            self._refreshing[feature] = True
            self.start(self._refresh(feature), f"{feature} refresh")

    async def _refresh(self, feature: str) -> None:
        ask = self.workspace_code_lens_refresh_async
        if feature == "diagnostics":
            ask = self.workspace_diagnostic_refresh_async
        try:
            while self._refreshing[feature]:
                self._refreshing[feature] = False
                await asyncio.wait_for(ask(None), ANSWER_S)
        except (JsonRpcException, asyncio.TimeoutError) as error:
            log.warning("the client did not refresh %s: %s", feature, error or f"no answer in {ANSWER_S:.0f} s")
        finally:
            del self._refreshing[feature]

    async def close(self) -> None:
        """End every child process."""
        await asyncio.gather(self.jobs.close(), self.analyzer.close())

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log an error in a handler, and show it once per kind as health; pygls would open a popup each time.

        A frame without JSON is answered here, since pygls reads it; other faults of the client's are only logged.
        """
        if source is JsonRpcException and isinstance(error, (ValueError, RecursionError)):
            self.protocol.refuse_unreadable(error)
            return
        if isinstance(error, JsonRpcException) and not isinstance(error, JsonRpcInternalError):
            log.warning("%s", error)
            return
        log.error("error in %s", source, exc_info=error)
        kind = type(error).__name__
        self.report(f"handler {kind}", "error", f"{kind}: {error}")
