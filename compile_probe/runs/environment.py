"""The environment that makes torch trace a command and everything that it starts; nothing else is done to the run.

``TORCH_TRACE`` is known to torch 2.1 and later. Before 2.7 the trace has no graph breaks: there ``TORCH_LOGS`` writes
them into a file beside it, and onto the run's standard error, which torch does not let us prevent.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Optional

TOLD_SINCE = (2, 7)
"""First torch whose trace tells graph breaks."""
LOG_NAME = "torch_logs.log"

_VERSION = re.compile(r"""^__version__ = ['"]([^'"]+)""", re.M)
_PYTHON = re.compile(r"^python[\d.]*(?:\.exe)?$")


def traced(environment: Mapping[str, str], folder: Path, torch_logs: bool) -> dict[str, str]:
    """The environment of a traced run; what the user asked of torch's logs stays asked."""
    result = {**environment, "TORCH_TRACE": str(folder)}
    if torch_logs:
        asked = environment.get("TORCH_LOGS", "")
        result["TORCH_LOGS"] = ",".join(dict.fromkeys([*filter(None, asked.split(",")), "graph_breaks"]))
        result.setdefault("TORCH_LOGS_OUT", str(folder / LOG_NAME))
    return result


def torch_of(command: Sequence[str], path: Optional[str] = None) -> Optional[str]:
    """Version of the torch that a command will import, read from files; None where that cannot be told.

    The interpreter is the command itself or the one in the first line of its script; nothing is started to ask.
    """
    found = shutil.which(command[0], path=path) if command else None
    interpreter = _interpreter(Path(found)) if found else None
    if interpreter is None:
        return None
    for home in dict.fromkeys([interpreter.parent.parent, interpreter.resolve().parent.parent]):
        for pattern in ("lib/python3*/site-packages", "lib/python3*/dist-packages", "Lib/site-packages"):
            for packages in sorted(home.glob(pattern)):
                version = _torch_in(packages)
                if version:
                    return version
    return None


def tells_breaks(version: str) -> bool:
    """Does the trace of this torch tell graph breaks?"""
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    return tuple(numbers) >= TOLD_SINCE


def _interpreter(program: Path) -> Optional[Path]:
    if _PYTHON.match(program.name):
        return program
    try:
        with program.open("rb") as stream:
            first = stream.readline(512)
    except OSError:
        return None
    if not first.startswith(b"#!"):
        return None
    words = os.fsdecode(first[2:]).split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        found = shutil.which(words[0]) if words else None
        words = [found] if found else []
    return Path(words[0]) if words and _PYTHON.match(Path(words[0]).name) else None


def _torch_in(packages: Path) -> Optional[str]:
    try:
        text = (packages / "torch" / "version.py").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = _VERSION.search(text)
    return found[1] if found else None
