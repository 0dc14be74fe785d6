"""Code actions: fixes of findings, rewrites on offer, and all safe fixes of a file at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from lsprotocol import types

from ..fixes.edit import without_conflicts
from ..text.source import Position, Range
from . import diagnostics, drafts
from .convert import from_range, overlap
from .documents import Document
from .edits import workspace_edit
from .server import CompileLensServer

FIX_ALL = "source.fixAll.compileLens"
REWRITE = types.CodeActionKind.RefactorRewrite
QUICK_FIX = types.CodeActionKind.QuickFix


def wanted(kind: str, only: Optional[Sequence[types.CodeActionKind | str]]) -> bool:
    """Does the client ask for actions of this kind? Kinds are prefixes: ``quickfix`` covers ``quickfix.x``."""
    return not only or any(kind == k or kind.startswith(f"{k}.") for k in map(_text, only))


def _text(kind: types.CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else kind


def register(server: CompileLensServer) -> None:
    kinds: list[types.CodeActionKind | str] = [QUICK_FIX, REWRITE, FIX_ALL]

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=kinds))
    def actions(ls: CompileLensServer, params: types.CodeActionParams) -> list[types.CodeAction]:
        document = ls.document(params.text_document.uri)
        if document is None:
            return []
        place = from_range(document.source, params.range, ls.encoding)
        only = params.context.only
        found: list[types.CodeAction] = []
        if wanted(_text(QUICK_FIX), only):
            found += quick_fixes(ls, document, place)
        if wanted(_text(REWRITE), only):
            found += rewrites(ls, document, place)
        if only and wanted(FIX_ALL, only):
            found += fix_all(ls, document)
        return found


def quick_fixes(ls: CompileLensServer, document: Document, place: Range) -> list[types.CodeAction]:
    """Fixes of the findings in a range: the mending ones first, the suppressing comment last."""
    mending: list[types.CodeAction] = []
    silencing: list[types.CodeAction] = []
    for finding in diagnostics.visible_findings(ls, document):
        if not overlap(finding.range, place):
            continue
        for fix in finding.fixes:
            action = types.CodeAction(
                fix.title,
                kind=QUICK_FIX,
                diagnostics=[diagnostics.to_diagnostic(ls, document, finding)],
                edit=workspace_edit(ls, document, [fix]),
                is_preferred=fix.preferred or None,
            )
            (silencing if fix.kind == "suppress" else mending).append(action)
    return mending + silencing


def rewrites(ls: CompileLensServer, document: Document, place: Range) -> list[types.CodeAction]:
    """Rewrites on offer at a place."""
    lines = Range(Position(place.start.line, 0), Position(place.end.line, 1_000_000))
    current = document.current()
    found = [
        types.CodeAction(offer.fix.title, kind=REWRITE, edit=workspace_edit(ls, document, [offer.fix]))
        for offer in current.offers
        if overlap(offer.range, lines)
    ]
    for target in current.targets:
        command = drafts.offered(ls, document, target)
        if command is not None and overlap(target.range, lines):
            found.append(types.CodeAction(drafts.action_title(ls.locale, target.name), kind=REWRITE, command=command))
    return found


def fix_all(ls: CompileLensServer, document: Document) -> list[types.CodeAction]:
    """One action that applies every safe fix of the file, if there is one."""
    fixes = [
        fix
        for finding in diagnostics.visible_findings(ls, document)
        for fix in finding.fixes
        if fix.safe and fix.kind == "quickfix"
    ]
    fixes = without_conflicts(fixes)
    if not fixes:
        return []
    title = "修复所有可安全修复的问题" if ls.locale.startswith("zh") else "Fix all that can be fixed safely"
    return [types.CodeAction(title, kind=FIX_ALL, edit=workspace_edit(ls, document, fixes))]
