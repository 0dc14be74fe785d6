"""The page of a rule: generated from the rule itself, for ``compile-lens rule``, hovers and ``docs/rules``."""

from __future__ import annotations

from .rule import Rule


def markdown(rule: Rule) -> str:
    """Everything that a rule says of itself, with its proven examples."""
    lines = [
        f"# {rule.code} {rule.name}",
        "",
        f"{rule.summary.en} ({rule.summary.zh}).",
        "",
        f"Effect: {rule.effect}. Proven on torch {', '.join(rule.proven_on)}{_bounds(rule)}.",
    ]
    if rule.gb_types:
        lines.append("Dynamo calls it: " + ", ".join(f"*{name}*" for name in rule.gb_types) + ".")
    lines += ["", rule.explanation.strip(), ""]
    for example in rule.invalid:
        lines += ["## Flagged", "", "```python", example.code.strip(), "```", ""]
        if example.fixed:
            lines += ["Instead:", "", "```python", example.fixed.strip(), "```", ""]
    for example in rule.valid:
        lines += ["## Not flagged", "", "```python", example.code.strip(), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def _bounds(rule: Rule) -> str:
    since, until = rule.versions.since, rule.versions.until
    text = f", from {'.'.join(map(str, since))} on" if since else ""
    return text + (f", before {'.'.join(map(str, until))}" if until else "")
