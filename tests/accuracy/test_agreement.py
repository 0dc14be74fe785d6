"""How often the scanner agrees with what Dynamo did on small labelled programs (torch 2.13, Python 3.11).

Each program of ``patterns/`` was run under ``torch.compile``; ``patterns.jsonl`` says what happened and on which lines.
The program under test ends where its rewrite or its ``inputs()`` begins.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from compile_lens.findings.finding import Finding
from compile_lens.findings.scan import Options, scan_file

HERE = Path(__file__).parent
NOT_JUDGED = ("eager_error", "never_compiled", "recompiles_then_stable")
HARMFUL = ("graph-break", "recompile", "wrong-result")
FLOOR = 0.86
"""Agreement that a change may not fall below; raise it when the scanner learns."""


@cache
def statements(path: Path) -> dict[int, tuple[int, int]]:
    """First and last line of the innermost statement (of its header, if compound) around every line."""
    spans: dict[int, tuple[int, int]] = {}

    def visit(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                decorators = [d.lineno for d in getattr(child, "decorator_list", [])]
                first, last = min([child.lineno, *decorators]), child.end_lineno or child.lineno
                body = getattr(child, "body", None)
                if isinstance(body, list) and body:
                    last = max(first, body[0].lineno - 1) if body[0].lineno > child.lineno else child.lineno
                for line in range(first, last + 1):
                    spans[line] = (first, last)
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return spans


def end_of_program(path: Path) -> int:
    rewrites = ("inputs", "g", "fixed", "make_fixed", "make_g", "entry_g")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    starts = [n.lineno for n in tree.body if isinstance(n, ast.FunctionDef) and n.name in rewrites]
    return min(starts) - 1 if starts else 10**9


def agrees(row: dict[str, Any], path: Path, findings: list[Finding]) -> bool:
    end, spans = end_of_program(path), statements(path)

    def statement(line: int) -> tuple[int, int]:
        return spans.get(line, (line, line))

    harmful = [f for f in findings if f.effect in HARMFUL and f.range.start.line < end]
    flagged = {statement(f.range.start.line + 1) for f in harmful if f.effect == "graph-break"}
    real = {statement(b["line"]) for b in row["breaks"] if b["line"] and b["line"] <= end}
    skipped = [b["line"] for b in row["breaks"] if b["line"] and b["skipped_frame"]]
    if skipped:  # what stands behind was never traced
        flagged = {s for s in flagged if s in real or s[0] <= min(skipped)}
    outcome = row["outcome"]
    if outcome.startswith("breaks"):
        return flagged == real if real else bool(flagged)
    if outcome.startswith("recompiles"):
        return any(f.effect == "recompile" for f in harmful)
    if outcome == "compiles":
        return not harmful
    return any(f.effect in ("wrong-result", "graph-break") for f in harmful)


def test_agreement_with_dynamo() -> None:
    rows = [json.loads(line) for line in (HERE / "patterns.jsonl").read_text("utf-8").splitlines()]
    rows = [r for r in rows if r["outcome"] not in NOT_JUDGED and r.get("scored", True)]
    verdicts: Counter[tuple[str, bool]] = Counter()
    disagreeing = []
    for row in rows:
        path = HERE / "patterns" / row["file"]
        analysis = scan_file(path, Options(scope="all"))
        assert analysis.error is None, analysis.error
        right = agrees(row, path, list(analysis.findings))
        verdicts[row["outcome"], right] += 1
        if not right:
            disagreeing.append(f"{row['id']} ({row['outcome']})")
    agreement = 1 - len(disagreeing) / len(rows)
    print(f"agreement {agreement:.3f}; disagreeing: {', '.join(disagreeing)}")
    assert agreement >= FLOOR, f"{agreement:.3f}: {', '.join(disagreeing)}"
    assert verdicts["compiles", False] == 0, "a program that compiles was flagged"
