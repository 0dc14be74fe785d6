"""A trace read from outside says what the hooks inside Dynamo saw: the same breaks and recompiles, file by file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from compile_probe.trace.folder import Folder

HERE = Path(__file__).parent
PATTERNS = HERE.parent / "accuracy" / "patterns"
EVERY = 9

INSIDE = """
import importlib.util, json, sys
import torch
from compile_probe.observe import fresh_calls, observe_calls

seen = {}
for path in sys.argv[1:]:
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        target = module.make() if hasattr(module, "make") else module.f
        calls = [(tuple(arguments), {}) for arguments in module.inputs()]
        for name, value in getattr(module, "CONFIG", {}).items():
            setattr(torch._dynamo.config, name, value)
        found = observe_calls(target, fresh_calls(calls, 3))
    except ImportError:
        continue
    seen[path] = [
        sorted({(b.line, str(b.gb_id), str(b.gb_type), b.effect) for b in found.breaks if b.file == path}),
        sorted({r.function for r in found.recompiles if r.file == path}),
    ]
print("SEEN" + json.dumps(seen))
"""


def test_outside_and_inside_agree(tmp_path: Path) -> None:
    programs = [str(path) for path in sorted(PATTERNS.glob("*.py"))[::EVERY]]
    environment = {**os.environ, "TORCH_TRACE": str(tmp_path), "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        [sys.executable, "-c", INSIDE, *programs],
        capture_output=True, text=True, timeout=200, check=True, env=environment, cwd=HERE.parent.parent,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    inside = json.loads(ended.stdout.split("SEEN")[1])
    assert len(inside) > 40
    folder = Folder(tmp_path)
    folder.read_all()
    record = folder.record
    for path, (breaks, recompiled) in inside.items():
        outside = sorted(
            [s.fact.line, str(s.fact.gb_id), str(s.fact.gb_type), s.fact.effect]
            for s in record.breaks.values()
            if s.fact.file == path
        )
        assert outside == breaks, path
        assert sorted({s.fact.function for s in record.recompiles.values() if s.fact.file == path}) == recompiled, path
    assert sum(bool(breaks) for breaks, _ in inside.values()) > 15
