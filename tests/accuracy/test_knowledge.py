"""The tables of callables that Dynamo does not trace: every entry is called in compiled code, and must break."""

from __future__ import annotations

import importlib
import io
import pdb
from typing import Any

import pytest
import torch
from compile_lens.knowledge.skipped import HOST, LOGGER_METHODS, OUTPUT

from compile_probe.observe import observe_calls


@pytest.mark.parametrize(("name", "entry"), sorted({**OUTPUT, **HOST}.items()), ids=lambda value: str(value)[:40])
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
