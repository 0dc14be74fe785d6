"""Evaluation of expressions to abstract values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Optional
from typing import Union as Either

import libcst as cst

from . import results
from .attributes import method_of, read_attribute
from .calls import call_value
from .comprehensions import comprehension
from .frames import Frame
from .iteration import iterate, look_up
from .narrowing import narrow
from .operations import Branch, Call, Formatting, Subscript
from .operators import BINARY, binary, compare
from .python_builtins import NAMES
from .values import (
    NONE,
    UNKNOWN,
    Class,
    Const,
    Dictionary,
    External,
    Function,
    Instance,
    NdArray,
    Number,
    Opaque,
    Sequence,
    Tensor,
    Text,
    Value,
    is_text,
    join,
    join_all,
    options,
    truth,
)

Evaluator = Callable[[Frame, Any], Value]


def evaluate(frame: Frame, node: cst.CSTNode) -> Value:
    """The abstract value of an expression; announces the operations it performs."""
    evaluator = _EVALUATORS.get(type(node))
    return UNKNOWN if evaluator is None else evaluator(frame, node)


def test(frame: Frame, node: cst.BaseExpression, kind: str, statement: cst.CSTNode) -> Optional[bool]:
    """Evaluate a condition and announce the jump; its truth where that is certain."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        # Dynamo rewrites `assert t`, not `assert not t`.
        inverse = test(frame, node.expression, "not" if kind == "assert" else kind, statement)
        return None if inverse is None else not inverse
    if isinstance(node, cst.BooleanOperation):
        left = test(frame, node.left, kind if kind != "assert" else "and", statement)
        is_and = isinstance(node.operator, cst.And)
        if left is not None and left != is_and:
            return left
        saved = frame.scope.snapshot()
        narrow(frame, node.left, is_and)
        frame.conditional += left is None
        right = test(frame, node.right, kind if kind != "assert" else "and", statement)
        frame.conditional -= left is None
        frame.scope.restore({**saved, **{k: v for k, v in frame.scope.names.items() if k not in saved}})
        if left is None:
            return right if right is not None and right != is_and else None
        return right
    value = evaluate(frame, node)
    announce_branch(frame, node, value, kind, statement)
    return truth(value)


def announce_branch(frame: Frame, node: cst.CSTNode, value: Value, kind: str, statement: cst.CSTNode) -> None:
    """Announce a jump on every alternative of a value; an object's own ``__bool__`` is walked."""
    choices = options(value)
    for choice in choices:
        if isinstance(choice, Instance) and isinstance(choice.cls, Class) and not choice.is_module:
            method = method_of(choice.cls, "__bool__")
            if method is not None:
                bound = Function(method.node, method.module, method.scope, method.owner, choice)
                frame.interpreter.call_function(frame, bound, (), {}, node)
        frame.interpreter.announce(Branch(node, frame, len(choices) == 1, choice, kind, statement))


# --- literals and names --------------------------------------------------------------------------------------------


def _name(frame: Frame, node: cst.Name) -> Value:
    text = node.value
    found = frame.scope.get(text)
    if found is not None:
        return found
    if text in ("True", "False", "None"):
        return Const({"True": True, "False": False, "None": None}[text])
    return External(text) if text in NAMES else UNKNOWN


def _literal(frame: Frame, node: Either[cst.Integer, cst.Float, cst.Imaginary]) -> Value:
    try:
        return Const(ast.literal_eval(node.value))
    except (ValueError, SyntaxError, MemoryError):
        return Number("int")


def _string(frame: Frame, node: cst.SimpleString) -> Value:
    if len(node.value) > 200:
        return Text()
    try:
        return Const(ast.literal_eval(node.value))
    except (ValueError, SyntaxError):
        return Text()


def _concatenated(frame: Frame, node: cst.ConcatenatedString) -> Value:
    evaluate(frame, node.left)
    evaluate(frame, node.right)
    return Text()


def _formatted(frame: Frame, node: cst.FormattedString) -> Value:
    varying = False
    text: list[Optional[str]] = []
    for part in node.parts:
        text.append(part.value if isinstance(part, cst.FormattedStringText) else None)
        if isinstance(part, cst.FormattedStringExpression):
            value = evaluate(frame, part.expression)
            announce_formatting(frame, part.expression, value, "f-string!r" if part.conversion == "r" else "f-string")
            varying = varying or (isinstance(value, Number) and value.origin == "varying")
            if isinstance(value, Const) and part.format_spec is None and part.conversion is None:
                text[-1] = str(value.value)
    if all(isinstance(part, str) for part in text):
        return Const("".join(map(str, text)))
    return Text(varying)


def announce_formatting(frame: Frame, node: cst.CSTNode, value: Value, style: str) -> None:
    choices = options(value)
    for choice in choices:
        frame.interpreter.announce(Formatting(node, frame, len(choices) == 1, choice, style))


def _ellipsis(frame: Frame, node: cst.Ellipsis) -> Value:
    return Const(...)


# --- operators -----------------------------------------------------------------------------------------------------


