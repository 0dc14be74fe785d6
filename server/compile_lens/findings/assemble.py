"""Records become findings: a place in the text, a message, fixes, and the way from the compile site."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional

import libcst as cst

from ..fixes.compile_site import wrap_offers
from ..rules.rule import Place, Text
from ..semantics.code import Code
from ..semantics.interpreter import Interpreter
from ..semantics.modules import CompileSite, SourceModule
from ..semantics.workspace import digest
from ..text.positions import Locator
from ..text.source import Position, Range
from .finding import Analysis, Finding, Offer, Related, Site
from .message import Cost, compose
from .options import Options
from .suppression import Suppressions, suppress
from .targets import targets
from .walks import Record, Walk

_TOP = Range(Position(0, 0), Position(0, 0))


@dataclass(frozen=True)
class SiteState:
    """What became of one thing that is given to ``torch.compile``."""

    site: CompileSite
    reason: str
    """Why it was not followed; empty when it was."""
    functions: frozenset[int]
    files: frozenset[str]


class _Places:
    """Ranges of nodes in any number of files: each file is looked through once for all that is wanted of it."""

    def __init__(self) -> None:
        self._wanted: dict[int, list[cst.CSTNode]] = defaultdict(list)
        self._statements: dict[int, list[cst.CSTNode]] = defaultdict(list)
        self._codes: dict[int, Code] = {}
        self._locators: dict[int, Locator] = {}

    def want(self, code: Code, node: cst.CSTNode, statement: Optional[cst.CSTNode] = None) -> None:
        self._codes[id(code)] = code
        self._wanted[id(code)].append(node)
        if statement is not None:
            self._statements[id(code)].append(statement)

    def locator(self, code: Code) -> Locator:
        locator = self._locators.get(id(code))
        if locator is None:
            statements = self._statements[id(code)]
            locator = self._locators[id(code)] = Locator(code.tree, code.source, parts_of=statements)
            locator([*self._wanted[id(code)], *statements])
        return locator

    def range(self, code: Code, node: cst.CSTNode) -> Optional[Range]:
        return self.locator(code)([node]).get(id(node))


def assemble(interpreter: Interpreter, walk: Walk, states: list[SiteState], options: Options) -> Analysis:
    """The analysis of an entry file: its findings, wherever they stand, and what became of its compile sites."""
    module = interpreter.module
    records = list(walk.records.values())
    places = _Places()
    for record in records:
        places.want(record.code, record.node, record.statement)
        if record.inside is not None:
            places.want(record.inside.code, record.inside.node)
    for state in states:
        places.want(state.site.module, state.site.node)
    suppressions: dict[int, Suppressions] = {}
    findings: list[Finding] = []
    for record in records:
        found = _finding(interpreter, record, places, options)
        if found is None:
            continue
        source = record.code.source
        rules = suppressions.setdefault(id(record.code), Suppressions(source))
        if not rules.silences(found):
            silence = suppress(source, rules, found, options.locale)
            findings.append(replace(found, fixes=(*found.fixes, silence)))
    findings.sort(key=lambda f: (f.path, f.range.start.line, f.range.start.column, f.code))
    sites = tuple(_sites(states, places, findings))
    analysis = Analysis(module.path, tuple(findings), sites, dependencies=_dependencies(interpreter))
    if not options.with_offers:
        return analysis
    find = places.locator(module)
    offers = tuple(Offer(place, fix) for place, fix in wrap_offers(module, interpreter, find, options.locale))
    return replace(analysis, targets=targets(interpreter, walk.walked, find, options.locale), offers=offers)


def _finding(interpreter: Interpreter, record: Record, places: _Places, options: Options) -> Optional[Finding]:
    code, rule, hit = record.code, record.rule, record.hit
    place = places.range(code, record.node)
    if place is None:
        return None
    cost = Cost(record.function, record.root, record.skipped, hit.resumes, record.behind, record.fullgraph)
    fixes = ()
    if record.inside is None and isinstance(code, SourceModule):
        where = Place(hit, interpreter, record.statement, places.locator(code), code)
        fixes = tuple(rule.fixes(where, options.locale))
    else:
        hit = replace(hit, reason=_through(record, places), remedy=None)
    return Finding(
        code.path,
        place,
        rule.code,
        rule.name,
        rule.effect,
        record.certainty,
        compose(rule, hit, cost, options.locale),
        record.function,
        record.region,
        record.skipped,
        hit.gb_types,
        fixes,
        _related(record, places, options),
    )


def _through(record: Record, places: _Places) -> Text:
    """The reason of a break in an installed package, for the line that calls into it."""
    inside = record.inside
    if inside is None:
        return record.hit.reason
    place = places.range(inside.code, inside.node)
    line = f":{place.start.line + 1}" if place is not None else ""
    where = f"`{inside.function}` ({_short(inside.code.path)}{line})"
    reason = record.hit.reason
    return Text(f"in {where}: {reason.in_locale('en')}", f"在 {where} 中：{reason.in_locale('zh-cn')}")


def _short(path: str) -> str:
    """A path in an environment, from its package on."""
    parts = Path(path).parts
    for folder in ("site-packages", "dist-packages"):
        if folder in parts:
            return "/".join(parts[parts.index(folder) + 1 :])
    return "/".join(parts[-2:])


def _related(record: Record, places: _Places, options: Options) -> tuple[Related, ...]:
    """Where the way to a finding begins, where that is not plain to see."""
    site = record.site
    if site is None or (site.module is record.code and record.root == record.function):
        return ()
    place = places.range(site.module, site.node)
    if place is None:
        return ()
    zh = options.locale.lower().startswith("zh")
    root = record.root or record.region
    text = (
        (f"在此处编译，经由 `{root}`" if zh else f"compiled here, reached through `{root}`")
        if root
        else ("在此处编译" if zh else "compiled here")
    )
    return (Related(site.module.path, place, text),)


def _sites(states: list[SiteState], places: _Places, findings: list[Finding]) -> Iterator[Site]:
    """What became of each place; one may compile several things."""
    by_place: dict[int, list[SiteState]] = {}
    for state in states:
        by_place.setdefault(id(state.site.node), []).append(state)
    for group in by_place.values():
        site = group[0].site
        place = places.range(site.module, site.node) or _TOP
        functions = frozenset[int]().union(*(state.functions for state in group))
        files = frozenset[str]().union(*(state.files for state in group))
        reached = [f for f in findings if f.path in files and f.certainty != "candidate"]
        reason = "" if any(not state.reason for state in group) else group[0].reason
        state = "unresolved" if reason else "traced"
        yield Site(place, state, len(functions), reason, site.module.path, len(files), len(reached))


def _dependencies(interpreter: Interpreter) -> tuple[tuple[str, str], ...]:
    """The texts that the result depends on: path and digest."""
    loaded = [module for module in interpreter.loader.modules.values() if module is not None]
    return tuple(sorted((module.path, digest(module.source)) for module in loaded))
