"""``compile-lens check``, ``rule``: what they print, how they exit, what they do to files."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import pytest
from compile_lens.cli import main
from compile_lens.rules.registry import RULES

KEYS = {
    "file", "line", "end_line", "column", "end_column", "code", "effect", "certainty", "frame_skipped", "gb_types",
    "message", "fixable",
}  # fmt: skip
BREAKS = """\
import torch


@torch.compile
def f(x):
    变量 = '😀'; y = x.sum().item()
    print(
        变量, y)
    return x * 2
"""
CLEAN = "import torch\n\n\n@torch.compile\ndef f(x):\n    return x * 2\n"
NO_REGION = "import torch\n\n\ndef f(x):\n    return x.sum().item()\n"
CANDIDATE = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x * x.sum().item()
"""


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> list[dict[str, Any]]:
        return json.loads(self.out)


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run ``compile-lens check`` in this process."""

    def run(*arguments: object) -> Ran:
        code = main(["check", *map(str, arguments)])
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run


def command(*arguments: object, timeout: float = 60, env: Optional[dict[str, str]] = None) -> Ran:
    """Run the command in a process of its own, which may crash."""
    ended = subprocess.run(
        [sys.executable, "-m", "compile_lens.cli", *map(str, arguments)],
        capture_output=True,
        timeout=timeout,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent / "server"), **(env or {})},
        check=False,
    )
    return Ran(ended.returncode, ended.stdout.decode("utf-8", "replace"), ended.stderr.decode("utf-8", "replace"))


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8"))
    return path


# --- output and exit codes ---


def test_json(check: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "m.py", BREAKS)
    ran = check(path, "--output-format", "json")
    assert ran.code == 1
    first, second = ran.json
    assert set(first) >= KEYS
    assert (first["file"], first["code"], first["effect"]) == (str(path), "CL102", "graph-break")
    assert (first["line"], first["column"]) == (6, 19), "1-based, in characters"
    assert (first["end_line"], first["end_column"]) == (6, 33), "end exclusive"
    assert (second["line"], second["end_line"], second["end_column"]) == (7, 8, 15)
    assert first["certainty"] in ("certain", "likely", "candidate")
    assert (first["fixable"], second["fixable"]) == (False, True)
    for finding in ran.json:
        assert isinstance(finding["gb_types"], list)
        assert finding["frame_skipped"] in (True, False)
        assert "\n" not in finding["message"]


def test_text(check: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "m.py", BREAKS)
    ran = check(path)
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert lines[0].startswith(f"{path}:6:19: CL102 ")
    assert lines[-1] == "1 files, 1 torch.compile sites, 1 functions followed: 2 graph-break"


@pytest.mark.parametrize(
    ("text", "arguments", "code", "count"),
    [
        (CLEAN, (), 0, 0),
        (BREAKS, (), 1, 2),
        (NO_REGION, (), 0, 0),
        (NO_REGION, ("--scope", "candidates"), 0, 0),
        (NO_REGION, ("--scope", "all"), 0, 1),
        (CANDIDATE, (), 0, 0),
        (CANDIDATE, ("--scope", "candidates"), 0, 2),
        (BREAKS, ("--select", "CL102"), 1, 1),
        (BREAKS, ("--select", "cl1"), 1, 2),
        (BREAKS, ("--ignore", "CL102"), 1, 1),
        (BREAKS, ("--ignore", "CL1"), 0, 0),
        (BREAKS, ("--select", "CL1", "--ignore", "CL102,CL104"), 0, 0),
        (BREAKS, ("--torch-version", "2.7.1", "--python-version", "3.10"), 1, 2),
        ("x = (\n", (), 0, 0),
        ("import torch\nx = (\n", (), 2, 0),
        ("", (), 0, 0),
        ("\ufeff" + BREAKS, (), 1, 2),
    ],
)
def test_exit_codes(check: Any, tmp_path: Path, text: str, arguments: tuple[str, ...], code: int, count: int) -> None:
    ran = check(write(tmp_path / "m.py", text), "--output-format", "json", *arguments)
    assert (ran.code, len(ran.json)) == (code, count), ran


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--select", "XY"), "XY"),
        (("--ignore", "CL102,Q"), "Q"),
        (("--torch-version", "newest"), "newest"),
        (("--python-version", "three"), "three"),
        (("missing.py",), "missing.py"),
        (("/dev/null",), "/dev/null"),
    ],
)
def test_what_cannot_be_used_is_said(check: Any, tmp_path: Path, arguments: tuple[str, ...], word: str) -> None:
    ran = check(write(tmp_path / "m.py", CLEAN), *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert word in ran.err
    assert ran.err.startswith("compile-lens: ")
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("arguments", [[], ["check"], ["check", "--output-format", "xml", "."], ["nothing"]])
def test_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


# --- which files ---


def test_folders(check: Any, tmp_path: Path) -> None:
    for name in ("a.py", "b/c.py", "b/d.txt", ".venv/lib/x.py", "venv/x.py", "node_modules/x.py", ".git/x.py"):
        write(tmp_path / name, BREAKS)
    write(tmp_path / "myenv/pyvenv.cfg", "home = /usr/bin\n")
    write(tmp_path / "myenv/lib/x.py", BREAKS)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "folder.py").mkdir()
    ran = check(tmp_path, tmp_path / "a.py", "--output-format", "json")
    assert [f["file"] for f in ran.json] == [str(tmp_path / "a.py")] * 2 + [str(tmp_path / "b/c.py")] * 2
    assert ran.err == ""


def test_a_folder_without_python(check: Any, tmp_path: Path) -> None:
    assert check(tmp_path).out == "no Python files found\n"
    assert check(tmp_path, "--output-format", "json").json == []
    assert check(tmp_path).code == 0


def test_one_bad_file_does_not_hide_the_others(check: Any, tmp_path: Path) -> None:
    write(tmp_path / "a.py", "import torch\ndef f(:\n")
    write(tmp_path / "b.py", BREAKS)
    ran = check(tmp_path)
    assert ran.code == 2
    assert f"{tmp_path / 'a.py'}:2: invalid Python syntax" in ran.err
    assert "CL102" in ran.out


def test_a_fault_of_ours_does_not_hide_the_others(check: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from compile_lens.findings import report

    real = report.scan_file

    def broken(path: Path, *rest: Any) -> Any:
        if path.name == "a.py":
            raise KeyError("bug")
        return real(path, *rest)

    monkeypatch.setattr(report, "scan_file", broken)
    write(tmp_path / "a.py", CLEAN)
    write(tmp_path / "b.py", BREAKS)
    ran = check(tmp_path)
    assert ran.code == 2
    assert "internal error, this file was not analysed: KeyError" in ran.err
    assert "CL102" in ran.out


# --- bytes ---


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"import torch\nx = '\xff'\n", "not text in the encoding it declares"),
        (b"# coding: klingon\nimport torch\n", "klingon"),
        (b"import torch\n\0x = 1\n", "null bytes"),
        ("import torch\n".encode("utf-16"), "m.py"),
        (b"\xef\xbb\xbf# coding: latin-1\nimport torch\n", "m.py"),
    ],
)
def test_bytes_that_are_no_text(check: Any, tmp_path: Path, data: bytes, word: str) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(data)
    ran = check(path)
    assert ran.code == 2
    assert word in ran.err
    assert ran.err.count("\n") == 1


def test_a_file_that_cannot_be_read(check: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "m.py", BREAKS)
    real = Path.read_bytes

    def denied(self: Path) -> bytes:
        if self == path:
            raise PermissionError(13, "Permission denied")
        return real(self)

    monkeypatch.setattr(Path, "read_bytes", denied)  # the tests may run as root, who may read everything
    ran = check(path)
    assert ran.code == 2
    assert f"cannot read {path}: Permission denied" in ran.err


def test_names_that_are_no_text(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.py"))
    path.write_text(BREAKS, encoding="utf-8")
    for form in ("text", "json"):
        for encoding in ("utf-8", "ascii"):
            ran = command("check", path, "--output-format", form, env={"PYTHONIOENCODING": encoding})
            assert ran.code == 1, ran
            assert "Traceback" not in ran.err
            if form == "json":
                assert len(ran.json) == 2


# --- texts that are too much ---

HEAD = "import torch\n\n@torch.compile\ndef f(x):\n    return x * x.sum().item()\n\n"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("x = " + "(" * 1_500 + "1" + ")" * 1_500, "brackets are nested deeper than 200"),
        ("x = " + "[" * 5_000, "brackets are nested deeper than 200"),
        ("x = a" + ".b()" * 4_000, "chains more than 1,000 operations"),
        ("x = a" + "()" * 4_000, "chains more than 1,000 operations"),
        ("x = a" + "\\\n.b" * 4_000, "chains more than 1,000 operations"),
        ("x = 1" + "+1" * 5_000, "chains more than 1,000 operations"),
        ("x = (1" + "\n+1" * 5_000 + ")", "chains more than 1,000 operations"),
        ("x = " + "not " * 5_000 + "1", "chains more than 1,000 operations"),
        ("x = " + "lambda: " * 5_000 + "1", "chains more than 1,000 operations"),
        ("x = '" + "a" * 10_000_000 + "'", "looks like data"),
    ],
    ids=["brackets", "open", "calls", "call", "continued", "sum", "sum lines", "not", "lambda", "long line"],
)
def test_what_would_crash_the_parser_is_refused(tmp_path: Path, text: str, word: str) -> None:
    path = write(tmp_path / "m.py", HEAD + text)
    begun = time.monotonic()
    ran = command("check", path, "--output-format", "json")
    assert time.monotonic() - begun < 20
    assert (ran.code, ran.json) == (2, [])
    assert word in ran.err
    assert f"{path}:" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "(" * 190 + "1" + ")" * 190,
        "x = a" + ".b()" * 400,
        "x = 1" + " + 1" * 900,
        "x = (" + "\n'abc'" * 3_000 + ")",
        "x = [" + "-1.5, " * 4_000 + "]",
        "x = {" + "'a': 1.0,\n" * 4_000 + "}",
        "if a: pass\n" + "elif a: pass\n" * 2_000,
        "def g(x):\n" + "".join(" " * depth + "if x:\n" for depth in range(1, 90)) + " " * 90 + "pass\n",
        "".join(" " * depth + "def g(x):\n" for depth in range(90)) + " " * 90 + "pass\n",
        "@torch.compile\ndef g(x):\n    return x" + " + 1" * 900,
    ],
    ids=["brackets", "calls", "sum", "strings", "floats", "dictionary", "elif", "ifs", "functions", "traced sum"],
)
def test_what_is_deep_but_possible_is_scanned(tmp_path: Path, text: str) -> None:
    ran = command("check", write(tmp_path / "m.py", HEAD + text + "\n"), "--output-format", "json")
    assert (ran.code, [f["code"] for f in ran.json]) == (1, ["CL102"]), ran.err[-2000:]


def test_many_lines(tmp_path: Path) -> None:
    text = HEAD + "".join(f"v{n} = {n}\n" for n in range(50_000)) + "\n@torch.compile\ndef g(x):\n    print(x)\n"
    ran = command("check", write(tmp_path / "m.py", text), "--output-format", "json", timeout=100)
    assert [(f["line"], f["code"]) for f in ran.json] == [(5, "CL102"), (50_010, "CL104")]


def test_the_guard_refuses_no_real_file() -> None:
    """Over torch itself and the standard library: what is refused there would be missed by users."""
    import sysconfig

    import torch
    from compile_lens.text.errors import SourceError, UndecodableText, UnparsableText
    from compile_lens.text.parse import check_nesting
    from compile_lens.text.source import read

    torch_folder = Path(torch.__file__).parent
    standard = Path(sysconfig.get_paths()["stdlib"])
    files = [*torch_folder.rglob("*.py"), *(p for p in standard.rglob("*.py") if "site-packages" not in p.parts)]
    assert len(files) > 2_500
    refused: list[str] = []
    for path in files:
        try:
            check_nesting(read(path))
        except (UnparsableText, UndecodableText) as error:
            refused.append(error.message)
        except SourceError:
            continue
    # Test data of the standard library that is no Python on purpose.
    assert [message for message in refused if "/test/" not in message and "/lib2to3/" not in message] == []


# --- fixing ---

FIXABLE = """\
# 注释 😀
import torch


