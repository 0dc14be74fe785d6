"""Edits at a ``torch.compile`` site: compile in place, assign the result, call the compiled one."""

from __future__ import annotations

from typing import Optional

import libcst as cst

from ..semantics.code import dotted_name
from ..semantics.flow import flow_of
from ..semantics.modules import SourceModule
from ..semantics.wrappers import Wrapper, compiled_argument, runs_code_of_torch
from .compile_site import arguments_text
from .edit import Edit, Fix, insertion
from .guard import Locate


def title(locale: str, en: str, zh: str) -> str:
    return zh if locale.lower().startswith("zh") else en


def in_place(module: SourceModule, wrapper: Wrapper, locate: Locate, locale: str, preferred: bool = True) -> list[Fix]:
    """``torch.compile(net, ...)`` as ``net.compile(...)``: the object stays what it is, whoever holds it.

    For a call that is a statement, and for one whose result is bound to a single name or attribute.
    """
    statement = _statement(module, wrapper)
    call, target = wrapper.call, wrapper.target
    if statement is None or target is None or not _is_plain(module, wrapper):
        return []
    if any(map(runs_code_of_torch, wrapper.original)):
        return []  # would compile nothing
    if isinstance(target, cst.Attribute) and target.attr.value == "forward":
        return []  # a function
    code = module.tree.code_for_node
    arguments = arguments_text(module, [a for a in call.args if a.value is not target])
    lines = [f"{code(target)}.compile({arguments})"]
    if isinstance(statement, cst.Assign):
        if len(statement.targets) != 1 or statement.value is not call:
            return []
        name = code(statement.targets[0].target)
        if not dotted_name(statement.targets[0].target):
            return []
        if name != code(target) and not (dotted_name(target) and not _is_read(module, wrapper)):
            lines = [f"{name} = {code(target)}", f"{name}.compile({arguments})"]
    elif not dotted_name(target):
        return []
    ranges = locate([statement])
    place = ranges[id(statement)]
    text = module.source.line(place.start.line)
    indent = text[: place.start.column]
    if len(lines) > 1 and indent.strip():
        return []
    edit = Edit(place, (module.source.newline + indent).join(lines))
    words = title(locale, f"Compile in place: `{lines[-1]}`", f"原地编译：`{lines[-1]}`")
    return [Fix(words, (edit,), preferred=preferred)]


def assign_back(
    module: SourceModule, wrapper: Wrapper, locate: Locate, locale: str, preferred: bool = True
) -> list[Fix]:
    """``torch.compile(net)`` as ``net = torch.compile(net)``, for a call whose result is dropped."""
    statement, target = _statement(module, wrapper), wrapper.target
    if not isinstance(statement, cst.Expr) or statement.value is not wrapper.call or not dotted_name(target):
        return []
    name = dotted_name(target)
    start = locate([statement])[id(statement)].start
    words = title(locale, f"Keep the result: `{name} = torch.compile(...)`", f"保留结果：`{name} = torch.compile(...)`")
    return [Fix(words, (insertion(start, f"{name} = "),), preferred=preferred)]


def call_compiled(
    module: SourceModule, name: str, calls: list[cst.Call], locate: Locate, locale: str, preferred: bool = False
) -> list[Fix]:
    """Call ``name`` where the original is called."""
    if not calls:
        return []
    ranges = locate([call.func for call in calls])
    edits = tuple(Edit(ranges[id(call.func)], name) for call in calls)
    words = title(locale, f"Call the compiled one: `{name}(...)`", f"改为调用编译后的对象：`{name}(...)`")
    return [Fix(words, edits, preferred=preferred)]


def _statement(module: SourceModule, wrapper: Wrapper) -> Optional[cst.CSTNode]:
    """The simple statement that the call is in."""
    for outer in flow_of(module).ancestors(wrapper.call):
        if isinstance(outer, (cst.Expr, cst.Assign)):
            return outer
        if isinstance(outer, (cst.BaseCompoundStatement, cst.SimpleStatementLine)):
            return None
    return None


def _is_plain(module: SourceModule, wrapper: Wrapper) -> bool:
    """Is ``torch.compile`` itself called, with all arguments in view?"""
    if compiled_argument(wrapper.call) is None or any(argument.star for argument in wrapper.call.args):
        return False
    return dotted_name(wrapper.call.func).rpartition(".")[2] == "compile"


def _is_read(module: SourceModule, wrapper: Wrapper) -> bool:
    """Does anybody read the name that the result is bound to?"""
    return any(use.definition is not None and (use.definition.reads or use.kind == "stored") for use in wrapper.uses)
