"""What an FX node may be called by a user who wants to split at it: op, function, method, module, place in the source.

A Dynamo graph holds what user code calls, so ``F.scaled_dot_product_attention`` arrives as a builtin of
``torch._C._nn``, ``x.softmax()`` as a method and ``F.softmax`` as a Python function; custom ops arrive as overloads.
Seen on 2.5 to 2.13: ``node.stack_trace`` (text), ``node.meta["nn_module_stack"]`` (``{key: (path, class)}``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from ..targets.ownership import is_user_file
from ..untyped import torch

_FRAME = re.compile(r'File "(.+?)", line (\d+), in (.+)')
_INDEX = re.compile(r"\[['\"]?([^\]'\"]+)['\"]?\]")
_ROOT = re.compile(r"^L?\[?['\"]?(?:self|fn|mod|model)['\"]?\]?\.?")
_TORCH = str(Path(torch.__file__).parent)


@dataclass(frozen=True)
class Place:
    """A line of source; ``file`` is absolute, ``line`` 1-based."""

    file: str
    line: int


def frames(node: Any) -> list[tuple[str, int, str]]:
    """(file, line, function) of the stack that led to a node, outermost first."""
    return [(m[1], int(m[2]), m[3].strip()) for m in _FRAME.finditer(node.stack_trace or "")]


def place(node: Any) -> Optional[Place]:
    """The innermost line of user code that led to a node."""
    for file, line, _ in reversed(frames(node)):
        if is_user_file(file):
            return Place(file, line)
    return None


def module_path(node: Any) -> list[tuple[str, type]]:
    """The modules around a node, outermost first: the path from the root (``layers.0.attn``) and the class."""
    stack: dict[str, Any] = node.meta.get("nn_module_stack") or {}
    found: list[tuple[str, type]] = []
    for path, cls in stack.values():
        plain = _INDEX.sub(r".\1", str(path).replace("L['", "").replace("']", "", 1))
        _, _, rest = plain.partition(".")
        found.append((rest or plain, cls))
    return found


def names(node: Any, ops: tuple[str, ...] = ()) -> set[str]:
    """Everything that a user may mean by the node: its own names, and the ATen ops below it, as far as known."""
    found: set[str] = set()
    target = node.target
    if node.op == "call_method":
        found |= {str(target), f"Tensor.{target}", f"torch.Tensor.{target}"}
    elif node.op == "call_function":
        found |= _function_names(target)
    for op in ops:
        found |= _op_names(op)
    for file, _, function in frames(node):
        if file.startswith(_TORCH):
            module = file[len(_TORCH) + 1 :].removesuffix(".py").replace("/", ".")
            found.add(f"torch.{module}.{function}")
        elif is_user_file(file):
            found.add(function)
    return found


def _function_names(target: Any) -> set[str]:
    if isinstance(target, torch._ops.OpOverload):
        return _op_names(str(target.name()) + ("" if "." in target.name() else ".default"))
    if isinstance(target, torch._ops.OpOverloadPacket):
        return _op_names(str(target._qualified_op_name))
    name = str(getattr(target, "__name__", ""))
    found = {name, f"{getattr(target, '__module__', '') or ''}.{name}"}
    for prefix, module in (("torch.nn.functional", torch.nn.functional), ("torch", torch)):
        if name and getattr(module, name, None) is target:
            found.add(f"{prefix}.{name}")
            found.add(f"F.{name}" if module is torch.nn.functional else f"torch.{name}")
    if hasattr(target, "_name"):  # a higher-order operator
        found.add(str(target._name))
    return found


def _op_names(op: str) -> set[str]:
    """``aten::add.Tensor`` as people write it: with and without overload, ``::`` or ``.``, ``torch.ops`` or not."""
    packet = op.partition(".")[0]
    found = {op, packet}
    for one in (op, packet):
        dotted = one.replace("::", ".")
        found |= {dotted, f"torch.ops.{dotted}"}
    return found