@torch.compile
def f(x):
    if x.sum() > 0:
        y = x + 1
    else:
        y = x - 1
    print("值", y.shape)  # 打印
    print(
        y,
    )
    return y * x.sum().item()  # compile-lens: ignore[CL999]
"""


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (FIXABLE, "utf-8"),
        (FIXABLE.replace("\n", "\r\n"), "utf-8"),
        (FIXABLE.replace("\n", "\r"), "utf-8"),
        (FIXABLE.replace("    ", "\t"), "utf-8"),
        (FIXABLE, "utf-8-sig"),
        ("# -*- coding: gbk -*-\n" + FIXABLE.replace(" 😀", ""), "gbk"),
        (FIXABLE[:-1], "utf-8"),
    ],
    ids=["plain", "crlf", "cr", "tabs", "bom", "gbk", "no-end"],
)
def test_fix(check: Any, tmp_path: Path, text: str, encoding: str) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(text.encode(encoding))
    path.chmod(0o755)
    assert check(path, "--fix").code == 1
    assert path.read_bytes() == text.encode(encoding), "none of these fixes is safe"
    ran = check(path, "--fix", "--unsafe-fixes", "--output-format", "json")
    assert (ran.code, [f["code"] for f in ran.json], ran.err) == (1, ["CL102"], "3 fixed\n")
    data = path.read_bytes()
    result = data.decode(encoding)
    ast.parse(data)
    newlines = {"\r\n"} if "\r\n" in text else {"\r"} if "\r" in text else {"\n"}
    assert {end for end in ("\r\n", "\r", "\n") if end in result.replace("\r\n", "" if end != "\r\n" else "\r\n")} == (
        newlines
    )
    assert data.startswith(b"\xef\xbb\xbf") == (encoding == "utf-8-sig")
    assert "y = torch.where(x.sum() > 0, x + 1, x - 1)" in result
    assert result.count("is_compiling()") == 2
    assert "# 打印" in result
    assert path.stat().st_mode & 0o777 == 0o755
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.py"]
    assert check(path, "--fix", "--unsafe-fixes").err == "0 fixed\n", "a second time changes nothing"
    assert path.read_bytes() == data


def test_unsafe_alone_fixes_nothing(check: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "m.py", FIXABLE)
    check(path, "--unsafe-fixes")
    assert path.read_text(encoding="utf-8") == FIXABLE


def test_fix_follows_a_link(check: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "real" / "m.py", FIXABLE)
    link = tmp_path / "link.py"
    link.symlink_to(path)
    check(link, "--fix", "--unsafe-fixes")
    assert link.is_symlink()
    assert "torch.where" in path.read_text(encoding="utf-8")


def test_a_fix_that_would_break_the_file_is_not_written(
    check: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from compile_lens.findings import report

    monkeypatch.setattr(report, "apply", lambda text, edits: text + "\n(")
    path = write(tmp_path / "m.py", FIXABLE)
    ran = check(path, "--fix", "--unsafe-fixes")
    assert "left as it is" in ran.err
    assert path.read_text(encoding="utf-8") == FIXABLE


# --- rule, pipes, interruption ---


def test_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == list(RULES)
    for rule in RULES.values():
        for name in (rule.code, rule.code.lower(), rule.name):
            assert main(["rule", name]) == 0
            assert rule.code in capsys.readouterr().out
    assert main(["rule", "CL999"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "CL999" in err
    assert "CL101" in err


def test_a_reader_that_goes_away(tmp_path: Path) -> None:
    body = "".join(f"    print({n})\n" for n in range(3_000))
    path = write(tmp_path / "m.py", f"import torch\n\n@torch.compile\ndef f(x):\n{body}")
    for form in ("text", "json"):
        process = subprocess.Popen(
            [sys.executable, "-m", "compile_lens.cli", "check", str(path), "--output-format", form],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=Path(__file__).parent.parent.parent / "server",
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        errors = process.stderr.read().decode()
        assert process.wait(60) == 2
        assert errors == "", form


def test_interruption(tmp_path: Path) -> None:
    body = "".join(f"    x = x + {n}\n    print(x)\n" for n in range(300))
    for number in range(60):
        write(tmp_path / f"m{number}.py", f"import torch\n\n@torch.compile\ndef f(x):\n{body}    return x\n")
    # A test run in the background inherits an ignored SIGINT.
    start = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from compile_lens.cli import main; sys.exit(main(['check', *sys.argv[1:]]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", start, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=Path(__file__).parent.parent.parent / "server",
    )
    time.sleep(3)
    assert process.poll() is None, "too quick for this test"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert b"Traceback" not in out + err
