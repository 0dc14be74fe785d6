"""Targets and their inputs in ``pyproject.toml``::

    [[tool.compile-lens.target]]
    target = "src/model.py::Block"
    inputs = "x=f32[B,128]; B=8|32; init(dim=128)"

``inputs`` is written like a ``# probe:`` comment.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional, cast

from ..errors import InputsError

TABLE = "tool.compile-lens.target"
_HEAD = re.compile(r"^\s*\[\[\s*tool\s*\.\s*[\"']?compile-lens[\"']?\s*\.\s*target\s*\]\]\s*(?:#.*)?$")
_PAIR = re.compile(r"""^\s*([\w-]+)\s*=\s*("(?:[^"\\]|\\.)*"|'[^']*')\s*(?:#.*)?$""")


def inputs_in_project(file: Optional[str], name: str) -> Optional[tuple[str, Path]]:
    """The inputs text of a target, and the ``pyproject.toml`` that has it; the nearest one above the file counts.

    :raises InputsError: that file has such a table and it cannot be read
    """
    if not file:
        return None
    path = Path(file).resolve()
    project = next((p for folder in path.parents if (p := folder / "pyproject.toml").is_file()), None)
    if project is None:
        return None
    for table in _tables(project):
        where, _, target = str(table.get("target", "")).rpartition("::")
        if target == name and (project.parent / where).resolve() == path:
            text = table.get("inputs")
            if not isinstance(text, str):
                raise InputsError(
                    f"{project}: the [[{TABLE}]] of {name} has no inputs.",
                    stage="inputs",
                    remedy='Write for example: inputs = "x=f32[B,24]; B=2|8"',
                )
            return text, project
    return None


def _tables(project: Path) -> Iterator[dict[str, Any]]:
    try:
        text = project.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return
    if "compile-lens" not in text:
        return
    try:
        import tomllib  # noqa: PLC0415  # pyright: ignore  (Python 3.11 and later)
    except ImportError:
        yield from _plain_tables(text)
        return
    toml: Any = tomllib
    try:
        read: Any = toml.loads(text)
    except ValueError as error:
        raise InputsError(f"{project} is no valid TOML: {error}", stage="inputs") from error
    found: Any = read.get("tool", {}).get("compile-lens", {}).get("target", [])
    if isinstance(found, list):
        yield from (cast("dict[str, Any]", one) for one in cast("list[Any]", found) if isinstance(one, dict))


def _plain_tables(text: str) -> Iterator[dict[str, Any]]:
    """The tables of a Python without ``tomllib``: strings on one line, which is all that they hold."""
    table: Optional[dict[str, Any]] = None
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            if table is not None:
                yield table
            table = {} if _HEAD.match(line) else None
        elif table is not None and (pair := _PAIR.match(line)):
            table[pair[1]] = ast.literal_eval(pair[2]) if pair[2][0] == '"' else pair[2][1:-1]
    if table is not None:
        yield table
