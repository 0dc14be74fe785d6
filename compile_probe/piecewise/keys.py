"""What a size key is read from: the sizes that a graph's inputs bring, and what a piece has beyond them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, Optional

from ..untyped import torch
from .pieces import CaptureKey

KeyReader = Callable[[Sequence[Any]], CaptureKey]

_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


def reader(values: Sequence[Any], known: frozenset[str] = frozenset()) -> tuple[Optional[KeyReader], frozenset[str]]:
    """A function that reads the key from real arguments, given the fake ones; None where nothing varies.

    Every expression of sizes that is not in ``known`` gives one member: a size argument itself, or a dimension or
    stride of a tensor. Numbers that are no tensors (``float``) belong to the key too: a capture bakes them in.
    Also returns the expressions that are known now.
    """
    seen = set(known)
    scalars: list[int] = []
    dimensions: list[tuple[int, int]] = []
    strides: list[tuple[int, int]] = []
    for index, value in enumerate(values):
        if isinstance(value, _SYMBOLIC) and _is_new(value, seen):
            scalars.append(index)
    for index, value in enumerate(values):
        if isinstance(value, torch.Tensor) and value.layout is torch.strided:
            dimensions += [(index, d) for d, size in enumerate(value.shape) if _is_new(size, seen)]
            strides += [(index, d) for d, size in enumerate(value.stride()) if _is_new(size, seen)]
    if not (scalars or dimensions or strides):
        return None, frozenset(seen)
    if not dimensions and not strides and len(scalars) == 1:
        only = scalars[0]
        return (lambda args: (args[only],)), frozenset(seen)

    def read(args: Sequence[Any]) -> CaptureKey:
        return (
            *[args[index] for index in scalars],
            *[args[index].shape[dimension] for index, dimension in dimensions],
            *[args[index].stride(dimension) for index, dimension in strides],
        )

    return read, frozenset(seen)


def _is_new(value: Any, seen: set[str]) -> bool:
    """Whether a size is symbolic and not determined by what was seen; notes it."""
    if not isinstance(value, _SYMBOLIC):
        return False
    expression = value.node.expr
    if expression.is_number:
        return False
    if str(expression) in seen or all(str(symbol) in seen for symbol in expression.free_symbols):
        return False
    seen.add(str(expression))
    return True
