"""How the probe is started: which interpreter, and with which command line.

The probe is run *as a folder* (``python /path/to/compile_probe run ...``), so that nothing of ours but the probe itself
gets onto the import path of the user's environment.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path


def probe_folder() -> Path:
    """Folder of the package ``compile_probe`` that belongs to this server; it is not imported."""
    spec = importlib.util.find_spec("compile_probe")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("the package compile_probe is missing from this installation")
    return Path(next(iter(spec.submodule_search_locations)))


def probe_command(interpreter: list[str], arguments: list[str], command: str = "run") -> list[str]:
    """The command line that runs a probe, or another ``command`` of it, with the user's interpreter."""
    return [*interpreter, str(probe_folder()), command, *arguments]


def interpreter_for_terminal(arguments: list[str]) -> tuple[list[str], list[str], str]:
    """Interpreter for ``compile-lens probe``, the arguments left for the probe, and a problem if there is one.

    In order: ``--python``, the active virtual environment, our own interpreter where it has torch, ``python3``.
    """
    rest = list(arguments)
    if "--python" in rest:
        index = rest.index("--python")
        if index + 1 >= len(rest):
            return [], rest, "--python needs the path of an interpreter"
        chosen = rest[index + 1]
        del rest[index : index + 2]
        found = shutil.which(chosen)
        return ([found], rest, "") if found else ([], rest, f"{chosen} is no interpreter that can be started")
    active = os.environ.get("VIRTUAL_ENV")
    if active:
        name = "Scripts/python.exe" if os.name == "nt" else "bin/python"
        candidate = Path(active) / name
        if candidate.exists():
            return [str(candidate)], rest, ""
    if importlib.util.find_spec("torch") is not None:
        return [sys.executable], rest, ""
    found = shutil.which("python3") or shutil.which("python")
    if found:
        return [found], rest, ""
    return [], rest, "no Python was found; name one with --python"
