"""Example calls that a file gives for its own functions, evaluated abstractly and merged into one.

Several calls with different values show what varies: a number that Dynamo makes symbolic at the second call, a tensor
that comes in two dtypes, a list that grows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional

from .values import (
    UNKNOWN,
    Const,
    Dictionary,
    Instance,
    NdArray,
    Number,
    Sequence,
    Tensor,
    Text,
    Value,
    is_text,
    join_all,
    number_kind,
)


@dataclass(frozen=True)
class ExampleCall:
    """Arguments of a call; ``variations`` says for an argument (by position) what differs between the calls."""

    positional: tuple[Value, ...] = ()
    keywords: dict[str, Value] = field(default_factory=dict[str, Value])
    variations: dict[int, str] = field(default_factory=dict[int, str])


def calls_of(value: Value) -> list[ExampleCall]:
    """The calls that the result of ``inputs()`` or ``probe_inputs()`` describes."""
    if isinstance(value, Sequence) and value.kind == "list":
        items = value.items if value.items is not None else [value.element]
        return [as_call(item) for item in items]
    return [as_call(value)] if isinstance(value, Sequence) and value.kind == "tuple" else []


def as_call(value: Value) -> ExampleCall:
    """One call out of a tuple of arguments, or of ``(arguments, keywords)``."""
    if isinstance(value, Sequence) and value.items is not None:
        items = value.items
        if len(items) == 2 and isinstance(items[1], Dictionary) and isinstance(items[0], Sequence):
            return ExampleCall(tuple(items[0].items or ()), {str(k): v for k, v in items[1].entries.items()})
        return ExampleCall(tuple(items))
    return ExampleCall((value,), {"**": UNKNOWN})


def merge(calls: list[ExampleCall]) -> list[ExampleCall]:
    """Calls with equally many arguments become one, whose values stand for all of them."""
    groups: dict[tuple[int, tuple[str, ...]], list[ExampleCall]] = {}
    for call in calls:
        groups.setdefault((len(call.positional), tuple(sorted(call.keywords))), []).append(call)
    return [_merge(group) for group in groups.values()]


def _merge(group: list[ExampleCall]) -> ExampleCall:
    values: list[Value] = []
    variations: dict[int, str] = {}
    for index in range(len(group[0].positional)):
        value, variation = vary([call.positional[index] for call in group])
        values.append(value)
        if variation is not None:
            variations[index] = variation
    keywords = {name: vary([call.keywords[name] for call in group])[0] for name in group[0].keywords}
    return ExampleCall(tuple(values), keywords, variations)


def vary(values: list[Value]) -> tuple[Value, Optional[str]]:
    """One value for what an argument is over several calls, and what Dynamo compiles anew for, if anything."""
    first = values[0]
    if all(value == first for value in values):
        return (Number(first.kind, "varying"), None) if isinstance(first, Number) and _drawn(first) else (first, None)
    kinds = {number_kind(value) for value in values}
    if None not in kinds:
        if kinds == {"bool"}:
            return Number("bool", "argument"), None
        return Number("float" if "float" in kinds else "int", "varying"), None
    if all(is_text(value) for value in values):
        return Text(varying=True), "string"
    if all(isinstance(value, (Tensor, NdArray)) for value in values):
        return join_all(values), _tensor_variation(values)
    if all(isinstance(value, Sequence) for value in values):
        lengths = {len(v.items) if isinstance(v, Sequence) and v.items is not None else None for v in values}
        return join_all(values), "length" if len(lengths) > 1 else None
    if all(isinstance(value, Dictionary) for value in values):
        dictionaries = [v for v in values if isinstance(v, Dictionary)]
        if len({tuple(d.entries) for d in dictionaries}) > 1:
            return join_all(values), "keys"
        return Dictionary(
            {key: vary([d.entries[key] for d in dictionaries])[0] for key in dictionaries[0].entries}
        ), None
    known = [value for value in values if value != Const(None)]
    shapes = {type(value) if not isinstance(value, Instance) else value.cls for value in known}
    return join_all(values), "kind" if len(shapes) > 1 and UNKNOWN not in values else None


def _drawn(value: Number) -> bool:
    """A number computed in a comprehension over calls: another one at every call."""
    return value.origin == "computed" and value.kind != "bool"


def _tensor_variation(values: list[Value]) -> Optional[str]:
    dtypes = {getattr(value, "dtype", None) for value in values}
    ranks = {getattr(value, "rank", None) for value in values}
    if len(dtypes) > 1 and None not in dtypes:
        return "dtype"
    return "rank" if len(ranks) > 1 and None not in ranks else None
