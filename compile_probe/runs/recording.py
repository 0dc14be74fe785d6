"""Records a command's calls: the environment that loads the hooks, and what becomes of what they wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..store.database import Store
from ..store.place import store_file
from .observation import CANNOT_START, patient

SITE = Path(__file__).parent.parent / "recording" / "site"


def environment(folder: Path) -> dict[str, str]:
    """Variables that make every Python of a run load the hooks and run eagerly."""
    path = os.environ.get("PYTHONPATH")
    return {
        "PYTHONPATH": os.pathsep.join([str(SITE), *([path] if path else [])]),
        "COMPILE_LENS_RECORD": str(folder),
        "TORCHDYNAMO_DISABLE": "1",
    }


def record(command: Sequence[str]) -> tuple[int, list[dict[str, Any]], list[str]]:
    """Run a command to its end; its exit code, what was recorded, and notes about the store.

    :raises UsageError: there is nothing to run
    """
    if not command:
        raise UsageError("Name the command behind --.", remedy="For example: compile-lens record -- python train.py")
    with tempfile.TemporaryDirectory(prefix="compile-lens-") as folder:
        try:
            process = subprocess.Popen(command, env={**os.environ, **environment(Path(folder))})
        except OSError as error:
            print(f"compile_probe: {command[0]} cannot be started: {error.strerror}", file=sys.stderr)
            return CANNOT_START, [], []
        with patient(process):
            code = process.wait()
        records = read(Path(folder))
    return (128 - code if code < 0 else code), records, keep(records, command)


def read(folder: Path) -> list[dict[str, Any]]:
    """What the processes of a run wrote; the last line of one that was killed may be cut."""
    records: list[dict[str, Any]] = []
    seen: set[str] = set()
    for path in sorted(folder.glob("inputs-*.jsonl")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                told: dict[str, Any] = json.loads(line)
            except ValueError:
                continue
            form = json.dumps([told["file"], told["target"], told["described"], told["mode"], told["init"]])
            if form not in seen:  # ranks record the same
                seen.add(form)
                records.append(told)
    return records


def keep(records: Sequence[dict[str, Any]], command: Sequence[str]) -> list[str]:
    """Put records into the stores of the workspaces that their files belong to."""
    notes: list[str] = []
    by_store: dict[Path, list[dict[str, Any]]] = {}
    for one in records:
        by_store.setdefault(store_file(Path(one["file"])), []).append(one)
    for path, several in by_store.items():
        with Store(path) as store:
            store.keep_inputs(" ".join(command), several)
            notes += store.notes
    return notes
