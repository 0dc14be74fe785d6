"""Our edits as the client takes them."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types

from ..fixes.edit import Fix, distinct_edits
from .convert import to_range
from .documents import Document
from .server import CompileLensServer


def workspace_edit(ls: CompileLensServer, document: Document, fixes: Iterable[Fix]) -> types.WorkspaceEdit:
    """Edits of some fixes, against the version of the document that they were made for."""
    edits = [
        types.TextEdit(to_range(document.source, edit.range, ls.encoding), edit.text) for edit in distinct_edits(fixes)
    ]
    workspace = ls.client_capabilities.workspace
    capabilities = workspace.workspace_edit if workspace is not None else None
    if capabilities is not None and capabilities.document_changes:
        identifier = types.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(identifier, edits)])
    return types.WorkspaceEdit(changes={document.uri: edits})
