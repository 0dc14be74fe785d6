"""What the user's code prints, relayed as capped ``log`` events: a flood costs its reading and nothing else."""

from __future__ import annotations

import codecs
import os
import select
import time
from typing import Callable

CAP = 64 * 1024
"""Characters relayed of each stream; the rest is counted."""

TAIL = 16 * 1024
"""Bytes kept of the end of a stream, where a crash leaves its last words."""

_PIECE = 8 * 1024
_INTERVAL = 0.1

Send = Callable[[str, str, int], None]


class Output:
    """One stream of the worker; ``send(stream, text, dropped)`` is called for what is relayed."""

    def __init__(self, name: str, descriptor: int, send: Send) -> None:
        self.name = name
        self.descriptor = descriptor
        self.dropped = 0
        self.tail = b""
        self._send = send
        self._room = CAP
        self._text = ""
        self._sent_at = 0.0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        os.set_blocking(descriptor, False)

    def read(self) -> bool:
        """Take what is there, at most a megabyte; False at the end of the stream."""
        try:
            data = os.read(self.descriptor, 1 << 20)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not data:
            return False
        self.tail = data[-TAIL:] if len(data) >= TAIL else (self.tail + data)[-TAIL:]
        if self._room <= 0:
            self.dropped += len(data)
            return True
        text = self._decoder.decode(data[: self._room])
        self.dropped += max(0, len(data) - self._room)
        self._room -= len(data)
        self._text += text
        self.flush(time.monotonic())
        return True

    def flush(self, now: float, force: bool = False) -> None:
        """Relay gathered text, not in crumbs: when enough of it is there or it has waited long enough."""
        if self._text and (force or len(self._text) >= _PIECE or now - self._sent_at >= _INTERVAL):
            self._send(self.name, self._text, 0)
            self._text = ""
            self._sent_at = now

    def finish(self) -> None:
        """Relay what remains, and how many bytes were dropped."""
        while self._readable() and self.read():
            pass
        self.flush(time.monotonic(), force=True)
        if self.dropped:
            self._send(self.name, "", self.dropped)
        os.close(self.descriptor)

    def _readable(self) -> bool:
        return bool(select.select([self.descriptor], [], [], 0)[0])
