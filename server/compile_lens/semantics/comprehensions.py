"""Comprehensions: unrolled in host code where what they iterate over is known, else one step stands for all."""

from __future__ import annotations

from collections.abc import Iterator as Steps
from typing import Optional
from typing import Union as Either

import libcst as cst

from .frames import Block, Frame
from .iteration import iterate
from .narrowing import narrow
from .scopes import Scope
from .values import Dictionary, Iterator, Sequence, Value, join_all

MAX_UNROLLED = 32

Comprehension = Either[cst.ListComp, cst.SetComp, cst.GeneratorExp, cst.DictComp]
_KINDS: dict[type, str] = {
    cst.ListComp: "list",
    cst.SetComp: "set",
    cst.GeneratorExp: "generator",
    cst.DictComp: "dict",
}


class _Unknown(Exception):
    """What a comprehension iterates over, or filters by, is not known."""


def comprehension(frame: Frame, node: Comprehension) -> Value:
    """Value of a comprehension; a frame of its own in Python before 3.12."""
    kind = _KINDS[type(node)]
    outer, conditional = frame.scope, frame.conditional
    frame.scope = Scope(outer)
    frame.blocks.append(Block("comprehension", node))
    try:
        if not frame.traced:
            try:
                return _collect(kind, [_step(frame, node) for _ in _unroll(frame, node.for_in)])
            except _Unknown:
                frame.scope = Scope(outer)
        return _joined(frame, node, kind)
    finally:
        frame.blocks.pop()
        frame.scope, frame.conditional = outer, conditional


def _step(frame: Frame, node: Comprehension) -> tuple[Optional[Value], Value]:
    evaluate = frame.interpreter.evaluate
    if isinstance(node, cst.DictComp):
        return evaluate(frame, node.key), evaluate(frame, node.value)
    return None, evaluate(frame, node.elt)


def _collect(kind: str, steps: list[tuple[Optional[Value], Value]]) -> Value:
    if kind == "dict":
        result = Dictionary()
        for key, value in steps:
            if key is not None:
                result.store(key, value)
        return result
    values = [value for _, value in steps]
    if kind == "generator":
        return Iterator(join_all(values), "generator")
    return Sequence(kind, values if kind == "list" else None, join_all(values))


def _unroll(frame: Frame, for_in: cst.CompFor) -> Steps[None]:
    """Bind the targets for every step in turn. Raises `_Unknown`."""
    iterated = frame.interpreter.evaluate(frame, for_in.iter)
    if not isinstance(iterated, Sequence) or iterated.items is None or len(iterated.items) > MAX_UNROLLED:
        raise _Unknown
    for item in iterated.items:
        frame.interpreter.assign(frame, for_in.target, item)
        verdicts = [frame.interpreter.test(frame, c.test, "comprehension", c) for c in for_in.ifs]
        if None in verdicts:
            raise _Unknown
        if all(verdicts):
            if for_in.inner_for_in is None:
                yield
            else:
                yield from _unroll(frame, for_in.inner_for_in)


def _joined(frame: Frame, node: Comprehension, kind: str) -> Value:
    """One step with joined values stands for all of them."""
    for_in: Optional[cst.CompFor] = node.for_in
    count: Optional[int] = None
    while for_in is not None:
        iterated = frame.interpreter.evaluate(frame, for_in.iter)
        known = for_in is node.for_in and for_in.inner_for_in is None and not for_in.ifs
        if known and isinstance(iterated, Sequence) and iterated.items is not None:
            count = len(iterated.items)
        frame.interpreter.assign(frame, for_in.target, iterate(frame, for_in.iter, iterated))
        for condition in for_in.ifs:
            verdict = frame.interpreter.test(frame, condition.test, "comprehension", condition)
            frame.conditional += verdict is None
            narrow(frame, condition.test, True)
        for_in = for_in.inner_for_in
    frame.conditional += 1
    _, element = _step(frame, node)
    if kind == "dict":
        result = Dictionary(exact=False)
        result.element = element
        return result
    if kind == "generator":
        return Iterator(element, "generator")
    items = [element] * count if kind == "list" and count is not None and count <= MAX_UNROLLED else None
    return Sequence(kind, items, element)
