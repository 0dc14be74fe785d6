"""Work-done progress in the client, with a way to cancel."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Optional

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from ..probing.jobs import Event
from .server import ANSWER_S, CompileLensServer

log = logging.getLogger("compile_lens")


class Progress:
    """Work-done progress in the client; without support for it, nothing."""

    def __init__(self, ls: CompileLensServer, token: Optional[str]) -> None:
        self._ls = ls
        self._token = token

    @classmethod
    async def begin(cls, ls: CompileLensServer, title: str) -> Progress:
        if not ls.shows_progress:
            return cls(ls, None)
        token = str(uuid.uuid4())
        progress: Any = ls.work_done_progress
        try:
            await asyncio.wait_for(progress.create_async(token), ANSWER_S)
        except (JsonRpcException, asyncio.TimeoutError) as error:
            log.warning("work goes on without progress, the client refused it: %s", error or "no answer")
            return cls(ls, None)
        ls.work_done_progress.begin(token, types.WorkDoneProgressBegin(title, cancellable=True))
        return cls(ls, token)

    def on_cancel(self, action: Callable[[], None]) -> None:
        """Call ``action`` on the loop when the user cancels."""
        if self._token is None:
            return
        loop = asyncio.get_running_loop()
        progress: Any = self._ls.work_done_progress
        future: Future[Any] = progress.tokens[self._token]

        def ended(done: Future[Any]) -> None:
            if done.cancelled():
                loop.call_soon_threadsafe(action)

        future.add_done_callback(ended)

    def show(self, event: Event) -> None:
        """Report a stage, or how far it is."""
        if self._token is None or event.get("type") not in ("stage", "progress", "sample"):
            return
        if event["type"] == "stage" and event.get("state") != "start":
            return
        words = [str(event.get("name") or event.get("stage") or event.get("variant") or "")]
        note = event.get("note")
        if event["type"] == "sample":
            words = ["measure", f"{event.get('variant')}, {event.get('pairs')} pairs"]
        elif note:
            words.append(str(note))
        self.say(": ".join(words))

    def say(self, words: str) -> None:
        """Report in words how far it is."""
        if self._token is not None:
            self._ls.work_done_progress.report(self._token, types.WorkDoneProgressReport(message=words))

    def end(self) -> None:
        if self._token is not None:
            progress: Any = self._ls.work_done_progress
            progress.end(self._token, types.WorkDoneProgressEnd())
            progress.tokens.pop(self._token, None)
