"""The page of forms says of this torch what this torch does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).parent.parent.parent
CHOSEN = """
dropped original_called wrapper_called in_place in_place_forward loop_rebound loop_stored children_set
self_rebound other_method_call in_place_method_call copy_of_wrapper copy_of_in_place compile_of_disabled
disabled_of_compile layers_wrapped layers_in_place own_modules_in_place wrapper_keys load_plain
load_plain_loosely is_instance compiled_twice scripted mode_and_options unknown_mode unknown_backend
dashed_option module_in_loop new_backend_in_loop
""".split()


def column(version: str) -> dict[str, str]:
    """What the page says of a version, by the title of the form."""
    found: dict[str, str] = {}
    head: list[str] = []
    for line in (ROOT / "docs" / "compile-sites.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells[:1] == ["form"]:
            head = cells
        elif cells and version in head and not set(cells[0]) <= {"-"}:
            found[cells[0]] = cells[head.index(version)]
    return found


def test_the_page_says_what_this_torch_does() -> None:
    said = column(torch.__version__.split("+")[0])
    assert len(said) > 90
    command = [sys.executable, str(ROOT / "tools" / "compile_sites"), *CHOSEN]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=400, check=True)
    for form in json.loads(ended.stdout)["forms"].values():
        assert said[form["title"].replace("|", r"\|")] == form["result"], form["title"]


def test_every_form_was_run_on_every_version() -> None:
    for version in ("2.5.1", "2.7.1", "2.13.0"):
        assert "" not in column(version).values()
