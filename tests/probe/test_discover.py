"""Targets of a file from its text, and how the file is imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from compile_probe.errors import UsageError
from compile_probe.targets.discovery import targets
from compile_probe.targets.loading import package_root

from .conftest import CASES, PROBE

TEXT = """
import torch
from torch import nn
raise SystemExit("imported")

# probe: a=f32[2]
# a remark
@torch.no_grad()
def one(a, *, b=1): ...

async def two(): ...

class Net(nn.Module):
    def __init__(self):
        self.example_input_array = None

    def forward(self, x, mask=None):
        def inner(): ...

    @property
    def size(self): ...

    # probe: y=f32[3]
    def encode(self, y): ...

class Config: ...

def helper_inputs(): ...
"""


def test_targets_in_order_with_inputs_and_parameters(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(TEXT)
    found = [(t.name, t.kind, t.inputs, t.parameters) for t in targets(path)]
    assert found == [
        ("one", "function", "comment", ("a", "b")),
        ("two", "function", None, ()),
        ("Net", "class", "example_input_array", ("x", "mask")),
        ("Net.forward", "method", "example_input_array", ("x", "mask")),
        ("Net.encode", "method", "comment", ("y",)),
        ("helper_inputs", "function", None, ()),
    ]


def test_lines_are_those_of_the_definition(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(TEXT)
    one = next(t for t in targets(path) if t.name == "one")
    assert TEXT.splitlines()[one.line - 1].startswith("def one")


@pytest.mark.parametrize(
    ("case", "source"),
    [
        ("conventions_model.py", "get_inputs"),
        ("explicit_function.py", "probe_inputs"),
        ("lightning_like.py", "example_input_array"),
        ("dummy_inputs.py", "dummy_inputs"),
        ("comment_sweep.py", "comment"),
        ("no_inputs.py", None),
    ],
)
def test_source_of_inputs_is_known_without_importing(case: str, source: str) -> None:
    assert targets(CASES / case)[0].inputs == source


def test_convention_functions_are_no_targets() -> None:
    assert [t.name for t in targets(CASES / "counter.py")] == ["Counted", "Counted.forward"]


def test_encodings_and_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "latin.py"
    path.write_bytes("# coding: latin-1\ndef f(x): return 'é'\n".encode("latin-1"))
    assert targets(path)[0].name == "f"
    path.write_bytes(b"def f(:\n")
    with pytest.raises(UsageError, match="not valid Python"):
        targets(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="decode"):
        targets(path)


def test_command_lists_json_without_torch() -> None:
    output = subprocess.run(
        [sys.executable, "-X", "importtime", str(PROBE), "targets", str(CASES / "counter.py")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert [one["name"] for one in json.loads(output.stdout)] == ["Counted", "Counted.forward"]
    assert "torch" not in {line.rpartition("|")[2].strip() for line in output.stderr.splitlines()}


def test_package_root(tmp_path: Path) -> None:
    inner = tmp_path / "pkg" / "inner"
    inner.mkdir(parents=True)
    for folder in (inner, inner.parent):
        (folder / "__init__.py").write_text("")
    assert package_root(inner / "block.py") == (tmp_path, "pkg.inner.block")
    assert package_root(inner / "__init__.py") == (tmp_path, "pkg.inner")
    assert package_root(tmp_path / "script.py") == (tmp_path, "script")
