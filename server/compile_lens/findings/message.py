"""Sentences of findings: what happens here, what it costs, what to do."""

from __future__ import annotations

from dataclasses import dataclass

from ..rules.rule import Hit, Rule


@dataclass(frozen=True)
class Cost:
    """What decides about the cost of a graph break."""

    function: str
    """Qualified name of the function that holds it."""
    root: str = ""
    """The function that Dynamo was called for, which inlines the other; empty when there is none."""
    skipped: bool = False
    """Dynamo gives up the whole of the root."""
    resumes: bool = True
    """Dynamo can go on behind it."""
    behind: bool = False
    """Something before it has made Dynamo give up the whole of the root already."""
    fullgraph: bool = False
    """The region was compiled with ``fullgraph=True``."""


def compose(rule: Rule, hit: Hit, cost: Cost, locale: str) -> str:
    """One line: the reason, which stands alone, then the cost of the break, then the remedy."""
    zh = locale.lower().startswith("zh")
    parts = [hit.reason.in_locale(locale)]
    if rule.effect == "graph-break":
        english, chinese = _words(cost)
        parts.append(chinese if zh else english)
    text = ("：" if zh else ": ").join(parts)
    if hit.remedy is not None:
        text += ("；" if zh else "; ") + hit.remedy.in_locale(locale)
    return text


def _words(cost: Cost) -> tuple[str, str]:
    """The cost in English and Chinese."""
    inlined = bool(cost.root) and cost.root != cost.function
    if cost.fullgraph:
        return "an error under `fullgraph=True`", "在 `fullgraph=True` 下报错"
    if cost.skipped:
        whole = cost.root if inlined else cost.function
        return f"graph break, all of `{whole}` runs eagerly", f"图中断，整个 `{whole}` 以 eager 方式运行"
    if cost.behind:
        return (
            "another graph break, once the one that sends all to eager is mended",
            "修复使整个函数回退的中断后，这里仍会图中断",
        )
    if inlined:
        return f"breaks the graph of `{cost.root}`, which calls this", f"在 `{cost.root}` 中造成图中断"
    if not cost.resumes:
        return (
            f"graph break, the rest of `{cost.function}` runs eagerly",
            f"图中断，`{cost.function}` 的其余部分以 eager 方式运行",
        )
    return "graph break, the rest becomes a second graph", "图中断，其余部分成为另一个图"
