"""Shortens a trace file to the entries that Compile Lens reads, for a bug report or a test: FROM TO.

What is left is as torch wrote it, but for keys of ``compilation_metrics`` that hold whole configurations.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from compile_probe.trace.log import ARTIFACTS, WANTED

LONG = 400


def shorten(text: str) -> str:
    kept: list[str] = []
    keep = False
    for line in text.splitlines():
        if line.startswith("\t"):
            if keep:
                kept.append(line)
            continue
        head, brace, rest = line.partition("] {")
        entry = json.loads(brace[2:] + rest)
        kind = next(iter(entry))
        keep = entry["artifact"]["name"] in ARTIFACTS if kind == "artifact" else kind in WANTED
        if kind == "compilation_metrics":
            told = entry[kind]
            entry[kind] = {key: value for key, value in told.items() if len(json.dumps(value)) < LONG}
        if keep:
            kept.append(f"{head}] {json.dumps(entry)}")
    return "\n".join(kept) + "\n"


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(shorten(Path(sys.argv[1]).read_text(encoding="utf-8")), encoding="utf-8")
