"""Observing on request: the user's own program is run and watched, or a trace is imported; facts show as they come."""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path
from typing import Any, Optional

import attrs
from lsprotocol import types
from pygls.uris import to_fs_path

from ..probing.runs import RunRequest, command_of
from ..text.source import Source
from . import diagnostics
from .documents import Document, path_of
from .observed import Observation
from .progress import Progress
from .server import OBSERVATION, CompileLensServer

log = logging.getLogger("compile_lens")

SHOW_S = 0.5
"""Facts are shown together that come within this time."""
_MAIN = re.compile(r"""^if\s+__name__\s*==\s*["']__main__["']\s*:""")


@attrs.define
class ObserveArguments:
    """Arguments of ``compileLens.observe``: a file with its arguments, or a command as a debugger would run it."""

    uri: str = ""
    arguments: list[str] = attrs.field(factory=list[str])
    command: list[str] = attrs.field(factory=list[str])
    cwd: Optional[str] = None
    env: dict[str, str] = attrs.field(factory=dict[str, str])


@attrs.define
class ImportArguments:
    """Arguments of ``compileLens.importTrace``."""

    path: str


def main_line(source: Source) -> Optional[int]:
    """The line (zero-based) of ``if __name__ == "__main__":``."""
    return next((n for n in range(len(source.line_starts)) if _MAIN.match(source.line(n))), None)


def lens_title(ls: CompileLensServer, document: Document) -> tuple[str, bool]:
    """Title of the code lens at the main block, and whether this file's run is being observed."""
    zh = ls.locale.startswith("zh")
    known = ls.observation
    name = Path(document.path).name
    if known is None or known.label != name:
        return ("观察运行 (Observe)" if zh else "Observe this file"), False
    if known.state == "running":
        words = known.payload(ls.locale)["text"]
        return (f"观察中：{words}（点击停止）" if zh else f"observing: {words} (click to stop)"), True
    return f"{'重新观察' if zh else 'Observe again'} | {known.payload(ls.locale)['text']}", False


def refusal(ls: CompileLensServer, arguments: ObserveArguments) -> Optional[str]:
    """Why nothing can be observed, in a sentence with the remedy."""
    zh = ls.locale.startswith("zh")
    if not ls.trusted:
        return (
            "此工作区不受信任：观察会运行您的代码。请先信任工作区"
            if zh
            else "this workspace is not trusted, and observing runs your code; trust the workspace first"
        )
    if ls.runs.current is not None:
        return (
            "已有运行正在被观察，请先停止它"
            if zh
            else "another run is being observed; stop it first ('Compile Lens: Stop Observed Run')"
        )
    if arguments.command and arguments.command[0] != "${python}":
        return None
    if not ls.interpreter:
        return (
            "没有可用的 Python 解释器；请运行“选择解释器”"
            if zh
            else "no Python interpreter is known; run 'Compile Lens: Select Interpreter'"
        )
    if arguments.command:
        return None
    if not arguments.uri.startswith("file:") or not Path(path_of(arguments.uri)).is_file():
        return "请先将文件保存到磁盘" if zh else "save the file to disk first"
    return None


def roots(ls: CompileLensServer) -> list[str]:
    """The workspace's folders."""
    found = (to_fs_path(folder.uri) for folder in ls.workspace.folders.values())
    return [path for path in found if path]


