"""Every rule is proven by effect: its examples run through the real Dynamo, and through our scanner.

INVALID does what the rule says, where it says; VALID and FIXED run in default mode without a break, and on torch 2.13
under ``error_on_graph_break`` too; FIXED gives the results of INVALID.
"""

from __future__ import annotations

import random
from typing import Any

import numpy
import pytest
import torch
from compile_lens.findings.scan import Options, scan
from compile_lens.rules.registry import RULES
from compile_lens.rules.rule import Example, Rule
from compile_lens.text.source import Source

from compile_probe.observe import Observation, observe_calls

from .conftest import calls, entry

MARK = "# breaks"


def examples(kind: str) -> list[Any]:
    found = []
    for rule in RULES.values():
        for index, example in enumerate(getattr(rule, "valid" if kind == "valid" else "invalid")):
            if kind != "fixed" or example.fixed:
                found.append(pytest.param(rule, example, id=f"{rule.code}-{kind}-{index}"))
    return found


def marked(text: str) -> set[int]:
    return {number for number, line in enumerate(text.splitlines(), 1) if MARK in line}


def scanned(text: str, rule: Rule) -> list[Any]:
    analysis = scan(Source("example.py", text), Options(scope="all"))
    assert analysis.error is None
    return [f for f in analysis.findings if f.code == rule.code]


def scanned_breaks(text: str) -> set[int]:
    analysis = scan(Source("example.py", text), Options(scope="all"))
    return {f.range.start.line + 1 for f in analysis.findings if f.effect == "graph-break"}


def observe(module: Any, example: Example) -> Observation:
    observation = observe_calls(entry(module), calls(module, max(example.calls, 2)))
    assert observation.error is None, f"the compiled call raised {observation.error!r}"
    return observation


def uses_assertion(rule: Rule) -> bool:
    return rule.effect in ("misuse", "performance", "contract", "info")


@pytest.mark.parametrize(("rule", "example"), examples("invalid"))
def test_invalid_does_what_the_rule_says(rule: Rule, example: Example, load: Any) -> None:
    module = load(example.code)
    if uses_assertion(rule) or hasattr(module, "assertion"):
        module.assertion(captured_operations)
        assert scanned(example.code, rule), "the scanner does not see it"
        return
    if rule.effect == "wrong-result":
        assert not compiled_equals_eager(module, example), "the compiled code gives the right results"
        assert scanned(example.code, rule), "the scanner does not see it"
        return
    observation = observe(module, example)
    if rule.effect == "recompile":
        assert observation.recompiles, "it was compiled once only"
        assert scanned(example.code, rule), "the scanner does not see it"
        return
    assert rule.effect == "graph-break", f"no proof is written for effect {rule.effect}"
    own = [b for b in observation.breaks if b.file == module.__file__]
    lines = {b.line for b in own}
    assert lines == marked(example.code), [(b.line, b.gb_type) for b in own]
    expected = example.gb_types or rule.gb_types
    assert {b.gb_type for b in own} <= set(expected), "Dynamo gives another reason"
    findings = scanned(example.code, rule)
    assert {f.range.start.line + 1 for f in findings} == lines, "the scanner sees other lines"
    for finding in findings:
        seen = [b for b in own if b.line == finding.range.start.line + 1]
        assert finding.frame_skipped == any(b.frame_skipped for b in seen), "the cost is not what the message says"
        assert {b.gb_type for b in seen} & set(finding.gb_types), "the finding names another reason"


@pytest.mark.parametrize(("rule", "example"), examples("valid"))
def test_valid_runs_in_one_piece(rule: Rule, example: Example, load: Any) -> None:
    if uses_assertion(rule) or "def assertion(" in example.code:
        load(example.code).assertion(captured_operations)
        assert not scanned(example.code, rule)
        return
    observation = observe(load(example.code), example)
    assert not observation.breaks and observation.graphs
    if rule.effect == "recompile":
        assert not observation.recompiles
    assert not scanned(example.code, rule) and not scanned_breaks(example.code)
    runs_without_break(load(example.code), example)


@pytest.mark.parametrize(("rule", "example"), examples("fixed"))
def test_fixed_runs_in_one_piece_with_equal_results(rule: Rule, example: Example, load: Any) -> None:
    assert example.fixed is not None
    fixed = load(example.fixed)
    assert not scanned(example.fixed, rule)
    if uses_assertion(rule) or hasattr(fixed, "assertion"):
        fixed.assertion(captured_operations)
        return
    observation = observe(fixed, example)
    assert not observation.breaks and observation.graphs
    if rule.effect == "recompile":
        assert not observation.recompiles
    assert not scanned_breaks(example.fixed)
    runs_without_break(load(example.fixed), example)
    if rule.effect == "wrong-result":
        assert compiled_equals_eager(load(example.fixed), example)
        return
    same_results(load(example.code), load(example.fixed), rule, example)


def captured_operations(target: Any, *arguments: Any) -> int:
    """Operations that Dynamo put into graphs while ``target``, which is compiled already or not at all, was called."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    with torch.no_grad():
        target(*arguments)
    return torch._dynamo.utils.counters["stats"]["calls_captured"]


def compiled_equals_eager(module: Any, example: Example) -> bool:
    """Are the results of compiled and eager calls from one seed on the same?"""
    results = []
    for target in (entry(module), torch.compile(entry(module), backend="eager")):
        torch._dynamo.reset()
        torch.manual_seed(0)
        numpy.random.seed(0)
        random.seed(0)
        with torch.no_grad():
            results.append([target(*positional) for positional, _ in calls(module, example.calls)])
    return all(torch.equal(a, b) for a, b in zip(*results))


def runs_without_break(module: Any, example: Example) -> None:
    """Dynamo itself raises at a break; ``fullgraph=True`` would prove nothing, since it captures more."""
    torch._dynamo.reset()
    compiled = torch.compile(entry(module), backend="eager")
    with torch._dynamo.error_on_graph_break(True), torch.no_grad():
        for positional, keywords in calls(module, example.calls):
            compiled(*positional, **keywords)


def same_results(original: Any, fixed: Any, rule: Rule, example: Example) -> None:
    first, second = entry(original), entry(fixed)
    with torch.no_grad():
        for (a, _), (b, _) in zip(calls(original, example.calls), calls(fixed, example.calls)):
            # Types of numbers may differ: a rewrite keeps a tensor where there was a Python number.
            torch.testing.assert_close(first(*a), second(*b), check_dtype=False, msg=rule.code)
