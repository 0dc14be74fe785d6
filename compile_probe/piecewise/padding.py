"""Padding a call to the next captured size, where the rows of the result do not depend on each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, Optional

from ..inputs.sizing import Sizing
from ..nested import leaves, map_leaves
from ..targets.calls import Call
from ..untyped import torch


def next_size(size: int, captured: Sequence[int]) -> Optional[int]:
    """The least captured size that is at least ``size``."""
    return min((one for one in captured if one >= size), default=None)


def rows(output: Any, size: int, padded: int) -> Any:
    """The first rows of every tensor whose first dimension is the padded size."""

    def cut(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dim() and value.shape[0] == padded:
            return value[:size]
        return value

    return map_leaves(output, cut)


def unsafe(function: Callable[..., Any], sizing: Sizing, size: int, padded: int) -> str:
    """Why padding changes the result of a call, found by computing it both ways; empty where every row is the same."""
    args, kwargs = sizing.resized(size)
    expected = function(*args, **kwargs)
    more_args, more_kwargs = pad(sizing, (args, kwargs), padded)
    actual = rows(function(*more_args, **more_kwargs), size, padded)
    for row in range(size):
        for one, other in zip(leaves(expected), leaves(actual)):
            if not isinstance(one, torch.Tensor) or not one.dim() or one.shape != other.shape:
                return "a result is no tensor of rows"
            if not torch.allclose(one[row].double(), other[row].double(), rtol=1e-3, atol=1e-4, equal_nan=True):
                return f"row {row} of {size} changes when the call is padded to {padded}"
    return ""


def pad(sizing: Sizing, call: Call, padded: int) -> Call:
    """The call with rows added at the end: zeros, which no captured row may depend on."""
    number = -1

    def grow(value: Any) -> Any:
        nonlocal number
        if not isinstance(value, torch.Tensor):
            return value
        number += 1
        for index, dimension in sizing.dimensions:
            if index == number:
                tensor: Any = value
                missing = padded - tensor.shape[dimension]
                shape = [missing if d == dimension else n for d, n in enumerate(tensor.shape)]
                value = torch.cat((tensor, tensor.new_zeros(shape)), dimension)
        return value

    args, kwargs = call
    return map_leaves(args, grow), map_leaves(kwargs, grow)
