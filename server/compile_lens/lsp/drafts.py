"""Example inputs on demand: a draft is written into the document by a command, and its first value selected."""

from __future__ import annotations

import logging
from typing import Optional

import attrs
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from ..findings.finding import Target
from ..fixes.draft import Draft
from ..fixes.edit import Fix, apply
from ..text.source import Source
from . import diagnostics
from .convert import to_range
from .documents import Document
from .edits import workspace_edit
from .server import CompileLensServer

log = logging.getLogger("compile_lens")

COMMAND = "compileLens.draftInputs"


@attrs.define
class DraftArguments:
    """Arguments of the command: a target by name."""

    uri: str
    target: str


def title(locale: str) -> str:
    return "添加示例输入" if locale.startswith("zh") else "Add inputs"


def action_title(locale: str, target: str) -> str:
    if locale.startswith("zh"):
        return f"为 `{target}` 写示例输入草稿"
    return f"Write a draft of example inputs for `{target}`"


def offered(ls: CompileLensServer, document: Document, target: Target) -> Optional[types.Command]:
    """The command that writes a target's draft, where one is missing and the client lets the server edit."""
    workspace = ls.client_capabilities.workspace
    if target.draft is None or workspace is None or not workspace.apply_edit:
        return None
    return types.Command(title(ls.locale), COMMAND, arguments=[{"uri": document.uri, "target": target.name}])


def register(server: CompileLensServer) -> None:
    @server.command(COMMAND)
    async def write(ls: CompileLensServer, arguments: DraftArguments) -> bool:
        document = ls.document(arguments.uri)
        if document is None:
            return False
        await diagnostics.analyzed(ls, document, newest=True)
        target = next((t for t in document.current().targets if t.name == arguments.target), None)
        if target is None or target.draft is None:
            ls.window_show_message(types.ShowMessageParams(types.MessageType.Info, _nothing_to_write(ls, arguments)))
            return False
        name, before = title(ls.locale), document.source
        edit = workspace_edit(ls, document, [Fix(name, target.draft.edits)])
        answer = await ls.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit, name))
        if answer.applied:
            await _select(ls, document.uri, before, target.draft)
        return answer.applied


def _nothing_to_write(ls: CompileLensServer, arguments: DraftArguments) -> str:
    if ls.locale.startswith("zh"):
        return f"Compile Lens：{arguments.target} 已有示例输入，或已不在文件中"
    return f"Compile Lens: {arguments.target} has example inputs by now, or is no longer in the file"


async def _select(ls: CompileLensServer, uri: str, before: Source, draft: Draft) -> None:
    """Put the cursor where the author has to look, in a client that can; columns count in the text with the draft."""
    window = ls.client_capabilities.window
    if window is None or window.show_document is None or not window.show_document.support:
        return
    edits = [(before.offset(e.range.start), before.offset(e.range.end), e.text) for e in draft.edits]
    after = Source(before.path, apply(before.text, edits) or before.text)
    place = to_range(after, draft.selection, ls.encoding)
    try:
        await ls.window_show_document_async(types.ShowDocumentParams(uri, take_focus=True, selection=place))
    except JsonRpcException as error:
        log.warning("the client did not show the draft: %s", error)
