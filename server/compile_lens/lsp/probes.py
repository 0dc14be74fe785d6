"""Probes on request: started by a command, watched with progress and cancel, shown when they end."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional, cast

import attrs
from lsprotocol import types
from pygls.uris import to_fs_path

from ..probing.jobs import Event, JobRequest
from ..text.errors import SourceError
from ..text.source import Source, read
from . import diagnostics, records
from .convert import from_position
from .documents import Document, path_of
from .progress import Progress
from .record import Record
from .server import CompileLensServer

log = logging.getLogger("compile_lens")


@attrs.define
class ProbeArguments:
    """Arguments of ``compileLens.probe``: a target by name, or the one around a position."""

    uri: str
    target: Optional[str] = None
    position: Optional[types.Position] = None


# --- the command ---------------------------------------------------------------------------------------------------


def target_at(ls: CompileLensServer, document: Document, position: types.Position) -> Optional[str]:
    """The target that a position is in: the last one that begins above it."""
    line = from_position(document.source, position, ls.encoding).line
    found = [target for target in document.current().targets if target.range.start.line <= line]
    return found[-1].name if found else None


def refusal(ls: CompileLensServer, document: Optional[Document], target: Optional[str]) -> Optional[str]:
    """Why a probe cannot start, in a sentence with the remedy."""
    zh = ls.locale.startswith("zh")
    if document is None:
        return "文件未打开" if zh else "the file is not open in the editor"
    if not ls.trusted:
        return (
            "此工作区不受信任：实测会运行您的代码。请先信任工作区"
            if zh
            else "this workspace is not trusted, and probing runs your code; trust the workspace first"
        )
    if not ls.interpreter:
        return (
            "没有可用的 Python 解释器；请运行“选择解释器”"
            if zh
            else "no Python interpreter is known; run 'Compile Lens: Select Interpreter'"
        )
    if not document.uri.startswith("file:"):
        return "请先将文件保存到磁盘" if zh else "save the file to disk first"
    if not Path(document.path).exists():
        return f"{document.path} 不存在，请先保存" if zh else f"{document.path} does not exist; save the file first"
    if target is None:
        return (
            "光标处没有可实测的目标（带 forward 的模块或被编译的函数）"
            if zh
            else "nothing here can be probed: put the cursor into a module with a forward, or a compiled function"
        )
    if not _saved(document):
        return "文件有未保存的修改，请先保存" if zh else "the file has unsaved changes; save it, then probe"
    return None


def _saved(document: Document) -> bool:
    """Is the text the one on disk? Editors may show other line ends than the file has."""
    try:
        saved = read(Path(document.path))
    except SourceError:
        return False
    return _lines(saved) == _lines(document.source)


def _lines(source: Source) -> list[str]:
    return [source.line(index) for index in range(len(source.line_starts))]


def register(server: CompileLensServer) -> None:
    @server.command("compileLens.probe")
    async def probe(ls: CompileLensServer, arguments: ProbeArguments) -> dict[str, Any]:
        document = ls.document(arguments.uri)
        target = arguments.target
        if target is None and document is not None and arguments.position is not None:
            target = target_at(ls, document, arguments.position)
        reason = refusal(ls, document, target)
        if reason is not None or document is None or target is None:
            ls.window_show_message(types.ShowMessageParams(types.MessageType.Warning, f"Compile Lens: {reason}"))
            source = document.source if document is not None else Source("", "")
            return Record(arguments.uri, target or "", "done", source, status="error", message=reason).payload(
                ls.locale
            )
        return (await run(ls, document, target)).payload(ls.locale)

    @server.command("compileLens.cancelProbe")
    async def cancel(ls: CompileLensServer, *arguments: Any) -> int:
        path = _path(ls, arguments)
        jobs = ls.jobs.running(path)
        await asyncio.gather(*(ls.jobs.cancel(job) for job in jobs))
        return len(jobs)

    @server.command("compileLens.clearProbeResults")
    def clear(ls: CompileLensServer, *arguments: Any) -> int:
        uri = _uri(arguments)
        count = 0
        for known in [uri] if uri else list(ls.results):
            for target, record in list(records.of_document(ls, known).items()):
                if record.state != "running":
                    del records.of_document(ls, known)[target]
                    records.announce(ls, replace(record, state="cleared", status=None, message=None, result=None))
                    count += 1
            document = ls.document(known)
            if document is not None:
                diagnostics.refresh(ls, document)
        ls.refresh("code_lens")
        return count


def _uri(arguments: tuple[Any, ...]) -> Optional[str]:
    first = arguments[0] if arguments else None
    uri = cast("dict[str, Any]", first).get("uri") if isinstance(first, dict) else getattr(first, "uri", None)
    return uri if isinstance(uri, str) else None


def _path(ls: CompileLensServer, arguments: tuple[Any, ...]) -> Optional[str]:
    uri = _uri(arguments)
    return path_of(uri) if uri else None


async def run(ls: CompileLensServer, document: Document, target: str) -> Record:
    """Probe one target, with progress; its final record."""
    progress = await Progress.begin(ls, f"实测 {target}" if ls.locale.startswith("zh") else f"Probing {target}")
    record = Record(document.uri, target, "running", document.source, stage="start")
    records.store(ls, record)
    ls.refresh("code_lens")
    folders = list(ls.workspace.folders.values())
    cwd = next((p for p in (to_fs_path(f.uri) for f in folders) if p and document.path.startswith(p)), None)
    request = JobRequest(
        ls.interpreter,
        document.path,
        target,
        ls.settings.backends,
        ls.settings.device,
        ls.settings.timeout_s,
        ls.settings.budget_s,
        cwd or str(Path(document.path).parent),
        ls.settings.setup_script,
        ls.settings.env_file,
    )

    def listener(event: Event) -> None:
        nonlocal record
        progress.show(event)
        if event.get("type") == "stage" and event.get("state") == "start":
            record = replace(record, stage=str(event.get("name")))
            records.store(ls, record)
            ls.refresh("code_lens")

    def cancel() -> None:
        for job in ls.jobs.running(document.path):
            if job.request == request:
                ls.start(ls.jobs.cancel(job), "cancel")

    progress.on_cancel(cancel)
    done: Event = {"status": "cancelled", "message": "cancelled"}  # unless it gets to its end
    try:
        done = await ls.jobs.run(request, listener)
    except Exception as error:  # a bug of ours must not leave a probe that runs for ever
        log.exception("probe of %s failed", target)
        done = {"status": "error", "message": f"internal error: {type(error).__name__}: {error}"}
    finally:
        progress.end()
        record = replace(
            record,
            state="done",
            stage=done.get("stage"),
            status=str(done.get("status")),
            message=done.get("message") or None,
            result=done.get("result") or None,
        )
        # A newer run of the same target took over: its own states must not be overwritten.
        if not any(job.request.target == target for job in ls.jobs.running(document.path)):
            _finish(ls, record)
    return record


def _finish(ls: CompileLensServer, record: Record) -> None:
    """Keep a final record and show it, in the document as it is now."""
    records.store(ls, record)
    document = ls.document(record.uri)
    if document is not None:
        records.mark_stale(ls, document)
        diagnostics.refresh(ls, document)
    ls.refresh("code_lens")
