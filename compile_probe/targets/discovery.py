"""Finds the targets of a file, and what it offers as their inputs, from its text alone: nothing is imported."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Union

from ..errors import UsageError

_Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

MODULE_SOURCES = ("probe_inputs", "get_example_inputs")
"""Functions of a module (or methods of a class) that give the inputs of any target."""

CONVENTIONS = frozenset((*MODULE_SOURCES, "get_inputs", "get_init_inputs"))
"""Functions that give inputs, and so are no targets."""

COMMENT = re.compile(r"^\s*#\s*probe:\s*(.+?)\s*$")


@dataclass(frozen=True)
class Target:
    """A function, class or method that can be probed; lines are 1-based, ``line`` that of ``def`` or ``class``.

    ``inputs`` names the source of its example inputs, as far as the text tells, or is None.
    """

    name: str
    kind: str
    line: int
    end_line: int
    inputs: Optional[str]
    parameters: tuple[str, ...]


def targets(path: Path) -> list[Target]:
    """List the targets of a file in the order of its lines: functions, classes with ``forward``, their methods.

    :raises UsageError: the file cannot be read or is no Python
    """
    text = read_source(path)
    try:
        tree = ast.parse(text, str(path))
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{path} is not valid Python: {error}") from error
    lines = text.splitlines()
    functions = {node.name for node in tree.body if isinstance(node, _FUNCTIONS)}
    found: list[Target] = []
    for node in tree.body:
        if isinstance(node, _FUNCTIONS) and node.name not in CONVENTIONS:
            source = _first(MODULE_SOURCES, functions) or _comment_source(lines, node)
            found.append(_target(node, node.name, "function", source))
        elif isinstance(node, ast.ClassDef):
            found.extend(_class_targets(node, lines, functions))
    return found


def read_source(path: Path) -> str:
    """Read Python source in the encoding that it declares."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    match = re.match(rb"^(?:[ \t\f]*(?:#[^\n]*)?\r?\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)", data)
    try:
        return data.decode(match.group(1).decode() if match else "utf-8-sig")
    except (LookupError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot decode {path}: {error}") from error


def comment_above(lines: list[str], node: ast.stmt) -> Optional[str]:
    """The text of a ``# probe:`` comment directly above a definition or among the comments there, else None."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    index = first - 2
    while index >= 0 and lines[index].lstrip().startswith("#"):
        match = COMMENT.match(lines[index])
        if match:
            return match.group(1)
        index -= 1
    return None


def find_comment(text: str, name: str) -> Optional[str]:
    """The ``# probe:`` comment of a target named like ``step``, ``Model`` or ``Model.forward``, else None."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    lines = text.splitlines()
    body: list[ast.stmt] = tree.body
    comment: Optional[str] = None
    for part in name.split("."):
        node = next((n for n in body if isinstance(n, (*_FUNCTIONS, ast.ClassDef)) and n.name == part), None)
        if node is None:
            return None
        comment = comment_above(lines, node) or comment
        body = node.body
        if isinstance(node, ast.ClassDef) and comment is None:
            forward = next((n for n in body if isinstance(n, _FUNCTIONS) and n.name == "forward"), None)
            comment = comment_above(lines, forward) if forward is not None else None
    return comment


def _class_targets(node: ast.ClassDef, lines: list[str], functions: set[str]) -> list[Target]:
    methods = [item for item in node.body if isinstance(item, _FUNCTIONS)]
    names = {method.name for method in methods}
    forward = next((method for method in methods if method.name == "forward"), None)
    if forward is None:
        return []
    source = (
        _first(MODULE_SOURCES, names)
        or _first(MODULE_SOURCES, functions)
        or _first(("get_inputs",), functions)
        or _example_array(node)
        or _first(("dummy_inputs",), names)
        or _comment_source(lines, node)
        or _comment_source(lines, forward)
    )
    found = [_target(node, node.name, "class", source, forward)]
    for method in methods:
        if method.name.startswith("__") or method.name in CONVENTIONS or _is_property(method):
            continue
        own = source if method is forward else _comment_source(lines, method)
        found.append(_target(method, f"{node.name}.{method.name}", "method", own))
    return found


def _target(
    node: Union[_Function, ast.ClassDef],
    name: str,
    kind: str,
    source: Optional[str],
    called: Optional[_Function] = None,
) -> Target:
    function = called or node
    names: list[str] = []
    if isinstance(function, _FUNCTIONS):
        arguments = function.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        if kind != "function":
            names = names[1:]
    return Target(name, kind, node.lineno, node.end_lineno or node.lineno, source, tuple(names))


def _first(names: tuple[str, ...], among: set[str]) -> Optional[str]:
    return next((name for name in names if name in among), None)


def _comment_source(lines: list[str], node: ast.stmt) -> Optional[str]:
    return "comment" if comment_above(lines, node) is not None else None


def _example_array(node: ast.ClassDef) -> Optional[str]:
    """Lightning's convention: ``example_input_array`` set on the class or on ``self``."""
    for item in ast.walk(node):
        name = item.id if isinstance(item, ast.Name) else item.attr if isinstance(item, ast.Attribute) else None
        if name == "example_input_array" and isinstance(getattr(item, "ctx", None), ast.Store):
            return name
    return None


def _is_property(method: _Function) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "property" for d in method.decorator_list)
