"""Where things are kept: below ``COMPILE_LENS_STATE``, else below ``XDG_STATE_HOME``, else in ``~/.local/state``."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg", ".hg")


def state_folder() -> Path:
    """The folder of all that is kept."""
    chosen = os.environ.get("COMPILE_LENS_STATE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "compile-lens"


def workspace_of(path: Path) -> Path:
    """The project that a file or folder belongs to: the nearest folder above with a mark of one, else its own."""
    start = path if path.is_dir() else path.parent
    for folder in (start, *start.parents):
        if any((folder / mark).exists() for mark in _MARKS):
            return folder
    return start


def store_file(path: Path) -> Path:
    """The file that keeps what is known of the workspace of ``path``."""
    workspace = str(workspace_of(path.resolve()))
    name = Path(workspace).name or "root"
    return state_folder() / "workspaces" / f"{name}-{hashlib.sha256(workspace.encode()).hexdigest()[:12]}.sqlite"
