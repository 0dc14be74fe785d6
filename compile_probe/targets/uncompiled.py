"""Passes over the ``torch.compile`` calls of the user's file while it is imported and its target is built.

The probe compiles the target itself, and compares with eager: a ``forward`` that the file has decorated already would
be compiled on both sides. Only calls from the user's code are passed over; torch uses ``torch.compile`` inside as well.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator
from typing import Any, Callable

from ..untyped import torch
from .ownership import is_user_file

Place = tuple[str, int]


@contextlib.contextmanager
def passing_over(places: list[Place]) -> Generator[None, None, None]:
    """Give the user's calls of ``torch.compile`` and ``Module.compile`` back what they are given; note where."""
    compiling: Callable[..., Any] = torch.compile
    compiling_in_place: Callable[..., Any] = torch.nn.Module.compile

    def compile(model: Any = None, *args: Any, **options: Any) -> Any:
        caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        if not is_user_file(caller.f_code.co_filename):
            return compiling(model, *args, **options)
        places.append((caller.f_code.co_filename, caller.f_lineno))
        return _itself if model is None else model

    def compile_in_place(self: Any, *args: Any, **options: Any) -> Any:
        caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        if not is_user_file(caller.f_code.co_filename):
            return compiling_in_place(self, *args, **options)
        places.append((caller.f_code.co_filename, caller.f_lineno))
        return None

    torch.compile = compile
    torch.nn.Module.compile = compile_in_place
    try:
        yield
    finally:
        torch.compile = compiling
        torch.nn.Module.compile = compiling_in_place


@contextlib.contextmanager
def passing_over_all() -> Generator[None, None, None]:
    """Give every call of ``torch.compile`` back what it is given, in a way that Dynamo can trace."""
    compiling, compiling_in_place = torch.compile, torch.nn.Module.compile
    torch.compile = _unchanged
    torch.nn.Module.compile = _unchanged_in_place
    try:
        yield
    finally:
        torch.compile = compiling
        torch.nn.Module.compile = compiling_in_place


def _unchanged(model: Any = None, *_: Any, **__: Any) -> Any:
    return _itself if model is None else model


def _unchanged_in_place(_: Any, *__: Any, **___: Any) -> None:
    return None


def _itself(function: Any) -> Any:
    """A decorator that changes nothing."""
    return function


def note(places: list[Place]) -> list[str]:
    """Say that the file compiles too, and where; nothing if it does not."""
    if not places:
        return []
    lines = ", ".join(str(line) for line in sorted({line for _, line in places}))
    return [f"torch.compile in the file (line {lines}) was passed over: the probe compiles the target itself."]
