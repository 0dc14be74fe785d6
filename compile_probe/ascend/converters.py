"""Which operators torchair can turn into Ascend IR, from its source.

Every ATen overload has a registered converter; the body of most of them is a single ``raise``. So registration says
nothing, the body does. The source is parsed, never imported: importing it needs CANN and replaces signal handlers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Optional, Union

from .source import parsed

REGISTER = "register_fx_node_ge_converter"
CONVERTS, RAISES = "converts", "raises"


def read_converters(package: Path) -> dict[str, str]:
    """``{"aten.add.Tensor": "converts" | "raises", ...}``. Raises `OSError` where torch_npu has no torchair."""
    root = package / "dynamo" / "torchair"
    if not root.is_dir():
        raise FileNotFoundError(f"{root}: this torch_npu has no torchair")
    found: dict[str, str] = {}
    for path in sorted(root.rglob("*.py")):
        tree = parsed(path, holding=REGISTER)
        for name, state in registrations(tree) if tree is not None else ():
            if found.get(name) != CONVERTS:
                found[name] = state
    return found


def registrations(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Operators for which a file registers a converter, with what its body does."""
    functions: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            state = RAISES if _only_raises(node) else CONVERTS
            functions[node.name] = state
            for decorator in node.decorator_list:
                name = _registered(decorator)
                if name is not None:
                    yield name, state
    for node in ast.walk(tree):  # register(op)(function), without the decorator's form
        if isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(node.args[0], ast.Name):
            name = _registered(node.func)
            if name is not None and "." in name and node.args[0].id in functions:  # without a dot it is a variable
                yield name, functions[node.args[0].id]


def _registered(node: ast.expr) -> Optional[str]:
    """The operator of ``register_fx_node_ge_converter(torch.ops.aten.add.Tensor)``."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if called != REGISTER:
        return None
    return _operator(node.args[0])


def _operator(node: ast.expr) -> Optional[str]:
    """``aten.add.Tensor`` of an attribute chain or of ``getattr(torch.ops.aten.add, "Tensor")``."""
    parts: list[str] = []
    while True:
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "getattr"
            and len(node.args) >= 2
            and isinstance(node.args[1], ast.Constant)
        ):
            parts.append(str(node.args[1].value))
            node = node.args[0]
        else:
            break
    if not isinstance(node, ast.Name):
        return None
    parts = [node.id, *reversed(parts)]
    return ".".join(parts[2:] if parts[:2] == ["torch", "ops"] else parts)


def _only_raises(function: Union[ast.FunctionDef, ast.AsyncFunctionDef]) -> bool:
    body = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return len(body) == 1 and isinstance(body[0], ast.Raise)
