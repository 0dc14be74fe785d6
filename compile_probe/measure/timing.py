"""Times eager against compiled in pairs of single calls, in random order, with eager against eager as control.

Blocks of one after the other measure the neighbours on the machine more than the code: of forty such runs of two
identical functions most were off by more than 5 %, of single-call pairs in random order none.
"""

from __future__ import annotations

import gc
import math
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Callable, Optional

from ..devices import Device
from ..observe import compiles
from ..targets.calls import Call, copy_call
from ..targets.subject import Subject
from ..untyped import torch
from . import estimate
from .estimate import Interval
from .silence import silenced

SAMPLE_SECONDS = 2e-4
"""A sample shorter than this repeats its calls: the clock and the loop would be part of it."""

MOST_REPETITIONS = 1000
LEAST_PAIRS = 5
ENOUGH_PAIRS = 50
MOST_PAIRS = 2000
TARGET_HALF_WIDTH = 0.01
QUIET_PASSES = 3
"""Passes without a compilation after which warming up is over."""

REPORT_SECONDS = 0.25

_NUMBERS = ("eager_ms", "ms", "ratio", "low", "high")

Report = Callable[[int, Interval], None]


@dataclass(frozen=True)
class Measurement:
    """Result for one variant and size. Times are milliseconds a call; ``ratio`` is None where no number is due."""

    variant: str
    size: Optional[str]
    verdict: str
    eager_ms: Optional[float] = None
    ms: Optional[float] = None
    ratio: Optional[float] = None
    low: Optional[float] = None
    high: Optional[float] = None
    confidence: float = estimate.CONFIDENCE
    pairs: int = 0
    control: Optional[Interval] = None
    compile_s: Optional[float] = None
    break_even_calls: Optional[int] = None
    covered: Optional[float] = None
    note: str = ""

    def keys(self) -> dict[str, Any]:
        """For an event: numbers that are not due are left out, so that no reader takes a null for one."""
        return {name: value for name, value in asdict(self).items() if value is not None or name not in _NUMBERS}


@dataclass(frozen=True)
class Warm:
    """How warming up went: the passes that compiled something, their seconds, and whether it came to rest."""

    compiling_s: float
    compiling_passes: int
    settled: bool


class Timer:
    """Times passes over the calls of one size."""

    def __init__(self, subject: Subject, calls: Sequence[Call], device: Device) -> None:
        self._subject = subject
        self._device = device
        self._calls = [copy_call(call) for call in calls]
        self._mutates = self._finds_mutation()

    @property
    def number_of_calls(self) -> int:
        """Calls in a pass."""
        return len(self._calls)

    def warm(self, function: Callable[..., Any], progress: Callable[[int], None]) -> Warm:
        """Call until nothing is compiled any more, or it is clear that this will not come."""
        total = 0.0
        compiling = quiet = 0
        for index in range(4 * compiles.limit()):
            before = compiles.count()
            seconds = self._pass(function, 1)
            progress(index)
            if compiles.count() == before:
                quiet += 1
                if quiet == QUIET_PASSES:
                    return Warm(total, compiling, settled=compiling < compiles.limit())
            else:
                quiet = 0
                compiling += 1
                total += seconds
        return Warm(total, compiling, settled=False)

    def eager_seconds(self) -> float:
        """Seconds of a warm eager pass."""
        return estimate.median([self._pass(self._subject.target, 1) for _ in range(3)])

    def pairs(
        self, compiled: Callable[..., Any], budget: float, report: Report
    ) -> tuple[list[tuple[float, float, float]], bool]:
        """Time (eager, eager again, compiled) seconds a pass in random order until the ratio is known or time is up.

        The second value tells whether something was compiled meanwhile, which ends it.
        """
        eager = self._subject.target
        repetitions = self._repetitions(eager, compiled)
        generator = random.Random(0)
        rounds: list[tuple[float, float, float]] = []
        compiled_before = compiles.count()
        begin = reported = time.perf_counter()
        collecting = gc.isenabled()
        gc.collect()
        gc.disable()
        try:
            while len(rounds) < MOST_PAIRS:
                order = [0, 1, 2]
                generator.shuffle(order)
                seconds = [0.0, 0.0, 0.0]
                for which in order:
                    seconds[which] = self._pass(compiled if which == 2 else eager, repetitions)
                rounds.append((seconds[0], seconds[1], seconds[2]))
                if compiles.count() != compiled_before:
                    return rounds, True
                now = time.perf_counter()
                if now - reported >= REPORT_SECONDS and len(rounds) >= LEAST_PAIRS:
                    seen = estimate.interval(estimate.thinned([one[0] / one[2] for one in rounds]))
                    report(len(rounds), seen)
                    reported = time.perf_counter()
                    if len(rounds) >= ENOUGH_PAIRS and seen.half_width < TARGET_HALF_WIDTH:
                        break
                if now - begin > budget and len(rounds) >= LEAST_PAIRS:
                    break
        finally:
            if collecting:
                gc.enable()
        return rounds, False

    def _pass(self, function: Callable[..., Any], repetitions: int) -> float:
        """Seconds of one pass over the calls, mean of ``repetitions``; copying and clearing stand outside."""
        subject = self._subject
        calls = [copy_call(call) for call in self._calls] if self._mutates else self._calls
        subject.clear_gradients()
        with torch.set_grad_enabled(subject.grad):
            self._device.synchronize()
            begin = time.perf_counter()
            for _ in range(repetitions):
                for call in calls:
                    subject.call(function, call)
            self._device.synchronize()
            return (time.perf_counter() - begin) / repetitions

    def _repetitions(self, eager: Callable[..., Any], compiled: Callable[..., Any]) -> int:
        if self._mutates or self._subject.train:
            return 1
        fastest = min(self._pass(function, 1) for function in (eager, compiled) for _ in range(3))
        return max(1, min(MOST_REPETITIONS, math.ceil(SAMPLE_SECONDS / max(fastest, 1e-7))))

    def _finds_mutation(self) -> bool:
        """Whether the target changes its arguments: then every pass needs copies."""
        trial = [copy_call(call) for call in self._calls]
        versions = [_versions(call) for call in trial]
        with torch.set_grad_enabled(self._subject.grad):
            for call in trial:
                self._subject.call(self._subject.target, call)
        self._subject.clear_gradients()
        return versions != [_versions(call) for call in trial]


