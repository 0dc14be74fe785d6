"""Statistics of paired timings, on numbers whose truth is known."""

from __future__ import annotations

import random

import pytest

from compile_probe.measure.estimate import THRESHOLD, Interval, interval, median, verdict


def noisy(true_ratio: float, count: int, seed: int, spread: float = 0.1, bursts: float = 0.1) -> list[float]:
    """Ratios of a machine with bursts of load: log-normal, and one in ten far off in either direction."""
    generator = random.Random(seed)
    ratios: list[float] = []
    for _ in range(count):
        ratio = true_ratio * generator.lognormvariate(0, spread)
        if generator.random() < bursts:
            ratio *= generator.choice((0.2, 5.0))
        ratios.append(ratio)
    return ratios


@pytest.mark.parametrize(("values", "expected"), [([3.0], 3.0), ([1.0, 2.0], 1.5), ([5.0, 1.0, 3.0], 3.0)])
def test_median(values: list[float], expected: float) -> None:
    assert median(values) == expected


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    covered = sum(
        found.low <= 1.3 <= found.high for found in (interval(noisy(1.3, 120, seed), seed) for seed in range(60))
    )
    assert covered >= 51  # 95 % of 60 is 57; fewer than 51 has a chance of about one in a thousand


def test_interval_narrows_with_more_pairs_and_says_nothing_of_two() -> None:
    few, many = interval(noisy(1.0, 30, 1)), interval(noisy(1.0, 1000, 1))
    assert many.half_width < few.half_width / 3
    assert interval([1.0, 1.1]).half_width == float("inf")


def test_interval_is_the_same_for_the_same_numbers() -> None:
    assert interval(noisy(1.0, 50, 3)) == interval(noisy(1.0, 50, 3))


QUIET = Interval(1.0, 0.998, 1.002)


@pytest.mark.parametrize(
    ("low", "high", "control", "expected"),
    [
        (1.05, 1.08, QUIET, "faster"),
        (0.90, 0.95, QUIET, "slower"),
        (0.99, 1.01, QUIET, "no-clear-difference"),
        (1.01, 1.025, QUIET, "no-clear-difference"),
        (0.80, 1.25, QUIET, "too-noisy"),
        (1.04, 1.08, Interval(1.05, 1.03, 1.09), "too-noisy"),  # no more than the control shows without a difference
        (1.50, 1.60, Interval(1.05, 0.95, 1.09), "faster"),  # far more than it
        (0.5, 0.6, Interval(1.0, 0.9, 1.1), "slower"),
    ],
)
def test_verdict_comes_from_the_intervals(low: float, high: float, control: Interval, expected: str) -> None:
    assert verdict(Interval((low + high) / 2, low, high), control) == expected


def test_threshold_is_three_percent() -> None:
    assert pytest.approx(0.03) == THRESHOLD
