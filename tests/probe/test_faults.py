"""Hostile targets and killed processes: exactly one ``done``, and nobody left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from .conftest import CASES, PROBE, Started, run, start

HANGING = """
    import subprocess, sys
    if {children}:
        for own_session in (False, True):
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=own_session)
    print("ready", flush=True)
    while True:
        pass
    def f(x):
        return x
"""


def write(folder: Path, text: str) -> str:
    """Write a target file and return ``FILE::f``."""
    path = folder / "target.py"
    path.write_text(textwrap.dedent(text))
    return f"{path}::f"


def hanging(folder: Path, children: bool = False) -> str:
    return write(folder, HANGING.format(children=children))


def test_exit_in_the_call_is_an_error_with_its_line(tmp_path: Path) -> None:
    target = write(
        tmp_path,
        """
        import sys
        def f(x):
            sys.exit(5)
        def probe_inputs():
            return 1
        """,
    )
    ended = run(target)
    assert (ended.code, ended.done["status"], ended.done["stage"], ended.done["line"]) == (1, "error", "eager", 4)
    assert "5" in ended.done["message"]


def test_leaving_the_process_is_an_error_with_its_code(tmp_path: Path) -> None:
    target = write(
        tmp_path,
        """
        import os
        def f(x):
            os._exit(9)
        def probe_inputs():
            return 1
        """,
    )
    ended = run(target)
    assert (ended.code, ended.done["status"], ended.done["stage"]) == (1, "error", "eager")
    assert "code 9" in ended.done["message"]


def test_daemon_habits_do_not_cut_the_event_line(tmp_path: Path) -> None:
    """All descriptors closed and reused, a fork that returns through our code, output thrown at both streams."""
    target = write(
        tmp_path,
        """
        import os, sys
        os.closerange(3, 65536)
        keep = [open(os.devnull) for _ in range(300)]
        if os.fork() == 0:
            raise RuntimeError("the child comes back through the importer")
        os.wait()
        def f(x):
            sys.stdout.write("o" * 1_000_000)
            sys.stderr.write("e" * 1_000_000)
            return x + 1
        def probe_inputs():
            import torch
            return torch.ones(2)
        """,
    )
    ended = run(target, "--observe-only", "--calls", "1")
    assert ended.done["status"] == "ok", ended.done
    assert ended.of("hello") and len(ended.of("versions")) == 1
    for stream in ("stdout", "stderr"):
        logs = [one for one in ended.of("log") if one["stream"] == stream]
        assert sum(len(one["text"]) for one in logs) <= 64 * 1024
        assert sum(one["dropped"] for one in logs) >= 900_000


def test_crash_names_signal_stage_and_line() -> None:
    ended = run(str(CASES / "segfault.py::crash"))
    done = ended.done
    assert (done["status"], done["signal"], done["stage"], done["line"]) == ("crashed", "SIGSEGV", "eager", 7)


def test_children_of_the_target_end_with_it(tmp_path: Path) -> None:
    """``run`` itself asserts that nothing carries its mark afterwards."""
    target = write(
        tmp_path,
        """
        import subprocess, sys
        for own_session in (False, True):
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=own_session)
        def f(x):
            return x + 1
        def probe_inputs():
            import torch
            return torch.ones(2)
        """,
    )
    assert run(target, "--observe-only").done["status"] == "ok"


def test_child_that_hides_ends_too(tmp_path: Path) -> None:
    """Own session, no environment, and a parent that is gone: only that it was adopted tells whose it is."""
    name = f"hidden-{tmp_path.name}-{os.getpid()}"
    target = write(
        tmp_path,
        f"""
        import os, subprocess, sys
        if os.fork() == 0:
            child = [sys.executable, "-c", "import time; time.sleep(3600)", "{name}"]
            subprocess.Popen(child, env={{}}, start_new_session=True)
            os._exit(0)
        os.wait()
        print(subprocess.run(["ps", "-ef"], capture_output=True, text=True).stdout.count("{name}"))
        def f(x):
            return x + 1
        """,
    )
    ended = run(target, "--observe-only")
    assert ended.of("log")[0]["text"].strip() == "1"
    assert ended.done["status"] == "needs-inputs"
    left = [entry for entry in Path("/proc").glob("[0-9]*/cmdline") if name.encode() in _read(entry)]
    assert left == []


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_reader_that_goes_away_ends_the_run(tmp_path: Path, started: list[Started]) -> None:
    probe = start(write(tmp_path, "while True:\n    print('x' * 1000)\n"))
    started.append(probe)
    probe.read_until("hello")
    assert probe.process.stdout is not None
    probe.process.stdout.close()
    assert probe.process.wait(30) == 1
    assert probe.left_behind() == []


def test_killed_worker_is_a_crash(tmp_path: Path, started: list[Started]) -> None:
    probe = start(hanging(tmp_path, children=True))
    started.append(probe)
    pid = probe.read_until("hello")["pid"]
    probe.read_until("log")
    os.kill(pid, signal.SIGKILL)
    ended = probe.finish(30)
    assert (ended.code, ended.done["status"], ended.done["signal"]) == (1, "crashed", "SIGKILL")
    assert ended.done["stage"] == "load"
    assert probe.left_behind() == []


def test_killed_supervisor_leaves_nobody(tmp_path: Path, started: list[Started]) -> None:
    probe = start(hanging(tmp_path, children=True))
    started.append(probe)
    probe.read_until("log")
    assert len(probe.left_behind()) >= 4  # supervisor, guardian, worker and its children
    probe.process.kill()
    probe.process.wait()
    assert probe.left_behind(patience=10) == []


def test_cancel_ends_with_one_done(tmp_path: Path, started: list[Started]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        probe = start(hanging(tmp_path, children=True))
        started.append(probe)
        probe.read_until("log")
        probe.process.send_signal(number)
        ended = probe.finish(30)
        assert (ended.code, ended.done["status"]) == (1, "cancelled")
        assert probe.left_behind() == []


def test_watched_standard_input_that_is_empty_cancels_at_once(tmp_path: Path) -> None:
    assert run(hanging(tmp_path), "--watch-stdin").done["status"] == "cancelled"


def test_end_of_watched_standard_input_cancels(tmp_path: Path, started: list[Started]) -> None:
    probe = start(hanging(tmp_path), "--watch-stdin", stdin=subprocess.PIPE)
    started.append(probe)
    probe.read_until("log")
    ended = probe.finish(30)  # closes our end
    assert ended.done["status"] == "cancelled"
    assert probe.left_behind() == []


def test_killed_parent_of_the_supervisor_leaves_nobody(tmp_path: Path, started: list[Started]) -> None:
    """As an editor's server does: it starts the probe with a pipe on standard input, and is then killed."""
    parent = """
        import subprocess, sys
        subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
        import time; time.sleep(3600)
    """
    command = [sys.executable, str(PROBE), "run", "--json", "--watch-stdin", hanging(tmp_path, children=True)]
    mark = "parent-of-" + tmp_path.name
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(parent), *command],
        stdout=subprocess.PIPE,
        env={**os.environ, "PROBE_TEST_MARK": mark},
    )
    probe = Started(process, mark)
    started.append(probe)
    probe.read_until("log")
    assert len(probe.left_behind()) >= 5
    process.kill()
    process.wait()
    assert probe.left_behind(patience=15) == []


