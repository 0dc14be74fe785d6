"""One file's fault stays its own: sites met while walking, and faults injected into rule, interpreter and parser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from compile_lens.cli import main

from .editor import start

SITE_MET_WHILE_WALKING = """\
import torch


def patching():
    original = torch.compile

    def patched(fn, *args, **kwargs):
        return original(fn, *args, **kwargs)

    torch.compile = patched
    try:
        return patched(lambda x: x + 1)
    finally:
        torch.compile = original
"""
BREAKS = "import torch\n\n\n@torch.compile\ndef f(x):\n    print(x)\n    return x * 2\n"
UNLUCKY = BREAKS.replace("f(x)", "unlucky(x)")

FAULTS = {
    "rule": """
from compile_lens.rules.host_output import HostOutput
check = HostOutput.check
def faulty(self, operation, context):
    if operation.frame.name == "unlucky":
        raise LookupError("a fault in a rule")
    return check(self, operation, context)
HostOutput.check = faulty
""",
    "interpreter": """
from compile_lens.semantics.interpreter import Interpreter
call_function = Interpreter.call_function
def faulty(self, caller, function, *rest, **more):
    if function.name == "unlucky":
        raise ZeroDivisionError("a fault in the interpreter")
    return call_function(self, caller, function, *rest, **more)
Interpreter.call_function = faulty
""",
    "parser": """
import libcst
parse_module = libcst.parse_module
class PanicException(BaseException):
    pass
def faulty(source, *rest, **more):
    if "unlucky" in source:
        raise PanicException("a fault in the parser")
    return parse_module(source, *rest, **more)
libcst.parse_module = faulty
""",
}
KINDS = {"rule": "LookupError", "interpreter": "ZeroDivisionError", "parser": "PanicException"}


def project(folder: Path, odd: str) -> Path:
    """Twenty files with a finding each, and one odd one in their midst."""
    for number in range(20):
        (folder / f"module_{number:02}.py").write_text(BREAKS)
    path = folder / "module_10_odd.py"
    path.write_text(odd)
    return path


@pytest.mark.parametrize("scope", ["regions", "candidates", "all"])
def test_a_site_met_while_walking(scope: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone = tmp_path / "patching.py"
    alone.write_text(SITE_MET_WHILE_WALKING)
    assert main(["check", str(alone), "--scope", scope]) == 0
    printed = capsys.readouterr()
    assert "1 torch.compile sites" in printed.out
    assert printed.err == ""


def test_a_site_met_while_walking_among_twenty_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(tmp_path, SITE_MET_WHILE_WALKING)
    assert main(["check", str(tmp_path), "--scope", "all", "--output-format", "json"]) == 1
    printed = capsys.readouterr()
    assert printed.err == ""
    assert len([f for f in json.loads(printed.out) if f["code"] == "CL104"]) == 20


@pytest.mark.parametrize("where", FAULTS)
def test_a_fault_costs_one_file(where: str, tmp_path: Path) -> None:
    odd = project(tmp_path, UNLUCKY)
    ended = _with_fault(where, ["check", str(tmp_path), "--output-format", "json"])
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"compile-lens: {odd}: internal error, this file was not analysed: ")
    assert KINDS[where] in line
    assert "report" in line
    assert ".py:" in line.split("analysed: ")[1], "it says where"
    assert [f["code"] for f in json.loads(ended.stdout)] == ["CL104"] * 20


def _with_fault(where: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    code = f"{FAULTS[where]}\nimport sys\nfrom compile_lens.cli import main\nsys.exit(main({arguments!r}))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.asyncio(loop_scope="function")
@pytest.mark.parametrize("where", FAULTS)
async def test_a_fault_in_the_editor(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """One message in the log, the last good findings stay, and the next text is analysed as ever."""
    code = f"import contextlib\nwith contextlib.suppress(ImportError):\n{_indented(FAULTS[where])}"
    (tmp_path / "sitecustomize.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    async with start() as editor:
        uri = editor.open(BREAKS)
        await editor.expect(uri, [("CL104", "print(x)")])
        editor.change(uri, UNLUCKY)
        await editor.until(lambda: any("internal error, this file was not analysed" in m for _, m in editor.statuses))
        assert await editor.found(uri) == [("CL104", "print(x)")], "the last good findings stay"
        editor.change(uri, UNLUCKY + "\n")
        editor.change(uri, BREAKS.replace("print(x)", "x.tolist()"))
        await editor.expect(uri, [("CL103", "x.tolist()")])
        await editor.until(lambda: editor.statuses[-1][0] == "ok")
    text = capfd.readouterr().err
    assert text.count("ERROR compile_lens") == 1, text
    assert KINDS[where] in text


def _indented(code: str) -> str:
    return "".join(f"    {line}\n" for line in code.splitlines())
