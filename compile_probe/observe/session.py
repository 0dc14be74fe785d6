"""Runs a series of calls under ``torch.compile`` and tells what Dynamo did; in any process."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Callable, Optional

import torch
import torch._dynamo

from .. import untyped
from ..targets import uncompiled
from ..targets.calls import copy_call, total_of
from . import breaks, lines, recompiles
from .graphs import counting_eager
from .patches import Patches
from .recorder import Listener, Recorder
from .records import Observation

COVER_PASSES = 5
COVER_SECONDS = 0.5
"""Passes for the share of time in graphs, and seconds after which no more are begun."""


def observe_calls(
    fn: Callable[..., Any],
    calls: Sequence[tuple[Sequence[Any], dict[str, Any]]],
    *,
    train: bool = False,
    grad: Optional[bool] = None,
    compiles_inside: bool = False,
    cover: bool = False,
    backend: Optional[str] = None,
    listener: Optional[Listener] = None,
    advanced: Optional[Callable[[], None]] = None,
) -> Observation:
    """Compile ``fn`` with a backend that only counts, make the calls in order, and return what was seen.

    ``calls`` are (args, kwargs), used as they are and once each; ``train`` also runs backward on the sum of the
    outputs. Gradients are recorded when ``grad`` says so, by default as ``train`` does. ``compiles_inside`` passes over
    what ``fn`` itself compiles when it runs; ``cover`` measures ``Observation.covered``. Dynamo is reset before and
    after. ``listener`` hears of each fact when it is seen, ``advanced`` of every line traced. Whatever the compiled
    call raises is kept in ``Observation.error`` and ends the series. With a ``backend`` of torch's the graphs go there
    and are not seen.
    """
    recorder = Recorder(listener, advanced)
    outputs: list[Any] = []
    error: Optional[BaseException] = None
    torch._dynamo.reset()
    with Patches(recorder.notes) as patches, torch.set_grad_enabled(train if grad is None else grad):
        for part in (breaks, recompiles, lines):
            part.install(patches, recorder)
        compiled = untyped.torch.compile(fn, backend=backend or counting_eager(recorder))
        for recorder.call, (args, kwargs) in enumerate(calls):
            try:
                with uncompiled.passing_over_all() if compiles_inside else contextlib.nullcontext():
                    outputs.append(call_target(compiled, tuple(args), dict(kwargs), train))
            except Exception as caught:  # the target's own failure is a fact to report
                error = caught
                break
        observation = recorder.finish(outputs, error)
        recorder.mute()
        if cover and error is None and recorder.graphs and recorder.left_something:
            observation = replace(observation, covered=_covered(recorder, fn, compiled, calls[-1], train))
    torch._dynamo.reset()
    return observation


def _covered(recorder: Recorder, fn: Any, compiled: Any, call: Any, train: bool) -> Optional[float]:
    """The share of an eager call's time that the graphs take when they run as they are."""
    shares: list[float] = []
    args, kwargs = call
    begin = time.perf_counter()
    while len(shares) < COVER_PASSES and (not shares or time.perf_counter() - begin < COVER_SECONDS):
        try:
            recorder.graph_seconds = 0.0
            again = copy_call((tuple(args), dict(kwargs)))
            call_target(compiled, *again, train)
            again = copy_call((tuple(args), dict(kwargs)))
            eager = time.perf_counter()
            call_target(fn, *again, train)
            shares.append(min(1.0, recorder.graph_seconds / max(1e-9, time.perf_counter() - eager)))
        except Exception:  # the arguments may be used up by the calls before
            return None
    return sorted(shares)[len(shares) // 2]


def call_target(compiled: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], train: bool) -> Any:
    """Make one call, and its backward when training; user stacks begin below this frame (``stacks.ENTRY``)."""
    output = compiled(*args, **kwargs)
    if train:
        loss = total_of(output)
        if loss is not None:
            loss.backward()
    return output
