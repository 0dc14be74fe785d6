"""Shows what is kept between runs: recorded inputs, and earlier results with their change."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any


def recorded(records: Sequence[dict[str, Any]], notes: Sequence[str], *, as_json: bool) -> Iterator[str]:
    """What a run recorded: every target with its distinct calls."""
    if as_json:
        yield from (json.dumps(one) for one in records)
        return
    by_target: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in records:
        by_target.setdefault((one["file"], one["target"]), []).append(one)
    if not by_target:
        yield "compile-lens: nothing was recorded: no module or compiled function of yours was called"
    for (file, target), several in by_target.items():
        yield f"compile-lens: {near(file)}::{target}: {len(several)} distinct calls"
        yield from (f"    {one['described']}" for one in several)
    yield from (f"note: {note}" for note in notes)


def history(
    results: Sequence[Any], inputs: Sequence[tuple[str, str, int, float]], notes: Sequence[str], *, as_json: bool
) -> Iterator[str]:
    """Results, newest first, and what was recorded."""
    if as_json:
        yield from (json.dumps({"type": "result", **asdict(one)}) for one in results)
        for file, target, calls, when in inputs:
            yield json.dumps({"type": "inputs", "file": file, "target": target, "calls": calls, "time": when})
        return
    for one in results:
        numbers = [
            f"{m['variant']} {m['ratio']:.2f}x [{m['low']:.2f}-{m['high']:.2f}] {m['verdict']}"
            for m in one.result["measurements"]
            if m.get("ratio") is not None
        ]
        breaks = (
            f"{one.result['graphs']} graphs, {len(one.result['breaks'])} breaks, {one.result['recompiles']} recompiles"
        )
        torch = one.versions.get("torch", "?")
        yield (
            f"{_when(one.time)}  {near(one.file)}::{one.target}  {one.status}  {one.device.upper()} torch {torch}  "
            f"{breaks}  {'; '.join(numbers) or 'not measured'}  [{one.content}]"
        )
    for file, target, calls, when in inputs:
        yield f"{_when(when)}  {near(file)}::{target}  {calls} recorded calls"
    if not results and not inputs:
        yield "nothing is kept of this workspace yet"
    yield from (f"note: {note}" for note in notes)


def near(file: str) -> str:
    """The path from here, if the file lies below, else the whole."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
