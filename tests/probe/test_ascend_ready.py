"""Every state of an Ascend host, made with file trees, permissions and packages; the sentences and the way on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from compile_probe.ascend import cann, cards, readiness
from compile_probe.ascend.environment import prepared
from compile_probe.ascend.readiness import Readiness
from compile_probe.ascend.sentences import STATES
from compile_probe.errors import UnavailableError, UsageError
from compile_probe.host import locks, shell

PROBE = Path(__file__).parent.parent.parent / "compile_probe"
NOBODY = 65534
# What torch_npu 2.13.0 really says without CANN.
NO_CANN = 'raise ImportError("libhccl.so: cannot open shared object file: No such file or directory")'
NPU = """
import torch
class npu:
    device_count = staticmethod(lambda: {count})
    is_available = staticmethod(lambda: {count} > 0)
    get_device_name = staticmethod(lambda index: "Ascend910B3")
torch.npu = npu
torch.empty = lambda *a, **k: {allocates}
"""


class Host:
    """A host to look at: a root with CANN, device files and processes, and a folder of packages."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = folder / "root"
        self.site = folder / "site"
        self.root.mkdir()
        self.site.mkdir()
        monkeypatch.syspath_prepend(str(self.site))
        self.environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(self.site), "HOME": "/home/someone"}

    def torch_npu(
        self, code: str, torch: str = "2.7.1", wants: str = "2.7.1+cpu", version: str = "2.7.1.post2"
    ) -> None:
        for name, text in (("torch", ""), ("torch_npu", code)):
            (self.site / name).mkdir()
            (self.site / name / "__init__.py").write_text(text)
        (self.site / "torch_npu" / "version.py").write_text(f"__version__ = '{version}'\n")
        for name, text in (
            (f"torch-{torch}", f"Name: torch\nVersion: {torch}\n"),
            (f"torch_npu-{version}", f"Name: torch_npu\nVersion: {version}\nRequires-Dist: torch=={wants}\n"),
        ):
            info = self.site / f"{name}.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(text)

    def cann(self, script: str = "export ASCEND_TOOLKIT_HOME=x\n") -> Path:
        folder = self.root / "usr/local/Ascend/ascend-toolkit/8.1.RC1"
        (folder / "lib64").mkdir(parents=True)
        for name in cann.LIBRARIES:
            (folder / "lib64" / name).touch()
        (folder / "version.cfg").write_text("[runtime]\nversion=8.1.RC1\n")
        (folder.parent / "latest").symlink_to("8.1.RC1")
        (folder.parent / "set_env.sh").write_text(script)
        return folder.parent / "set_env.sh"

    def card(self, number: int, mode: int = 0o666) -> None:
        device = self.root / "dev" / f"davinci{number}"
        device.parent.mkdir(exist_ok=True)
        device.touch()
        device.chmod(mode)

    def process(self, pid: int, card: int, command: str = "vllm\0serve\0") -> None:
        folder = self.root / "proc" / str(pid) / "fd"
        folder.mkdir(parents=True)
        (folder / "7").symlink_to(f"/dev/davinci{card}")
        (folder.parent / "cmdline").write_text(command)

    def assess(self, deadline: float = 30.0) -> Readiness:
        return readiness.assess(self.environ, self.root, deadline)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(tmp_path, monkeypatch)


