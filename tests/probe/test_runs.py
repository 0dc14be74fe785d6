"""Commands observed for real: the same program in every way that people run it shows the same breaks."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
PROGRAM = HERE / "observed"
PROBE = HERE.parent.parent / "compile_probe"
PARTS = str(PROGRAM / "parts.py")
EXPECTED = {(PARTS, 5, "GB0170"), (PARTS, 19, "GB0059")}
"""The branch on a tensor, and the print."""


def observe(
    folder: Path, *command: str, options: tuple[str, ...] = (), verb: str = "observe"
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COMPILE_LENS_STATE": str(folder / "state")}
    environment.pop("TORCH_TRACE", None)
    ours = [sys.executable, str(PROBE), verb, "--json", *options]
    given = ["-o", str(folder / "trace"), "--", *command] if verb == "observe" else list(command)
    return subprocess.run(
        [*ours, *given], capture_output=True, text=True, timeout=100, cwd=PROGRAM, env=environment, check=False
    )


def result(ended: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    events = [json.loads(line) for line in ended.stdout.splitlines()]
    assert events, ended.stderr
    assert [event["type"] for event in events].count("done") == 1
    assert events[-1]["type"] == "done"
    return events[-1]["result"]


def breaks(found: dict[str, Any]) -> set[tuple[str, int, str]]:
    return {(one["file"], one["line"], one["gb_id"]) for one in found["breaks"]}


WAYS = {
    "argparse": [sys.executable, "main.py", "--steps", "3"],
    "torchrun": [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "main.py"],
    "grandchild": [sys.executable, "main.py", "--spawn"],
    "forked": [sys.executable, "main.py", "--fork"],
    "pytest": [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "check_net.py::test_net"],
}


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, subprocess.CompletedProcess[str]]:
    with ThreadPoolExecutor(2) as pool:
        started = {way: pool.submit(observe, tmp_path_factory.mktemp(way), *command) for way, command in WAYS.items()}
        return {way: future.result() for way, future in started.items()}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_running_shows_the_same(way: str, observed: dict[str, Any]) -> None:
    ended = observed[way]
    assert ended.returncode == 0, ended.stderr[-2000:]
    found = result(ended)
    assert breaks(found) == EXPECTED
    guards = {(one["file"], one["function"], one["line"]) for one in found["recompiles"]}
    assert {(PARTS, "forward", 16), (PARTS, "gate", 4)} <= guards
    assert all(one["found"] == "same" for one in found["breaks"])
    assert found["seconds"]["total"] > 0
    assert [version.partition("+")[0] for version in found["torch"]] == [metadata.version("torch").partition("+")[0]]


def test_ranks_are_told_apart_and_merged(observed: dict[str, Any]) -> None:
    found = result(observed["torchrun"])
    assert sorted(p["rank"] for p in found["processes"] if p["compiles"]) == [0, 1]
    for one in found["breaks"]:
        assert one["processes"] == ["rank 0", "rank 1"]
        assert one["count"] % 2 == 0


def test_a_forked_child_adds_to_its_parent(observed: dict[str, Any]) -> None:
    alone, forked = result(observed["argparse"]), result(observed["forked"])
    assert forked["compiles"] == 2 * alone["compiles"]
    assert len({p["pid"] for p in forked["processes"]}) == 2


def test_the_run_keeps_its_exit_code_and_its_output(tmp_path: Path) -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)"
    ended = observe(tmp_path, sys.executable, "-c", code)
    assert ended.returncode == 7
    assert "out\n" in ended.stderr and "err\n" in ended.stderr  # --json keeps our standard output for events
    assert result(ended)["exit"] == 7
    assert any("no process of the run wrote a trace" in note for note in result(ended)["notes"])


def test_a_command_that_cannot_start_says_so(tmp_path: Path) -> None:
    ended = observe(tmp_path, "no-such-command")
    assert ended.returncode == 127
    assert "no-such-command cannot be started" in ended.stderr


def test_killing_the_observer_leaves_the_run_and_its_trace(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    marker = tmp_path / "ended"
    code = f"import main, time; main.run(); time.sleep(3); main.run(5); open({str(marker)!r}, 'w').write('whole')"
    command = [sys.executable, str(PROBE), "observe", "-o", str(trace), "--log", str(tmp_path / "out.txt"), "--"]
    process = subprocess.Popen(
        [*command, sys.executable, "-c", code],
        cwd=PROGRAM, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:  # news arrive while the command runs
        if "graph break" in line:
            break
    assert not marker.exists()
    process.send_signal(signal.SIGKILL)
    process.wait()
    end = time.monotonic() + 60
    while not marker.exists() and time.monotonic() < end:
        time.sleep(0.1)
    assert marker.read_text() == "whole"
    assert breaks(result(observe(tmp_path, str(trace), verb="import-trace"))) == EXPECTED


def test_the_report_is_one_file_that_stands_alone(tmp_path: Path, observed: dict[str, Any]) -> None:
    page = tmp_path / "report.html"
    folder = result(observed["argparse"])["folder"]
    ended = observe(tmp_path, folder, options=("--html", str(page)), verb="import-trace")
    text = page.read_text(encoding="utf-8")
    assert breaks(result(ended)) == EXPECTED
    assert "GB0170" in text and "if x.sum() &gt; 0:" in text
    assert not re.search(r"<script|<link|src=|https?://(?!meta-pytorch)", text)
