"""Start of the language server: all handlers registered, by topic, and the protocol spoken on standard streams."""

from __future__ import annotations

import logging
import sys

from . import actions, diagnostics, drafts, lenses, lifecycle, observing, probes
from .server import CompileLensServer


def create_server() -> CompileLensServer:
    """A server with all its handlers."""
    server = CompileLensServer()
    for topic in (lifecycle, diagnostics, actions, drafts, lenses, probes, observing):
        topic.register(server)
    return server


def serve() -> None:
    """Speak the Language Server Protocol on standard input and output until the client ends."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("pygls").setLevel(logging.WARNING)
    create_server().start_io()
