"""``compile-lens check``: find the files, scan them, print findings as text or JSON, apply fixes."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..fixes.edit import apply
from ..knowledge.versions import NEWEST, parse_version
from ..text.errors import SourceError
from ..text.source import read
from .finding import Analysis, Finding
from .scan import Options, scan_file

EXIT_CLEAN, EXIT_FINDINGS, EXIT_ERROR = 0, 1, 2
SKIPPED_FOLDERS = frozenset(
    {".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".mypy_cache", "build"}
)


def run(
    paths: list[Path],
    *,
    output: str = "text",
    scope: str = "regions",
    torch_version: str = "",
    python_version: str = "",
    select: str = "",
    ignore: str = "",
    fix: bool = False,
    unsafe: bool = False,
) -> int:
    """Scan and print; 0 clean, 1 findings, 2 a file or an option could not be used."""
    try:
        options = Options(
            scope=scope,
            torch_version=parse_version(torch_version) if torch_version else NEWEST,
            python_version=parse_version(python_version)[:2] if python_version else sys.version_info[:2],
            select=_codes(select),
            ignore=_codes(ignore),
        )
    except ValueError as error:
        return _fail(str(error))
    missing = [path for path in paths if not path.exists()]
    if missing:
        return _fail(f"no such file or folder: {', '.join(map(str, missing))}")
    files = list(python_files(paths))
    analyses = [scan_file(path, options) for path in files]
    if fix:
        fixed = sum(_fix(Path(analysis.path), analysis, unsafe) for analysis in analyses)
        print(f"{fixed} fixed", file=sys.stderr)
        analyses = [scan_file(path, options) for path in files]
    findings = [finding for analysis in analyses for finding in analysis.findings]
    errors = [analysis.error for analysis in analyses if analysis.error]
    for error in errors:
        print(f"compile-lens: {error}", file=sys.stderr)
    if output == "json":
        json.dump([as_json(finding) for finding in findings], sys.stdout, indent=1, ensure_ascii=False)
        print()
    else:
        _print_text(files, analyses, findings)
    if errors:
        return EXIT_ERROR
    return EXIT_FINDINGS if any(finding.counts for finding in findings) else EXIT_CLEAN


def _codes(text: str) -> tuple[str, ...]:
    """Comma-separated codes or names of rules. Raises `ValueError` for one that matches no rule."""
    from ..rules.registry import RULES  # noqa: PLC0415

    codes = tuple(code.strip().upper() for code in text.split(",") if code.strip())
    for code in codes:
        if not any(rule.code.startswith(code) for rule in RULES.values()):
            raise ValueError(f"no rule has a code that begins with {code!r}; `compile-lens rule` lists them")
    return codes


def _fail(message: str) -> int:
    print(f"compile-lens: {message}", file=sys.stderr)
    return EXIT_ERROR


def python_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Python files among the paths, and below those that are folders; each once, in order."""
    seen: set[Path] = set()
    for path in paths:
        found = [path] if path.is_file() else sorted(_below(path))
        for file in found:
            if file not in seen:
                seen.add(file)
                yield file


def _below(folder: Path) -> Iterator[Path]:
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            if entry.name not in SKIPPED_FOLDERS:
                yield from _below(entry)
        elif entry.suffix == ".py" and entry.is_file():
            yield entry


def as_json(finding: Finding) -> dict[str, Any]:
    """The JSON object of one finding: lines and columns 1-based, columns in characters, end exclusive."""
    return {
        "file": finding.path,
        "line": finding.range.start.line + 1,
        "column": finding.range.start.column + 1,
        "end_line": finding.range.end.line + 1,
        "end_column": finding.range.end.column + 1,
        "code": finding.code,
        "name": finding.name,
        "effect": finding.effect,
        "certainty": finding.certainty,
        "frame_skipped": finding.frame_skipped,
        "gb_types": list(finding.gb_types),
        "message": finding.message,
        "function": finding.function,
        "fixable": any(
            fix.kind == "quickfix" and "compile-lens: ignore" not in fix.edits[-1].text for fix in finding.fixes
        ),
    }


def _print_text(files: list[Path], analyses: list[Analysis], findings: list[Finding]) -> None:
    for finding in findings:
        start = finding.range.start
        mark = "" if finding.certainty == "certain" else f" ({finding.certainty})"
        print(f"{finding.path}:{start.line + 1}:{start.column + 1}: {finding.code} {finding.message}{mark}")
    for analysis in analyses:
        for site in analysis.sites:
            if site.state == "unresolved":
                line = site.range.start.line + 1
                print(f"{analysis.path}:{line}: torch.compile here is not followed: {site.reason}")
    if not files:
        print("no Python files found")
        return
    sites = [site for analysis in analyses for site in analysis.sites]
    traced = sum(site.functions for site in sites)
    effects = Counter(finding.effect for finding in findings)
    summary = ", ".join(f"{count} {effect}" for effect, count in sorted(effects.items())) or "no findings"
    print(f"{len(files)} files, {len(sites)} torch.compile sites, {traced} functions followed: {summary}")


def _fix(path: Path, analysis: Analysis, unsafe: bool) -> int:
    """Apply the first fix of every finding that is safe enough; how many were applied."""
    try:
        source = read(path)
    except SourceError:
        return 0
    count, edits = 0, []
    taken: list[tuple[int, int]] = []
    for finding in analysis.findings:
        for fix in finding.fixes:
            if fix.kind != "quickfix" or not (fix.safe or unsafe):
                continue
            mine = [(source.offset(e.range.start), source.offset(e.range.end), e.text) for e in fix.edits]
            fresh = [edit for edit in mine if edit not in edits]
            if any(a < end and start < b for a, b, _ in fresh for start, end in taken):
                continue
            edits += fresh
            taken += [(a, b) for a, b, _ in fresh if a < b]
            count += 1
            break
    text = apply(source.text, edits)
    if count and text is not None:
        path.write_bytes(text.encode("utf-8"))
    return count if text is not None else 0