def measure(
    timer: Timer,
    variant: str,
    size: Optional[str],
    compiled: Callable[..., Any],
    budget: float,
    compile_s: Optional[float],
    report: Report,
) -> Measurement:
    """Time a variant that is warm and was found correct; ``compile_s`` is what its cold compilation took."""
    with silenced():
        rounds, recompiled = timer.pairs(compiled, budget, report)
    if recompiled:
        return unsettled(variant, size, compile_s)
    measured = estimate.interval([eager / fast for eager, _, fast in rounds])
    control = estimate.interval([eager / again for eager, again, _ in rounds])
    eager_ms = 1e3 * estimate.median([one[0] for one in rounds]) / timer.number_of_calls
    ms = eager_ms / measured.ratio
    break_even = None
    verdict = estimate.verdict(measured, control)
    if compile_s is not None and verdict == "faster":
        break_even = math.ceil(1e3 * compile_s / (eager_ms - ms))
    return Measurement(
        variant=variant,
        size=size,
        verdict=verdict,
        eager_ms=eager_ms,
        ms=ms,
        ratio=measured.ratio,
        low=measured.low,
        high=measured.high,
        pairs=len(rounds),
        control=control,
        compile_s=compile_s,
        break_even_calls=break_even,
    )


def unsettled(variant: str, size: Optional[str], compile_s: Optional[float]) -> Measurement:
    """The result where compilation never comes to rest: a time would be that of the compiler."""
    note = "It is compiled again and again with these inputs; the recompiles name the guards."
    return Measurement(variant=variant, size=size, verdict="recompiled", compile_s=compile_s, note=note)


def not_compiled(variant: str, size: Optional[str], why: str) -> Measurement:
    """The result where no graph was compiled: a time would be that of eager against eager."""
    return Measurement(variant=variant, size=size, verdict="not-compiled", note=why)


def hidden(variant: str, size: Optional[str], compile_s: Optional[float], why: str) -> Measurement:
    """The result where the check failed: the speed of wrong results is none."""
    return Measurement(variant=variant, size=size, verdict="not-measured", compile_s=compile_s, note=why)


def _versions(call: Call) -> list[int]:
    """Version counters of the tensors of a call, which torch raises with every change in place."""
    args, kwargs = call
    tensors: list[Any] = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
    return [tensor._version for tensor in tensors]
