"""The calls of a target: their arguments, copied so that no call sees what another changed."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import Any

from ..nested import leaves, map_leaves
from ..untyped import torch

Call = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments."""


def total_of(output: Any) -> Any:
    """The sum of every output that can be differentiated, or None where there is none."""
    tensors = [leaf for leaf in leaves(output) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    if not tensors:
        return None
    return sum(tensor.abs().sum() if tensor.is_complex() else tensor.sum() for tensor in tensors)


def fresh_calls(calls: Sequence[Call], at_least: int = 5) -> list[Call]:
    """Cycle through ``calls`` until there are ``at_least`` of them (and each came once), with copies of the tensors.

    Every second value of a counter, a length or a flag shows itself only on later calls; five are what it takes for
    Dynamo's automatic dynamic shapes to settle.
    """
    number = max(at_least, len(calls))
    return [copy_call(calls[index % len(calls)]) for index in range(number)]


def copy_call(call: Call) -> Call:
    """Copy a call so that what the target changes in its arguments stays there; what cannot be copied is shared."""
    memo: dict[int, Any] = {}

    def copied(value: Any) -> Any:
        if id(value) in memo:
            return memo[id(value)]
        if isinstance(value, torch.nn.Module) or inspect.isroutine(value) or inspect.isclass(value):
            return value
        try:
            if isinstance(value, torch.Tensor) and not value.is_leaf:
                memo[id(value)] = value.detach().clone().requires_grad_(value.requires_grad)
            else:
                memo[id(value)] = copy.deepcopy(value)
        except Exception:  # an arbitrary object of the user's may refuse in any way
            memo[id(value)] = value
        return memo[id(value)]

    args, kwargs = call
    return map_leaves(args, copied), map_leaves(kwargs, copied)
