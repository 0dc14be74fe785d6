"""Python's operators over abstract values: arithmetic, comparison, identity, membership. They announce nothing."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Optional

import libcst as cst

from . import results
from .values import (
    NONE,
    UNKNOWN,
    Class,
    Const,
    Dictionary,
    External,
    Function,
    Instance,
    Iterator,
    NdArray,
    Number,
    Opaque,
    Sequence,
    Tensor,
    Text,
    Value,
    is_text,
    join,
    number_kind,
)

_PYTHON: Any = operator
"""The module without its types: its operators take what Python's do."""
BINARY: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    cst.Add: ("+", operator.add),
    cst.Subtract: ("-", operator.sub),
    cst.Multiply: ("*", operator.mul),
    cst.Divide: ("/", _PYTHON.truediv),
    cst.FloorDivide: ("//", _PYTHON.floordiv),
    cst.Modulo: ("%", operator.mod),
    cst.Power: ("**", _PYTHON.pow),
    cst.MatrixMultiply: ("@", _PYTHON.matmul),
    cst.BitAnd: ("&", _PYTHON.and_),
    cst.BitOr: ("|", _PYTHON.or_),
    cst.BitXor: ("^", _PYTHON.xor),
    cst.LeftShift: ("<<", _PYTHON.lshift),
    cst.RightShift: (">>", _PYTHON.rshift),
}
_COMPARISONS: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    cst.Equal: ("==", operator.eq),
    cst.NotEqual: ("!=", operator.ne),
    cst.LessThan: ("<", operator.lt),
    cst.LessThanEqual: ("<=", operator.le),
    cst.GreaterThan: (">", operator.gt),
    cst.GreaterThanEqual: (">=", operator.ge),
}
_LIMIT = 10**9


_AUGMENTED: dict[type, type] = {
    cst.AddAssign: cst.Add,
    cst.SubtractAssign: cst.Subtract,
    cst.MultiplyAssign: cst.Multiply,
    cst.DivideAssign: cst.Divide,
    cst.FloorDivideAssign: cst.FloorDivide,
    cst.ModuloAssign: cst.Modulo,
    cst.PowerAssign: cst.Power,
    cst.MatrixMultiplyAssign: cst.MatrixMultiply,
    cst.BitAndAssign: cst.BitAnd,
    cst.BitOrAssign: cst.BitOr,
    cst.BitXorAssign: cst.BitXor,
    cst.LeftShiftAssign: cst.LeftShift,
    cst.RightShiftAssign: cst.RightShift,
}


def binary_operator(node: cst.BaseAugOp) -> tuple[str, Callable[[Any, Any], Any]]:
    """Symbol and function of an augmented assignment's operator."""
    return BINARY[_AUGMENTED[type(node)]]


def binary(symbol: str, function: Callable[[Any, Any], Any], left: Value, right: Value) -> Value:
    """Result of one operator on two values without alternatives."""
    tensor = results.binary(symbol, left, right)
    if tensor is not None:
        return tensor
    if isinstance(left, Const) and isinstance(right, Const):
        a, b = left.value, right.value
        small = all(isinstance(v, (bool, int, float)) and abs(v) < _LIMIT for v in (a, b)) and symbol not in (
            "**",
            "<<",
        )
        if small or (isinstance(a, str) and symbol in ("+", "%") and len(a) < 200):
            try:
                return Const(function(a, b))
            except (ArithmeticError, TypeError, ValueError):
                return UNKNOWN
    if isinstance(left, Sequence) and isinstance(right, Sequence) and symbol == "+":
        if left.items is not None and right.items is not None:
            return Sequence(left.kind, left.items + right.items)
        return Sequence(left.kind, None, join(left.element, right.element))
    if isinstance(left, Sequence) and symbol == "*":
        if left.items is not None and isinstance(right, Const) and isinstance(right.value, int) and right.value <= 64:
            return Sequence(left.kind, left.items * right.value)
        return Sequence(left.kind, None, left.element)
    if symbol == "+" and (is_text(left) or is_text(right)):
        return Text()
    kinds = number_kind(left), number_kind(right)
    if kinds[0] and kinds[1]:
        kind = "float" if symbol == "/" or "float" in kinds else "complex" if "complex" in kinds else "int"
        origins = {v.origin for v in (left, right) if isinstance(v, Number)}
        return Number(kind, origins.pop() if len(origins) == 1 else "computed")
    return UNKNOWN


def compare(comparator: cst.BaseCompOp, left: Value, right: Value) -> Value:
    """Result of one comparison of two values without alternatives."""
    if isinstance(comparator, (cst.Is, cst.IsNot)):
        same = _identical(left, right)
        return Number("bool") if same is None else Const(same == isinstance(comparator, cst.Is))
    if isinstance(comparator, (cst.In, cst.NotIn)):
        return _contains(left, right, isinstance(comparator, cst.In))
    symbol, function = _COMPARISONS[type(comparator)]
    tensor = results.binary(symbol, left, right)
    if tensor is not None and not (NONE in (left, right) or is_text(left) or is_text(right)):
        return tensor
    if isinstance(left, Const) and isinstance(right, Const):
        try:
            return Const(function(left.value, right.value))
        except TypeError:
            return UNKNOWN
    if (
        NONE in (left, right)
        and symbol in ("==", "!=")
        and not isinstance(left if right == NONE else right, (type(UNKNOWN),))
    ):
        return Const(symbol == "!=")
    if any(isinstance(value, Number) and value.origin == "random" for value in (left, right)):
        return Number("bool", "random")
    known = (Number, Const, Text, Opaque, External, Sequence)
    return Number("bool") if isinstance(left, known) or isinstance(right, known) else UNKNOWN


def _identical(left: Value, right: Value) -> Optional[bool]:
    if isinstance(left, Const) and isinstance(right, Const):
        return left == right
    certain = (
        Tensor,
        NdArray,
        Sequence,
        Dictionary,
        Function,
        Class,
        Instance,
        Number,
        Text,
        Opaque,
        Iterator,
        External,
    )
    for one, other in ((left, right), (right, left)):
        if one == NONE and isinstance(other, certain):
            return False
    return True if left is right and isinstance(left, (Function, Class, Instance)) else None


def _contains(left: Value, right: Value, positive: bool) -> Value:
    if isinstance(right, Dictionary) and isinstance(left, Const):
        if left.value in right.entries:
            return Const(positive)
        return Const(not positive) if right.exact else Number("bool")
    if isinstance(right, Sequence) and isinstance(left, Const):
        items = right.items
        if items is not None and all(isinstance(item, Const) for item in items):
            return Const((left in items) == positive)
    if isinstance(right, (Tensor, NdArray)) or (isinstance(left, Tensor) and isinstance(right, Sequence)):
        return Tensor(0, "bool", computed=True)
    return Number("bool")
