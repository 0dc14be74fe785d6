"""Code lenses: "Probe" above everything that can be probed, "Observe" at the main block; results beside."""

from __future__ import annotations

from lsprotocol import types

from . import drafts, observing, records
from .convert import to_range
from .diagnostics import analyzed
from .server import CompileLensServer


def register(server: CompileLensServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=False))
    async def lenses(ls: CompileLensServer, params: types.CodeLensParams) -> list[types.CodeLens]:
        document = ls.document(params.text_document.uri)
        if document is None or not (ls.settings.enable and ls.settings.code_lens):
            return []
        await analyzed(ls, document, newest=not ls.can_refresh("code_lens"))
        found: list[types.CodeLens] = []
        for target in document.current().targets:
            place = to_range(document.source, target.range, ls.encoding)
            line = types.Range(place.start, types.Position(place.start.line, place.start.character))
            probing = {"uri": document.uri, "target": target.name}
            title, running = records.lens_title(ls, document, target.name)
            name, argument = ("cancelProbe", {"uri": document.uri}) if running else ("probe", probing)
            command = types.Command(title=title, command=f"compileLens.{name}", arguments=[argument])
            found.append(types.CodeLens(line, command))
            add = drafts.offered(ls, document, target) if records.needs_inputs(ls, document, target.name) else None
            if add is not None:
                found.append(types.CodeLens(line, add))
        main = observing.main_line(document.source)
        if main is not None and document.uri.startswith("file:"):
            title, running = observing.lens_title(ls, document)
            name = "cancelObservation" if running else "observe"
            command = types.Command(title=title, command=f"compileLens.{name}", arguments=[{"uri": document.uri}])
            start = types.Position(main, 0)
            found.append(types.CodeLens(types.Range(start, start), command))
        return found
