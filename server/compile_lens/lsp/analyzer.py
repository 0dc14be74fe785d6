"""The server's side of the analysing process: one request at a time, newest text first, killed when it hangs."""

from __future__ import annotations

import asyncio
import pickle
import struct
import sys
from functools import cached_property
from typing import Optional

from ..findings.finding import Analysis
from ..findings.scan import Options
from .worker import Request

DEADLINE_S = 30.0
"""Seconds after which a request counts as hung; the file is then not analysed until it changes."""


class Analyzer:
    """Starts the analysing process on demand and speaks to it."""

    def __init__(self, deadline: float = DEADLINE_S) -> None:
        self.deadline = deadline
        self._process: Optional[asyncio.subprocess.Process] = None
        self._work: set[asyncio.Future[Analysis]] = set()

    @cached_property
    def _turn(self) -> asyncio.Lock:
        """Made on the running loop, as Python 3.9 wants it."""
        return asyncio.Lock()

    @property
    def pid(self) -> Optional[int]:
        return self._process.pid if self._process is not None else None

    async def analyze(self, path: str, text: str, options: Options) -> Analysis:
        """Analyse a text. A crash or a hang of the process is an analysis with an error.

        A caller that is cancelled while it waits for its turn is forgotten. One whose request is in the process is
        cancelled too, but the request is finished, not killed: its answer must not be taken for the next one's.
        """
        await self._turn.acquire()
        work = asyncio.ensure_future(self._ask(Request(path, text, options)))
        self._work.add(work)
        work.add_done_callback(self._work.discard)
        return await asyncio.shield(work)

    async def _ask(self, request: Request) -> Analysis:
        """Have one request answered, and give the turn away."""
        path = request.path
        try:
            process = await self._start()
            return await asyncio.wait_for(self._exchange(process, request), self.deadline)
        except asyncio.TimeoutError:
            await self.close()
            return Analysis(path, error=f"{path}: not analysed, it took longer than {self.deadline:.0f} s")
        except (OSError, EOFError, asyncio.IncompleteReadError, pickle.UnpicklingError):
            await self.close()
            return Analysis(path, error=f"{path}: not analysed, the analysing process ended (see the log)")
        finally:
            self._turn.release()

    async def _start(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-c",
                f"import sys; sys.path[:0] = {sys.path!r}; from compile_lens.lsp.worker import main; main()",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=2**26,
            )
        return self._process

    async def _exchange(self, process: asyncio.subprocess.Process, request: Request) -> Analysis:
        stdin, stdout = process.stdin, process.stdout
        if stdin is None or stdout is None:
            raise EOFError("the analysing process has no channel")
        data = pickle.dumps(request, protocol=pickle.HIGHEST_PROTOCOL)
        stdin.write(struct.pack(">Q", len(data)) + data)
        await stdin.drain()
        (size,) = struct.unpack(">Q", await stdout.readexactly(8))
        return pickle.loads(await stdout.readexactly(size))

    async def close(self) -> None:
        """End the process at once; it holds nothing worth saving."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()
