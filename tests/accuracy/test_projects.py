"""Projects of many files: every break that Dynamo makes in them is found on its line, from the compile site alone.

Lines at which Dynamo breaks end in ``# breaks``; the project runs through the real Dynamo to prove that they do.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from compile_lens.cli import main

from compile_probe.observe import observe_calls

PROJECTS = sorted(path for path in (Path(__file__).parent / "projects").iterdir() if path.is_dir())
Place = tuple[str, int]


def marked(project: Path) -> set[Place]:
    return {
        (str(path.relative_to(project)), number)
        for path in project.rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if line.endswith("# breaks")
    }


@pytest.fixture
def train(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The project's ``train.py``, imported as its user would run it."""
    project: Path = request.param
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(project))
    yield importlib.import_module("train")
    for name in set(sys.modules) - before:
        if str(project) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.mark.parametrize("train", PROJECTS, indirect=True, ids=lambda p: p.name)
def test_dynamo_breaks_where_the_marks_are(train: Any) -> None:
    project = Path(train.__file__).parent
    observation = observe_calls(train.build(), [(arguments, {}) for arguments in train.inputs()])
    assert observation.error is None
    seen = {(str(Path(b.file).relative_to(project)), b.line) for b in observation.breaks if str(project) in b.file}
    assert seen == marked(project)


@pytest.mark.parametrize("project", PROJECTS, ids=lambda p: p.name)
@pytest.mark.parametrize("given", [".", "train.py"])
def test_every_break_is_found(
    project: Path, given: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    assert main(["check", given, "--output-format", "json"]) == 1
    findings = json.loads(capsys.readouterr().out)
    assert {(f["file"], f["line"]) for f in findings if f["effect"] == "graph-break"} == marked(project)
    for finding in findings:
        if finding["file"] != "train.py":
            (way,) = finding["related"]
            assert way["file"] == "train.py"
            assert "torch.compile" in (project / "train.py").read_text().splitlines()[way["line"] - 1]
