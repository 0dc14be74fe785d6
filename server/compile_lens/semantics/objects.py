"""Attributes of new objects of analysed classes: which of them change later, and those of dataclasses."""

from __future__ import annotations

from typing import Optional

import libcst as cst

from .frames import Engine
from .parameters import from_annotation
from .values import Class, Function, Instance, Value

_MAKING = ("__init__", "__post_init__", "reset_parameters")


def note_changing(instance: Instance, cache: dict[int, set[str]]) -> None:
    """Note which attributes of a new object are assigned outside its constructor; ``cache`` by ``id`` of the class."""
    if not isinstance(instance.cls, Class):
        return
    for entry in instance.cls.lineage():
        if isinstance(entry, Class):
            found = cache.get(id(entry.node))
            if found is None:
                found = cache[id(entry.node)] = _assigned_outside_init(entry)
            instance.changing |= found


def _assigned_outside_init(cls: Class) -> set[str]:
    collector = _SelfStores()
    for member in cls.members.values():
        if isinstance(member, Function) and member.name not in _MAKING:
            member.node.visit(collector)
    return collector.names


def is_record(interpreter: Engine, cls: Class) -> bool:
    """Does the class take its attributes as constructor arguments: dataclass or named tuple?"""
    names = [interpreter.decorator_name(cls.scope, d) for d in cls.node.decorators]
    return any(n.rsplit(".", 1)[-1] in ("dataclass", "define", "frozen") for n in names) or any(
        n.endswith("NamedTuple") for n in cls.external_bases
    )


def fill_record(instance: Instance, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> None:
    """Attributes of a dataclass or named tuple from the arguments of its constructor."""
    if not isinstance(instance.cls, Class):
        return
    fields = [
        (s.target.value, s.annotation.annotation)
        for line in instance.cls.node.body.body
        if isinstance(line, cst.SimpleStatementLine)
        for s in line.body
        if isinstance(s, cst.AnnAssign) and isinstance(s.target, cst.Name)
    ]
    for index, (name, annotation) in enumerate(fields):
        if index < len(arguments):
            instance.attributes[name] = arguments[index]
        elif name in keywords:
            instance.attributes[name] = keywords[name]
        elif name not in instance.cls.members:
            instance.attributes[name] = from_annotation(annotation)


class _SelfStores(cst.CSTVisitor):
    """Names of attributes assigned on ``self``."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def visit_AssignTarget(self, node: cst.AssignTarget) -> Optional[bool]:
        self._note(node.target)
        return True

    def visit_AugAssign(self, node: cst.AugAssign) -> Optional[bool]:
        self._note(node.target)
        return True

    def visit_AnnAssign(self, node: cst.AnnAssign) -> Optional[bool]:
        self._note(node.target)
        return True

    def _note(self, target: cst.CSTNode) -> None:
        if isinstance(target, cst.Attribute) and isinstance(target.value, cst.Name) and target.value.value == "self":
            self.names.add(target.attr.value)
        elif isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                self._note(element.value)
