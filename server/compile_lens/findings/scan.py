"""The engine: parse a file, find what is compiled in it, walk that, let the rules look, collect findings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Optional

import libcst as cst

from ..fixes.compile_site import wrap_offers
from ..knowledge.versions import NEWEST, Version
from ..rules.registry import RULES, rules_by_operation
from ..rules.rule import Context, FileView, Hit, Place, Rule
from ..semantics.examples import ExampleCall
from ..semantics.frames import Frame
from ..semantics.interpreter import Interpreter
from ..semantics.operations import Operation
from ..semantics.values import UNKNOWN, Class, Const, Function, Instance, Partial, Value, options
from ..text.errors import SourceError
from ..text.parse import parse
from ..text.positions import Locator
from ..text.source import Position, Range, Source, read
from .fault import internal_error
from .finding import Analysis, Finding, Offer, Site
from .message import Cost, compose
from .suppression import Suppressions, suppress
from .targets import targets

SCOPES = ("regions", "candidates", "all")
PROVIDERS = ("probe_inputs", "get_example_inputs", "inputs", "get_inputs")


@dataclass(frozen=True)
class Options:
    """What to look for, and for which environment."""

    scope: str = "regions"
    torch_version: Version = NEWEST
    python_version: tuple[int, int] = (3, 11)
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    locale: str = "en"
    with_offers: bool = False
    """Also compute targets and offers, which an editor shows."""

    def wants(self, code: str) -> bool:
        """Codes are chosen by prefix, as in ruff: ``CL1`` is every graph break."""
        chosen = not self.select or any(code.startswith(prefix.upper()) for prefix in self.select)
        return chosen and not any(code.startswith(prefix.upper()) for prefix in self.ignore)


@dataclass
class _Record:
    """What is known of one hit after all walks."""

    rule: Rule
    hit: Hit
    frame: Optional[Frame]
    statement: Optional[cst.CSTNode]
    certainty: str
    region: str
    skipped: bool
    function: str
    root: str
    behind: bool = False
    """A break before it already sends the whole frame to eager."""
    fullgraph: bool = False


@dataclass
class _Walk:
    """Collects the hits of the walks of one file."""

    options: Options
    records: dict[tuple[str, int], _Record] = field(default_factory=dict[tuple[str, int], _Record])
    context: Context = field(default_factory=Context)
    region: str = ""
    candidate: bool = False
    walked: set[int] = field(default_factory=set[int])
    """``id`` of the nodes of all functions that were walked."""
    compiled: set[int] = field(default_factory=set[int])
    """Those of them that a compile site reaches."""

    def reached(self, node: cst.CSTNode) -> None:
        self.walked.add(id(node))
        if not self.candidate:
            self.compiled.add(id(node))

    def __call__(self, operation: Operation) -> None:
        frame = operation.frame
        if frame.function is not None:
            self.reached(frame.function.node)
        for rule in rules_by_operation().get(type(operation), ()):
            if self.options.wants(rule.code) and self.context.version in rule.versions:
                for hit in rule.check(operation, self.context):
                    self.note(rule, hit, frame)

    def note(self, rule: Rule, hit: Hit, frame: Optional[Frame]) -> None:
        certainty = "candidate" if self.candidate else "certain" if hit.sure else "likely"
        breaks = rule.effect == "graph-break"
        first = frame is not None and frame.at_first_statement()
        skipped = breaks and ((not hit.resumes and first) or (frame is not None and frame.breaking_skips()))
        key = rule.code, id(hit.node)
        old = self.records.get(key)
        if old is not None:
            old.skipped = old.skipped or skipped
            if _RANK[certainty] > _RANK[old.certainty]:
                old.certainty, old.region = certainty, self.region
            return
        statement: Optional[cst.CSTNode] = None
        if frame is not None and frame.statements:
            body, index = frame.statements[-1]
            statement = body[index]
        name = frame.name if frame is not None else ""
        root = frame.root().name if frame is not None and frame.root().function is not None else ""
        behind = breaks and frame is not None and frame.root().lost and not skipped
        if skipped and frame is not None:
            frame.root().lost = True
        fullgraph = self.context.fullgraph and not self.candidate
        self.records[key] = _Record(
            rule, hit, frame, statement, certainty, self.region, skipped, name, root, behind, fullgraph
        )


_RANK = {"candidate": 0, "likely": 1, "certain": 2}


def scan_file(path: Path, options: Options) -> Analysis:
    """Analyse a file on disk; an unreadable or unparsable one gives an analysis with an error."""
    try:
        source = read(path)
    except SourceError as error:
        return Analysis(str(path), error=error.message, error_line=error.line)
    return scan(source, options)


def scan(source: Source, options: Options) -> Analysis:
    """Analyse the text of one file."""
    if "torch" not in source.text:
        return Analysis(source.path)
    try:
        return _scan(source, parse(source), options)
    except SourceError as error:
        return Analysis(source.path, error=error.message, error_line=error.line)
    except RecursionError:
        return Analysis(source.path, error=f"{source.path}: its code is nested too deeply to be analysed")
    except BaseException as error:  # native code panics with exceptions of its own
        return internal_error(source.path, error)


def _scan(source: Source, tree: cst.Module, options: Options) -> Analysis:
    interpreter = Interpreter(source, tree, options.python_version)
    interpreter.run_module()
    walk = _Walk(options)
    settings = _settings(interpreter)
    states: dict[int, tuple[str, int, str]] = {}
    _walk_sites(interpreter, walk, states, settings)
    if options.scope != "regions":
        walk.candidate, walk.region = True, ""
        walk.context = Context(options.torch_version, options.python_version, settings=settings)
        _walk_candidates(interpreter, walk, frozenset(walk.compiled), options.scope == "all")
        walk.candidate = False
        _walk_sites(interpreter, walk, states, settings)
    compiled = frozenset(walk.compiled)
    unresolved = {node: reason for node, (state, _, reason) in states.items() if state == "unresolved"}
    view = FileView(interpreter, compiled, options.scope, unresolved)
    for rule in RULES.values():
        if options.wants(rule.code) and options.torch_version in rule.versions:
            for hit in rule.check_file(view, walk.context):
                walk.note(rule, hit, None)
    return _assemble(interpreter, walk, states, options)


def _settings(interpreter: Interpreter) -> dict[str, object]:
    """``torch._dynamo.config`` as the file sets it, by assignment or in a module-level ``CONFIG`` dict."""
    found: dict[str, object] = dict(interpreter.settings)
    config = interpreter.module.scope.names.get("CONFIG")
    for key, value in getattr(config, "entries", {}).items():
        if isinstance(key, str) and isinstance(value, Const):
            found[key.rpartition(".")[2]] = value.value
    return found


def _walk_sites(
    interpreter: Interpreter, walk: _Walk, states: dict[int, tuple[str, int, str]], settings: dict[str, object]
) -> None:
    """Walk every site that has not been walked yet, and those that are met on the way."""
    while len(states) < len(interpreter.sites):
        site = interpreter.sites[len(states)]
        walk.context = Context(
            walk.options.torch_version,
            walk.options.python_version,
            fullgraph=site.keywords.get("fullgraph") == Const(True),
            settings=settings,
        )
        states[id(site.node)] = _walk_site(interpreter, walk, site.target)


def _walk_site(interpreter: Interpreter, walk: _Walk, target: Optional[Value]) -> tuple[str, int, str]:
    """Walk what one site compiles: state, number of functions walked, and why not."""
    if target is None:
        return "unresolved", 0, "nothing is given to it here"
    before = set(walk.compiled)
    resolved = False
    for choice in options(target):
        entry = interpreter.entry(choice)
        walk.region = _describe(choice)
        if entry is not None:
            resolved = True
            interpreter.trace(choice, walk, _calls(interpreter, choice))
            walk.reached(entry.node)
        elif isinstance(choice, Instance) and choice.external_class.startswith("torch.nn."):
            resolved = True
            interpreter.trace_layer(choice, walk)
    if not resolved:
        return "unresolved", 0, _why_unresolved(target)
    return "traced", len(walk.compiled - before), ""


def _why_unresolved(target: Value) -> str:
    if isinstance(target, Instance):
        return f"the code of `{target.external_class or 'its class'}` is not in this file"
    return "what it compiles comes from another file, a factory or a configuration"


def _describe(value: Value) -> str:
    if isinstance(value, Instance) and isinstance(value.cls, Class):
        return value.cls.qualified_name
    if isinstance(value, Partial):
        return _describe(value.function)
    return getattr(value, "qualified_name", "")


def _calls(interpreter: Interpreter, root: Value) -> Optional[list[ExampleCall]]:
    """Example calls that the file itself gives for a root: evaluated abstractly, never run.

    They belong to what the file defines and does not call itself, where the number of arguments fits.
    """
    entry = interpreter.entry(root)
    if entry is None or id(entry.node) in interpreter.called:
        return None
    if entry.owner is not None and (entry.name != "forward" or id(entry.owner.node) in interpreter.contained):
        return None
    parameters = entry.node.params
    wanted = len([p for p in (*parameters.posonly_params, *parameters.params) if p.name.value != "self"])
    for provider in PROVIDERS:
        calls = interpreter.example_calls(provider)
        if calls is None:
            continue
        if provider == "get_inputs":  # the list of the arguments of one call
            calls = [ExampleCall(tuple(value for call in calls for value in call.positional[:1]))]
        fitting = [c for c in calls if c.positional and (len(c.positional) <= wanted or parameters.star_arg)]
        if fitting:
            return fitting
    return None


def _walk_candidates(interpreter: Interpreter, walk: _Walk, compiled: frozenset[int], everything: bool) -> None:
    """Walk what no region reaches: ``forward`` of modules, or every function (``--scope all``)."""
    for cls in interpreter.classes:
        forward = cls.find("forward")  # an inherited one calls the methods of this class
        if cls.is_module and isinstance(forward, Function) and id(forward.node) not in compiled:
            interpreter.trace(cls, walk, _calls(interpreter, cls))
    if not everything:
        return
    for function in list(interpreter.functions):
        own = isinstance(function.node, cst.FunctionDef)
        if not own or id(function.node) in compiled or id(function.node) in interpreter.cut:
            continue
        if function.name not in PROVIDERS and _may_be_compiled(interpreter, function):
            interpreter.trace(function, walk, _calls(interpreter, function))


def _may_be_compiled(interpreter: Interpreter, function: Function) -> bool:
    """Could somebody compile this function by itself? Not what takes nothing, builds modules, or Python calls."""
    name = function.name
    if name.startswith("__") and name.endswith("__") and name != "__call__":
        return False
    if function.owner is None and not any(_all_parameters(function)):
        return False
    results = options(interpreter.results.get(id(function.node), UNKNOWN))
    return not all(isinstance(value, Partial) or (isinstance(value, Instance) and value.is_module) for value in results)


def _all_parameters(function: Function) -> list[object]:
    parameters = function.node.params
    rest = [p for p in (parameters.star_arg, parameters.star_kwarg) if isinstance(p, cst.Param)]
    return [*parameters.posonly_params, *parameters.params, *parameters.kwonly_params, *rest]


def _assemble(
    interpreter: Interpreter, walk: _Walk, states: dict[int, tuple[str, int, str]], options: Options
) -> Analysis:
    """Give everything its place in the text, compose messages, build fixes."""
    module, source = interpreter.module, interpreter.module.source
    records = list(walk.records.values())
    statements = [record.statement for record in records if record.statement is not None]
    find = Locator(module.tree, source, parts_of=statements)
    ranges = find([*(record.hit.node for record in records), *(site.node for site in interpreter.sites), *statements])
    suppressions = Suppressions(source)
    findings: list[Finding] = []
    for record in records:
        place = ranges.get(id(record.hit.node))
        if place is None:
            continue
        fixes = record.rule.fixes(Place(record.hit, interpreter, record.statement, find), options.locale)
        finding = Finding(
            source.path,
            place,
            record.rule.code,
            record.rule.name,
            record.rule.effect,
            record.certainty,
            compose(record.rule, record.hit, _cost_of(record), options.locale),
            record.function,
            record.region,
            record.skipped,
            record.hit.gb_types,
            tuple(fixes),
        )
        if suppressions.silences(finding):
            continue
        silence = suppress(source, suppressions, finding, options.locale)
        findings.append(replace(finding, fixes=(*finding.fixes, silence)))
    findings.sort(key=lambda f: (f.range.start.line, f.range.start.column, f.code))
    sites = tuple(Site(ranges.get(id(s.node), _TOP), *states[id(s.node)]) for s in interpreter.sites)
    if not options.with_offers:
        return Analysis(source.path, tuple(findings), sites)
    offers = tuple(Offer(place, fix) for place, fix in wrap_offers(module, interpreter, find, options.locale))
    return Analysis(source.path, tuple(findings), sites, targets(interpreter, walk.walked, find), offers)


def _cost_of(record: _Record) -> Cost:
    return Cost(record.function, record.root, record.skipped, record.hit.resumes, record.behind, record.fullgraph)


_TOP = Range(Position(0, 0), Position(0, 0))
