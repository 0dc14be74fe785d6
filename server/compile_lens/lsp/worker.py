"""The analysing process: reads requests from standard input, writes analyses to standard output.

libcst holds the interpreter lock while it parses, and its native parser can hang; in a process of its own it can do
neither to the language server, and cancelling is killing. Frames are a length (8 bytes, big-endian) and a pickle.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
import threading
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, BinaryIO, NoReturn, Optional

from ..findings.fault import internal_error
from ..findings.scan import Options, scan
from ..text.source import Source
from ..text.stack import with_deep_stack


@dataclass(frozen=True)
class Request:
    """Text to analyse."""

    path: str
    text: str
    options: Options


def write_frame(stream: BinaryIO, value: Any) -> None:
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(struct.pack(">Q", len(data)) + data)
    stream.flush()


def read_frame(stream: BinaryIO) -> Optional[Any]:
    """The next value; ``None`` at the end of the stream."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    return pickle.loads(stream.read(struct.unpack(">Q", head)[0]))


def _die_with_parent() -> None:
    """Linux: the kernel ends this process when the server dies, even while native code holds the lock."""
    if sys.platform.startswith("linux"):
        import ctypes  # noqa: PLC0415
        import signal  # noqa: PLC0415

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _listen(stream: BinaryIO, requests: SimpleQueue[Request]) -> None:
    while True:
        request = read_frame(stream)
        if request is None:
            os._exit(0)  # the server is gone: nobody waits for what is being computed
        requests.put(request)


def main() -> None:
    """Serve requests until standard input ends."""
    _die_with_parent()
    requests: SimpleQueue[Request] = SimpleQueue()
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing but frames may get into the channel
    threading.Thread(target=_listen, args=(sys.stdin.buffer, requests), daemon=True).start()
    with_deep_stack(lambda: _serve(requests, output))


def _serve(requests: SimpleQueue[Request], output: BinaryIO) -> NoReturn:
    while True:
        request = requests.get()
        try:
            analysis = scan(Source(request.path, request.text), request.options)
        except BaseException as error:  # a fault of ours must not silence the file without a word
            analysis = internal_error(request.path, error)
        write_frame(output, analysis)


if __name__ == "__main__":
    main()
