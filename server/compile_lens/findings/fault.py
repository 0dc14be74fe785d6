"""Faults of our own: one file's analysis fails, says so and says where, and every other file is analysed."""

from __future__ import annotations

import traceback
from pathlib import Path

from .. import __version__
from .finding import Analysis

_PACKAGE = Path(__file__).parent.parent


def internal_error(path: str, error: BaseException) -> Analysis:
    """The analysis of a file at which the analyser itself failed: what happened, where, and how to report it.

    Raises the error again when it is no fault but somebody's wish (an interruption, an exit).
    """
    if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
        raise error
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _PACKAGE in Path(frame.filename).parents]
    last = (own or list(frames))[-1:]
    places = [f"{_short(frame.filename)}:{frame.lineno} ({frame.name})" for frame in last]
    what = " ".join(traceback.format_exception_only(type(error), error)[-1].split())[:300]
    message = (
        f"{path}: internal error, this file was not analysed: {what}, at {''.join(places) or 'an unknown place'} "
        f"of Compile Lens {__version__}. This is a fault of Compile Lens, not of the file: please report this line, "
        "with the file if you can (README, “When it fails”)"
    )
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return Analysis(path, error=message, fault=trace)


def _short(filename: str) -> str:
    path = Path(filename)
    return path.relative_to(_PACKAGE).as_posix() if _PACKAGE in path.parents else path.name