def _binary(frame: Frame, node: cst.BinaryOperation) -> Value:
    symbol, function = BINARY[type(node.operator)]
    left, right = evaluate(frame, node.left), evaluate(frame, node.right)
    if symbol == "%" and is_text(left):
        for value in right.items if isinstance(right, Sequence) and right.items else [right]:
            announce_formatting(frame, node, value, "%")
        if isinstance(left, Const) and isinstance(right, Const):
            return binary(symbol, function, left, right)
        return Text()
    return join_all(binary(symbol, function, a, b) for a in options(left) for b in options(right))


def _comparison(frame: Frame, node: cst.Comparison) -> Value:
    left = evaluate(frame, node.left)
    result: Optional[Value] = None
    for index, target in enumerate(node.comparisons):
        right = evaluate(frame, target.comparator)
        if isinstance(target.operator, (cst.In, cst.NotIn)):
            frame.interpreter.announce(Call(node, frame, True, "in", (right, left), {}))
        value = join_all(compare(target.operator, a, b) for a in options(left) for b in options(right))
        if index:  # a < b < c jumps on the first result
            announce_branch(frame, node, result or UNKNOWN, "and", node)
        result, left = value, right
    return result or UNKNOWN


def _unary(frame: Frame, node: cst.UnaryOperation) -> Value:
    value = evaluate(frame, node.expression)
    if isinstance(node.operator, cst.Not):
        announce_branch(frame, node.expression, value, "not", node)
        known = truth(value)
        return Number("bool") if known is None else Const(not known)
    if isinstance(value, Const) and isinstance(value.value, (int, float)) and isinstance(node.operator, cst.Minus):
        return Const(-value.value)
    return value if isinstance(value, (Tensor, NdArray, Number)) else UNKNOWN


def _boolean(frame: Frame, node: cst.BooleanOperation) -> Value:
    kind = "and" if isinstance(node.operator, cst.And) else "or"
    left = evaluate(frame, node.left)
    announce_branch(frame, node.left, left, kind, node)
    known = truth(left)
    if known is not None and known != (kind == "and"):
        return left
    saved = frame.scope.snapshot()
    narrow(frame, node.left, kind == "and")
    frame.conditional += known is None
    right = evaluate(frame, node.right)
    frame.conditional -= known is None
    frame.scope.restore({**frame.scope.names, **saved})
    if known is not None:
        return right
    kept = [v for v in options(left) if truth(v) is not (kind == "and")]
    return join_all([*kept, right])


def _ternary(frame: Frame, node: cst.IfExp) -> Value:
    known = test(frame, node.test, "ternary", node)
    if known is not None:
        saved = frame.scope.snapshot()
        narrow(frame, node.test, known)
        value = evaluate(frame, node.body if known else node.orelse)
        frame.scope.restore({**frame.scope.names, **saved})
        return value
    values: list[Value] = []
    frame.conditional += 1
    for branch, truth_of_test in ((node.body, True), (node.orelse, False)):
        saved = frame.scope.snapshot()
        narrow(frame, node.test, truth_of_test)
        values.append(evaluate(frame, branch))
        frame.scope.restore({**frame.scope.names, **saved})
    frame.conditional -= 1
    return join_all(values)


def _walrus(frame: Frame, node: cst.NamedExpr) -> Value:
    value = evaluate(frame, node.value)
    if isinstance(node.target, cst.Name):
        frame.scope.set(node.target.value, value)
    return value


# --- containers ----------------------------------------------------------------------------------------------------


def elements(frame: Frame, nodes: Any) -> Optional[list[Value]]:
    """Values of the elements of a display; ``None`` as soon as their number is not known."""
    values: Optional[list[Value]] = []
    for element in nodes:
        if isinstance(element, (cst.StarredElement, cst.StarredDictElement)):
            value = evaluate(frame, element.value)
            if values is not None and isinstance(value, Sequence) and value.items is not None:
                values.extend(value.items)
            else:
                values = None
            continue
        value = evaluate(frame, element.value)
        if values is not None:
            values.append(value)
    return values


def _collection(kind: str) -> Evaluator:
    def build(frame: Frame, node: Any) -> Value:
        values = elements(frame, node.elements)
        return Sequence(kind, values if kind != "set" else None, join_all(values or ()))

    return build


def _dict(frame: Frame, node: cst.Dict) -> Value:
    result = Dictionary()
    for element in node.elements:
        if isinstance(element, cst.DictElement):
            key = evaluate(frame, element.key)
            result.store(key, evaluate(frame, element.value))
        else:
            other = evaluate(frame, element.value)
            if isinstance(other, Dictionary):
                result.entries.update(other.entries)
                result.exact = result.exact and other.exact
                result.element = join_all(result.entries.values())
            else:
                result.exact = False
    return result


def _slice(frame: Frame, node: cst.Slice) -> Value:
    for part in (node.lower, node.upper, node.step):
        if part is not None:
            bound = evaluate(frame, part)
            if isinstance(bound, Tensor):
                return Opaque("slice-by-tensor")
    return Opaque("slice")


