"""``compile-lens check``: find the files, scan them, print findings as text or JSON, apply fixes."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..fixes.edit import apply, distinct_edits, without_conflicts
from ..knowledge.compile_arguments import installed_torch
from ..knowledge.versions import NEWEST, parse_version
from ..semantics.workspace import Workspace
from ..text.errors import SourceError
from ..text.source import Source, read, write
from ..text.stack import with_deep_stack
from .fault import internal_error
from .finding import Analysis, Finding
from .options import Options
from .project import open_workspace
from .scan import scan, scan_file
from .walks import RANK

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
            torch_folder="" if torch_version else installed_torch(),
        )
    except ValueError as error:
        return _fail(str(error))
    missing = [path for path in paths if not (path.is_file() or path.is_dir())]
    if missing:
        return _fail(f"no such file or folder: {', '.join(map(str, missing))}")
    files = list(python_files(paths))
    analyses = with_deep_stack(lambda: _scan_all(files, paths, options, fix=fix, unsafe=unsafe))
    findings = _merged(analyses, _Shown(files))
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


class _Shown:
    """Paths as the user wrote them; those of files that he did not name, relative to where he is."""

    def __init__(self, files: list[Path]) -> None:
        self._given = {os.path.abspath(path): str(path) for path in files}  # noqa: PTH100  # links stay what they are
        self._relative = any(not path.is_absolute() for path in files)
        self._here = str(Path.cwd()) + os.sep

    def __call__(self, path: str) -> str:
        given = self._given.get(path)
        if given is not None:
            return given
        return path[len(self._here) :] if self._relative and path.startswith(self._here) else path


def _merged(analyses: list[Analysis], shown: _Shown) -> list[Finding]:
    """All findings, each once, by file and place; what several regions find is as certain as the surest of them."""
    best: dict[tuple[Any, ...], Finding] = {}
    for analysis in analyses:
        for finding in analysis.findings:
            key = finding.path, finding.range, finding.code
            old = best.get(key)
            if old is None or RANK[finding.certainty] > RANK[old.certainty]:
                best[key] = finding
    _drop_answered(analyses, best)
    ordered = sorted(best.values(), key=lambda f: (f.path, f.range.start.line, f.range.start.column, f.code))
    return [
        replace(f, path=shown(f.path), related=tuple(replace(r, path=shown(r.path)) for r in f.related))
        for f in ordered
    ]


def _drop_answered(analyses: list[Analysis], best: dict[tuple[Any, ...], Finding]) -> None:
    """A site that is not followed from its own file, but is from one that calls it, is followed."""
    traced = {(s.path, s.range) for analysis in analyses for s in analysis.sites if s.state == "traced"}
    for key, finding in list(best.items()):
        if finding.name == "unresolved-region" and (finding.path, finding.range) in traced:
            del best[key]


def _scan_all(files: list[Path], paths: list[Path], options: Options, *, fix: bool, unsafe: bool) -> list[Analysis]:
    workspace = open_workspace(paths)
    analyses = [_scan_one(path, options, workspace) for path in files]
    if fix:
        fixed = sum(_fix(path, analysis, options, unsafe) for path, analysis in zip(files, analyses))
        print(f"{fixed} fixed", file=sys.stderr)
        analyses = [_scan_one(path, options, workspace) for path in files]
    return analyses


def _scan_one(path: Path, options: Options, workspace: Workspace) -> Analysis:
    """Scan a file; a fault of ours is an error of this file, and the others are still scanned."""
    try:
        return scan_file(Path(os.path.abspath(path)), options, workspace)  # noqa: PTH100  # links stay what they are
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
        "related": [
            {"file": place.path, "line": place.range.start.line + 1, "message": place.message}
            for place in finding.related
        ],
    }


def _print_text(files: list[Path], analyses: list[Analysis], findings: list[Finding]) -> None:
    for finding in findings:
        start = finding.range.start
        mark = "" if finding.certainty == "certain" else f" ({finding.certainty})"
        print(
            f"{finding.path}:{start.line + 1}:{start.column + 1}: {finding.code} {finding.message}{mark}{_way(finding)}"
        )
    if not files:
        print("no Python files found")
        return
    sites = [site for analysis in analyses for site in analysis.sites]
    traced = sum(site.functions for site in sites)
    effects = Counter(finding.effect for finding in findings)
    summary = ", ".join(f"{count} {effect}" for effect, count in sorted(effects.items())) or "no findings"
    print(f"{len(files)} files, {len(sites)} torch.compile sites, {traced} functions followed: {summary}")


def _way(finding: Finding) -> str:
    """The compile site that leads to a finding in another file."""
    away = [place for place in finding.related if place.path != finding.path]
    return "".join(f" [{place.path}:{place.range.start.line + 1}: {place.message}]" for place in away)


def _fix(path: Path, analysis: Analysis, options: Options, unsafe: bool) -> int:
    """Apply the first fix of every finding that is safe enough; how many were applied. Encoding and newlines stay."""
    try:
        source = read(path)
        fixes = without_conflicts(
            fix
            for finding in analysis.findings
            if finding.path == analysis.path
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
