"""Timing on functions whose relation is known: the same is the same, and slower is slower."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from compile_probe.devices import Cpu
from compile_probe.measure.timing import Measurement, Timer, measure
from compile_probe.targets.subject import Subject

A = torch.randn(96, 96)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads that wait for each other on a busy machine would be measured instead of the functions."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def work(x: torch.Tensor) -> torch.Tensor:
    return (x @ A).relu() @ A


def same_work(x: torch.Tensor) -> torch.Tensor:
    return (x @ A).relu() @ A


def more_work(x: torch.Tensor) -> torch.Tensor:
    return work(x) + work(x + 1)


def timed(target: Any, compiled: Any, budget: float = 1.0) -> Measurement:
    timer = Timer(Subject(target, train=False, device="cpu"), [((A,), {})], Cpu())
    return measure(timer, "variant", None, compiled, budget, 1.0, lambda pairs, seen: None)


def clear(target: Any, compiled: Any) -> Measurement:
    """Measure until it is not too noisy, as a user would: other programs run on this machine too."""
    return next(found for found in (timed(target, compiled) for _ in range(6)) if found.verdict != "too-noisy")


def test_the_same_is_neither_faster_nor_slower() -> None:
    verdicts = {timed(work, same_work).verdict for _ in range(5)}
    assert verdicts <= {"no-clear-difference", "too-noisy"}


def test_slower_and_faster_are_seen_with_their_ratio() -> None:
    slower = clear(work, more_work)
    assert slower.verdict == "slower"
    assert slower.ratio is not None and 0.2 < slower.ratio < 0.8
    assert slower.break_even_calls is None
    faster = clear(more_work, work)
    assert faster.verdict == "faster"
    assert faster.ratio is not None and 1.3 < faster.ratio < 5
    assert faster.eager_ms is not None and faster.ms is not None and faster.break_even_calls is not None
    saved = (faster.eager_ms - faster.ms) * faster.break_even_calls / 1e3
    assert 1.0 <= saved < 1.1  # what was given as seconds of compilation


def test_mutated_arguments_are_fresh_for_every_pass() -> None:
    seen: list[float] = []

    def accumulate(total: torch.Tensor) -> torch.Tensor:
        seen.append(float(total[0]))
        return total.add_(1)

    timer = Timer(Subject(accumulate, train=False, device="cpu"), [((torch.zeros(2),), {})], Cpu())
    measure(timer, "variant", None, accumulate, 0.1, None, lambda pairs, sample: None)
    assert set(seen) == {0.0}


def test_a_compilation_while_timing_leaves_no_number() -> None:
    count = [0]

    def target(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    compiled = torch.compile(lambda x, n: x + n, backend="eager", dynamic=False)

    def restless(x: torch.Tensor) -> torch.Tensor:
        count[0] += 1
        return compiled(x, count[0])

    found = timed(target, restless)
    assert (found.verdict, found.ratio) == ("recompiled", None)
    assert "ratio" not in found.keys()  # noqa: SIM118  (keys() makes the event)


def test_calls_of_a_pass_share_its_time() -> None:
    def nap(seconds: float) -> None:
        time.sleep(seconds)

    timer = Timer(Subject(nap, train=False, device="cpu"), [((0.002,), {})] * 4, Cpu())
    found = measure(timer, "variant", None, nap, 0.2, None, lambda pairs, seen: None)
    assert found.eager_ms is not None and 2 <= found.eager_ms < 6
