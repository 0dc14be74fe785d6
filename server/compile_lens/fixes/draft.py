"""A draft of example inputs: ``probe_inputs()`` for a target that has none, to be reviewed by its author.

The parameters are the target's own. What each is comes from its annotation, else from what the body does with it first
(a layer of known size, an index, a mask), else it is a tensor of floats. The values are examples and say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Optional, Union

import libcst as cst

from ..knowledge.example_shapes import (
    EMBEDDINGS,
    INDEX_NAMES,
    INDEXES,
    INTEGER_DTYPES,
    LAYERS,
    MASKS,
    WRAPPERS,
)
from ..semantics.code import dotted_name
from ..semantics.modules import SourceModule
from ..semantics.values import Class, Const, External, Function
from ..text.source import Position, Range
from .edit import Edit, insertion
from .imports import torch_name

GIVERS = ("probe_inputs", "get_example_inputs")
"""Functions that give inputs, of a module or of a class."""
_OF_A_CLASS = (*GIVERS, "example_input_array", "dummy_inputs")
_SIZE = 16
"""A size that nothing in the file tells."""
_OPEN, _CLOSE = "\x01", "\x02"
"""Around what is to be reviewed, until the text is finished."""
_PLAIN = {"int": str(_SIZE), "float": "0.5", "bool": "True", "str": '"text"'}


@dataclass(frozen=True)
class Draft:
    """Text to insert, and what to select in the document afterwards: the first value to review."""

    edits: tuple[Edit, ...]
    selection: Range


@dataclass
class _Use:
    """What a body does with one of its parameters."""

    shape: str = ""
    entries: Optional[int] = None
    """It indexes, into so many."""
    mask: bool = False
    count: bool = False
    keys: list[str] = field(default_factory=list[str])


def draft(module: SourceModule, function: Function, cls: Optional[Class], place: Range, locale: str) -> Optional[Draft]:
    """A draft for a target, the function or the class with this ``forward``; ``None`` where nothing is missing."""
    if not isinstance(function.node, cst.FunctionDef):
        return None
    names, comment = module.scope.names, _comment(module, function.node, cls)
    parameters = _required(function.node, method=cls is not None)
    constructor = cls.find("__init__") if cls is not None else None
    built = _required(constructor.node, method=True) if isinstance(constructor, Function) else []
    given = comment is not None or any(name in names for name in GIVERS)
    if cls is not None:
        given = given or "get_inputs" in names or any(cls.find(name) is not None for name in _OF_A_CLASS)
    constructed = "get_init_inputs" in names or "init(" in (comment or "")
    torch, imports = torch_name(module)
    name = cls.qualified_name if cls is not None else function.name
    parts: list[str] = []
    if built and not constructed:
        parts.append(_constructor(name, built, locale))
    if parameters and not given:
        uses = _Uses(module, {p.name.value for p in parameters}, _layers(module, constructor))
        function.node.body.visit(uses)
        parts.append(_inputs(name, parameters, function.node, uses.found, torch, locale))
    return _placed(module, parts, imports, place) if parts else None


# --- what is asked for ---------------------------------------------------------------------------------------------


def _required(node: Union[cst.FunctionDef, cst.Lambda], *, method: bool) -> list[cst.Param]:
    """Parameters that have to be given, those that are given by name last."""
    parameters = node.params
    positional = [*parameters.posonly_params, *parameters.params][1 if method else 0 :]
    return [p for p in (*positional, *parameters.kwonly_params) if p.default is None]


def _comment(module: SourceModule, node: cst.FunctionDef, cls: Optional[Class]) -> Optional[str]:
    """The ``# probe:`` comment above a target."""
    lines = [*module.tree.header, *node.leading_lines, *node.lines_after_decorators]
    if cls is not None:
        lines += [*cls.node.leading_lines, *cls.node.lines_after_decorators]
    texts = (line.comment.value for line in lines if line.comment is not None)
    return next((text for text in texts if re.match(r"#\s*probe:", text)), None)


# --- what the code says of it --------------------------------------------------------------------------------------


