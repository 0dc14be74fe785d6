"""Statistics of paired timings: the ratio with its interval, and what may be concluded from it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
RESAMPLES = 600
BLOCK = 4
"""Neighbouring pairs share the weather of the machine, so they are drawn together."""

THRESHOLD = 0.03
"""Relative difference below which nobody should care."""


@dataclass(frozen=True)
class Interval:
    """Median of per-pair ratios with its bootstrap interval at ``CONFIDENCE``."""

    ratio: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of the interval, relative to the ratio."""
        return (self.high - self.low) / (2 * self.ratio) if self.ratio else float("inf")


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two in the middle."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def interval(ratios: Sequence[float], seed: int = 0) -> Interval:
    """Bootstrap the median of per-pair ratios over blocks of neighbours.

    Medians of ratios stay put under bursts of load, where minima and ratios of medians do not. Few values give a wide
    interval: one or two give (0, infinity).
    """
    if len(ratios) < 3:
        return Interval(median(ratios), 0.0, float("inf"))
    generator = random.Random(seed)
    block = max(1, min(BLOCK, len(ratios) // 8))
    starts = range(len(ratios) - block + 1)
    count = -(-len(ratios) // block)
    medians: list[float] = []
    for _ in range(RESAMPLES):
        sample: list[float] = []
        for start in generator.choices(starts, k=count):
            sample.extend(ratios[start : start + block])
        medians.append(median(sample))
    medians.sort()
    tail = (1 - CONFIDENCE) / 2
    low = medians[int(tail * (RESAMPLES - 1))]
    high = medians[-1 - int(tail * (RESAMPLES - 1))]
    return Interval(median(ratios), low, high)


def verdict(measured: Interval, control: Interval) -> str:
    """``faster``, ``slower``, ``no-clear-difference`` or ``too-noisy``, from the intervals and never from the point.

    ``control`` is eager against eager in the same loop: how far it strays from 1 is what this machine invents, so a
    difference has to exceed that as well as ``THRESHOLD``.
    """
    margin = max(THRESHOLD, control.high - 1, 1 - control.low)
    if measured.low > 1 + margin:
        return "faster"
    if measured.high < 1 - margin:
        return "slower"
    if margin > 2 * THRESHOLD or measured.half_width > THRESHOLD:
        return "too-noisy"
    return "no-clear-difference"


def thinned(ratios: Sequence[float], most: int = 400) -> list[float]:
    """At most ``most`` of the ratios, for a look in passing: the full bootstrap is for the end."""
    if len(ratios) <= most:
        return list(ratios)
    step = len(ratios) / most
    return [ratios[int(index * step)] for index in range(most)]
