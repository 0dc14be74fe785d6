"""What iterating over a value yields, and looking a key up in it."""

from __future__ import annotations

import libcst as cst

from .frames import Frame
from .operations import Iteration
from .values import (
    UNKNOWN,
    Const,
    Dictionary,
    Instance,
    Iterator,
    NdArray,
    Number,
    Sequence,
    Tensor,
    Text,
    Value,
    is_text,
    join_all,
    options,
)


def element_of(value: Value) -> Value:
    """What one step of iterating over a value yields."""
    if isinstance(value, (Sequence, Iterator)):
        return value.element
    if isinstance(value, Tensor):
        return Tensor(value.rank - 1 if value.rank else None, value.dtype)
    if isinstance(value, NdArray):
        return NdArray(None, value.dtype)
    if isinstance(value, Dictionary):
        return join_all(_key(key) for key in value.entries) if value.exact and value.entries else UNKNOWN
    if is_text(value):
        return Text()
    if isinstance(value, Instance) and "_items" in value.attributes:
        return element_of(value.attributes["_items"])
    return UNKNOWN


def _key(key: object) -> Value:
    return Text() if isinstance(key, str) else Number("int") if isinstance(key, int) else UNKNOWN


def iterate(frame: Frame, node: cst.CSTNode, value: Value) -> Value:
    """Announce an iteration over every alternative of a value; what a step yields."""
    choices = options(value)
    for choice in choices:
        frame.interpreter.announce(Iteration(node, frame, len(choices) == 1, choice))
    return join_all(element_of(choice) for choice in choices)


def look_up(frame: Frame, registry: Dictionary, key: Const) -> None:
    """A key that is looked for in a mapping may be put there by a module that has not run yet."""
    if isinstance(key.value, str) and key.value not in registry.entries:
        frame.interpreter.loader.settle(key.value)