def test_hanging_stage_is_a_timeout_with_a_remedy(tmp_path: Path) -> None:
    ended = run(hanging(tmp_path), "--timeout", "2")
    assert (ended.code, ended.done["status"], ended.done["stage"]) == (1, "timeout", "load")
    assert "--timeout" in ended.done["message"]


def test_memory_of_the_tree_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that uses more than its share is stopped; the share is lowered here, so that no machine is filled."""
    from compile_probe.protocol.job import MARKER, Job
    from compile_probe.supervision import supervisor

    target = hanging(tmp_path)
    file, _, name = target.rpartition("::")
    monkeypatch.setattr(supervisor, "MEMORY_SHARE", 1e-3)
    folder = tmp_path / "run"
    folder.mkdir()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        outcome = supervisor.Supervision(
            Job(file=file, target=name, device="cpu"),
            supervisor.Run(folder, f"{MARKER}=memory-test", supervisor.Limits.of(60)),
            supervisor.Cancellation(watch_stdin=False),
            _Nowhere(),
            "test",
        ).run()
    finally:
        signal.set_wakeup_fd(-1)
        for number, handler in before.items():
            signal.signal(number, handler)
    assert outcome.status == "out-of-memory"
    assert "GiB" in outcome.message


class _Nowhere:
    def send(self, kind: str, keys: dict[str, Any], /) -> None:
        pass


def test_caches_are_removed_and_directory_stays(tmp_path: Path, started: list[Started]) -> None:
    """Inductor's and Triton's caches lie in a folder of the run, which goes with it, even after SIGKILL."""
    target = write(
        tmp_path,
        """
        import os
        print(os.environ["TORCHINDUCTOR_CACHE_DIR"], os.getcwd(), flush=True)
        while True:
            pass
        """,
    )
    probe = start(target, cwd=tmp_path)
    started.append(probe)
    cache, directory = probe.read_until("log")["text"].split()
    assert Path(cache).parent.is_dir()
    assert directory == str(tmp_path)
    probe.process.kill()
    probe.process.wait()
    assert probe.left_behind(patience=10) == []
    assert not Path(cache).parent.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["target.py"]


def test_usage_errors_exit_with_2(tmp_path: Path) -> None:
    path = tmp_path / "target.py"
    path.write_text("def g(x):\n    return x\n")
    wrong = (
        ([str(path)], "FILE::TARGET"),
        ([f"{path}:f"], "FILE::TARGET"),
        ([f"{tmp_path}/none.py::f"], "none.py"),
        ([], "FILE::TARGET"),
        ([f"{path}::f", "--budget", "much"], "--budget"),
        ([f"{path}::f", "--no-such-option"], "--no-such-option"),
    )
    for arguments, named in wrong:
        ended = run(*arguments, timeout=60)
        assert (ended.code, ended.done["status"]) == (2, "error"), arguments
        assert named in ended.done["message"] and named in ended.errors
    ended = run(f"{path}::f")
    assert ended.code == 2
    assert "'f'" in ended.done["message"] and "g" in ended.done["message"]


def test_runs_as_a_folder_that_is_not_installed(tmp_path: Path) -> None:
    """``python /path/compile_probe``: the user's code sees the path that ``python FILE`` gives, and nothing of ours."""
    target = write(
        tmp_path,
        """
        import json, sys
        import check, report  # the user's own, though we have modules of these names
        print(json.dumps([__name__, sys.path, sys.argv, check.__file__, sys.modules["compile_probe"].__file__]))
        def f(x):
            return x + 1
        def probe_inputs():
            import torch
            return torch.ones(2)
        """,
    )
    for name in ("check", "report"):
        (tmp_path / f"{name}.py").write_text("")
    ended = run(target, "--observe-only")
    assert ended.done["status"] == "ok", ended.done
    text = "".join(one["text"] for one in ended.of("log") if one["stream"] == "stdout")
    import json

    name, path, argv, check, package = json.loads(text)
    assert name == "target"
    assert path[0] == str(tmp_path)
    assert str(PROBE) not in path
    assert argv == [str(tmp_path / "target.py")]
    assert check == str(tmp_path / "check.py")
    assert Path(package).parent == PROBE
