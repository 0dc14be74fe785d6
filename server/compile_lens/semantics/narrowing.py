"""What a condition that held, or did not, says about the names in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Optional

import libcst as cst

from .code import dotted_name
from .frames import Frame
from .values import (
    NONE,
    UNKNOWN,
    Dictionary,
    NdArray,
    Number,
    Sequence,
    Tensor,
    Text,
    Unknown,
    Value,
    is_text,
    join_all,
    number_kind,
    options,
    truth,
)


def narrow(frame: Frame, node: cst.CSTNode, holds: bool) -> None:
    """Restrict the values of names to those for which the condition ``node`` is ``holds``."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        narrow(frame, node.expression, not holds)
    elif isinstance(node, cst.BooleanOperation):
        if isinstance(node.operator, cst.And) == holds:
            narrow(frame, node.left, holds)
            narrow(frame, node.right, holds)
    elif isinstance(node, cst.Name):
        _keep(frame, node, lambda value: truth(value) is not (not holds) and not (holds and value == NONE))
    elif isinstance(node, cst.NamedExpr):
        narrow(frame, node.target, holds)
    elif isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        _comparison(frame, node, holds)
    elif isinstance(node, cst.Call) and len(node.args) >= 1:
        _predicate(frame, node, holds)


def _keep(frame: Frame, node: cst.CSTNode, test: Callable[[Value], bool]) -> None:
    if not isinstance(node, cst.Name):
        return
    value = frame.scope.get(node.value)
    if value is None or isinstance(value, Unknown):
        return
    kept = [option for option in options(value) if test(option)]
    if kept and len(kept) < len(options(value)):
        frame.scope.names[node.value] = join_all(kept)
    elif not kept and any(isinstance(option, Tensor) and option.guessed for option in options(value)):
        frame.scope.names[node.value] = UNKNOWN  # the guess was wrong here


def _comparison(frame: Frame, node: cst.Comparison, holds: bool) -> None:
    target = node.comparisons[0]
    other = target.comparator
    identity = isinstance(target.operator, (cst.Is, cst.IsNot, cst.Equal, cst.NotEqual))
    if not identity or not (isinstance(other, cst.Name) and other.value == "None"):
        return
    positive = isinstance(target.operator, (cst.Is, cst.Equal)) == holds
    name = node.left.target if isinstance(node.left, cst.NamedExpr) else node.left
    _keep(frame, name, lambda value: (value == NONE) == positive or isinstance(value, Unknown))
    if positive and isinstance(name, cst.Name) and isinstance(frame.scope.get(name.value), Unknown):
        frame.scope.names[name.value] = NONE


def _predicate(frame: Frame, node: cst.Call, holds: bool) -> None:
    name = dotted_name(node.func)
    subject = node.args[0].value
    if not isinstance(subject, cst.Name):
        return
    if name in ("torch.is_tensor", "is_tensor"):
        kinds = ["Tensor"]
    elif name == "isinstance" and len(node.args) == 2:
        kinds = class_names(node.args[1].value)
    else:
        return
    verdicts = {option: isinstance_of(option, kinds) for option in options(frame.scope.get(subject.value) or UNKNOWN)}
    _keep(frame, subject, lambda value: verdicts.get(value) is not (not holds))
    if holds and isinstance(frame.scope.get(subject.value), Unknown) and len(kinds) == 1:
        frame.scope.names[subject.value] = _EXEMPLARS.get(kinds[0], UNKNOWN)


_EXEMPLARS: dict[str, Value] = {
    "Tensor": Tensor(),
    "int": Number("int", "argument"),
    "float": Number("float", "argument"),
    "bool": Number("bool", "argument"),
    "str": Text(),
    "ndarray": NdArray(),
    "list": Sequence("list", None, UNKNOWN),
    "tuple": Sequence("tuple", None, UNKNOWN),
    "dict": Dictionary(exact=False),
}


def class_names(node: cst.BaseExpression) -> list[str]:
    """Last names of the classes in the second argument of ``isinstance``."""
    if isinstance(node, cst.Tuple):
        return [dotted_name(element.value).rsplit(".", 1)[-1] for element in node.elements]
    if isinstance(node, cst.BinaryOperation):
        return class_names(node.left) + class_names(node.right)
    return [dotted_name(node).rsplit(".", 1)[-1]]


_CLASSES: dict[type[Value], set[str]] = {
    Tensor: {"Tensor"},
    NdArray: {"ndarray"},
    Text: {"str"},
    Dictionary: {"dict", "Mapping"},
}


def isinstance_of(value: Value, kinds: list[str]) -> Optional[bool]:
    """Is a value an instance of one of the classes, given by their last names? ``None``: not known."""
    known = _CLASSES.get(type(value))
    if known is None and number_kind(value):
        kind = number_kind(value) or ""
        known = {kind, "Number", *(["int"] if kind == "bool" else []), *(["Integral"] if kind == "int" else [])}
    if known is None and is_text(value):
        known = {"str"}
    if known is None and isinstance(value, Sequence):
        known = {value.kind, "Sequence", "Iterable", "Collection", *(["tuple", "Size"] if value.kind == "size" else [])}
    if known is None and value == NONE:
        known = {"NoneType"}
    if known is None:
        return None
    if known & set(kinds):
        return True
    plain = {"Tensor", "int", "float", "str", "bool", "list", "tuple", "dict", "ndarray", "set", "Parameter", "Mapping"}
    plain |= {"Sequence", "Number", "Integral", "Iterable", "complex", "NoneType", "Module"}
    if isinstance(value, Tensor) and "Parameter" in kinds:
        return True if value.parameter else None
    return False if set(kinds) <= plain else None
