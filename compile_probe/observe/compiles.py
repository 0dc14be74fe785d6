"""Counts compilations without slowing what is timed, and forgets them all.

Seen on 2.13, 2.7.1 and 2.5.1: ``torch._dynamo.utils.counters["frames"]["total"]``, raised for every frame that Dynamo
converts or fails to convert; the limit of recompilations is ``config.recompile_limit``, before 2.6
``config.cache_size_limit``.
"""

from __future__ import annotations

from ..untyped import torch


def count() -> int:
    """Frames that Dynamo has worked on since the last ``reset``; equal before and after: nothing was compiled."""
    utils = torch._dynamo.utils
    return int(utils.counters["frames"]["total"])


def graphs() -> int:
    """Graphs that were compiled since the last ``reset`` (``counters["stats"]["unique_graphs"]``: 2.1 to 2.13)."""
    utils = torch._dynamo.utils
    return int(utils.counters["stats"]["unique_graphs"])


def limit() -> int:
    """How often Dynamo compiles one function before it leaves it to Python."""
    config = torch._dynamo.config
    return int(getattr(config, "recompile_limit", None) or getattr(config, "cache_size_limit", 8))


def reset() -> None:
    """Drop everything that was compiled, and the counters."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
