"""Write ``docs/rules/*.md`` from the rules themselves: ``python tools/write_rule_pages.py [--check]``."""

from __future__ import annotations

import sys
from pathlib import Path

from compile_lens.rules.page import markdown
from compile_lens.rules.registry import RULES

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "rules"


def pages() -> dict[str, str]:
    """Text of every page by file name, the index included."""
    texts = {f"{rule.code}.md": markdown(rule) for rule in RULES.values()}
    rows = [f"| [{r.code}]({r.code}.md) | {r.name} | {r.effect} | {r.summary.en} |" for r in RULES.values()]
    head = "# Rules\n\nGenerated from the rules; every example is run through the real Dynamo in the tests.\n\n"
    texts["README.md"] = head + "\n".join(["| code | name | effect | about |", "|---|---|---|---|", *rows]) + "\n"
    return texts


def main() -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    texts = pages()
    if "--check" in sys.argv:
        stale = [
            n for n, text in texts.items() if not (FOLDER / n).is_file() or (FOLDER / n).read_text("utf-8") != text
        ]
        if stale:
            print(f"docs/rules is not what the rules say: {', '.join(stale)}; run make docs")
        return 1 if stale else 0
    for name, text in texts.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    print(f"docs/rules: {len(texts)} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
