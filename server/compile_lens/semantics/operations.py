"""Operations on values: what the interpreter announces while it walks code that Dynamo would trace.

Dynamo decides at the same places: a jump on a value, a call, an attribute read, a subscript, an iteration, a store.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import libcst as cst

from .frames import Operation
from .values import Value


@dataclass(frozen=True)
class Branch(Operation):
    """Control flow depends on the truth of ``condition``.

    ``kind``: ``if``, ``while``, ``assert``, ``ternary``, ``and``, ``or``, ``not``, ``comprehension``, ``match``.
    """

    condition: Value
    kind: str
    statement: Optional[cst.CSTNode] = None
    """The whole statement or expression whose condition ``node`` is."""


@dataclass(frozen=True)
class Call(Operation):
    """A call of something outside the analysed code, by its dotted name."""

    name: str
    arguments: tuple[Value, ...]
    keywords: dict[str, Value]


@dataclass(frozen=True)
class MethodCall(Operation):
    """A call of a method on a value: ``x.item()`` on a tensor, ``log.info()`` on a logger."""

    receiver: Value
    method: str
    arguments: tuple[Value, ...]
    keywords: dict[str, Value]


@dataclass(frozen=True)
class FunctionCall(Operation):
    """A call into analysed code, whose body is walked next."""

    function: Value


@dataclass(frozen=True)
class Subscript(Operation):
    """``receiver[index]`` is read (``store`` false), or assigned (``store`` true; ``augmented`` also reads)."""

    receiver: Value
    index: Value
    store: bool = False
    augmented: bool = False


@dataclass(frozen=True)
class AttributeStore(Operation):
    """``receiver.name = value``; ``augmented`` for ``+=`` and its like."""

    receiver: Value
    name: str
    old: Value
    value: Value
    augmented: bool
    expression: Optional[cst.BaseExpression] = None
    """What is assigned, as it is written."""


@dataclass(frozen=True)
class GlobalStore(Operation):
    """A module-level name is assigned from inside a function."""

    name: str
    old: Value
    value: Value
    augmented: bool


@dataclass(frozen=True)
class ArgumentVaries(Operation):
    """The example calls give a parameter values that Dynamo compiles for one by one.

    ``variation``: ``dtype``, ``rank``, ``string``, ``length``, ``keys``, ``kind``.
    """

    name: str
    variation: str


@dataclass(frozen=True)
class Iteration(Operation):
    """A loop or unpacking over a value."""

    iterated: Value


@dataclass(frozen=True)
class Formatting(Operation):
    """A value is formatted into a string. ``style``: ``f-string``, ``f-string!r``, ``%``, ``format``."""

    value: Value
    style: str = "f-string"


@dataclass(frozen=True)
class ContextEntered(Operation):
    """A ``with`` block enters a context manager; ``name``: dotted name of what made it, where that is known."""

    manager: Value
    name: str = ""
