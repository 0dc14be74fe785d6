"""Imports point one way, and nothing that scans loads torch."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SERVER = ROOT / "server" / "compile_lens"
PROBE = ROOT / "compile_probe"

ALLOWED: dict[str, set[str]] = {
    "": set(),
    "text": set(),
    "knowledge": set(),
    "semantics": {"text", "knowledge"},
    "fixes": {"text", "knowledge", "semantics"},
    "rules": {"text", "knowledge", "semantics", "fixes"},
    "findings": {"", "text", "knowledge", "semantics", "fixes", "rules"},
    "probing": set(),
    "lsp": {"", "text", "knowledge", "semantics", "fixes", "rules", "findings", "probing"},
    "cli": {"", "rules", "findings", "probing", "lsp"},
}
"""Layers of the server, and the layers that each may import; ``""`` is the package root, which holds the version."""

THIRD_PARTY: dict[str, set[str]] = {
    "": set(),
    "text": {"libcst"},
    "knowledge": set(),
    "semantics": {"libcst"},
    "fixes": {"libcst"},
    "rules": {"libcst"},
    "findings": {"libcst"},
    "probing": set(),
    "lsp": {"pygls", "lsprotocol", "attrs"},
    "cli": set(),
}
"""Packages from outside that a layer may import, besides the standard library."""


def layer_of(path: Path) -> str:
    parts = path.relative_to(SERVER).with_suffix("").parts
    return "" if parts == ("__init__",) else parts[0]


def imported(path: Path, package: str) -> Iterator[str]:
    """Absolute dotted names that a module of ``package`` imports, wherever in it the statement stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def package_of(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root.parent).parent.parts)


SERVER_MODULES = sorted(SERVER.rglob("*.py"))
PROBE_MODULES = sorted(PROBE.rglob("*.py"))


def test_every_layer_is_in_the_table() -> None:
    assert {layer_of(path) for path in SERVER_MODULES} == set(ALLOWED) == set(THIRD_PARTY)


@pytest.mark.parametrize("path", SERVER_MODULES, ids=lambda p: str(p.relative_to(SERVER)))
def test_the_server_imports_downwards_only(path: Path) -> None:
    layer = layer_of(path)
    for name in imported(path, package_of(path, SERVER)):
        top, _, rest = name.partition(".")
        if top == "compile_lens":
            first = rest.split(".")[0]
            other = first if first in ALLOWED else ""
            assert other == layer or other in ALLOWED[layer], f"{layer or 'root'} imports {name}"
        else:
            assert top in sys.stdlib_module_names | THIRD_PARTY[layer], f"{layer or 'root'} imports {name}"


def test_the_check_sees_relative_imports() -> None:
    names = set(imported(SERVER / "findings" / "assemble.py", "compile_lens.findings"))
    assert "compile_lens.semantics.interpreter.Interpreter" in names
    assert "compile_lens.findings.message.compose" in names


def test_layers_have_no_circle() -> None:
    done: list[str] = []
    while len(done) < len(ALLOWED):
        ready = [layer for layer in ALLOWED if layer not in done and ALLOWED[layer] <= set(done)]
        assert ready, f"a circle among {sorted(set(ALLOWED) - set(done))}"
        done += ready


def graph_of(root: Path) -> dict[str, set[str]]:
    """Which modules of a package import which others of it, wherever in them the statement stands."""
    names = {".".join(path.relative_to(root.parent).with_suffix("").parts): path for path in root.rglob("*.py")}
    modules = {name.removesuffix(".__init__"): path for name, path in names.items()}
    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        targets = imported(path, package_of(path, root))
        found = {target if target in modules else target.rpartition(".")[0] for target in targets}
        graph[name] = {target for target in found if target in modules and target != name}
    return graph


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Import circles: one shortest way round for every module that can reach itself, each circle once."""
    found: dict[frozenset[str], list[str]] = {}
    for start in graph:
        ways = [[start]]
        seen: set[str] = set()
        while ways:
            way = ways.pop(0)
            for target in sorted(graph[way[-1]]):
                if target == start:
                    found.setdefault(frozenset(way), [*way, start])
                    ways.clear()
                    break
                if target not in seen:
                    seen.add(target)
                    ways.append([*way, target])
    return list(found.values())


@pytest.mark.parametrize("root", [SERVER, PROBE], ids=lambda p: p.name)
def test_modules_have_no_circle(root: Path) -> None:
    assert [" -> ".join(circle) for circle in circles(graph_of(root))] == []


def test_a_circle_is_seen_wherever_the_import_stands(tmp_path: Path) -> None:
    root = tmp_path / "pack"
    (root / "inner").mkdir(parents=True)
    (root / "__init__.py").write_text("")
    (root / "inner" / "__init__.py").write_text("")
    (root / "a.py").write_text("from .inner.b import f\n")
    (root / "inner" / "b.py").write_text("def f():\n    from ..inner import c\n")
    (root / "inner" / "c.py").write_text("import typing\nif typing.TYPE_CHECKING:\n    import pack.a\n")
    assert circles(graph_of(root)) == [["pack.a", "pack.inner.b", "pack.inner.c", "pack.a"]]


@pytest.mark.parametrize("path", PROBE_MODULES, ids=lambda p: str(p.relative_to(PROBE)))
def test_the_probe_needs_nothing_but_torch(path: Path) -> None:
    for name in imported(path, package_of(path, PROBE)):
        top = name.partition(".")[0]
        assert top in sys.stdlib_module_names | {"torch", "compile_probe"}, name
        assert top != "compile_lens"


def _loaded_by(code: str) -> list[str]:
    """Modules in memory after some code ran in a fresh interpreter."""
    script = f"import sys, json\n{code}\nprint('MODULES' + json.dumps(sorted(sys.modules)))"
    ended = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        env={"PYTHONPATH": str(SERVER.parent), "PATH": ""},
        check=True,
    )
    return json.loads(ended.stdout.split("MODULES")[1])


@pytest.mark.parametrize(
    "code",
    [
        "from compile_lens.lsp.main import create_server; create_server()",
        "import compile_lens.lsp.worker",
        "from compile_lens.cli import main; main(['check', 'examples', '--scope', 'all', '--output-format', 'json'])",
        "from compile_lens.cli import main; main(['rule', 'CL101'])",
    ],
    ids=["server", "worker", "check", "rule"],
)
def test_nothing_that_scans_loads_torch(code: str) -> None:
    loaded = _loaded_by(code)
    assert "compile_lens" in loaded
    assert [name for name in loaded if name.partition(".")[0] in ("torch", "compile_probe")] == []