def index_value(frame: Frame, node: cst.Subscript) -> Value:
    """The index of a subscript: one value, or a tuple of the values between commas."""
    values: list[Value] = []
    for part in node.slice:
        inner = part.slice
        if isinstance(inner, cst.Index):
            values.append(evaluate(frame, inner.value))
        elif isinstance(inner, cst.Slice):
            values.append(_slice(frame, inner))
    return values[0] if len(values) == 1 else Sequence("tuple", values)


def _subscript(frame: Frame, node: cst.Subscript) -> Value:
    receiver = evaluate(frame, node.value)
    index = index_value(frame, node)
    choices = options(receiver)
    for choice in choices:
        frame.interpreter.announce(Subscript(node, frame, len(choices) == 1, choice, index))
        if isinstance(choice, Dictionary) and isinstance(index, Const):
            look_up(frame, choice, index)
    return join_all(subscript(choice, index) for choice in choices)


def subscript(receiver: Value, index: Value) -> Value:
    """Result of reading ``receiver[index]``."""
    if isinstance(receiver, Tensor):
        return results.subscript(receiver, index)
    if isinstance(receiver, NdArray):
        return NdArray(None, receiver.dtype)
    if isinstance(receiver, Instance) and "_items" in receiver.attributes:
        return subscript(receiver.attributes["_items"], index)
    if isinstance(receiver, Sequence):
        if isinstance(index, Const) and isinstance(index.value, int) and receiver.items is not None:
            if -len(receiver.items) <= index.value < len(receiver.items):
                return receiver.items[index.value]
            return UNKNOWN
        if isinstance(index, Opaque) and index.kind.startswith("slice"):
            return Sequence(receiver.kind, None, receiver.element)
        return receiver.element
    if isinstance(receiver, Dictionary):
        if isinstance(index, Const) and index.value.__hash__ and index.value in receiver.entries:
            return receiver.entries[index.value]
        return UNKNOWN if isinstance(index, Const) and not receiver.exact else receiver.element
    if is_text(receiver):
        return Text()
    return UNKNOWN


# --- the rest ------------------------------------------------------------------------------------------------------


def _attribute(frame: Frame, node: cst.Attribute) -> Value:
    return read_attribute(frame, node, evaluate(frame, node.value), node.attr.value)


def _lambda(frame: Frame, node: cst.Lambda) -> Value:
    return Function(node, frame.module, frame.scope)


def _call(frame: Frame, node: cst.Call) -> Value:
    callee = evaluate(frame, node.func)
    arguments: list[Value] = []
    keywords: dict[str, Value] = {}
    for argument in node.args:
        value = evaluate(frame, argument.value)
        if argument.keyword is not None:
            keywords[argument.keyword.value] = value
        elif argument.star == "*":
            if isinstance(value, Sequence) and value.items is not None:
                arguments.extend(value.items)
            else:
                arguments.append(value.element if isinstance(value, Sequence) else UNKNOWN)
                keywords["*"] = UNKNOWN
        elif argument.star == "**":
            if isinstance(value, Dictionary):
                keywords.update({str(k): v for k, v in value.entries.items()})
            if not (isinstance(value, Dictionary) and value.exact):
                keywords["**"] = UNKNOWN
        else:
            arguments.append(value)
    return call_value(frame, node, callee, tuple(arguments), keywords)


def _await(frame: Frame, node: cst.Await) -> Value:
    evaluate(frame, node.expression)
    return UNKNOWN


def _yield(frame: Frame, node: cst.Yield) -> Value:
    if isinstance(node.value, cst.From):
        value = iterate(frame, node.value.item, evaluate(frame, node.value.item))
    else:
        value = NONE if node.value is None else evaluate(frame, node.value)
    frame.yielded = value if frame.yielded is None else join(frame.yielded, value)
    return UNKNOWN


def assign(frame: Frame, target: cst.CSTNode, value: Value) -> None:
    """Bind a value to a target of a loop or comprehension; `statements` handles the other targets."""
    frame.interpreter.assign(frame, target, value)


_EVALUATORS: dict[type, Evaluator] = {
    cst.Name: _name,
    cst.Integer: _literal,
    cst.Float: _literal,
    cst.Imaginary: _literal,
    cst.SimpleString: _string,
    cst.ConcatenatedString: _concatenated,
    cst.FormattedString: _formatted,
    cst.Ellipsis: _ellipsis,
    cst.BinaryOperation: _binary,
    cst.Comparison: _comparison,
    cst.UnaryOperation: _unary,
    cst.BooleanOperation: _boolean,
    cst.IfExp: _ternary,
    cst.NamedExpr: _walrus,
    cst.List: _collection("list"),
    cst.Tuple: _collection("tuple"),
    cst.Set: _collection("set"),
    cst.Dict: _dict,
    cst.Subscript: _subscript,
    cst.ListComp: comprehension,
    cst.SetComp: comprehension,
    cst.GeneratorExp: comprehension,
    cst.DictComp: comprehension,
    cst.Attribute: _attribute,
    cst.Lambda: _lambda,
    cst.Call: _call,
    cst.Await: _await,
    cst.Yield: _yield,
}
