"""Checks that a compiled target does what the eager one does; a number without it would be worth nothing.

Eager runs twice with the generators seeded alike, which shows whether results can be compared at all; then compiled
code runs on the same calls and on changed data, so that a value baked in at the first call shows itself. Outputs,
arguments after the call, buffers, and in training mode gradients are compared.
"""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable, Optional

from ..nested import map_leaves
from ..targets.calls import Call, copy_call
from ..targets.loading import describe
from ..targets.subject import State, Subject
from ..untyped import torch
from . import comparison
from .comparison import Difference
from .snapshot import snapshot

SEEDS = (1, 2)
"""Seeds of the changed data."""

CHANGE = 0.05
"""Relative change of a float: enough to see, too little to leave the range that a mask or probability needs."""

REFERENCE_BYTES = 1 << 28
"""A float64 reference is only made of modules up to this size."""


@dataclass(frozen=True)
class Check:
    """Result for one variant; ``worst`` is the largest difference seen, acceptable or not."""

    variant: str
    status: str
    message: str
    worst: Optional[Difference] = None

    @property
    def hides_number(self) -> bool:
        """Whether a speed-up would be that of wrong results."""
        return self.status in ("fail", "error")


@dataclass(frozen=True)
class Trial:
    """What one series of calls gave and left behind."""

    outputs: list[Any]
    arguments: list[Any]
    buffers: dict[str, Any]
    gradients: dict[str, Any]
    drew_random: bool

    def facts(self) -> dict[str, Any]:
        """Everything that has to be the same."""
        return {
            "output": self.outputs,
            "argument": self.arguments,
            "buffer": self.buffers,
            "gradient": self.gradients,
        }


class Checker:
    """Compares variants of one subject on one series of calls with one pair of eager runs."""

    def __init__(self, subject: Subject, calls: Sequence[Call], state: State) -> None:
        self._subject = subject
        self._state = state
        self._calls = [*calls, *self._changed(calls)]
        self._eager = self._run(subject.target, self._calls)
        self._again = self._run(subject.target, self._calls)
        self._stable = not _worst(self._eager, self._again)[1]

    @property
    def drew_random(self) -> bool:
        """Whether the eager target drew from torch's generators: compiled code then has to draw the same way."""
        return self._eager.drew_random

    def check(self, variant: str, compiled: Callable[..., Any]) -> Check:
        """Run the compiled target and comparison."""
        try:
            trial = self._run(compiled, self._calls)
        except Exception as error:
            return Check(variant, "error", f"Eager works and compiled raises {describe(error)}.")
        worst, bad = _worst(self._eager, trial)
        if not self._stable:
            structural = [d for d in bad if d.absolute is None and "differ" not in d.what]
            if structural:
                return Check(variant, "fail", _sentence(structural[0]), structural[0])
            return Check(variant, "nondeterministic", "Two eager runs differ, so only types and shapes were compared.")
        if bad and not self._explained_by_rounding(trial, bad):
            return Check(variant, "fail", _sentence(bad[0]), bad[0])
        return Check(variant, "pass", "", worst)

    def _run(self, function: Callable[..., Any], calls: Sequence[Call]) -> Trial:
        """Make copies of the calls with every generator seeded and the state put back before and after."""
        subject = self._subject
        subject.restore(self._state)
        seed_generators(0)
        before = torch.get_rng_state()
        outputs: list[Any] = []
        arguments: list[Any] = []
        try:
            with torch.set_grad_enabled(subject.grad):
                for call in calls:
                    args, kwargs = copy_call(call)
                    outputs.append(snapshot(subject.call(function, (args, kwargs))))
                    arguments.append(snapshot([*args, *kwargs.values()]))
            drew = not torch.equal(before, torch.get_rng_state())
            return Trial(outputs, arguments, snapshot(subject.buffers()), snapshot(subject.gradients()), drew)
        finally:
            subject.restore(self._state)

    def _changed(self, calls: Sequence[Call]) -> list[Call]:
        """The calls on other data, as far as eager takes it without an exception."""
        changed: list[Call] = []
        for seed in SEEDS:
            generator = torch.Generator().manual_seed(seed)
            candidate = [_shifted(call, generator) for call in map(copy_call, calls)]
            try:
                self._run(self._subject.target, candidate)
            except Exception:  # the target refuses such data: then it is no test of it
                continue
            changed.extend(candidate)
        return changed

    def _explained_by_rounding(self, trial: Trial, bad: list[Difference]) -> bool:
        """Whether a float64 run is as far from eager as from compiled: then neither is wrong, both round."""
        subject = self._subject
        if subject.train or any(d.absolute is None or not d.path.startswith("output") for d in bad):
            return False
        try:
            target: Callable[..., Any] = subject.target
            if subject.module is not None:
                if sum(p.numel() * 8 for p in subject.parameters()) > REFERENCE_BYTES:
                    return False
                twin = copy.deepcopy(subject.module).double()
                name = getattr(target, "__name__", "")
                target = twin if target is subject.module else getattr(twin, name)
            seed_generators(0)
            with torch.no_grad():
                doubled = [_doubled(copy_call(call)) for call in self._calls]
                exact = [snapshot(target(*args, **kwargs)) for args, kwargs in doubled]
        except Exception:  # many targets cannot run in float64; then there is no reference
            return False
        return comparison.closer_to(exact, self._eager.outputs, trial.outputs)


def seed_generators(seed: int) -> None:
    """Seed Python's, torch's and, if the user has it, NumPy's generators."""
    random.seed(seed)
    torch.manual_seed(seed)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)


def _worst(expected: Trial, actual: Trial) -> tuple[Optional[Difference], list[Difference]]:
    """The largest difference of all, and those that rounding does not explain, largest first."""
    found: list[Difference] = []
    left, right = expected.facts(), actual.facts()
    for name, value in left.items():
        found.extend(comparison.differences(value, right[name], name))
    found.sort(key=lambda d: float("inf") if d.absolute is None else d.absolute, reverse=True)
    return (found[0] if found else None), [d for d in found if not d.acceptable]


def _sentence(difference: Difference) -> str:
    size = ""
    if difference.absolute is not None and difference.relative is not None:
        size = f" by {difference.absolute:.3g} ({difference.relative:.3g} of the value)"
    return f"Compiled differs from eager in {difference.path}: {difference.what}{size}."


def _shifted(call: Call, generator: Any) -> Call:
    """Change every float a little, each by its own factor; zeros, signs, shapes and integers stay."""

    def shift(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype in comparison.TOLERANCE and value.layout is torch.strided:
            noise = torch.rand(value.shape, generator=generator, dtype=torch.float64) * 2 - 1
            changed: Any = (value.detach() * (1 + CHANGE * noise.to(value.device))).to(value.dtype)
            return changed.requires_grad_(value.requires_grad)
        return value

    return map_leaves(call, shift)


def _doubled(call: Call) -> Call:
    def double(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            return value.double()
        return value

    return map_leaves(call, double)