async def run(ls: CompileLensServer, request: RunRequest) -> Observation:
    """Observe or import, with progress; facts are shown in open documents while they come."""
    observation = ls.observation = Observation(request.label, str(request.trace or ""))
    title = f"观察 {request.label}" if ls.locale.startswith("zh") else f"Observing {request.label}"
    progress = await Progress.begin(ls, title)

    def cancel() -> None:
        ls.start(ls.runs.cancel(), "cancel")

    progress.on_cancel(cancel)
    announce(ls)
    ls.refresh("code_lens")
    due = False

    async def show() -> None:
        nonlocal due
        await asyncio.sleep(SHOW_S)
        due = False
        show_facts(ls)

    def listener(event: dict[str, Any]) -> None:
        nonlocal due
        if ls.observation is not observation:
            return
        news = observation.take(event)
        if event.get("type") == "progress":
            progress.say(observation.payload(ls.locale)["text"])
        if (news or event.get("type") == "progress") and not due and event.get("type") != "done":
            due = True
            ls.start(show(), "observed facts")

    done: dict[str, Any] = {"status": "cancelled", "message": None}
    try:
        done = await ls.runs.observe(request, listener)
    except Exception as error:  # a bug of ours must not leave an observation that runs for ever
        log.exception("observing %s failed", request.label)
        done = {"status": "error", "message": f"internal error: {type(error).__name__}: {error}"}
    finally:
        progress.end()
        observation.state = "done"
        observation.status = str(done.get("status"))
        observation.message = done.get("message") or _ended(observation, ls.locale)
        if ls.observation is observation:
            show_facts(ls)
    return observation


def _ended(observation: Observation, locale: str) -> Optional[str]:
    """What to say of an end that is no success, or that shows nothing."""
    result = observation.result or {}
    zh = locale.startswith("zh")
    if result.get("exit"):
        code = result["exit"]
        return f"程序以退出码 {code} 结束" if zh else f"the program ended with exit code {code}"
    if not result.get("compiles") and result.get("notes"):
        return str(result["notes"][0])
    return None


def announce(ls: CompileLensServer) -> None:
    if ls.observation is not None:
        ls.protocol.notify(OBSERVATION, ls.observation.payload(ls.locale))


def show_facts(ls: CompileLensServer) -> None:
    """Tell the client, and have open documents shown again."""
    announce(ls)
    for document in list(ls.documents.values()):
        diagnostics.refresh(ls, document)
    ls.refresh("code_lens")


def register(server: CompileLensServer) -> None:
    @server.command("compileLens.observe")
    async def observe(ls: CompileLensServer, arguments: ObserveArguments) -> dict[str, Any]:
        reason = refusal(ls, arguments)
        path = path_of(arguments.uri) if arguments.uri else ""
        label = Path(path or (arguments.command or ["?"])[-1]).name
        if reason is not None:
            return _refused(ls, label, reason)
        command = _with_python(ls, arguments.command) or command_of(ls.interpreter, path, arguments.arguments)
        inside = next((root for root in roots(ls) if path.startswith(root)), None)
        cwd = arguments.cwd or inside or (str(Path(path).parent) if path else None)
        request = RunRequest(label, command, cwd, tuple(arguments.env.items()))
        return (await run(ls, request)).payload(ls.locale)

    @server.command("compileLens.importTrace")
    async def import_trace(ls: CompileLensServer, arguments: ImportArguments) -> dict[str, Any]:
        reason = refusal(ls, ObserveArguments(command=["-"]))
        path = Path(arguments.path)
        if reason is None and not path.exists():
            reason = f"{path} 不存在" if ls.locale.startswith("zh") else f"there is no {path}"
        if reason is not None:
            return _refused(ls, path.name, reason)
        return (await run(ls, RunRequest(path.name, roots=tuple(roots(ls)), trace=path))).payload(ls.locale)

    @server.command("compileLens.cancelObservation")
    async def cancel(ls: CompileLensServer, *arguments: Any) -> bool:
        return await ls.runs.cancel()

    @server.command("compileLens.clearObservation")
    def clear(ls: CompileLensServer, *arguments: Any) -> bool:
        if ls.observation is None or ls.observation.state == "running":
            return False
        ls.observation = Observation(ls.observation.label, ls.observation.folder, state="cleared")
        show_facts(ls)
        ls.observation = None
        return True


def _with_python(ls: CompileLensServer, command: list[str]) -> tuple[str, ...]:
    """A command; ``${python}`` at its start stands for the chosen interpreter."""
    return (*ls.interpreter, *command[1:]) if command[:1] == ["${python}"] else tuple(command)


def _refused(ls: CompileLensServer, label: str, reason: str) -> dict[str, Any]:
    ls.window_show_message(types.ShowMessageParams(types.MessageType.Warning, f"Compile Lens: {reason}"))
    return Observation(label, "", state="done", status="error", message=reason).payload(ls.locale)
