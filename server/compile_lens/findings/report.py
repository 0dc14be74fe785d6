"""``compile-lens check``: find the files, scan them, print findings as text or JSON, apply fixes."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..fixes.edit import apply, distinct_edits, without_conflicts
from ..knowledge.versions import NEWEST, parse_version
from ..text.errors import SourceError
from ..text.source import Source, read, write
from ..text.stack import with_deep_stack
from .fault import internal_error
from .finding import Analysis, Finding
from .scan import Options, scan, scan_file

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
    missing = [path for path in paths if not (path.is_file() or path.is_dir())]
    if missing:
        return _fail(f"no such file or folder: {', '.join(map(str, missing))}")
    files = list(python_files(paths))
    analyses = with_deep_stack(lambda: _scan_all(files, options, fix=fix, unsafe=unsafe))
    findings = [finding for analysis in analyses for finding in analysis.findings]
    errors = [analysis.error for analysis in analyses if analysis.error]
    for error in errors:
        print(f"compile-lens: {error}", file=sys.stderr)
    if output == "json":
        ascii_only = (sys.stdout.encoding or "").lower() not in ("utf-8", "utf8")
        json.dump([as_json(finding) for finding in findings], sys.stdout, indent=1, ensure_ascii=ascii_only)
        print()
    else:
        _print_text(files, analyses, findings)
    if errors:
        return EXIT_ERROR
    return EXIT_FINDINGS if any(finding.counts for finding in findings) else EXIT_CLEAN


def _scan_all(files: list[Path], options: Options, *, fix: bool, unsafe: bool) -> list[Analysis]:
    analyses = [_scan_one(path, options) for path in files]
    if fix:
        fixed = sum(_fix(path, analysis, options, unsafe) for path, analysis in zip(files, analyses))
        print(f"{fixed} fixed", file=sys.stderr)
        analyses = [_scan_one(path, options) for path in files]
    return analyses


def _scan_one(path: Path, options: Options) -> Analysis:
    """Scan a file; a fault of ours is an error of this file, and the others are still scanned."""
    try:
        return scan_file(path, options)
    except BaseException as error:
        return internal_error(str(path), error)


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
    try:
        entries = list(folder.iterdir())
    except OSError as error:  # of another user, or gone by now
        print(f"compile-lens: {folder} is left out: {error.strerror}", file=sys.stderr)
        return
    for entry in entries:
        if entry.is_dir() and not entry.is_symlink():
            if entry.name not in SKIPPED_FOLDERS and not (entry / "pyvenv.cfg").exists():
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
        "fixable": any(fix.kind == "quickfix" for fix in finding.fixes),
    }


def _print_text(files: list[Path], analyses: list[Analysis], findings: list[Finding]) -> None:
    for finding in findings:
        start = finding.range.start
        mark = "" if finding.certainty == "certain" else f" ({finding.certainty})"
        print(f"{finding.path}:{start.line + 1}:{start.column + 1}: {finding.code} {finding.message}{mark}")
    if not files:
        print("no Python files found")
        return
    sites = [site for analysis in analyses for site in analysis.sites]
    traced = sum(site.functions for site in sites)
    effects = Counter(finding.effect for finding in findings)
    summary = ", ".join(f"{count} {effect}" for effect, count in sorted(effects.items())) or "no findings"
    print(f"{len(files)} files, {len(sites)} torch.compile sites, {traced} functions followed: {summary}")


def _fix(path: Path, analysis: Analysis, options: Options, unsafe: bool) -> int:
    """Apply the first fix of every finding that is safe enough; how many were applied. Encoding and newlines stay."""
    try:
        source = read(path)
        fixes = without_conflicts(
            fix
            for finding in analysis.findings
            for fix in [f for f in finding.fixes if f.kind == "quickfix" and (f.safe or unsafe)][:1]
        )
        edits = [(source.offset(e.range.start), source.offset(e.range.end), e.text) for e in distinct_edits(fixes)]
        text = apply(source.text, edits)
        if not fixes or text is None:
            return 0
        if scan(Source(source.path, text), options).error is not None:
            print(f"compile-lens: {path} is left as it is: its fixes together give no valid Python", file=sys.stderr)
            return 0
        write(path, text)
    except (SourceError, OSError) as error:
        print(f"compile-lens: {path} is left as it is: {error}", file=sys.stderr)
        return 0
    return len(fixes)
