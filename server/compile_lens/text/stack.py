"""Room for recursion: trees of code are as deep as the code, and so is what walks them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

DEPTH = 20_000
"""Nested calls of Python functions; a statement at the limits of `parse` needs fewer."""
STACK_SIZES = tuple(mebibytes * 2**20 for mebibytes in (512, 128, 32))
"""Bytes of stack, for libcst's native parser; the first that the system grants is taken."""


def with_deep_stack(work: Callable[[], T]) -> T:
    """Run something in a thread with much stack, and return what it returns or raise what it raises."""
    results: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # handed on to the caller below
            failures.append(error)

    sys.setrecursionlimit(max(sys.getrecursionlimit(), DEPTH))
    thread = _start(run)
    thread.join()
    if failures:
        raise failures[0]
    return results[0]


def _start(run: Callable[[], None]) -> threading.Thread:
    before = threading.stack_size()
    try:
        for size in STACK_SIZES:
            threading.stack_size(size)
            thread = threading.Thread(target=run, name="deep stack", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the address space is limited
                continue
            return thread
    finally:
        threading.stack_size(before)
    thread = threading.Thread(target=run, name="deep stack", daemon=True)
    thread.start()
    return thread
