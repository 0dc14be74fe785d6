"""Whatever happens to the server or its children: nothing is left behind, and work goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from .editor import Editor, start

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(120)]

CODE = "import torch\n\n@torch.compile\ndef step(x):\n    return x * x.sum().item()\n"
ITEM = ("CL102", "x.sum().item()")
HANGING = (
    CODE
    + """

def probe_inputs():
    while True:
        pass
"""
)
TRUSTED: dict[str, Any] = {"trusted": True, "interpreter": [sys.executable], "interpreterSource": "test"}


def worker(editor: Editor) -> int:
    """The analysing process."""
    (pid,) = [pid for pid, line in editor.processes().items() if "compile_lens.lsp.worker" in line]
    return pid


def others(editor: Editor) -> dict[int, str]:
    return {pid: line for pid, line in editor.processes().items() if pid != editor.pid}


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


async def probing(editor: Editor, path: Path, stage: str = "load") -> asyncio.Future[Any]:
    """Start a probe that never ends, and wait for a stage of it: in ``inputs`` its worker runs the user's code."""
    path.write_text(HANGING, encoding="utf-8")
    uri = editor.open_file(path)
    work = asyncio.ensure_future(editor.command("probe", {"uri": uri, "target": "step"}))
    await editor.until(lambda: any(state["stage"] == stage for state in editor.states), 60)
    # supervisor and worker (perhaps a guardian), beside the analysing process
    assert len(others(editor)) >= 3, editor.processes()
    return work


async def gone(editor: Editor, within: float = 8.0) -> None:
    end = asyncio.get_running_loop().time() + within
    while left := editor.processes():
        assert asyncio.get_running_loop().time() < end, left
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("ending", ["kill", "terminate", "close"])
async def test_nothing_outlives_the_server(tmp_path: Path, ending: str) -> None:
    async with start(clean=False, **TRUSTED) as editor:
        await probing(editor, tmp_path / "hanging.py", "inputs" if ending == "kill" else "load")
        if ending == "close":
            process: Any = editor.client._server
            process.stdin.close()
        else:
            os.kill(editor.pid, signal.SIGKILL if ending == "kill" else signal.SIGTERM)
        await gone(editor)


async def test_a_hung_analysis_does_not_outlive_the_server() -> None:
    async with start(clean=False) as editor:
        uri = editor.open(CODE)
        await editor.expect(uri, [ITEM])
        os.kill(worker(editor), signal.SIGSTOP)
        editor.change(uri, CODE + "#\n")
        await asyncio.sleep(0.5)
        os.kill(editor.pid, signal.SIGKILL)
        await gone(editor)


async def test_shutdown_ends_a_probe_and_a_hung_analysis(tmp_path: Path) -> None:
    async with start(**TRUSTED) as editor:  # leaving asserts a clean end with nothing left
        work = await probing(editor, tmp_path / "hanging.py")
        os.kill(worker(editor), signal.SIGSTOP)
        work.add_done_callback(lambda done: done.cancelled() or done.exception())


async def test_the_client_closing_the_pipe_ends_the_server() -> None:
    async with start(clean=False) as editor:
        uri = editor.open(CODE)
        await editor.expect(uri, [ITEM])
        process: Any = editor.client._server
        process.stdin.close()
        assert await asyncio.wait_for(process.wait(), 10) is not None
        await gone(editor)


async def test_a_killed_analysis_recovers() -> None:
    async with start() as editor:
        uri = editor.open(CODE)
        await editor.expect(uri, [ITEM])
        first = worker(editor)
        os.kill(first, signal.SIGKILL)
        await editor.until(lambda: first not in editor.processes())
        editor.change(uri, CODE.replace(".item()", ".tolist()"))
        await editor.expect(uri, [("CL103", "x.sum().tolist()")])
        assert editor.statuses[-1] == ("ok", "")


async def test_an_analysis_killed_at_work_says_so_and_recovers() -> None:
    async with start() as editor:
        uri = editor.open(CODE)
        await editor.expect(uri, [ITEM])
        os.kill(worker(editor), signal.SIGSTOP)  # so that it certainly is at work
        editor.change(uri, "\n" + CODE)
        await asyncio.sleep(0.6)
        os.kill(worker(editor), signal.SIGKILL)
        await editor.until(lambda: editor.statuses[-1][0] == "warning")
        assert "the analysing process ended" in editor.statuses[-1][1]
        assert await editor.found(uri) == [ITEM], "what was known stays"
        editor.change(uri, CODE.replace(".item()", ".tolist()"))
        await editor.expect(uri, [("CL103", "x.sum().tolist()")])
        await editor.until(lambda: editor.statuses[-1] == ("ok", ""))


async def test_a_killed_probe_is_a_result(tmp_path: Path) -> None:
    async with start(**TRUSTED) as editor:
        work = await probing(editor, tmp_path / "hanging.py")
        supervisor = next(pid for pid in others(editor) if _parent(pid) == editor.pid and pid != worker(editor))
        os.kill(supervisor, signal.SIGKILL)
        await asyncio.wait_for(work, 15)
        state = editor.states[-1]
        assert (state["state"], state["status"]) == ("done", "crashed")
        assert "ended with code -9" in state["message"]
        await editor.until(lambda: len(others(editor)) == 1, 8)


async def test_closing_the_file_does_not_end_its_probe(tmp_path: Path) -> None:
    async with start(**TRUSTED) as editor:
        work = await probing(editor, tmp_path / "hanging.py")
        uri = editor.states[-1]["uri"]
        editor.close(uri)
        assert await editor.command("cancelProbe", {"uri": uri}) == 1
        await asyncio.wait_for(work, 15)
        assert editor.states[-1]["status"] == "cancelled"
        await asyncio.sleep(0.3)
        assert list(editor.client.diagnostics[uri]) == [], "nothing is shown for a closed file"
