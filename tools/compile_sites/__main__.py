"""Forms of asking for ``torch.compile``, run one by one: what each really does on a torch.

``python tools/compile_sites`` runs them in this interpreter (torch and the standard library suffice) and prints
``{"torch": version, "forms": {name: {"group", "title", "result"}}}``. ``python tools/compile_sites --page PYTHON ...``
runs them in every interpreter named and writes ``docs/compile-sites.md``, a column for each.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "compile-sites.md"


def alone(function: Callable[[], str]) -> str:
    """The result of a form in a process of its own, forked: some change classes, or Dynamo, for good."""
    from harness import outcome  # noqa: PLC0415

    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            os.write(write, outcome(function).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        text = stream.read().decode()
    os.waitpid(child, 0)
    return text or "crashes"


def run(names: list[str]) -> dict[str, object]:
    """Run forms, or all, on the torch of this interpreter."""
    import arguments  # noqa: F401, PLC0415
    import torch  # noqa: PLC0415  # the page is written without it
    from harness import FORMS, Net, X, outcome  # noqa: PLC0415

    for group in ("eager", "changes", "arguments", "order", "costs"):
        importlib.import_module(group)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    outcome(lambda: torch.compile(Net())(X))  # loads what Dynamo and Inductor import late, before the first fork
    torch._dynamo.reset()
    chosen = [(name, FORMS[name]) for name in names or FORMS]
    results = {name: {"group": group, "title": title, "result": alone(form)} for name, (group, title, form) in chosen}
    return {"torch": torch.__version__.split("+")[0], "forms": results}


def page(columns: list[dict[str, object]]) -> str:
    """The table of what several torch versions do, a section for each group of forms."""
    versions = [column["torch"] for column in columns]
    lines = [
        "# `torch.compile` at its site: what each form does",
        "",
        "Written by `python tools/compile_sites --page PYTHON ...`, which runs every form. *compiled*: graphs that",
        "Dynamo handed to the backend during the calls of the form; *eager*: none. `net` is an `nn.Module`, `fast`",
        "what `torch.compile(net)` returned.",
    ]
    group = ""
    for name, form in columns[-1]["forms"].items():  # type: ignore[attr-defined]
        if form["group"] != group:
            group = form["group"]
            lines += [
                "",
                f"## {group}",
                "",
                f"| form | {' | '.join(map(str, versions))} |",
                "|---" * (len(versions) + 1) + "|",
            ]
        results = [column["forms"].get(name, {}).get("result", "") for column in columns]  # type: ignore[attr-defined]
        lines.append(f"| {form['title'].replace('|', chr(92) + '|')} | {' | '.join(results)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Print the results of this interpreter, or write the page."""
    if sys.argv[1:2] != ["--page"]:
        here = Path.cwd()
        os.chdir(tempfile.gettempdir())
        print(json.dumps(run(sys.argv[1:]), indent=1))
        os.chdir(here)
        return 0
    columns = []
    for python in sys.argv[2:] or [sys.executable]:
        ended = subprocess.run([python, str(Path(__file__).parent)], stdout=subprocess.PIPE, check=True)
        columns.append(json.loads(ended.stdout))
    PAGE.write_text(page(columns), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
