"""Edits that give something to ``torch.compile``: at its construction, or at its definition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from ..semantics.code import dotted_name
from ..semantics.interpreter import Interpreter
from ..semantics.modules import Construction, SourceModule
from ..semantics.values import Class
from ..semantics.wrappers import runs_code_of_torch
from ..text.source import Position, Range
from .edit import Edit, Fix, insertion
from .guard import Locate
from .imports import torch_name

_NOTHING = cst.SimpleWhitespace("")


def _title(locale: str, en: str, zh: str) -> str:
    return zh if locale.startswith("zh") else en


def _is_named(decorator: cst.Decorator) -> bool:
    node = decorator.decorator
    return bool(dotted_name(node.func if isinstance(node, cst.Call) else node))


def _constructions(interpreter: Interpreter, cls: Class) -> Iterator[Construction]:
    for built in interpreter.constructions:
        if isinstance(built.instance.cls, Class) and built.instance.cls.node is cls.node:
            yield built


def _line_behind(module: SourceModule, place: Range) -> Position:
    """Start of the line behind a statement."""
    return Position(place.end.line + 1, 0)


def compile_statement(module: SourceModule, built: Construction, place: Range, arguments: str = "") -> Edit:
    """Insert ``name.compile(...)`` on the line behind the construction of an object."""
    indent = module.source.line(place.start.line)[: place.start.column]
    newline = module.source.newline
    statement = f"{indent}{built.name}.compile({arguments})"
    behind = _line_behind(module, place)
    if behind.line >= len(module.source.line_starts):
        end = module.source.position(len(module.source.text))
        return insertion(end, newline + statement)
    return insertion(behind, statement + newline)


def arguments_text(module: SourceModule, arguments: Iterable[cst.Arg]) -> str:
    """Arguments as they are written, on one line where they have no comments between them."""
    return ", ".join(
        module.tree.code_for_node(argument.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=_NOTHING))
        for argument in arguments
    )


def move_to_construction(
    module: SourceModule, interpreter: Interpreter, decorator: cst.CSTNode, locate: Locate, locale: str
) -> list[Fix]:
    """Take ``@torch.compile(...)`` off ``forward`` and compile every object where it is built in this file."""
    owner = next((c for c in interpreter.classes if _decorates_forward(c, decorator)), None)
    if owner is None or not isinstance(decorator, cst.Decorator):
        return []
    places = list(_constructions(interpreter, owner))
    ranges = locate([decorator, *(built.statement for built in places)])
    if not places or id(decorator) not in ranges:
        return []
    call = decorator.decorator
    arguments = arguments_text(module, call.args if isinstance(call, cst.Call) else ())
    line = ranges[id(decorator)]
    edits = [Edit(Range(Position(line.start.line, 0), Position(line.end.line + 1, 0)), "")]
    edits += [compile_statement(module, built, ranges[id(built.statement)], arguments) for built in places]
    names = ", ".join(f"`{built.name}`" for built in places)
    title = _title(locale, f"Move to where it is built: compile {names}", f"移到构造处：编译 {names}")
    return [Fix(title, tuple(edits), safe=False, preferred=True)]


def _decorates_forward(cls: Class, decorator: cst.CSTNode) -> bool:
    forward = getattr(cls.members.get("forward"), "node", None)
    return forward is not None and any(entry is decorator for entry in forward.decorators)


def compile_after_construction(
    module: SourceModule, interpreter: Interpreter, name: cst.CSTNode, locate: Locate, locale: str
) -> list[Fix]:
    """Compile the objects of a class where this file builds them."""
    owner = next((c for c in interpreter.classes if c.node.name is name), None)
    places = list(_constructions(interpreter, owner)) if owner is not None else []
    if not places:
        return []
    ranges = locate([built.statement for built in places])
    edits = tuple(compile_statement(module, built, ranges[id(built.statement)]) for built in places)
    title = _title(locale, "Wrap with torch.compile: `{}.compile()`", "用 torch.compile 包装：`{}.compile()`")
    return [Fix(title.format(places[0].name), edits, safe=False, kind="rewrite")]


def wrap_offers(module: SourceModule, interpreter: Interpreter, locate: Locate, locale: str) -> list[tuple[Range, Fix]]:
    """ "Wrap with torch.compile" for everything in the file that can be: where, and the edit.

    Three honest forms: ``m.compile()`` behind the construction of a module (keeps its class and the keys of its
    ``state_dict``), ``m = torch.compile(m)`` in it, and a decorator on a function. Nothing is offered for what is
    compiled already, for methods, and for functions that only build or help.
    """
    offers: list[tuple[Range, Fix]] = []
    taken = {id(getattr(site.target, "node", site.target)) for site in interpreter.sites}
    built = [b for b in interpreter.constructions if id(b.instance) not in taken and b.compilable]
    functions = [f for f in interpreter.module_functions() if id(f.node) not in taken and f.node.params.params]
    ranges = locate([*(b.statement for b in built), *(b.value for b in built), *(f.node for f in functions)])
    torch, imports = torch_name(module)
    wrap = _title(locale, "Wrap with torch.compile", "用 torch.compile 包装")
    for construction in built:
        place, value = ranges[id(construction.statement)], ranges[id(construction.value)]
        if not runs_code_of_torch(construction.instance):  # Dynamo would skip all of it
            edit = compile_statement(module, construction, place)
            offers.append((place, Fix(f"{wrap}: `{construction.name}.compile()`", (edit,), kind="rewrite")))
        edits = (
            *imports,
            insertion(value.start, f"{torch}.compile("),
            insertion(value.end, ")"),
        )
        offers.append((place, Fix(f"{wrap}: `{construction.name} = torch.compile(...)`", edits, kind="rewrite")))
    for function in functions:
        node = function.node
        if not isinstance(node, cst.FunctionDef) or any(map(_is_named, node.decorators)):
            continue  # order among decorators decides what is compiled: the user's choice
        place = ranges[id(function.node)]
        indent = module.source.line(place.start.line)[: place.start.column]
        edit = insertion(Position(place.start.line, 0), f"{indent}@{torch}.compile{module.source.newline}")
        header = Range(place.start, Position(place.start.line, len(module.source.line(place.start.line))))
        offers.append((header, Fix(f"{wrap}: `@torch.compile`", (*imports, edit), kind="rewrite")))
    return offers
