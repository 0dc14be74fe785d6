"""Runs a series of calls under ``torch.compile`` and tells what Dynamo did; in any process."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import Any, Callable, Optional

import torch
import torch._dynamo

from .. import untyped
from ..nested import leaves, map_leaves
from . import breaks, lines, recompiles
from .graphs import counting_eager
from .patches import Patches
from .recorder import Listener, Recorder
from .records import Observation

Call = tuple[tuple[Any, ...], dict[str, Any]]


def observe_calls(
    fn: Callable[..., Any],
    calls: Sequence[tuple[Sequence[Any], dict[str, Any]]],
    *,
    train: bool = False,
    grad: Optional[bool] = None,
    listener: Optional[Listener] = None,
    advanced: Optional[Callable[[], None]] = None,
) -> Observation:
    """Compile ``fn`` with a backend that only counts, make the calls in order, and return what was seen.

    ``calls`` are (args, kwargs), used as they are and once each; ``train`` also runs backward on the sum of the
    outputs. Gradients are recorded when ``grad`` says so, by default as ``train`` does. Dynamo is reset before and
    after. ``listener`` hears of each fact when it is seen, ``advanced`` of every line traced. Whatever the compiled
    call raises is kept in ``Observation.error`` and ends the series.
    """
    recorder = Recorder(listener, advanced)
    outputs: list[Any] = []
    error: Optional[BaseException] = None
    torch._dynamo.reset()
    with Patches(recorder.notes) as patches, torch.set_grad_enabled(train if grad is None else grad):
        for part in (breaks, recompiles, lines):
            part.install(patches, recorder)
        compiled = untyped.torch.compile(fn, backend=counting_eager(recorder))
        for recorder.call, (args, kwargs) in enumerate(calls):
            try:
                outputs.append(call_target(compiled, tuple(args), dict(kwargs), train))
            except Exception as caught:  # the target's own failure is a fact to report
                error = caught
                break
    torch._dynamo.reset()
    return recorder.finish(outputs, error)


def call_target(compiled: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], train: bool) -> Any:
    """Make one call, and its backward when training; user stacks begin below this frame (``stacks.ENTRY``)."""
    output = compiled(*args, **kwargs)
    if train:
        loss = total_of(output)
        if loss is not None:
            loss.backward()
    return output


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
