"""Comments that silence findings: ``# compile-lens: ignore[CL101]`` on a line, ``# compile-lens: skip-file``."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable

from ..fixes.edit import Fix, insertion
from ..text.source import Position, Source
from .finding import Finding

_COMMENT = re.compile(r"#\s*compile-lens:\s*(?:(?P<skip>skip-file)|ignore(?:\[(?P<codes>[\w\s,-]*)\])?)")


class Suppressions:
    """The suppressing comments of one file, read from its tokens so that strings do not count."""

    def __init__(self, source: Source) -> None:
        self.skip_file = False
        self.lines: dict[int, frozenset[str]] = {}
        """Codes by zero-based line; an empty set silences everything there."""
        if "compile-lens:" not in source.text:
            return
        try:
            for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
                match = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
                if match is None:
                    continue
                if match["skip"]:
                    self.skip_file = True
                codes = frozenset(code.strip().upper() for code in (match["codes"] or "").split(",") if code.strip())
                self.lines[token.start[0] - 1] = codes
        except (tokenize.TokenError, SyntaxError):
            return  # the file parsed, so its end is at worst cut short for tokenize

    def silences(self, finding: Finding) -> bool:
        if self.skip_file:
            return True
        for line in {finding.range.start.line, finding.range.end.line}:
            codes = self.lines.get(line)
            if codes is not None and (not codes or finding.code in codes or finding.name.upper() in codes):
                return True
        return False


def keep(findings: Iterable[Finding], source: Source) -> list[Finding]:
    """Findings that no comment silences."""
    suppressions = Suppressions(source)
    return [finding for finding in findings if not suppressions.silences(finding)]


def suppress(source: Source, finding: Finding, locale: str) -> Fix:
    """The fix that silences one finding by a comment at the end of its first line."""
    line = finding.range.start.line
    text = source.line(line)
    match = _COMMENT.search(text)
    title = f"忽略此行的 {finding.code}" if locale.startswith("zh") else f"Ignore {finding.code} on this line"
    if match is not None and match["codes"] is not None:
        place = Position(line, match.end() - 1)
        return Fix(
            title, (insertion(place, f", {finding.code}" if match["codes"].strip() else finding.code),), safe=True
        )
    place = Position(line, len(text.rstrip()))
    return Fix(title, (insertion(place, f"  # compile-lens: ignore[{finding.code}]"),), safe=True, kind="suppress")
