"""What in a file can be probed: modules with a ``forward``, compiled functions, functions with example inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Optional

import libcst as cst

from ..fixes.draft import draft
from ..semantics.interpreter import Interpreter
from ..semantics.values import Class, Function
from ..text.source import Range
from .finding import Target

_PROVIDERS = ("probe_inputs", "get_example_inputs", "get_inputs", "get_init_inputs", "inputs", "main")


def targets(
    interpreter: Interpreter,
    walked: set[int],
    find: Callable[[list[cst.CSTNode]], dict[int, Range]],
    locale: str = "en",
) -> tuple[Target, ...]:
    """Targets of a file, in the order of the text."""
    names = interpreter.module.scope.names
    general = any(isinstance(names.get(provider), Function) for provider in ("probe_inputs", "get_example_inputs"))
    entries: list[tuple[str, cst.CSTNode, str]] = []
    called: dict[int, tuple[Function, Optional[Class]]] = {}
    for cls in interpreter.classes:
        forward = cls.find("forward")
        if cls.is_module and isinstance(forward, Function) and names.get(cls.qualified_name) is not None:
            entries.append((cls.qualified_name, cls.node, "module"))
            called[id(cls.node)] = forward, cls
    compiled = {id(getattr(site.target, "node", None)) for site in interpreter.sites}
    for function in interpreter.module_functions():
        if function.name in _PROVIDERS or function.name.startswith("_") or not function.node.params.params:
            continue
        helper = id(function.node) in walked and id(function.node) not in compiled
        if id(function.node) in compiled or (general and not helper and not any(e[2] == "module" for e in entries)):
            entries.append((function.name, function.node, "function"))
            called[id(function.node)] = function, None
    ranges = find([node for _, node, _ in entries])
    found = [
        Target(
            name,
            ranges[id(node)],
            kind,
            draft(interpreter.module, *called[id(node)], ranges[id(node)], locale),
        )
        for name, node, kind in entries
    ]
    return tuple(sorted(found, key=lambda target: target.range.start.line))
