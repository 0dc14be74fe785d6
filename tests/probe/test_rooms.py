"""The rooms of the probe: which may import which, and none grows into a hall."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PROBE = Path(__file__).parent.parent.parent / "compile_probe"

ROOMS: dict[str, set[str]] = {
    "errors": set(),
    "untyped": set(),
    "nested": set(),
    "host": set(),
    "protocol": set(),
    "ascend": {"errors", "host"},
    "doctor": {"ascend", "host"},
    "commands": {"protocol", "ascend", "doctor"},
    "supervision": {"ascend", "host", "protocol"},
    "targets": {"errors", "untyped", "nested"},
    "recording": {"errors", "untyped"},
    "store": set(),
    "inputs": {"errors", "untyped", "nested", "host", "targets", "recording", "store"},
    "devices": {"errors", "untyped", "host", "ascend"},
    "backends": {"errors", "untyped", "ascend"},
    "piecewise": {"errors", "untyped", "nested", "targets", "inputs", "devices"},
    "observe": {"errors", "untyped", "nested", "targets"},
    "environment": {"untyped", "targets", "observe"},
    "check": {"errors", "untyped", "nested", "targets"},
    "measure": {"errors", "untyped", "nested", "targets", "devices", "observe"},
    "work": {
        *("errors", "untyped", "nested", "protocol", "targets", "inputs", "devices", "backends"),
        *("environment", "observe", "check", "measure", "piecewise"),
    },
    "report": set(),
    "trace": set(),
    "runs": {"errors", "trace", "store"},
    "cli": {"errors", "commands", "protocol", "supervision", "targets", "work", "report", "runs", "store"},
    "__init__": set(),
    "__main__": {"cli"},
}
"""Rooms and single modules at the root, and what each may import of the others."""

MOST_FILES = 13


def room_of(path: Path) -> str:
    return path.relative_to(PROBE).with_suffix("").parts[0]


def imported_rooms(path: Path) -> Iterator[str]:
    """Rooms that a module imports from, wherever in it the statement stands."""
    package = ("compile_probe", *path.relative_to(PROBE).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        module = node.module.split(".") if node.module else []
        base = [*package[: len(package) + 1 - node.level], *module] if node.level else module
        if base[:1] == ["compile_probe"]:
            for alias in node.names:
                yield [*base, alias.name][1]


MODULES = sorted(PROBE.rglob("*.py"))


def test_every_room_is_in_the_table() -> None:
    assert {room_of(path) for path in MODULES} == set(ROOMS)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PROBE)))
def test_rooms_import_one_way(path: Path) -> None:
    room = room_of(path)
    assert set(imported_rooms(path)) - {room} <= ROOMS[room]


def test_rooms_have_no_circle() -> None:
    done: set[str] = set()
    while len(done) < len(ROOMS):
        ready = {room for room in set(ROOMS) - done if ROOMS[room] <= done}
        assert ready, f"a circle among {sorted(set(ROOMS) - done)}"
        done |= ready


def test_the_check_sees_imports() -> None:
    assert {"backends", "check", "observe"} <= set(imported_rooms(PROBE / "work" / "variants.py"))
    assert set(imported_rooms(PROBE / "__main__.py")) == {"cli"}


@pytest.mark.parametrize("room", sorted(room for room in ROOMS if (PROBE / room).is_dir()))
def test_no_room_is_a_hall(room: str) -> None:
    files = [path for path in (PROBE / room).glob("*.py") if path.name != "__init__.py"]
    assert len(files) <= MOST_FILES, f"{room} has {len(files)} files: it holds more than one noun"
