"""Files that nobody here wrote: pinned packages, scanned by us and probed for real.

What the probe sees in the packages' own files is compared with what the scanner predicts for those files.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from compile_lens.findings.scan import Options, scan_file

TARGETS = Path(__file__).with_name("targets")
ROOT = Path(__file__).resolve().parents[2]


def probe(target: str, *options: str) -> dict[str, Any]:
    command = [sys.executable, str(ROOT / "compile_probe"), "run", str(TARGETS / target), "--json", *options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    events = [json.loads(line) for line in run.stdout.splitlines()]
    assert [e["type"] for e in events].count("done") == 1, run.stderr
    done = events[-1]
    assert (done["status"], done["message"]) == ("ok", ""), done
    return done["result"]


def observed(result: dict[str, Any]) -> dict[str, set[int]]:
    lines: dict[str, set[int]] = {}
    for entry in result["breaks"]:
        lines.setdefault(entry["file"], set()).add(entry["line"])
    return lines


def predicted(path: str) -> set[int]:
    analysis = scan_file(Path(path), Options(scope="all"))
    assert analysis.error is None
    breaks = [f for f in analysis.findings if f.effect == "graph-break"]
    return {line for f in breaks for line in range(f.range.start.line + 1, f.range.end.line + 2)}


def short(path: str) -> str:
    return path.rsplit("site-packages/", maxsplit=1)[-1]


def test_a_clean_forward() -> None:
    """perceiver-pytorch: the scanner predicts no break in any file, and Dynamo makes one graph of the model."""
    import perceiver_pytorch

    for path in Path(perceiver_pytorch.__file__).parent.glob("*.py"):
        findings = scan_file(path, Options(scope="all")).findings
        assert not [f for f in findings if f.effect != "info"], path
    result = probe("perceiver.py::make", "--backend", "aot_eager", "--budget", "1")
    assert (result["graphs"], result["breaks"], result["recompiles"]) == (1, [], [])
    assert result["check"] == "pass"


@pytest.mark.parametrize(
    ("target", "options", "unpredicted"),
    [
        ("quantizer.py::make", ("--mode", "train"), set()),
        # A mask of zero dimensions: indexing with it reads it, which needs the rank of the metric's inputs.
        ("metrics.py::scores", (), {("torchmetrics/functional/regression/r2.py", 90)}),
    ],
)
def test_breaks_of_several_kinds(target: str, options: tuple[str, ...], unpredicted: set[tuple[str, int]]) -> None:
    result = probe(target, "--observe-only", *options)
    lines = observed(result)
    assert len({entry["gb_id"] for entry in result["breaks"]}) > 1, "breaks of one kind only"
    missed = {(short(path), line) for path, seen in lines.items() for line in seen - predicted(path)}
    assert missed == unpredicted
