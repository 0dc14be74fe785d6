"""The tables of callables that Dynamo does not trace: every entry is called in compiled code, and must break."""

from __future__ import annotations

import importlib
import inspect
import io
import json
import pdb
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from compile_lens.knowledge.dynamo_facts import table
from compile_lens.knowledge.skipped import LOGGER_METHODS, OUTPUT, UNTRIED

from compile_probe.observe import observe_calls

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("name", "entry"), sorted({**OUTPUT, **UNTRIED}.items()), ids=lambda value: str(value)[:40])
def test_callable_breaks(name: str, entry: tuple[str, str], load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gb_type, call = entry
    root = name.split(".", maxsplit=1)[0]
    imports = f"import {root}\n" if "." in name else ""
    # For those that wait for a person: an answer at once.
    monkeypatch.setattr("sys.stdin", io.StringIO("continue\n" * 20))
    monkeypatch.setenv("PYTHONBREAKPOINT", "0")
    importlib.reload(pdb)  # pytest puts its own set_trace in its place
    module = load(f"import io\nimport torch\n{imports}\ndef f(x):\n    y = x + 1\n    {call}\n    return y * 2\n")
    observation = observe_calls(module.f, [((torch.ones(2),), {})] * 2)
    own = [b for b in observation.breaks if b.file == module.__file__]
    assert own, f"{name} is traced: it does not belong into the table"
    assert {b.gb_type for b in own} == {gb_type}


@pytest.mark.parametrize("method", sorted(LOGGER_METHODS))
def test_logger_method_breaks(method: str, load: Any) -> None:
    arguments = "20, 'x'" if method == "log" else "'x'"
    module = load(
        "import logging\nlog = logging.getLogger('quiet')\nlog.disabled = True\n"
        f"def f(x):\n    y = x + 1\n    log.{method}({arguments})\n    return y * 2\n"
    )
    observation = observe_calls(module.f, [((torch.ones(2),), {})] * 2)
    assert [b.line for b in observation.breaks] == [6]


@pytest.mark.parametrize("module", ["contexts", "bisect", "random", "torch.random"])
def test_generated_facts_hold(module: str) -> None:
    """What the committed table says of a module is what its generator finds in this torch."""
    command = [sys.executable, str(ROOT / "tools" / "generate_dynamo_facts.py"), "--module", module]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True, stdin=subprocess.DEVNULL)
    found = [json.loads(line) for line in run.stdout.splitlines()]
    assert found
    different = [
        (key, fact, table()[section].get(key)) for section, key, fact in found if table()[section].get(key) != fact
    ]
    assert not different


def test_arguments_of_compile_are_read_as_torch_has_them() -> None:
    import torch._inductor.config
    from compile_lens.knowledge.compile_arguments import accepted, installed_torch

    known = accepted(installed_torch())
    assert known.installed
    assert known.keywords == set(inspect.signature(torch.compile).parameters)
    assert known.modes == set(torch._inductor.list_mode_options())
    assert known.backends >= set(torch._dynamo.list_backends(exclude_tags=()))
    assert {"max_autotune", "triton.cudagraphs", "cpp.simdlen"} <= known.options
    unknown = set(torch._inductor.list_options()) - known.options
    assert unknown <= {"TYPE_CHECKING"}, "an import that counts as an option"
