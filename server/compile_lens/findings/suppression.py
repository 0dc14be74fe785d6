"""Comments that silence findings: ``# compile-lens: ignore[CL101]`` on a line, ``# compile-lens: skip-file``."""

from __future__ import annotations

import io
import re
import tokenize
from contextlib import suppress as suppress_errors
from functools import cached_property

from ..fixes.edit import Fix, insertion
from ..text.source import Position, Source
from .finding import Finding

_COMMENT = re.compile(r"#\s*compile-lens:\s*(?:(?P<skip>skip-file)|ignore(?:\[(?P<codes>[\w\s,-]*)\])?)")


class Suppressions:
    """The suppressing comments of one file, read from its tokens so that strings do not count.

    Lines that a string or a backslash joins count as one: a comment can only stand at the end of the last.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    @cached_property
    def comments(self) -> dict[int, tuple[int, re.Match[str]]]:
        """Suppressing comments by zero-based line: the column at which the comment begins, and its parts."""
        found: dict[int, tuple[int, re.Match[str]]] = {}
        for token in self._tokens:
            match = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
            if match is not None:
                found[token.start[0] - 1] = token.start[1], match
        return found

    @cached_property
    def skip_file(self) -> bool:
        return any(match["skip"] for _, match in self.comments.values())

    @cached_property
    def _tokens(self) -> list[tokenize.TokenInfo]:
        tokens: list[tokenize.TokenInfo] = []
        text = "\n".join(self._source.line(index) for index in range(len(self._source.line_starts)))
        with suppress_errors(tokenize.TokenError, SyntaxError):  # the file parsed: at worst its end is cut short
            tokens.extend(tokenize.generate_tokens(io.StringIO(text).readline))
        return tokens

    @cached_property
    def _last(self) -> dict[int, int]:
        """Last line of those that are joined, by each of them; lines that stand alone are left out."""
        joined = {
            line
            for line in range(len(self._source.line_starts) - 1)
            if self._source.line(line).endswith("\\") and line not in self.comments
        }
        begun: list[int] = []
        for token in self._tokens:
            if token.type not in _LAYOUT:
                joined.update(range(token.start[0] - 1, token.end[0] - 1))
            if token.type == _FSTRING_START:
                begun.append(token.start[0] - 1)
            elif token.type == _FSTRING_END and begun:
                joined.update(range(begun.pop(), token.end[0] - 1))
        last: dict[int, int] = {}
        for line in sorted(joined, reverse=True):
            last[line] = last.get(line + 1, line + 1)
        return last

    def last_of(self, line: int) -> int:
        """The line at whose end a comment on a line stands: itself, or the last of those joined to it."""
        return self._last.get(line, line)

    def silences(self, finding: Finding) -> bool:
        if self.skip_file:
            return True
        for line in {finding.range.start.line, finding.range.end.line}:
            found = self.comments.get(self.last_of(line))
            if found is None:
                continue
            codes = _codes(found[1])
            if not codes or finding.code in codes or finding.name.upper() in codes:
                return True
        return False


_FSTRING_START = getattr(tokenize, "FSTRING_START", -1)
_FSTRING_END = getattr(tokenize, "FSTRING_END", -1)
"""Since Python 3.12 an f-string is many tokens."""
_LAYOUT = frozenset({tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})


def _codes(match: re.Match[str]) -> frozenset[str]:
    """Codes that a comment names; none: it silences everything."""
    return frozenset(code.strip().upper() for code in (match["codes"] or "").split(",") if code.strip())


def suppress(source: Source, suppressions: Suppressions, finding: Finding, locale: str) -> Fix:
    """The fix that silences one finding by a comment at the end of its first line."""
    line = suppressions.last_of(finding.range.start.line)
    title = f"忽略此行的 {finding.code}" if locale.startswith("zh") else f"Ignore {finding.code} on this line"
    found = suppressions.comments.get(line)
    if found is not None and found[1]["codes"] is not None:
        column, match = found
        text = f", {finding.code}" if match["codes"].strip() else finding.code
        edit = insertion(Position(line, column + match.end() - 1), text)
    else:
        edit = insertion(Position(line, len(source.line(line).rstrip())), f"  # compile-lens: ignore[{finding.code}]")
    return Fix(title, (edit,), safe=True, kind="suppress")
