"""Python's builtin functions over abstract values."""

from __future__ import annotations

from typing import Optional

import libcst as cst

from . import results
from .frames import Frame
from .iteration import element_of, iterate
from .narrowing import isinstance_of
from .operations import Branch, Formatting
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
    Partial,
    Sequence,
    Tensor,
    Text,
    Value,
    join,
    join_all,
    number_kind,
    options,
)

NAMES = frozenset(
    """abs all any bool bytes callable chr complex dict dir divmod enumerate eval exec filter float format
    frozenset getattr globals hasattr hash hex id input int isinstance issubclass iter len list locals map max
    memoryview min next object oct open ord pow print property range repr reversed round set setattr slice
    sorted staticmethod str sum super tuple type vars zip breakpoint delattr classmethod Exception ValueError
    RuntimeError TypeError KeyError IndexError AttributeError NotImplementedError AssertionError StopIteration
    ImportError OSError ArithmeticError ZeroDivisionError Warning UserWarning DeprecationWarning""".split()
)


def call(frame: Frame, node: cst.Call, name: str, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
    """Result of a builtin; the call itself was announced."""
    first = arguments[0] if arguments else None
    if name in ("int", "float", "bool", "complex"):
        return _number(name, first)
    if name == "len":
        return _length(first)
    if name == "str" or name in ("repr", "format", "chr", "hex"):
        return Text()
    if name == "isinstance" and len(arguments) == 2 and first is not None:
        return _isinstance(first, arguments[1])
    if name == "hasattr" and len(arguments) == 2:
        return _hasattr(first, arguments[1])
    if name == "getattr" and len(arguments) >= 2:
        return _getattr(frame, node, arguments)
    if name == "setattr" and len(arguments) == 3 and isinstance(first, Instance) and isinstance(arguments[1], Const):
        first.attributes[str(arguments[1].value)] = arguments[2]
        return NONE
    if name in ("list", "tuple", "set", "frozenset", "sorted"):
        return _collect(frame, node, name, first)
    if name == "dict":
        entries = dict(keywords)
        if isinstance(first, Dictionary):
            entries = {**first.entries, **entries}
        return Dictionary(entries, exact=first is None or (isinstance(first, Dictionary) and first.exact))
    if name == "range":
        return _range(arguments)
    if name == "enumerate" and first is not None:
        return Iterator(Sequence("tuple", [Number("int"), iterate(frame, node, first)]))
    if name == "zip":
        return Iterator(Sequence("tuple", [iterate(frame, node, value) for value in arguments]))
    if name in ("reversed", "iter") and first is not None:
        return Iterator(element_of(first)) if not isinstance(first, Sequence) else first
    if name == "next" and first is not None:
        element = element_of(first)
        return join(element, arguments[1]) if len(arguments) > 1 else element
    if name in ("map", "filter") and len(arguments) >= 2:
        elements = tuple(iterate(frame, node, value) for value in arguments[1:])
        frame.conditional += 1
        result = frame.interpreter.call(frame, node, arguments[0], elements, {})
        frame.conditional -= 1
        return Iterator(result if name == "map" else elements[0])
    if name in ("sum", "max", "min", "abs", "round", "pow", "divmod"):
        return _arithmetic(name, arguments)
    if name in ("any", "all") and first is not None:
        element = iterate(frame, node, first)
        for option in options(element):
            frame.interpreter.announce(Branch(node, frame, True, option, name, node))
        return Number("bool")
    if name == "type":
        return first.cls if isinstance(first, Instance) else UNKNOWN
    if name in ("print", "setattr", "delattr", "exec", "breakpoint"):
        return NONE
    if name in ("id", "hash", "ord"):
        return Number("int")
    if name == "callable" and isinstance(first, (Function, Class, Partial)):
        return Const(True)
    if name.endswith(("Error", "Exception", "Warning", "Iteration")):
        return Instance(External(name))
    return UNKNOWN


def _range(arguments: tuple[Value, ...]) -> Sequence:
    values = [a.value for a in arguments if isinstance(a, Const) and isinstance(a.value, int)]
    if len(values) == len(arguments) and len(values) in (1, 2, 3) and 0 not in values[2:]:
        numbers = range(*values)
        if len(numbers) <= 64:
            return Sequence("range", [Const(number) for number in numbers], Number("int"))
    return Sequence("range", None, Number("int", _origin(arguments)))


def _origin(arguments: tuple[Value, ...]) -> str:
    origins = {value.origin for value in arguments if isinstance(value, Number)}
    return origins.pop() if len(origins) == 1 else "computed"


def _number(name: str, value: Optional[Value]) -> Value:
    if isinstance(value, Const):
        try:
            return Const({"int": int, "float": float, "bool": bool, "complex": complex}[name](value.value))
        except (TypeError, ValueError):
            return Number(name)
    if isinstance(value, (Tensor, NdArray)):
        return Number(name, "read")
    return Number(name, value.origin if isinstance(value, Number) else "computed")


def _length(value: Optional[Value]) -> Value:
    if isinstance(value, Sequence) and value.items is not None:
        return Const(len(value.items))
    if isinstance(value, Dictionary) and value.exact:
        return Const(len(value.entries))
    if isinstance(value, Const) and isinstance(value.value, str):
        return Const(len(value.value))
    if isinstance(value, Instance) and isinstance(value.attributes.get("_items"), (Sequence, Dictionary)):
        return _length(value.attributes["_items"])
    return Number("int", "size")


def _isinstance(value: Value, classes: Value) -> Value:
    kinds: list[str] = []
    for cls in classes.items if isinstance(classes, Sequence) and classes.items is not None else [classes]:
        if isinstance(cls, External):
            kinds.append(cls.name.rsplit(".", 1)[-1])
        elif isinstance(cls, Class):
            kinds.append(cls.qualified_name)
        else:
            return Number("bool")
    verdicts = {isinstance_of(option, kinds) for option in options(value)}
    if len(verdicts) == 1:
        verdict = verdicts.pop()
        if verdict is not None:
            return Const(verdict)
    if isinstance(value, Instance) and isinstance(value.cls, Class):
        names = {
            c.qualified_name if isinstance(c, Class) else str(getattr(c, "name", "")).rsplit(".", 1)[-1]
            for c in value.cls.lineage()
        }
        if names & set(kinds):
            return Const(True)
    return Number("bool")


def _hasattr(value: Optional[Value], name: Value) -> Value:
    if isinstance(name, Const) and isinstance(name.value, str):
        if isinstance(value, Tensor):
            known = results.attribute(name.value, value) is not UNKNOWN
            return Const(True) if known else Number("bool")
        if isinstance(value, Instance) and name.value in value.attributes and name.value not in value.changing:
            return Const(True)
    return Number("bool")


def _getattr(frame: Frame, node: cst.Call, arguments: tuple[Value, ...]) -> Value:
    if isinstance(arguments[1], Const) and isinstance(arguments[1].value, str):
        found = frame.interpreter.read_attribute(frame, node, arguments[0], arguments[1].value)
        return found if len(arguments) < 3 else join(found, arguments[2])
    return UNKNOWN


def _collect(frame: Frame, node: cst.Call, name: str, value: Optional[Value]) -> Value:
    kind = {"frozenset": "set", "sorted": "list"}.get(name, name)
    if value is None:
        return Sequence(kind, [])
    if isinstance(value, Sequence) and value.items is not None and kind != "set":
        return Sequence(kind, list(value.items))
    return Sequence(kind, None, iterate(frame, node, value))


def _arithmetic(name: str, arguments: tuple[Value, ...]) -> Value:
    values: list[Value] = []
    for value in arguments:
        values.append(element_of(value) if isinstance(value, (Sequence, Iterator)) and len(arguments) <= 2 else value)
    joined = join_all(values)
    for option in options(joined):
        if isinstance(option, (Tensor, NdArray)):
            return Tensor(option.rank, option.dtype) if isinstance(option, Tensor) else option
    kind = number_kind(joined)
    if name == "divmod":
        return Sequence("tuple", [joined, joined])
    if name == "round" and len(arguments) == 1:
        return Number("int")
    return Number(kind, joined.origin if isinstance(joined, Number) else "computed") if kind else UNKNOWN


def text_method(frame: Frame, node: cst.Call, name: str, arguments: tuple[Value, ...]) -> Value:
    """Result of a method of ``str``; ``format`` announces what it formats."""
    if name == "format":
        for value in arguments:
            for option in options(value):
                frame.interpreter.announce(Formatting(node, frame, True, option, "format"))
    if name == "join" and arguments:
        iterate(frame, node, arguments[0])
    if name in ("split", "rsplit", "splitlines", "partition"):
        return Sequence("list", None, Text())
    if name in ("startswith", "endswith", "isdigit", "isalpha"):
        return Number("bool")
    if name in ("find", "index", "count"):
        return Number("int")
    return Text()
