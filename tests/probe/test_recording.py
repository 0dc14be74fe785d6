"""Inputs recorded from a real run, kept, and used by a probe without a line written."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from compile_probe.errors import InputsError
from compile_probe.recording.values import Encoder, brief, decode, opaque_parts
from compile_probe.runs import recording
from compile_probe.store.database import Result, Store
from compile_probe.store.place import store_file, workspace_of

HERE = Path(__file__).parent
PROGRAM = HERE / "recorded"
PROBE = HERE.parent.parent / "compile_probe"
NET = str(PROGRAM / "net.py")


def run(verb: str, *arguments: str, state: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COMPILE_LENS_STATE": str(state), **more}
    return subprocess.run(
        [sys.executable, str(PROBE), verb, *arguments],
        capture_output=True, text=True, timeout=150, cwd=PROGRAM, env=environment, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def recorded(state: Path) -> Iterator[list[dict[str, Any]]]:
    ended = run("record", "--json", "--", sys.executable, "main.py", "--batch", "3", "--code", "5", state=state)
    assert ended.returncode == 5, ended.stderr
    yield [json.loads(line) for line in ended.stdout.splitlines()]


def test_modules_and_compiled_functions_are_recorded_with_their_distinct_calls(recorded: list[dict[str, Any]]) -> None:
    told = {(one["target"], one["described"]) for one in recorded}
    assert told == {
        ("Net", "int64[3,4]"),
        ("Net", "int64[5,4]"),
        ("Block", "float32[3,4,8] State flag=True"),
        ("Block", "float32[5,4,8] State flag=True"),
        ("loss", "Net int64[3,4] float32[3,4,8]"),
        ("loss", "Net int64[5,4] float32[5,4,8]"),
    }
    assert {one["file"] for one in recorded} == {NET}
    block = next(one for one in recorded if one["target"] == "Block")
    assert set(block["init"]["kwargs"]) == {"config", "scale"}
    assert block["mode"] == {"training": True, "grad": True, "autocast": None}
    assert not opaque_parts([one["call"] for one in recorded])


def test_values_of_large_tensors_are_not_kept(recorded: list[dict[str, Any]]) -> None:
    tensors = [one["call"]["args"][0]["tensor"] for one in recorded if one["target"] in ("Net", "Block")]
    assert [set(one) & {"values"} for one in tensors if one["dtype"] == "torch.float32"] == [set(), set()]
    assert all(len(one["values"]) == 4 * one["shape"][0] for one in tensors if one["dtype"] == "torch.int64")


@pytest.mark.parametrize("target", ["Block", "Block.forward", "Net", "loss"])
def test_a_probe_takes_what_was_recorded(target: str, recorded: list[dict[str, Any]], state: Path) -> None:
    ended = run("run", f"net.py::{target}", "--observe-only", "--json", "--device", "cpu", state=state)
    done = json.loads(ended.stdout.splitlines()[-1])
    assert done["status"] == "ok", done
    result = done["result"]
    assert result["source"] == "recorded"
    assert result["source_detail"].startswith("main.py, ") and result["source_detail"].endswith("2 calls")
    if target == "Block":
        assert "x" in result["inputs"] or "f32[3,4,8]" in result["inputs"]


def test_history_lists_results_and_inputs(recorded: list[dict[str, Any]], state: Path) -> None:
    run("run", "net.py::Block", "--observe-only", "--json", "--device", "cpu", state=state)
    told = [json.loads(line) for line in run("history", "net.py", "--json", state=state).stdout.splitlines()]
    (result, *_) = [one for one in told if one["type"] == "result" and one["target"] == "Block"]
    assert (result["status"], result["source"], result["device"]) == ("ok", "recorded", "cpu")
    assert {(one["target"], one["calls"]) for one in told if one["type"] == "inputs"} == {
        ("Net", 2),
        ("Block", 2),
        ("loss", 2),
    }
    assert "net.py::Block" in run("history", state=state).stdout


def test_the_environments_own_sitecustomize_runs_too(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os\nos.environ['OWN'] = 'ran'\n")
    script = "import os, sys; print(os.environ['OWN'], 'compile_probe' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        environment.update(recording.environment(tmp_path))
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert ended.stdout.strip() == "ran False"


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        2.5,
        "text",
        (1, "a"),
        [1, [2]],
        {"k": (1,)},
        {1: 2},
        {3},
        float("inf"),
        torch.float16,
        torch.Size([2]),
    ],
    ids=str,
)
def test_plain_values_come_back(value: Any) -> None:
    assert decode(json.loads(json.dumps(Encoder(lambda _: None).encode(value)))) == value


def test_tensors_come_back_in_form() -> None:
    encode = Encoder(lambda _: None).encode
    ids = torch.tensor([[3, 1], [2, 0]])
    assert torch.equal(decode(encode(ids)), ids)
    turned = torch.randn(4, 6).t().requires_grad_()
    again = decode(encode(turned))
    assert (again.shape, again.stride(), again.requires_grad) == (turned.shape, turned.stride(), True)
    big = torch.randint(5, 9, (100, 100))
    told = encode(big)["tensor"]
    assert "values" not in told and (told["low"], told["high"]) == (5, 8)
    assert decode(encode(torch.ones(2, dtype=torch.bfloat16))).dtype is torch.bfloat16


def test_what_cannot_be_kept_says_what_it_was() -> None:
    told = Encoder(lambda _: None).encode({"lock": threading.Lock(), "n": 1, "f": lambda x: x})
    assert opaque_parts(told) == ["_thread.lock", "builtins.function"]
    with pytest.raises(InputsError, match="cannot be made again"):
        decode(told)
    cycle: list[Any] = []
    cycle.append(cycle)
    assert opaque_parts(Encoder(lambda _: None).encode(cycle))
    assert brief(Encoder(lambda _: None).encode({"a": torch.ones(2)})) == "{'a': float32[2]}"


# --- the store -------------------------------------------------------------------------------------------------------


def one(number: int) -> dict[str, Any]:
    return {"file": "/f.py", "target": "g", "time": time.time(), "described": str(number), "call": {}, "init": None}


def test_a_newer_recording_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.keep_inputs("python a.py", [one(1), one(2)])
        store.keep_inputs("python b.py", [one(3)])
        kept = store.inputs_of("/f.py", "g")
        assert kept is not None and kept.command == "python b.py"
        assert [r["described"] for r in kept.records] == ["3"]


@pytest.mark.parametrize("damage", ["rubbish", "newer"])
def test_a_file_that_cannot_be_used_is_kept_aside(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    if damage == "rubbish":
        path.write_bytes(b"this is no database" * 300)
    else:
        with sqlite3.connect(path) as base:
            base.execute("PRAGMA user_version = 99")
        base.close()
    before = path.read_bytes()
    with Store(path) as store:
        assert "kept as" in store.notes[0]
        store.keep_inputs("python a.py", [one(1)])
    (aside,) = tmp_path.glob("*.aside")
    assert aside.read_bytes() == before
    with Store(path) as store:
        assert store.notes == [] and store.inputs_of("/f.py", "g") is not None


def test_a_crash_in_the_middle_of_a_write_loses_only_that_write(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    script = (
        "import os, sys; from pathlib import Path; from compile_probe.store.database import Store\n"
        f"store = Store(Path({str(path)!r}))\n"
        "store.keep_inputs('first', [{'file': '/f.py', 'target': 'g', 'time': 1.0}])\n"
        "store._base.execute('BEGIN'); store._base.execute('DELETE FROM inputs')\n"
        "store._base.execute('PRAGMA cache_spill = 1'); os.kill(os.getpid(), 9)"
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=HERE.parent.parent, check=False)
    assert ended.returncode == -9
    with Store(path) as store:
        kept = store.inputs_of("/f.py", "g")
        assert store.notes == [] and kept is not None and kept.command == "first"


def test_results_are_bounded_and_newest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compile_probe.store.database.KEPT_RESULTS", 3)
    with Store(tmp_path / "s.sqlite") as store:
        for number in range(5):
            store.keep_result(Result("/f.py", "g", float(number), "ok", "c", "comment", "cpu", {}, {}))
        assert [r.time for r in store.results("/f.py", "g")] == [4.0, 3.0, 2.0]


def test_a_workspace_is_the_nearest_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert workspace_of(tmp_path / "a" / "b" / "x.py") == tmp_path
    assert store_file(tmp_path / "a" / "x.py") == store_file(tmp_path / "y.py")
    assert str(store_file(tmp_path / "y.py")).startswith(os.environ["COMPILE_LENS_STATE"])