@contextmanager
def bound_by_permissions() -> Iterator[None]:
    """root may open everything; whoever is not root already is somebody whom permissions bind."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def says(state: Readiness, name: str, *parts: str) -> None:
    """The state, its facts in both languages, no gap left open, and something to do."""
    assert state.state == name, state.sentence()
    for locale in ("en", "zh-cn"):
        sentence = state.sentence(locale)
        assert "{" not in sentence and all(part in sentence for part in parts), sentence
    assert any("\u4e00" <= letter <= "\u9fff" for letter in state.sentence("zh-cn"))
    assert not any("\u4e00" <= letter <= "\u9fff" for letter in state.sentence("en"))
    entry = STATES[name]
    assert name == "ready" or (entry.way_en and entry.way_zh)
    assert "{" not in state.command


def test_absent(host: Host) -> None:
    says(host.assess(), "absent", "torch_npu")
    assert host.assess().command.startswith("pip install torch-npu==")


def test_mismatch(host: Host) -> None:
    host.torch_npu("raise SystemExit('not asked')", torch="2.8.0+cpu")
    says(host.assess(), "mismatch", "2.8.0+cpu", "2.7.1.post2", "2.7.1")
    assert host.assess().command == "pip install torch==2.7.1"


def test_cann_missing(host: Host) -> None:
    host.torch_npu(NO_CANN)
    says(host.assess(), "cann-missing", "libhccl.so", "2.7.1.post2", "probe.setupScript")


def test_environment_not_loaded(host: Host) -> None:
    host.torch_npu(NO_CANN)
    script = host.cann()
    says(host.assess(), "environment-not-loaded", "8.1.RC1", str(script), "probe.setupScript")
    assert host.assess().command == f"source {script}"


def test_cann_of_the_users_home_is_found(host: Host) -> None:
    home = host.root / "home/someone/Ascend/ascend-toolkit/latest"
    (home / "aarch64-linux/lib64").mkdir(parents=True)
    (home / "aarch64-linux/lib64/libhccl.so").touch()
    (home / "aarch64-linux/ascend_toolkit_install.info").write_text("package_name=x\nversion=8.2.RC1\n")
    (home.parent / "set_env.sh").touch()
    found = cann.find(host.environ, host.root)
    assert found is not None
    assert (found.version, found.script) == ("8.2.RC1", home.parent / "set_env.sh")


def test_cann_named_by_the_environment_goes_first(host: Host, tmp_path: Path) -> None:
    host.cann()
    (tmp_path / "own/lib64").mkdir(parents=True)
    (tmp_path / "own/lib64/libascendcl.so").touch()
    found = cann.find({**host.environ, "ASCEND_TOOLKIT_HOME": str(tmp_path / "own")}, host.root)
    assert found is not None and found.folder == tmp_path / "own"


def test_no_permission(host: Host) -> None:
    host.torch_npu(NPU.format(count=0, allocates="None"))
    host.card(0, 0o600)
    for folder in (host.root / "dev", *host.root.parents):
        folder.chmod(folder.stat().st_mode | 0o055)
    with bound_by_permissions():
        seen = cards.find(host.environ, host.root)
    assert seen.forbidden == ("/dev/davinci0",) and not seen.present[0].permitted
    state = readiness.judge({"torch_npu": "2.7.1"}, seen, {"imported": True, "count": 0}, host.root)
    says(state, "no-permission", "/dev/davinci0", "HwHiAiUser")
    assert state.command == "sudo usermod -aG HwHiAiUser $USER"


def test_no_device(host: Host) -> None:
    host.torch_npu(NPU.format(count=0, allocates="None"))
    host.cann()
    says(host.assess(), "no-device", "/dev/davinci")


def test_no_device_since_the_variable_hides_all(host: Host) -> None:
    host.torch_npu(NPU.format(count=0, allocates="None"))
    host.card(0)
    host.environ[cards.VISIBLE] = "5"
    says(host.assess(), "no-device", "ASCEND_RT_VISIBLE_DEVICES=5")


def test_driver_that_does_not_work(host: Host) -> None:
    fails = "def fails(*a, **k):\n raise RuntimeError('error 507899')\ntorch.empty = fails\n"
    host.torch_npu(NPU.format(count=1, allocates="None") + fails)
    host.card(0)
    driver = host.root / "usr/local/Ascend/driver"
    driver.mkdir(parents=True)
    (driver / "version.info").write_text("Version=24.1.rc2\n")
    says(host.assess(), "broken", "error 507899", "24.1.rc2")


def test_a_child_that_dies_is_a_state(host: Host) -> None:
    host.torch_npu("import os; os.kill(os.getpid(), 11)")
    says(host.assess(), "broken", "code -11")


def test_a_child_that_hangs_is_a_state(host: Host) -> None:
    host.torch_npu("import time; time.sleep(60)")
    begin = time.monotonic()
    says(host.assess(deadline=1.0), "silent", "1")
    assert time.monotonic() - begin < 10


def test_busy(host: Host) -> None:
    host.torch_npu(NPU.format(count=1, allocates="None"))
    host.card(0)
    host.process(4242, 0)
    says(host.assess(), "busy", "vllm serve", "4242", "npu:0")


def test_ready(host: Host) -> None:
    host.torch_npu(NPU.format(count=1, allocates="None"))
    host.cann()
    host.card(0)
    says(host.assess(), "ready", "Ascend910B3", "8.1.RC1", "2.7.1.post2")


def test_ready_with_several_asks_for_a_choice_and_shows_what_is_visible(host: Host) -> None:
    host.torch_npu(NPU.format(count=2, allocates="None"))
    for number in (0, 3, 5):
        host.card(number)
    host.process(77, 3)
    host.environ[cards.VISIBLE] = "3,5"
    state = host.assess()
    says(state, "choose", "--device npu:N", "npu:1", "ASCEND_RT_VISIBLE_DEVICES=3,5", "2 x Ascend910B3")
    assert state.usable == (5,), "physical card 3 is busy"


def test_every_state_is_reached_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in STATES if f'"{name}"' not in text] == []


# --- set-up scripts and files of variables ---


def test_a_script_that_prints_and_sets(tmp_path: Path) -> None:
    script = tmp_path / "set_env.sh"
    script.write_text('echo "LD_LIBRARY_PATH=wrong"; echo noise >&2; export A="two\nlines" B=$HOME/lib\nunset GONE\n')
    before = {"PATH": os.environ["PATH"], "HOME": "/home/x", "GONE": "1", "PWD": "/somewhere"}
    after = shell.sourced(script, before)
    assert after == {
        "PATH": before["PATH"],
        "HOME": "/home/x",
        "A": "two\nlines",
        "B": "/home/x/lib",
        "PWD": "/somewhere",
    }


def test_a_script_that_hangs_is_stopped_with_what_it_started(tmp_path: Path) -> None:
    script = tmp_path / "set_env.sh"
    script.write_text(f"sleep 300 &\necho $! > {tmp_path}/child\nread answer < /dev/zero\nsleep 300\n")
    with pytest.raises(shell.SetupError, match="did not end within 1 s"):
        shell.sourced(script, {"PATH": os.environ["PATH"]}, 1.0)
    child = int((tmp_path / "child").read_text())
    for _ in range(50):
        if not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split(")")[1]:
            break
        time.sleep(0.1)
    else:
        pytest.fail("what the script started lives on")


def test_a_script_that_fails_says_why(tmp_path: Path) -> None:
    script = tmp_path / "set_env.sh"
    script.write_text("echo 'no toolkit here' >&2\nreturn 7\n")
    with pytest.raises(shell.SetupError, match=r"exit code 7: no toolkit here"):
        shell.sourced(script, {"PATH": os.environ["PATH"]})
    with pytest.raises(shell.SetupError, match=r"does not exist.*probe\.setupScript"):
        shell.sourced(tmp_path / "none.sh", {})


def test_a_file_of_variables(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("# CANN\nexport A=1  # one\nB=\"$A ${A}\"\nC='$A'\n\nD=\n", encoding="utf-8")
    assert shell.read_variables(file, {"Z": "z"}) == {"Z": "z", "A": "1", "B": "1 1", "C": "$A", "D": ""}
    file.write_text("A=1\nsource other\n")
    with pytest.raises(shell.SetupError, match=r"\.env:2 is no NAME=VALUE line.*setupScript"):
        shell.read_variables(file, {})
    with pytest.raises(UsageError, match=r"cannot be read"):
        prepared({}, env_file=tmp_path / "none")


def test_doctor_prints_the_state_and_does_what_the_script_says(host: Host, tmp_path: Path) -> None:
    host.torch_npu(
        'import os\nif "CANN_ON" not in os.environ:\n ' + NO_CANN + "\n" + NPU.format(count=1, allocates="0")
    )
    script = tmp_path / "set_env.sh"
    script.write_text("export CANN_ON=1\n")
    environ = {**host.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, str(PROBE), "doctor"]

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *more], capture_output=True, text=True, env=environ, timeout=60, check=False)

    cold = run("--locale", "zh-cn")
    assert cold.returncode == 3 and "未找到 CANN" in cold.stdout and "torch_npu 2.7.1.post2" in cold.stdout
    warm = run("--json", "--setup-script", str(script))
    assert warm.returncode == 0, warm.stderr
    report = json.loads(warm.stdout)
    assert report["ascend"]["state"] == "ready"
    assert report["torch_npu"]["requires_torch"] == "2.7.1" and report["torch_npu"]["missing"]
    assert run("--setup-script", str(tmp_path / "none.sh")).returncode == 2


# --- torch that torch_npu breaks ---


def test_torch_is_importable_for_a_probe_though_torch_npu_breaks_it(host: Host) -> None:
    host.torch_npu(NO_CANN)
    assert prepared(host.environ)[readiness.AUTOLOAD] == "0"
    library = host.root / "lib"
    library.mkdir()
    (library / "libhccl.so").touch()
    assert readiness.AUTOLOAD not in prepared({**host.environ, "LD_LIBRARY_PATH": f"/nowhere:{library}"})


def test_a_failed_import_of_cann_is_explained_whoever_imports(host: Host) -> None:
    host.torch_npu(NO_CANN)
    script = host.cann()
    message = "x.py raised ImportError: libhccl.so: cannot open shared object file: No such file or directory"
    assert str(script) in readiness.explain(message, host.environ, host.root)
    assert not readiness.explain(message.replace("libhccl", "libfoo"), host.environ, host.root)
    assert not readiness.explain("ValueError: no", host.environ, host.root)


# --- one probe a card ---


def test_a_card_is_locked_for_everybody_and_the_holder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import sys, tempfile\nsys.path.insert(0, {str(PROBE.parent)!r})\ntempfile.tempdir = {str(tmp_path)!r}\n"
            "from compile_probe.host import locks\nprint(locks.take('npu-3'), flush=True)\nsys.stdin.read()",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None and holder.stdin is not None
    assert holder.stdout.readline() == "None\n"
    assert locks.take("npu-3") == f"another probe (pid {holder.pid})"
    assert locks.take("npu-4") is None
    assert (tmp_path / "compile-lens-locks").stat().st_mode & 0o7777 == 0o1777
    assert (tmp_path / "compile-lens-locks" / "npu-3.lock").stat().st_mode & 0o777 == 0o666
    holder.kill()
    holder.wait()
    holder.stdin.close()
    holder.stdout.close()
    assert locks.take("npu-3") is None, "a lock ends with its process, however that ends"


def test_an_idle_card_is_chosen_and_a_busy_one_refused(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    from compile_probe.devices import occupancy

    for number in (0, 1):
        host.card(number)
    host.process(4242, 0)
    monkeypatch.setattr("tempfile.tempdir", str(host.root))
    look = cards.find
    monkeypatch.setattr(occupancy.cards, "find", lambda environ: look(host.environ, host.root))
    assert occupancy.choose_index("npu", "") == "1"
    with pytest.raises(UnavailableError, match=r"npu:0 is used by vllm serve \(pid 4242, "):
        occupancy.choose_index("npu", "0")
    assert occupancy.choose_index("cpu", "") == "0"
