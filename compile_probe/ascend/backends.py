"""Which Dynamo backends and torchair modes an installed torch_npu has, and which it calls deprecated.

``.postN`` decides, not torch's version: 2.7.1 has one backend and two modes, 2.7.1.post11 three of each. So nothing is
listed here; the registrations are read from the code that makes them, in ``torch_npu/dynamo/__init__.py``,
``torch_npu/utils/_graph_tree.py`` and torchair's ``CompilerConfig``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Optional

from .source import parsed
from .wheel import Wheel

GROUP = "torch_dynamo_backends"


@dataclass(frozen=True)
class Backends:
    """``names``: backend to how it is registered, ``entry-point`` or ``import`` (only once torch_npu is imported)."""

    names: dict[str, str] = field(default_factory=dict[str, str])
    modes: tuple[str, ...] = ()
    """What ``torchair.CompilerConfig().mode`` takes, the default first."""
    deprecated_modes: dict[str, str] = field(default_factory=dict[str, str])
    """Mode to what torchair itself says when it is chosen."""


def read_backends(wheel: Wheel) -> Backends:
    """Backends, modes and deprecations of a wheel; empty where its files are missing."""
    names: dict[str, str] = {}
    for path in (wheel.package / "dynamo" / "__init__.py", wheel.package / "utils" / "_graph_tree.py"):
        tree = parsed(path)
        if tree is not None:
            names.update(dict.fromkeys(_registered(tree), "import"))
    names.update(dict.fromkeys(wheel.entry_points(GROUP), "entry-point"))
    config = parsed(wheel.package / "dynamo" / "torchair" / "configs" / "compiler_config.py")
    if config is None:
        return Backends(names)
    return Backends(names, _modes(config), _deprecated(config))


def _registered(tree: ast.Module) -> Iterator[str]:
    """Names given to Dynamo's ``register_backend``, directly or through a function of the file that passes them on."""
    constants = _constants(tree)
    direct = {"register_backend"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch._dynamo"):
            direct |= {alias.asname or alias.name for alias in node.names if alias.name == "register_backend"}
    passing: dict[str, tuple[int, Optional[str]]] = {}
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        names = [argument.arg for argument in function.args.args]
        for decorator in function.decorator_list:
            if _called(decorator) in direct:
                yield function.name
        for call in _calls(function, direct):
            argument = _argument(call, 1, "name")
            if isinstance(argument, ast.Name) and argument.id in names:
                index = names.index(argument.id)
                defaults = function.args.defaults
                behind = index - (len(names) - len(defaults))
                default = _string(defaults[behind], constants) if behind >= 0 else None
                passing[function.name] = index, default
            elif argument is not None:
                name = _string(argument, constants)
                if name is not None:
                    yield name
    for call in _calls(tree, set(passing)):
        index, default = passing[_called(call)]
        given = _argument(call, index, "name")
        name = _string(given, constants) if given is not None else default
        if name is not None:
            yield name


def _argument(call: ast.Call, index: int, keyword: str) -> Optional[ast.expr]:
    named = [entry.value for entry in call.keywords if entry.arg == keyword]
    return named[0] if named else call.args[index] if len(call.args) > index else None


def _calls(tree: ast.AST, names: set[str]) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) in names:
            yield node


def _called(node: ast.expr) -> str:
    """Last part of the name of what is called, or of a decorator without arguments."""
    target = node.func if isinstance(node, ast.Call) else node
    return target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")


def _constants(tree: ast.Module) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found.update({target.id: node.value.value for target in node.targets if isinstance(target, ast.Name)})
    return found


def _string(node: ast.expr, constants: dict[str, str]) -> Optional[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return constants.get(node.id) if isinstance(node, ast.Name) else None


def _modes(tree: ast.Module) -> tuple[str, ...]:
    """``self.mode = OptionValue(default, [choices])``."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        target, arguments = node.targets[0], node.value.args
        if isinstance(target, ast.Attribute) and target.attr == "mode" and len(arguments) == 2:
            default = _string(arguments[0], {})
            listed = arguments[1].elts if isinstance(arguments[1], (ast.List, ast.Tuple)) else []
            choices = [choice for choice in (_string(item, {}) for item in listed) if choice]
            return tuple(dict.fromkeys([*([default] if default else []), *choices]))
    return ()


def _deprecated(tree: ast.Module) -> dict[str, str]:
    """``if config.mode.value == "x": warnings.warn(text, DeprecationWarning)``."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.If) and isinstance(node.test, ast.Compare) and len(node.test.comparators) == 1):
            continue
        mode = _string(node.test.comparators[0], {})
        if mode is None or not ast.unparse(node.test.left).endswith("mode.value"):
            continue
        for call in _calls(ast.Module(body=list(node.body), type_ignores=[]), {"warn"}):
            category = ast.unparse(call.args[1]) if len(call.args) > 1 else ""
            text = call.args[0].value if isinstance(call.args[0], ast.Constant) else None
            if category.endswith("DeprecationWarning") and isinstance(text, str):
                found[mode] = text
    return found