def _size(module: SourceModule, node: cst.BaseExpression, constructor: Optional[object]) -> int:
    """A size as it is written, or as its name is set: a constant of the file, a default of the constructor."""
    if isinstance(node, cst.Name) and isinstance(constructor, Function):
        parameters = constructor.node.params
        for parameter in (*parameters.params, *parameters.kwonly_params):
            if parameter.name.value == node.value and parameter.default is not None:
                node = parameter.default
                break
    if isinstance(node, cst.Name):
        value = module.scope.names.get(node.value)
        return value.value if isinstance(value, Const) and type(value.value) is int else _SIZE
    return int(node.value, 0) if isinstance(node, cst.Integer) else _SIZE


def _layers(module: SourceModule, constructor: Optional[object]) -> dict[str, _Use]:
    """What the layers that a constructor puts on ``self`` take, by attribute."""
    found: dict[str, _Use] = {}
    if not isinstance(constructor, Function) or not isinstance(constructor.node, cst.FunctionDef):
        return found
    for statement in constructor.node.body.body:
        for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
            if isinstance(small, cst.Assign) and isinstance(small.value, cst.Call):
                target = dotted_name(small.targets[0].target)
                use = _taken(module, small.value, constructor)
                if target.startswith("self.") and use is not None:
                    found[target] = use
    return found


def _taken(module: SourceModule, call: cst.Call, constructor: Function) -> Optional[_Use]:
    kind = dotted_name(call.func).rpartition(".")[2]
    if kind in WRAPPERS and call.args and isinstance(call.args[0].value, cst.Call):
        return _taken(module, call.args[0].value, constructor)
    positional = [argument.value for argument in call.args if argument.keyword is None and not argument.star]
    index, shape = LAYERS.get(kind, (EMBEDDINGS.get(kind, -1), ""))
    if index < 0:
        return None
    size = _size(module, positional[index], constructor) if index < len(positional) else _SIZE
    return _Use(shape=shape.format(size)) if shape else _Use(entries=size)


class _Uses(cst.CSTVisitor):
    """Notes the first telling use of each parameter."""

    def __init__(self, module: SourceModule, names: set[str], layers: dict[str, _Use]) -> None:
        self.module, self.names, self.layers = module, names, layers
        self.found: dict[str, _Use] = {}

    def visit_Call(self, node: cst.Call) -> None:
        called = dotted_name(node.func)
        last = called.rpartition(".")[2] or (node.func.attr.value if isinstance(node.func, cst.Attribute) else "")
        for index, argument in enumerate(node.args):
            whole = isinstance(argument.value, cst.Name)
            value = argument.value.value if isinstance(argument.value, cst.Subscript) else argument.value
            if isinstance(value, cst.Name) and value.value in self.names:
                use = self.layers.get(called) if index == 0 and whole else None
                use = use or self._argument(called, last, index)
                if use is not None:
                    self.found.setdefault(value.value, use)

    def _argument(self, called: str, last: str, index: int) -> Optional[_Use]:
        module = self.module.scope.names.get(called.partition(".")[0])
        function = called == last or isinstance(module, External)
        at = 0 if function else 1
        if INDEXES.get(last, (-1, -1))[at] == index:
            return _Use(entries=_SIZE)
        if MASKS.get(last, (-1, -1))[at] == index:
            return _Use(mask=True)
        return _Use(count=True) if called == "range" else None

    def visit_Subscript(self, node: cst.Subscript) -> None:
        element = node.slice[0].slice if len(node.slice) == 1 else None
        if not isinstance(element, cst.Index):
            return
        if isinstance(element.value, cst.Name) and element.value.value in self.names:
            self.found.setdefault(element.value.value, _Use(entries=_SIZE))
        key = element.value.evaluated_value if isinstance(element.value, cst.SimpleString) else None
        if isinstance(key, str) and isinstance(node.value, cst.Name) and node.value.value in self.names:
            keys = self.found.setdefault(node.value.value, _Use()).keys
            if key not in keys:
                keys.append(key)


# --- what is written -----------------------------------------------------------------------------------------------


