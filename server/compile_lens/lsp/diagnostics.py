"""Diagnostics: analysing in the background, pulled by clients that can, pushed to the others, and hovers on them."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Optional

from lsprotocol import types

from ..findings.finding import Finding
from ..findings.merge import merge, merge_recompiles
from ..rules.registry import RULES
from . import records
from .convert import from_position, to_range
from .documents import Document
from .server import CompileLensServer

log = logging.getLogger("compile_lens")

SOURCE = "Compile Lens"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "information": types.DiagnosticSeverity.Information,
    "hint": types.DiagnosticSeverity.Hint,
}
_BY_CERTAINTY = {"confirmed": "warning", "certain": "warning", "likely": "information", "candidate": "hint"}
DEBOUNCE_S = 0.2
"""Pause in typing before a text is analysed."""
WAIT_S = 60.0
"""Seconds that a pull waits for the analysis before it answers with what is known."""


# --- analysing -----------------------------------------------------------------------------------------------------


def analyze_all(ls: CompileLensServer) -> None:
    for document in ls.documents.values():
        schedule(ls, document, delay=0.0)


def schedule(ls: CompileLensServer, document: Document, delay: float = DEBOUNCE_S) -> None:
    """Analyse a document after a pause in typing; a newer text takes the place of an older one."""
    if document.task is not None:
        document.task.cancel()
    document.ready.clear()
    if not ls.pulls and document.analysis is not None:
        publish(ls, document)  # findings follow the edit at once
    document.task = ls.start(_analyze(ls, document, delay), "analysis")


async def _analyze(ls: CompileLensServer, document: Document, delay: float) -> None:
    await asyncio.sleep(delay)
    source = document.source
    analysis = await ls.analyzer.analyze(source.path, source.text, ls.options())
    if analysis.fault is not None and analysis.error != document.problem:  # once, not at every key press
        log.error("%s\n%s", analysis.error, analysis.fault)
    document.problem = analysis.error
    if analysis.error is None or document.analysis is None:
        document.analysis, document.analyzed = analysis, source
    document.ready.set()
    ls.report(document.uri, "warning" if analysis.error else "ok", analysis.error or "")
    show(ls, document)
    ls.refresh("code_lens")


# --- findings as diagnostics ---------------------------------------------------------------------------------------


def visible_findings(ls: CompileLensServer, document: Document) -> list[Finding]:
    """Findings of a document at their present places, merged with what its probes saw."""
    if not ls.settings.enable:
        return []
    findings: list[Finding] = list(document.current().findings)
    for breaks, traced in records.observations(ls, document):
        findings = merge(findings, breaks, traced, document.source, ls.locale)
    seen = ls.observation.of(document) if ls.observation is not None else None
    if seen is not None:
        findings = merge(findings, seen.breaks, seen.traced, document.source, ls.locale)
        findings = merge_recompiles(findings, seen.recompiles, document.source, ls.locale)
    return [finding for finding in findings if severity(ls, finding) is not None]


def severity(ls: CompileLensServer, finding: Finding) -> Optional[types.DiagnosticSeverity]:
    """Severity of a finding; ``None`` when the settings turn it off."""
    chosen = ls.settings.severity
    name = chosen.get(finding.code) or chosen.get(finding.certainty)
    if name is None:
        name = "hint" if finding.effect == "info" else _BY_CERTAINTY.get(finding.certainty, "information")
    return _SEVERITIES.get(name)


def to_diagnostic(ls: CompileLensServer, document: Document, finding: Finding) -> types.Diagnostic:
    return types.Diagnostic(
        range=to_range(document.source, finding.range, ls.encoding),
        message=finding.message,
        severity=severity(ls, finding),
        code=finding.code,
        source=SOURCE,
        data={"code": finding.code},
    )


def diagnostics_of(ls: CompileLensServer, document: Document) -> list[types.Diagnostic]:
    return [to_diagnostic(ls, document, finding) for finding in visible_findings(ls, document)]


def publish(ls: CompileLensServer, document: Document) -> None:
    """Push the diagnostics of a document."""
    ls.text_document_publish_diagnostics(
        types.PublishDiagnosticsParams(document.uri, diagnostics_of(ls, document), document.version)
    )


def show(ls: CompileLensServer, document: Document) -> None:
    """Have the client show the diagnostics of a document as they are now."""
    if ls.pulls:
        ls.refresh("diagnostics")
    else:
        publish(ls, document)


def stop(document: Document) -> None:
    """End the analysis of a document, and the waiting for it."""
    if document.task is not None:
        document.task.cancel()
    document.ready.set()


def forget(ls: CompileLensServer, document: Document) -> None:
    """A document was closed: nothing is shown for it, and nobody waits for it."""
    stop(document)
    ls.report(document.uri, "ok")
    if not ls.pulls:
        ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(document.uri, []))


async def analyzed(ls: CompileLensServer, document: Document, *, newest: bool) -> None:
    """Wait, within reason, until a document has been analysed; with ``newest`` its present text."""
    if newest or document.analysis is None:
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(document.ready.wait(), WAIT_S)


def refresh(ls: CompileLensServer, document: Document) -> None:
    """Show changed findings that no edit caused: a probe has ended, say."""
    if ls.document(document.uri) is not document:
        return  # closed by now
    show(ls, document)


def findings_at(ls: CompileLensServer, document: Document, position: types.Position) -> list[Finding]:
    place = from_position(document.source, position, ls.encoding)
    return [
        finding
        for finding in visible_findings(ls, document)
        if (finding.range.start.line, finding.range.start.column)
        <= (place.line, place.column)
        <= (finding.range.end.line, finding.range.end.column)
    ]


# --- handlers ------------------------------------------------------------------------------------------------------


def register(server: CompileLensServer) -> None:
    @server.feature(
        types.TEXT_DOCUMENT_DIAGNOSTIC,
        types.DiagnosticOptions(inter_file_dependencies=False, workspace_diagnostics=False, identifier="compile-lens"),
    )
    async def diagnose(
        ls: CompileLensServer, params: types.DocumentDiagnosticParams
    ) -> types.RelatedFullDocumentDiagnosticReport:
        document = ls.document(params.text_document.uri)
        if document is None:
            return types.RelatedFullDocumentDiagnosticReport(items=[])
        # The first answer must not be an empty list: the client would show "no problems". A client that cannot be
        # told to ask again has to wait for the answer that counts.
        await analyzed(ls, document, newest=not ls.can_refresh("diagnostics"))
        return types.RelatedFullDocumentDiagnosticReport(items=diagnostics_of(ls, document))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(ls: CompileLensServer, params: types.HoverParams) -> Optional[types.Hover]:
        document = ls.document(params.text_document.uri)
        if document is None:
            return None
        found = findings_at(ls, document, params.position)
        if not found:
            return None
        parts = [describe(finding, ls.locale) for finding in found]
        place = to_range(document.source, found[0].range, ls.encoding)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(parts)), place)


def describe(finding: Finding, locale: str = "en") -> str:
    """Markdown for a hover: why Dynamo does that, what to write instead; editors show the message themselves."""
    rule = RULES.get(finding.code)
    if rule is None:
        lines = [f"**{finding.code}** {finding.message}"]
    else:
        summary = rule.summary.in_locale(locale)
        lines = [f"**{finding.code} {finding.name}**: {summary}", rule.explanation.strip()]
    if finding.gb_types:
        lines.append("Dynamo: " + ", ".join(f"*{name}*" for name in finding.gb_types))
    return "\n\n".join(lines)
