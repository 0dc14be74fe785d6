"""Sentences of findings: what happens here, what it costs, what to do."""

from __future__ import annotations

from ..rules.rule import Hit, Rule


def compose(rule: Rule, hit: Hit, skipped: bool, function: str, root: str, locale: str) -> str:
    """One line: the reason, which stands alone, then the cost of the break, then the remedy."""
    zh = locale.lower().startswith("zh")
    parts = [hit.reason.in_locale(locale)]
    if rule.effect == "graph-break":
        parts.append(_cost(skipped, hit.resumes, function, root, zh))
    text = ("：" if zh else ": ").join(parts)
    if hit.remedy is not None:
        text += ("；" if zh else "; ") + hit.remedy.in_locale(locale)
    return text


def _cost(skipped: bool, resumes: bool, function: str, root: str, zh: bool) -> str:
    inlined = bool(root) and root != function
    if skipped:
        whole = f"`{root}`" if inlined else f"`{function}`"
        return f"图中断，整个 {whole} 以 eager 方式运行" if zh else f"graph break, all of {whole} runs eagerly"
    if inlined:
        return f"在 `{root}` 中造成图中断" if zh else f"breaks the graph of `{root}`, which calls this"
    if not resumes:
        return (
            f"图中断，`{function}` 的其余部分以 eager 方式运行"
            if zh
            else f"graph break, the rest of `{function}` runs eagerly"
        )
    return "图中断，其余部分成为另一个图" if zh else "graph break, the rest becomes a second graph"