def _value(parameter: cst.Param, use: _Use, torch: str, annotation: str) -> tuple[str, str]:
    """An example value of a parameter, and what it is by, for the reader."""
    name = parameter.name.value
    floats = f"{torch}.randn({_OPEN}{use.shape or '8, 16'}{_CLOSE})"
    kind = re.sub(r"^(?:typing\.)?Optional\[(.*)\]$", r"\1", annotation).replace("| None", "").strip()
    last = kind.rpartition(".")[2]
    if last in _PLAIN:
        return f"{_OPEN}{_PLAIN[last]}{_CLOSE}", ""
    if re.match(r"(?:typing\.)?(?:list|List|tuple|Tuple|Sequence)\[.*Tensor", kind):
        return f"[{floats}]", ""
    if kind and not last.endswith("Tensor") and last not in ("Any", "object"):
        return f"{_OPEN}...{_CLOSE}", kind
    if use.keys:
        return "{" + ", ".join(f'"{key}": {floats}' for key in use.keys) + "}", ""
    if use.count:
        return f"{_OPEN}4{_CLOSE}", ""
    if use.mask or last == "BoolTensor":
        return f"{torch}.ones({_OPEN}8, 16{_CLOSE}, dtype={torch}.bool)", ""
    named = name.rpartition("_")[2] in INDEX_NAMES and not use.shape
    if use.entries is not None or named or last in INTEGER_DTYPES:
        return f"{torch}.randint(0, {_OPEN}{use.entries or _SIZE}, (8, 16){_CLOSE})", ""
    return floats, ""


def _constructor(name: str, parameters: list[cst.Param], locale: str) -> str:
    """``get_init_inputs()``, with a line for each argument."""
    zh = locale.startswith("zh")
    lines = ["def get_init_inputs():"]
    lines.append(
        f"    # {name} 构造参数的草稿：请改成您使用的值。"
        if zh
        else f"    # A draft of what {name} is built with: put in the values that you use."
    )
    lines += _assignments(parameters, {}, "torch", plain=True)
    lines.append(f"    return [{', '.join(p.name.value for p in parameters)}]")
    return "\n".join(lines) + "\n"


def _inputs(
    name: str,
    parameters: list[cst.Param],
    node: cst.FunctionDef,
    uses: dict[str, _Use],
    torch: str,
    locale: str,
) -> str:
    """``probe_inputs()``, with a line for each argument."""
    zh = locale.startswith("zh")
    lines = ["def probe_inputs():"]
    lines.append(
        f"    # {name} 示例输入的草稿：请改成您使用的形状、类型和值。"
        if zh
        else f"    # A draft of what to call {name} with: put in the shapes, types and values that you use."
    )
    lines += _assignments(parameters, uses, torch, plain=False)
    by_name = {p.name.value for p in node.params.kwonly_params}
    positional = [p.name.value for p in parameters if p.name.value not in by_name]
    named = [f'"{p.name.value}": {p.name.value}' for p in parameters if p.name.value in by_name]
    arguments = "(" + ", ".join(positional) + ("," if len(positional) == 1 else "") + ")"
    lines.append(f"    return {arguments}, {{{', '.join(named)}}}")
    return "\n".join(lines) + "\n"


def _assignments(parameters: list[cst.Param], uses: dict[str, _Use], torch: str, *, plain: bool) -> Iterator[str]:
    code = cst.Module([])
    for parameter in parameters:
        annotation = code.code_for_node(parameter.annotation.annotation) if parameter.annotation is not None else ""
        annotation = annotation.strip("\"' ")
        value, why = _value(
            parameter, uses.get(parameter.name.value, _Use()), torch, annotation or ("int" if plain else "")
        )
        yield f"    {parameter.name.value} = {value}" + (f"  # {why}" if why else "")


def _placed(module: SourceModule, parts: list[str], imports: list[Edit], place: Range) -> Draft:
    """Behind the definition where that stands at the left margin, else at the end of the file."""
    source = module.source
    end = source.position(len(source.text))
    behind = Position(place.end.line + 1, 0)
    text = "".join(f"\n\n{part}" for part in parts)
    if place.start.column > 0 or behind.line >= len(source.line_starts):
        behind = end
        text = ("\n" if source.line(end.line) else "") + text
    start, stop = text.index(_OPEN), text.index(_CLOSE) - 1
    clean = text.replace(_OPEN, "").replace(_CLOSE, "")
    above = sum(edit.text.count("\n") for edit in imports)

    def at(index: int) -> Position:
        before = clean[:index]
        column = len(before) - before.rfind("\n") - 1
        return Position(behind.line + above + before.count("\n"), column)

    edit = insertion(behind, clean.replace("\n", source.newline))
    return Draft((*imports, edit), Range(at(start), at(stop)))
