"""The targets of ``cases/``, with what has to come out of each (``expected.json``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from .conftest import CASES, Ended, run

EXPECTED: list[dict[str, Any]] = json.loads((CASES / "expected.json").read_text())

WITH_INDUCTOR = ("conventions_model.py::Model", "dropout_train.py::Noisy", "wrong_result.py::jitter")
"""The rest runs with a backend that needs no C++ compiler: what is tested is the probe, not Inductor."""


@pytest.fixture(scope="module")
def runs() -> Iterator[dict[str, Future[Ended]]]:
    """All cases, two at a time: most of their seconds go into importing torch."""
    with ThreadPoolExecutor(2) as pool:
        yield {case["case"]: pool.submit(_run, case) for case in EXPECTED}


def _run(case: dict[str, Any]) -> Ended:
    backend = [] if case["case"] in WITH_INDUCTOR else ["--backend", "aot_eager"]
    return run(str(CASES / case["case"]), "--budget", "1", *backend, *case.get("args", []))


@pytest.mark.parametrize("case", EXPECTED, ids=lambda case: case["case"])
def test_case(case: dict[str, Any], runs: dict[str, Future[Ended]]) -> None:
    ended = runs[case["case"]].result()
    done, result = ended.done, ended.result

    assert done["status"] == case["status"], done["message"]
    assert ended.code == {"ok": 0, "needs-inputs": 3}.get(case["status"], 1)
    for key in ("stage", "signal", "line"):
        if key in case:
            assert done[key] == case[key]
    if "source" in case:
        assert result["source"] == case["source"]
    if "sizes" in case:
        assert result["sizes"] == case["sizes"]
        assert [m["size"] for m in result["measurements"]] == [f"B={size}" for size in case["sizes"]]
    if "message_has" in case:
        assert case["message_has"] in done["message"]

    seen = {(one["line"], one["gb_id"]) for one in result["breaks"]}
    if "breaks" in case:
        assert seen == {(one["line"], one["gb_id"]) for one in case["breaks"]}
        for one in case["breaks"]:
            if "frame_skipped" in one:
                assert {b["frame_skipped"] for b in result["breaks"]} == {one["frame_skipped"]}
    for one in case.get("breaks_at_least", []):
        assert one["line"] in {line for line, _ in seen}
    if "graphs" in case:
        assert result["graphs"] == case["graphs"]
    assert len(result["recompiles"]) >= case.get("recompiles_at_least", 0)

    if "check" in case:
        assert result["check"] == case["check"], result["checks"]
    if "check_in" in case:
        assert result["check"] in case["check_in"], result["checks"]
    verdicts = {one["verdict"] for one in result["measurements"]}
    assert case.get("verdict_not") not in verdicts
    if "verdict" in case:
        assert verdicts == {case["verdict"]}
    if verdicts == {"not-compiled"}:
        assert result["not_compiled"]["message"]
        assert not any("ratio" in one for one in result["measurements"])
    elif "speedup" in case:
        assert verdicts == {"not-measured"}
        assert not any("ratio" in one for one in result["measurements"])
    elif case["status"] == "ok" and "recompiles_at_least" not in case:
        assert all(one["low"] <= one["ratio"] <= one["high"] for one in result["measurements"])
        assert result["measurements"]


def test_flood_is_capped_and_counted(runs: dict[str, Future[Ended]]) -> None:
    logs = runs["prints_flood.py::f"].result().of("log")
    relayed = sum(len(one["text"]) for one in logs)
    dropped = sum(one["dropped"] for one in logs)
    assert relayed <= 64 * 1024 * 2  # one cap for each of the two workers
    assert relayed + dropped >= 2 * 50 * 1_000_000


def test_nothing_is_written_beside_the_sources(runs: dict[str, Future[Ended]]) -> None:
    for future in runs.values():
        future.result()
    assert not list(CASES.rglob("__pycache__"))


def test_stages_come_in_order_and_breaks_are_told_when_seen(runs: dict[str, Future[Ended]]) -> None:
    events = runs["explicit_function.py::step"].result().events
    assert events[0]["type"] == "hello"
    started = [one["name"] for one in events if one["type"] == "stage" and one["state"] == "start"]
    assert started == ["load", "inputs", "eager", "trace", "compile", "check", "measure"]
    order = [one["type"] for one in events]
    assert order.index("versions") < order.index("inputs") < order.index("break") < order.index("measurement")
