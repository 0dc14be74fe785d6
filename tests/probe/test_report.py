"""What a person reads: the stages, the breaks by their place, and a number with device and interval."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

from compile_probe.report.terminal import Terminal

from .conftest import CASES, PROBE

MEASURED = {
    "variant": "inductor",
    "size": "B=2",
    "eager_ms": 1.92,
    "ms": 1.21,
    "ratio": 1.58,
    "low": 1.51,
    "high": 1.66,
    "verdict": "faster",
    "compile_s": 4.1,
    "break_even_calls": 5800,
}


def shown(*events: dict[str, Any]) -> str:
    stream = io.StringIO()
    terminal = Terminal(stream)
    for event in events:
        terminal.show(event)
    return stream.getvalue()


def done(**keys: Any) -> dict[str, Any]:
    result = {"graphs": 1, "breaks": [], "recompiles": [], "measurements": [], "checks": [], "device": "cpu"}
    return {"type": "done", "status": "ok", "stage": None, "message": "", "result": {**result, **keys}}


def test_a_number_stands_with_device_interval_and_cost() -> None:
    (row,) = [line for line in shown(done(measurements=[MEASURED])).splitlines() if "inductor" in line]
    assert row.split("  ")[0] == "CPU inductor B=2"
    for part in ("1.92", "1.21", "1.58x [1.51-1.66]", "faster", "4.1", "5,800 calls"):
        assert part in row


def test_no_number_without_a_ratio() -> None:
    failed = {"variant": "inductor", "size": None, "verdict": "not-measured", "compile_s": 4.0}
    check = {"variant": "inductor", "status": "fail", "message": "Compiled differs from eager."}
    text = shown(done(measurements=[failed], checks=[check]))
    assert "not measured" in text and "Compiled differs from eager." in text
    assert "x [" not in text


def test_unknown_events_are_ignored() -> None:
    assert shown({"type": "of-the-future", "key": 1}) == ""


def test_flood_of_lines_is_cut() -> None:
    text = shown({"type": "log", "stream": "stdout", "text": "line\n" * 1000, "dropped": 0})
    assert text.count("line") == 4


def test_terminal_shows_one_living_line_and_the_remedy(tmp_path: Path) -> None:
    """On a real terminal; the file has no inputs, so the run ends early with what to write."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, str(PROBE), "run", f"{CASES / 'no_inputs.py'}::mystery", "--device", "cpu"],
        stdout=follower,
        stderr=follower,
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
    )
    os.close(follower)
    text = b""
    while True:
        try:
            data = os.read(leader, 4096)
        except OSError:  # Linux tells the end of a terminal so
            break
        if not data:
            break
        text += data
    os.close(leader)
    assert process.wait() == 3
    assert b"\rload ... importing torch" in text
    assert b"def probe_inputs()" in text and b"# probe: a=f32" in text
