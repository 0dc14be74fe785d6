"""The words for a probe's result: the device by every number, no number without a verdict, a wide interval as such."""

from __future__ import annotations

from typing import Any

import pytest
from compile_lens.probing import wording


def result(verdict: str, ratio: float | None = 1.58, low: float = 1.51, high: float = 1.66) -> dict[str, Any]:
    measurement: dict[str, Any] = {
        "variant": "inductor",
        "verdict": verdict,
        "eager_ms": 1.92,
        "ms": 1.21,
        "compile_s": 4.1,
    }
    if ratio is not None:
        measurement |= {"ratio": ratio, "low": low, "high": high, "break_even_calls": 5800}
    return {"device": "cpu", "breaks": [{}, {}], "measurements": [measurement]}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (result("faster"), "CPU 1.58x"),
        (result("slower", 0.83, 0.80, 0.86), "CPU 0.83x slower"),
        (result("faster", 7.52, 2.21, 9.19), "CPU 2.2-9.2x"),
        (result("no-clear-difference", 1.01, 0.99, 1.02), "CPU no clear difference"),
        (result("too-noisy", 1.3, 0.7, 2.2), "CPU too noisy to tell"),
        (result("recompiled", None), "not measured"),
        (None, "not measured"),
    ],
)
def test_short(given: dict[str, Any] | None, words: str) -> None:
    assert wording.short(given, "ok", "en") == words


def test_not_compiled_has_its_cause() -> None:
    why = {
        "message": "TORCHDYNAMO_DISABLE=1 in the environment switches torch.compile off.",
        "file": None,
        "line": None,
    }
    row = {"variant": "inductor", "verdict": "not-compiled", "note": why["message"]}
    result = {"device": "cpu", "graphs": 0, "breaks": [], "not_compiled": why, "measurements": [row]}
    assert wording.short(result, "ok", "en") == "not compiled"
    assert wording.short(result, "ok", "zh-cn") == "未编译"
    assert wording.lens(result, "ok", None, "en").startswith("not compiled: TORCHDYNAMO_DISABLE=1 in the environment")
    assert why["message"] in wording.detail(result, "ok", None, "en")


def test_no_number_of_a_run_that_failed() -> None:
    assert wording.short(result("faster"), "timeout", "en") == "not measured"


def test_lens_says_everything() -> None:
    line = "CPU: eager 1.92 ms, compiled 1.21 ms, 1.58x [1.51-1.66], inductor, 2 breaks, compile 4.1 s"
    assert wording.lens(result("faster"), "ok", None, "en") == line + ", repaid after 5,800 calls"
    wide = wording.lens(result("faster", 7.52, 2.21, 9.19), "ok", None, "en")
    assert "2.2-9.2x" in wide and "7.52" not in wide
    noisy = wording.lens(result("too-noisy", 3.23, 0.9, 5.0), "ok", None, "en")
    assert "too noisy to tell" in noisy and "3.23" not in noisy


def test_why_there_is_no_number() -> None:
    assert wording.lens(result("recompiled", None), "ok", None, "en").startswith("compiled again and again: not timed")
    failed = {**result("faster", None), "check": "fail"}
    assert wording.lens(failed, "ok", None, "en").startswith("results differ from eager: no speed-up shown")


UNOBSERVED: dict[str, Any] = {"target": "Net", "graphs": None, "breaks": [], "measurements": []}
NEEDS = (
    "Net needs the constructor arguments dim, heads, and nothing gives them. "
    "Write beside the class: def get_init_inputs(): return [dim, heads]"
)


def test_a_probe_that_observed_nothing_counts_nothing_and_ends_its_sentence() -> None:
    line = wording.lens(UNOBSERVED, "needs-inputs", NEEDS, "en")
    assert line == "Net needs the constructor arguments dim, heads, and nothing gives them"
    assert "breaks" not in wording.detail(UNOBSERVED, "needs-inputs", NEEDS, "en")
    assert "图中断" not in wording.lens(UNOBSERVED, "needs-inputs", NEEDS, "zh-cn")
    traced = {**UNOBSERVED, "graphs": 1}
    assert wording.lens(traced, "timeout", "Timing took too long.", "en") == "Timing took too long, 0 breaks"
    assert "graph breaks: 0" in wording.detail(traced, "timeout", None, "en")


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("torch.nn is missing", "torch.nn is missing"),
        ("Version 2.13 is wrong. Take 2.7.", "Version 2.13 is wrong"),
        ("Was it closed?\nMore.", "Was it closed"),
        ("缺少输入。请添加。", "缺少输入"),
        ("word " * 40, "word " * 21 + "word…"),
        ("x" * 300, "x" * 110 + "…"),
    ],
)
def test_first_sentence_is_whole(message: str, words: str) -> None:
    assert wording.first_sentence(message) == words
