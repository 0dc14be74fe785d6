"""Traces of three torches, whole and broken, read from outside.

``traces/`` holds what ``observed/main.py --steps 3`` wrote in a folder ``/workspace/app`` under torch 2.5.1, 2.7.1 and
2.13, shortened with ``tools/shorten_trace.py``; ``torch_logs_25.log`` is the log beside the trace of 2.5.1.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compile_probe.runs.environment import tells_breaks, torch_of, traced
from compile_probe.runs.summary import Summary
from compile_probe.trace import log as log_module
from compile_probe.trace import messages
from compile_probe.trace.facts import Began, Break, Lines
from compile_probe.trace.folder import Folder
from compile_probe.trace.log import Log
from compile_probe.trace.sources import Sources
from compile_probe.trace.story import Fact, Story

HERE = Path(__file__).parent
TRACES = HERE / "traces"
APP = "/workspace/app/parts.py"
LINES = {(APP, 5), (APP, 19)}


def facts_of(data: bytes, portion: int = 1 << 20) -> list[Fact]:
    log, story, facts = Log(), Story(), list[Fact]()
    for start in range(0, len(data), portion):
        for entry in log.feed(data[start : start + portion]):
            facts += story.facts(entry)
    for entry in log.flush():
        facts += story.facts(entry)
    return facts


def read(*names: str, into: Path, prefix: str = "") -> Folder:
    for name in names:
        shutil.copy(TRACES / name, into / (prefix + name))
    folder = Folder(into)
    folder.read_all()
    return folder


def lines(folder: Folder) -> set[tuple[str, int]]:
    return {(file, line) for file, line, _ in folder.record.breaks}


# --- versions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("torch_213.log",), ("torch_27.log",), ("torch_25.log", "torch_logs_25.log")])
def test_breaks_and_recompiles_of_every_version(names: tuple[str, ...], tmp_path: Path) -> None:
    folder = read(*names, into=tmp_path)
    record = folder.record
    assert lines(folder) == LINES
    assert folder.malformed == 0
    first = {(seen.fact.function, seen.fact.line): seen for seen in record.recompiles.values()}
    assert {("forward", 16), ("gate", 4)} <= set(first)
    assert first["forward", 16].fact.reason.endswith("size mismatch at index 0. expected 4, actual 5")
    assert sum(f.compiles for f in record.functions.values()) >= 10
    assert sum(f.graphs for f in record.functions.values()) >= 8
    assert set(record.traced) == {APP}
    assert {5, 18, 19} <= set(record.traced[APP])
    assert len(record.processes) == 1
    assert all(function.dynamo_s > 0 for function in record.functions.values())


def test_an_old_trace_alone_shows_where_graphs_ended_and_says_that_it_knows_no_more(tmp_path: Path) -> None:
    folder = read("torch_25.log", into=tmp_path)
    assert not folder.record.breaks
    guessed = folder.record.guessed_breaks()
    assert {(one.file, one.line) for one in guessed} >= LINES
    assert all("does not say why" in one.reason for one in guessed)
    notes = Summary(folder.record, Sources([])).result(folder)["notes"]
    assert any("tells no graph breaks" in note for note in notes)


def test_ids_types_and_hints_come_from_the_text(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    new.mkdir()
    old.mkdir()
    by_line = {line: seen.fact for (_, line, _), seen in read("torch_213.log", into=new).record.breaks.items()}
    assert (by_line[5].gb_id, by_line[5].gb_type) == ("GB0170", "Data-dependent branching")
    assert (by_line[19].gb_id, by_line[19].effect) == ("GB0059", "resume")
    assert by_line[19].hints and by_line[19].reason.startswith("Dynamo does not know how to trace builtin operator")
    assert [frame.function for frame in by_line[5].stack][:2] == ["gate", "forward"]
    assert by_line[5].stack[0].code == "if x.sum() > 0:"
    for seen in read("torch_27.log", into=old).record.breaks.values():
        assert seen.fact.gb_id is None and seen.fact.gb_type


def test_a_plain_log_is_read_too(tmp_path: Path) -> None:
    folder = Folder(TRACES / "torch_logs_25.log")
    folder.read_all()
    assert lines(folder) == LINES


# --- damage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("portion", [7, 4096])
def test_portions_do_not_matter(portion: int) -> None:
    data = (TRACES / "torch_213.log").read_bytes()
    assert facts_of(data, portion) == facts_of(data)


def test_a_cut_trace_tells_what_it_has() -> None:
    data = (TRACES / "torch_213.log").read_bytes()
    whole = facts_of(data)
    chosen = random.Random(3)
    for _ in range(60):
        part = facts_of(data[: chosen.randrange(len(data))])
        assert part[:-1] == whole[: max(0, len(part) - 1)]  # only the last fact may be told shorter


def test_rubbish_between_entries_is_counted_and_passed_over() -> None:
    data = (TRACES / "torch_213.log").read_bytes()
    rows = data.split(b"\n")
    heads = [index for index, row in enumerate(rows) if row.startswith(b"V")]
    for index in reversed(heads[:: len(heads) // 20]):
        rows[index:index] = [b"\xff\xfe rubbish", b'V1207 11:00:00.0 1 x.py:1] {"compilation_metrics": {', b"{}"]
    log, story, facts = Log(), Story(), list[Fact]()
    for entry in [*log.feed(b"\n".join(rows)), *log.flush()]:
        facts += story.facts(entry)
    assert facts == facts_of(data)
    assert log.malformed >= 40


def test_entries_of_an_unknown_form_are_passed_over() -> None:
    head = b"V1207 11:22:04.249000 1 torch/_dynamo/utils.py:1] "
    strange: list[object] = [
        {"dynamo_start": {"stack": []}},
        {"dynamo_start": None},
        {"str": 3},
        {"compilation_metrics": []},
        {"compilation_metrics": {"co_filename": 3, "duration_us": "long"}},
        {"artifact": {"name": "torch_version"}},
        {"artifact": {"name": "recompile_reasons"}, "has_payload": "x"},
    ]
    data = b"".join(head + json.dumps(one).encode() + b"\n" for one in strange)
    assert not [fact for fact in facts_of(data) if isinstance(fact, (Began, Break, Lines))]
    assert facts_of(data + (TRACES / "torch_213.log").read_bytes())[-10:]


def test_a_line_without_an_end_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "LINE", 1000)
    log = Log()
    for _ in range(50):
        assert list(log.feed(b"x" * 100)) == []
        assert len(log._rest) <= 1000
    assert log.malformed >= 1
    good = (TRACES / "torch_213.log").read_bytes().partition(b"\n")[0]
    assert len([*log.feed(b"\n" + good + b"\nV"), *log.flush()]) <= 1


def test_two_hundred_megabytes_in_bounded_memory(tmp_path: Path) -> None:
    """What fills real traces is of no use here: graphs as text, generated code, events for a timeline."""
    head = b"V1207 11:22:04.249000 4711 torch/_inductor/codecache.py:1] "
    filler = (
        head + b'{"inductor_output_code": {}, "has_payload": "0"}\n' + b"\tbuf0 = empty_strided_cpu((8, 8))\n" * 2000
    )
    filler += (
        head + b'{"dynamo_output_graph": {}, "has_payload": "0"}\n' + b"\t    y = torch.relu(x);  x = None\n" * 2000
    )
    filler += (head + b'{"chromium_event": {}, "has_payload": "0"}\n\t{"name": "x"}\n') * 500
    real = (TRACES / "torch_213.log").read_bytes()
    path = tmp_path / "dedicated_log_torch_trace_big.log"
    with path.open("wb") as stream:
        stream.write(real)
        while stream.tell() < 200 * 1024 * 1024:
            stream.write(filler)
        stream.write(real)
    script = (
        "import resource, sys; from pathlib import Path; from compile_probe.trace.folder import Folder\n"
        "start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"folder = Folder(Path({str(tmp_path)!r})); folder.read_all()\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start, len(folder.record.breaks), folder.malformed)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=100, cwd=HERE.parent.parent
    )
    kilobytes, breaks, malformed = map(int, ended.stdout.split())
    assert (breaks, malformed) == (2, 0)
    assert kilobytes < 40 * 1024


# --- growing, many, elsewhere ----------------------------------------------------------------------------------------


def test_facts_come_while_the_file_grows(tmp_path: Path) -> None:
    data = (TRACES / "torch_213.log").read_bytes()
    path = tmp_path / "dedicated_log_torch_trace_x.log"
    folder, seen = Folder(tmp_path), list[int]()
    with path.open("ab") as stream:
        for start in range(0, len(data), 8192):
            stream.write(data[start : start + 8192])
            stream.flush()
            folder.poll()
            seen.append(len(folder.record.breaks))
    folder.poll()
    folder.poll()
    assert seen[-1] == 2
    assert seen.index(1) < len(seen) / 2
    assert folder.record.recompiles


def test_eight_ranks_are_one_record(tmp_path: Path) -> None:
    for rank in range(8):
        read("torch_213.log", into=tmp_path, prefix=f"dedicated_log_torch_trace_rank_{rank}_")
    folder = Folder(tmp_path)
    folder.read_all()
    result = Summary(folder.record, Sources([])).result(folder)
    assert sorted(process["rank"] for process in result["processes"]) == list(range(8))
    assert len(result["breaks"]) == 2
    assert result["breaks"][0]["processes"] == [f"rank {rank}" for rank in range(8)]


def test_files_of_a_container_are_found_by_what_they_say(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    other = tmp_path / "project" / "tools"
    traces.mkdir()
    other.mkdir(parents=True)
    shutil.copy(HERE / "observed" / "parts.py", tmp_path / "project")
    (other / "parts.py").write_text("import os\n" * 40)
    folder = read("torch_213.log", into=traces)
    result = Summary(folder.record, Sources([tmp_path / "project"])).result(folder)
    here = str(tmp_path / "project" / "parts.py")
    assert {(one["file"], one["line"], one["found"]) for one in result["breaks"]} == {
        (here, 5, "same"),
        (here, 19, "same"),
    }
    assert {one["traced_file"] for one in result["breaks"]} == {APP}
    assert result["sources"][APP]["path"] == here
    assert here in result["traced"]


def test_lines_that_moved_since_are_followed_and_it_is_said(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    traces.mkdir()
    text = (HERE / "observed" / "parts.py").read_text()
    changed = '"""Parts."""\n' + text.replace('        print("mean", y.mean())\n', "")
    (tmp_path / "parts.py").write_text(changed)
    folder = read("torch_213.log", into=traces)
    result = Summary(folder.record, Sources([tmp_path])).result(folder)
    by_line = {one["traced_line"]: (one["line"], one["found"]) for one in result["breaks"]}
    assert by_line == {5: (6, "changed"), 19: (None, "gone")}
    assert any("changed since the run" in note for note in result["notes"])


def test_a_file_of_the_same_name_that_says_something_else_is_not_taken(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    traces.mkdir()
    (tmp_path / "parts.py").write_text("import torch\n" * 60)
    folder = read("torch_213.log", into=traces)
    result = Summary(folder.record, Sources([tmp_path])).result(folder)
    assert {one["file"] for one in result["breaks"]} == {APP}
    assert {one["found"] for one in result["breaks"]} == {"other"}
    assert any("the file of that name here is another" in note for note in result["notes"])


# --- the environment -------------------------------------------------------------------------------------------------


def test_only_variables_are_set_and_what_the_user_asked_stays(tmp_path: Path) -> None:
    before = {"PATH": "/bin", "TORCH_LOGS": "dynamo,graph_breaks"}
    assert traced(before, tmp_path, torch_logs=False) == {**before, "TORCH_TRACE": str(tmp_path)}
    assert traced(before, tmp_path, torch_logs=True)["TORCH_LOGS"] == "dynamo,graph_breaks"
    assert traced({}, tmp_path, torch_logs=True)["TORCH_LOGS"] == "graph_breaks"


def test_the_torch_of_a_command_is_read_from_files(tmp_path: Path) -> None:
    packages = tmp_path / "lib" / "python3.11" / "site-packages" / "torch"
    packages.mkdir(parents=True)
    (packages / "version.py").write_text("__version__ = '2.5.1+cpu'\n")
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.symlink_to(sys.executable)
    script = tmp_path / "bin" / "torchrun"
    script.write_text(f"#!{python}\nimport torch\n")
    script.chmod(0o755)
    assert torch_of([str(python), "train.py"]) == "2.5.1+cpu"
    assert torch_of([str(script), "train.py"]) == "2.5.1+cpu"
    assert torch_of(["/bin/sh", "run.sh"]) is None
    assert torch_of(["no-such-command"]) is None
    assert not tells_breaks("2.5.1+cpu")
    assert tells_breaks("2.13.0")


def test_user_files_are_told_from_torch_and_python_by_their_paths() -> None:
    ours = ["/workspace/app/parts.py", "/opt/venv/lib/python3.11/site-packages/transformers/x.py", "/home/u/torch/x.py"]
    not_ours = [
        "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py",
        "/usr/lib/python3.11/contextlib.py",
        "<string>",
        "",
    ]
    assert [file for file in (*ours, *not_ours) if messages.is_user_file(file)] == ours
