"""The driver itself: that it says what it is, fails by name, and refuses what a device refuses."""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from .standin import counted, driver, refused, total


def python(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program over the driver in a process of its own."""
    environment = {**os.environ, **variables}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)


def load(**variables: str) -> subprocess.CompletedProcess[str]:
    return python("import ctypes; ctypes.CDLL('libascendcl.so'); print('loaded')", **variables)


def test_the_driver_says_that_it_is_a_stand_in() -> None:
    assert driver().standin_driver() == b"stand-in CANN driver"


@pytest.mark.parametrize("variable", ["ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_OPP_PATH"])
def test_it_is_not_loaded_where_the_environment_of_a_real_cann_is_set(variable: str) -> None:
    run = load(**{variable: "/usr/local/Ascend/latest"})
    assert run.returncode == 97
    assert "not loaded, there is a real CANN here" in run.stderr and variable in run.stderr
    assert run.stdout == ""


@pytest.mark.parametrize("path", ["usr/local/Ascend", "dev/davinci0", "dev/davinci_manager"])
def test_it_is_not_loaded_where_files_of_a_real_cann_or_its_device_are(path: str, tmp_path: Path) -> None:
    (tmp_path / path).mkdir(parents=True)
    run = load(STANDIN_ROOT=str(tmp_path))
    assert run.returncode == 97 and path in run.stderr


def test_it_loads_where_none_of_that_is(tmp_path: Path) -> None:
    assert load(STANDIN_ROOT=str(tmp_path)).stdout == "loaded\n"


def test_a_function_that_returns_an_error_code_and_is_not_there_fails_by_its_name() -> None:
    with counted() as seen:
        code = driver().acltdtDestroyChannel(None)
    assert code != 0 and seen.unlisted == 1
    driver().aclGetRecentErrMsg.restype = ctypes.c_char_p
    assert driver().aclGetRecentErrMsg() == b"stand-in CANN driver: the function acltdtDestroyChannel is not part of it"


def test_any_other_function_that_is_not_there_ends_the_process_with_its_name() -> None:
    run = python("import ctypes; ctypes.CDLL('libascendcl.so')['_ZN2ge10GEFinalizeEv']()")
    assert run.returncode == -6
    assert "_ZN2ge10GEFinalizeEv was called, which it does not have" in run.stderr


def test_every_function_that_fails_by_name_does_so_and_none_returns_success() -> None:
    """One call of each, in a process that forks for each: none may answer 0."""
    program = """
import ctypes, os, subprocess, sys
text = subprocess.run(["nm", "-D", "--defined-only", sys.argv[1]], capture_output=True, text=True).stdout
names = [line.split()[-1] for line in text.splitlines()]
source = open(sys.argv[1], "rb").read()
lib = ctypes.CDLL("libascendcl.so")
stubs = [n for n in names if n.startswith("_Z") or n.startswith(("acltdt", "Msprof", "rt", "Hccl"))]
bad = []
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
for name in stubs:
    child = os.fork()
    if child == 0:
        os._exit(77 if lib[name]() == 0 else 78)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status not in (78, -6):
        bad.append((name, status))
print(len(stubs), bad)
"""
    library = Path(os.environ["LD_LIBRARY_PATH"]) / "libascendcl.so"
    run = subprocess.run([sys.executable, "-c", program, library], capture_output=True, text=True, check=True)
    number, _, bad = run.stdout.strip().partition(" ")
    assert bad == "[]" and int(number) > 100


def test_an_operator_that_only_cann_has_is_told_by_torch_npu_with_its_name() -> None:
    with pytest.raises(RuntimeError, match=r"(?s)RmsNorm.*the function aclopCompileAndExecute is not part of it"):
        torch.ops.npu.npu_rms_norm(torch.ones(2, 4, device="npu"), torch.ones(4, device="npu"))


def test_memory_that_was_never_written_is_not_a_number() -> None:
    torch.npu.empty_cache()
    assert torch.empty(1 << 23, device="npu").cpu().isnan().all()


def test_memory_runs_out_as_on_a_device() -> None:
    with pytest.raises(torch.OutOfMemoryError, match="out of memory"):
        torch.empty(1 << 33, dtype=torch.uint8, device="npu")
    assert refused(207001) > 0


def test_two_streams_are_two_and_only_the_captured_one_records() -> None:
    one, two = torch.npu.Stream(), torch.npu.Stream()
    assert len({one.npu_stream, two.npu_stream, torch.npu.default_stream().npu_stream}) == 3
    x, y = torch.ones(4, device="npu"), torch.zeros(4, device="npu")
    graph = torch.npu.NPUGraph()
    with torch.npu.stream(one):
        graph.capture_begin(capture_error_mode="relaxed")
        x.add_(1)
        with torch.npu.stream(two):
            y.add_(5)  # no part of the capture: done at once
        graph.capture_end()
    assert y.cpu().tolist() == [5.0] * 4
    assert x.cpu().tolist() == [1.0] * 4
    graph.replay()
    assert x.cpu().tolist() == [2.0] * 4 and y.cpu().tolist() == [5.0] * 4


def test_a_stream_that_forks_off_and_joins_again_is_captured_with_its_work() -> None:
    main, side = torch.npu.Stream(), torch.npu.Stream()
    x = torch.ones(4, device="npu")
    graph = torch.npu.NPUGraph()
    with counted() as seen, torch.npu.stream(main):
        graph.capture_begin()
        a = x + 1
        side.wait_stream(main)
        with torch.npu.stream(side):
            b = x * 10
        main.wait_stream(side)
        c = a + b
        graph.capture_end()
    assert seen.captures_ended == 1 and seen.tasks_captured == 3
    graph.replay()
    assert c.cpu().tolist() == [12.0] * 4


def test_a_stream_that_is_not_joined_fails_the_capture_with_107025() -> None:
    main, side = torch.npu.Stream(), torch.npu.Stream()
    x = torch.ones(4, device="npu")
    graph = torch.npu.NPUGraph()
    with counted() as seen, torch.npu.stream(main):
        graph.capture_begin()
        side.wait_stream(main)
        with torch.npu.stream(side):
            x.mul_(10)
        with pytest.raises(RuntimeError, match="107025"):
            graph.capture_end()
    assert seen.captures_failed == 1 and seen.captures_ended == 0


def test_the_trace_holds_one_line_an_event_and_each_says_stand_in(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    run = python(
        "import torch, torch_npu\n"
        "x = torch.ones(2, device='npu')\n"
        "g = torch.npu.NPUGraph()\n"
        "with torch.npu.graph(g): y = x + 1\n"
        "g.replay(); g.replay()\n",
        STANDIN_TRACE=str(trace),
    )
    assert run.returncode == 0, run.stderr
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    events = [line["event"] for line in lines if line["event"] != "graph_freed"]
    assert events == ["capture_begin", "capture_end", "replay", "replay"]
    assert {line["driver"] for line in lines} == {"stand-in"}


def test_the_wheel_is_the_released_one_and_unchanged() -> None:
    """Every file of the installed wheel has the size and hash that its own record gives."""
    import base64
    import hashlib
    from importlib import metadata

    distribution = metadata.distribution("torch_npu")
    checked = 0
    for file in distribution.files or ():
        if file.hash is None or file.suffix not in (".so", ".py"):
            continue
        found = hashlib.new(file.hash.mode, Path(str(distribution.locate_file(file))).read_bytes()).digest()
        assert base64.urlsafe_b64encode(found).rstrip(b"=").decode() == file.hash.value, file
        checked += 1
    assert checked > 1000
    assert re.fullmatch(r"2\.\d+\.\d+(\.post\d+)?", distribution.version)
    assert total("unlisted") >= 0
